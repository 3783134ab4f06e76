# The Conan 2 recipe of keyspan, for `conan create .` in a checkout.
import os
import re

from conan import ConanFile
from conan.tools.build import check_min_cppstd
from conan.tools.cmake import cmake_layout
from conan.tools.files import copy, load

required_conan_version = ">=2.0"


class KeyspanConan(ConanFile):
    name = "keyspan"
    description = (
        "Partition keys, hash ranges, lazy feeds, ordered merging and leases as C++20 headers"
    )
    license = "BSL-1.0"
    topics = ("partitioning", "change-feed", "leases", "ranges", "header-only")
    package_type = "header-library"
    settings = "os", "arch", "compiler", "build_type"
    # A wish, not a demand: whoever needs Boost's compiled parts sets it otherwise.
    default_options = {"boost/*:header_only": True}
    generators = "CMakeDeps", "CMakeToolchain"
    exports_sources = "include/*", "LICENSE"
    no_copy_source = True
    test_package_folder = "test/package/test_package"

    def set_version(self):
        header = load(self, os.path.join(self.recipe_folder, "include/keyspan/core/version.hpp"))
        numbers = re.findall(r"#define KEYSPAN_VERSION_(?:MAJOR|MINOR|PATCH) (\d+)", header)
        self.version = ".".join(numbers)

    def layout(self):
        cmake_layout(self)

    def requirements(self):
        self.requires("range-v3/0.12.0")
        self.requires("boost/[>=1.81 <2]")
        if self._is_libcxx:
            self.requires("fast_float/[>=3.5 <9]")

    def build_requirements(self):
        # Only for working on keyspan itself: conan install . -c user.keyspan:tests=True
        wanted = self.conf.get("user.keyspan:tests", default=False, check_type=bool)
        skipped = self.conf.get("tools.build:skip_test", default=False, check_type=bool)
        if wanted and not skipped:
            self.test_requires("catch2/[>=3.7 <4]")
            self.test_requires("nlohmann_json/[>=3.11 <4]")

    def validate(self):
        check_min_cppstd(self, 20)

    def package_id(self):
        self.info.clear()

    def package(self):
        copy(self, "LICENSE", self.source_folder, os.path.join(self.package_folder, "licenses"))
        copy(
            self,
            "*.hpp",
            os.path.join(self.source_folder, "include"),
            os.path.join(self.package_folder, "include"),
        )

    def package_info(self):
        self.cpp_info.set_property("cmake_file_name", "keyspan")
        self.cpp_info.set_property("cmake_target_name", "keyspan::keyspan")
        # A component without requirements of its own.
        self.cpp_info.set_property("cmake_target_aliases", ["keyspan::cosmos"])
        self.cpp_info.set_property("pkg_config_name", "keyspan")
        self.cpp_info.bindirs = []
        self.cpp_info.libdirs = []
        self.cpp_info.requires = ["range-v3::range-v3", "boost::headers"]
        if self._is_libcxx:
            self.cpp_info.requires.append("fast_float::fast_float")

    @property
    def _is_libcxx(self):
        # libc++ reads no doubles before version 20; under the names it has on Android, too.
        names = ("libc++", "c++_static", "c++_shared")
        return str(self.settings.get_safe("compiler.libcxx")) in names
