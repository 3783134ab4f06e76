# Installs once for all others, and looks at what was installed: every header, byte for byte, whatever of
# the components' dependencies is here, nothing that depends on the machine it was built on, nothing that is
# ours alone.
include(${CMAKE_CURRENT_LIST_DIR}/../tools.cmake)

install_keyspan(${OUT}/build ${PREFIX} -D CMAKE_DISABLE_FIND_PACKAGE_nlohmann_json=ON
                -D CMAKE_DISABLE_FIND_PACKAGE_CURL=ON -D CMAKE_DISABLE_FIND_PACKAGE_OpenSSL=ON)

file(GLOB_RECURSE expected RELATIVE ${TREE} ${TREE}/include/*.hpp)
list(APPEND expected share/cmake/keyspan/keyspan-config.cmake
                     share/cmake/keyspan/keyspan-config-version.cmake
                     share/cmake/keyspan/keyspan-targets.cmake
                     share/cmake/keyspan/keyspan-components.cmake
                     share/pkgconfig/keyspan.pc
                     share/pkgconfig/keyspan-asio.pc
                     share/pkgconfig/keyspan-cosmos.pc
                     share/pkgconfig/keyspan-curl.pc)
file(GLOB_RECURSE installed RELATIVE ${PREFIX} ${PREFIX}/*)
set(missing ${expected})
list(REMOVE_ITEM missing ${installed})
set(superfluous ${installed})
list(REMOVE_ITEM superfluous ${expected})
if(missing OR superfluous)
  message(FATAL_ERROR "missing: ${missing}\nsuperfluous: ${superfluous}")
endif()
list(FILTER expected INCLUDE REGEX "^include/")
foreach(header IN LISTS expected)
  file(SHA256 ${TREE}/${header} here)
  file(SHA256 ${PREFIX}/${header} there)
  if(NOT here STREQUAL there)
    message(FATAL_ERROR "${header} was changed on its way")
  endif()
endforeach()

file(GLOB_RECURSE texts ${PREFIX}/share/*)
foreach(file IN LISTS texts)
  file(READ ${file} text)
  foreach(word IN ITEMS ${TREE} ${OUT} ${PREFIX} keyspan_strict Catch2 -Werror)
    string(FIND "${text}" "${word}" position)
    if(NOT position EQUAL -1)
      message(FATAL_ERROR "${file} names ${word}")
    endif()
  endforeach()
endforeach()
