# An installed tree works where it is moved to, whatever the layout it was installed in.
include(${CMAKE_CURRENT_LIST_DIR}/../tools.cmake)

install_keyspan(${OUT}/build ${OUT}/first -D CMAKE_INSTALL_INCLUDEDIR=include/keyspan-0.1
                -D CMAKE_INSTALL_DATADIR=lib/data)
file(REMOVE_RECURSE ${OUT}/second)
file(MAKE_DIRECTORY ${OUT}/second)
file(RENAME ${OUT}/first ${OUT}/second/prefix)
consume(find_package_plain -I ${OUT}/second/prefix/include/keyspan-0.1
        -D keyspan_DIR=${OUT}/second/prefix/lib/data/cmake/keyspan)

pc_leads_to(${OUT}/second/prefix/lib/data/pkgconfig ${OUT}/second/prefix/include/keyspan-0.1)
