# The overlay port by a stand-in for vcpkg, and the consumer with what it installed, moved as vcpkg does.
include(${CMAKE_CURRENT_LIST_DIR}/../tools.cmake)

run(COMMAND ${CMAKE_COMMAND} -D SETTINGS=${SETTINGS} -D GENERATOR=${generator} -D WORK=${OUT}/made
            -D FEATURES=curl -D PORT_DIR=${TREE}/test/package/vcpkg/ports/keyspan -P ${TREE}/test/package/vcpkg/stand_in.cmake)
file(REMOVE_RECURSE ${OUT}/installed)
file(RENAME ${OUT}/made/packages ${OUT}/installed)
consume(find_package -isystem ${OUT}/installed/include -D CMAKE_PREFIX_PATH=${OUT}/installed)
consume(find_package_plain -I ${OUT}/installed/include -D CMAKE_PREFIX_PATH=${OUT}/installed)
pc_leads_to(${OUT}/installed/share/pkgconfig ${OUT}/installed/include)

# pkg-config is told of the components whose features are wanted: vcpkg sees to it that it finds the rest.
file(GLOB told RELATIVE ${OUT}/installed/share/pkgconfig ${OUT}/installed/share/pkgconfig/*)
if(NOT told STREQUAL "keyspan-curl.pc;keyspan.pc")
  message(FATAL_ERROR "with the feature curl pkg-config is told of ${told}")
endif()

# What the port tells its user is what the consumer does.
file(READ ${TREE}/test/package/vcpkg/ports/keyspan/usage usage)
require_in("find_package(keyspan CONFIG REQUIRED COMPONENTS cosmos curl)" "${usage}")
require_in("find_package(keyspan CONFIG REQUIRED)" "${usage}")
require_in("PRIVATE keyspan::keyspan)" "${usage}")
