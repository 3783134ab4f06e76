# The same headers under the next language version, where std::expected exists and result converts to it.
include(${CMAKE_CURRENT_LIST_DIR}/../tools.cmake)

consume(find_package_plain -I ${PREFIX}/include -D CMAKE_PREFIX_PATH=${PREFIX}
        -D CMAKE_CXX_STANDARD=23 -D CMAKE_CXX_EXTENSIONS=OFF)
if(EXISTS ${OUT}/find_package_plain/compile_commands.json AND NOT MSVC)
  file(READ ${OUT}/find_package_plain/compile_commands.json commands)
  if(NOT commands MATCHES " -std=c\\+\\+(23|2b) ")
    message(FATAL_ERROR "not compiled as C++23:\n${commands}")
  endif()
endif()
