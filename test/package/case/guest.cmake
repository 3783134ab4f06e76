# What add_subdirectory costs the project that does it: nothing.
include(${CMAKE_CURRENT_LIST_DIR}/../tools.cmake)

list(JOIN components "," found)
configure(${TREE}/test/package/guest ${OUT}/build -D KEYSPAN_TREE=${TREE} -D COMPONENTS=${found})
run(COMMAND ${CMAKE_COMMAND} --build ${OUT}/build)
file(REMOVE_RECURSE ${OUT}/prefix)
run(COMMAND ${CMAKE_COMMAND} --install ${OUT}/build --prefix ${OUT}/prefix)
file(GLOB_RECURSE installed RELATIVE ${OUT}/prefix ${OUT}/prefix/*)
if(NOT installed STREQUAL "guest/CMakeLists.txt")
  message(FATAL_ERROR "the guest installs: ${installed}")
endif()

# The target that a component needs may come from the guest as well.
configure(${TREE}/test/package/guest ${OUT}/own -D KEYSPAN_TREE=${TREE} -D COMPONENTS=curl,${found}
          -D MAKES_ITS_OWN=CURL::libcurl)
