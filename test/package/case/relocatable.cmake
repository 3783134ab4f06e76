# An installed tree works where it is moved to, whatever the layout it was installed in.
include(${CMAKE_CURRENT_LIST_DIR}/../tools.cmake)

install_keyspan(${OUT}/build ${OUT}/first -D CMAKE_INSTALL_INCLUDEDIR=include/keyspan-0.1
                -D CMAKE_INSTALL_DATADIR=lib/data)
file(REMOVE_RECURSE ${OUT}/second)
file(MAKE_DIRECTORY ${OUT}/second)
file(RENAME ${OUT}/first ${OUT}/second/prefix)
consume(find_package_plain -I ${OUT}/second/prefix/include/keyspan-0.1
        -D keyspan_DIR=${OUT}/second/prefix/lib/data/cmake/keyspan)

if(pkg_config)
  run(COMMAND ${CMAKE_COMMAND} -E env PKG_CONFIG_PATH=${OUT}/second/prefix/lib/data/pkgconfig
              ${pkg_config} --cflags keyspan OUTPUT flags)
  string(STRIP "${flags}" flags)
  string(REGEX REPLACE "^-I" "" include "${flags}")
  cmake_path(NORMAL_PATH include)
  if(NOT include STREQUAL "${OUT}/second/prefix/include/keyspan-0.1")
    message(FATAL_ERROR "keyspan.pc leads to ${flags}")
  endif()
endif()
