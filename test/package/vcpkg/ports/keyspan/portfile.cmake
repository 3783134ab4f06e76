# An overlay port: it builds the tree that it lies in. In a registry the sources come from a release
# instead, and everything below them stays as it is:
#
#   vcpkg_from_github(
#       OUT_SOURCE_PATH SOURCE_PATH
#       REPO <owner>/keyspan
#       REF "v${VERSION}"
#       SHA512 <of the archive, in lower case>
#       HEAD_REF main
#   )
get_filename_component(SOURCE_PATH "${CURRENT_PORT_DIR}/../../../../.." ABSOLUTE)

set(VCPKG_BUILD_TYPE release) # header-only

vcpkg_cmake_configure(
    SOURCE_PATH "${SOURCE_PATH}"
    OPTIONS
        -DKEYSPAN_BUILD_TESTS=OFF
        -DKEYSPAN_BUILD_EXAMPLES=OFF
        -DKEYSPAN_BUILD_BENCH=OFF
        "-DKEYSPAN_INSTALL_CMAKEDIR=share/${PORT}"
)
vcpkg_cmake_install()
vcpkg_cmake_config_fixup()

# What a component requires is there with its feature.
foreach(component IN ITEMS asio cosmos curl)
    if(NOT component IN_LIST FEATURES)
        file(REMOVE "${CURRENT_PACKAGES_DIR}/share/pkgconfig/keyspan-${component}.pc")
    endif()
endforeach()
vcpkg_fixup_pkgconfig()

file(INSTALL "${CURRENT_PORT_DIR}/usage" DESTINATION "${CURRENT_PACKAGES_DIR}/share/${PORT}")
vcpkg_install_copyright(FILE_LIST "${SOURCE_PATH}/LICENSE")
