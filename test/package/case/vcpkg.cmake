# vcpkg itself: the overlay port, and the consumer with what it installed.
include(${CMAKE_CURRENT_LIST_DIR}/../tools.cmake)

run(COMMAND ${vcpkg} install "keyspan[cosmos,curl,asio]" --classic --overlay-ports=${TREE}/test/package/vcpkg/ports
            --x-install-root=${OUT}/installed --x-buildtrees-root=${OUT}/buildtrees
            --x-packages-root=${OUT}/packages)
file(GLOB folder ${OUT}/installed/*/share/keyspan)
cmake_path(GET folder PARENT_PATH folder)
cmake_path(GET folder PARENT_PATH prefix)
# Their own toolchain finds what the components stand on.
cmake_path(GET vcpkg PARENT_PATH root)
consume(find_package -isystem ${prefix}/include -D KEYSPAN_COMPONENTS=cosmos,curl,asio
        -D CMAKE_TOOLCHAIN_FILE=${root}/scripts/buildsystems/vcpkg.cmake -D VCPKG_MANIFEST_MODE=OFF
        -D VCPKG_INSTALLED_DIR=${OUT}/installed)
consume(find_package_plain -I ${prefix}/include -D CMAKE_PREFIX_PATH=${prefix})
