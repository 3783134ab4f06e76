include(${CMAKE_CURRENT_LIST_DIR}/../tools.cmake)

consume(find_package -isystem ${PREFIX}/include -D CMAKE_PREFIX_PATH=${PREFIX})
consume(find_package_plain -I ${PREFIX}/include -D CMAKE_PREFIX_PATH=${PREFIX})
