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
    # The components. Their headers are packaged always; what they stand on is required by who wants them.
    options = {
        "with_cosmos": [True, False],
        "with_curl": [True, False],
        "with_asio": [True, False],
    }
    # Boost as headers is a wish, not a demand: whoever needs its compiled parts sets it otherwise.
    default_options = {
        "with_cosmos": False,
        "with_curl": False,
        "with_asio": False,
        "boost/*:header_only": True,
    }
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
        if self.options.with_cosmos:
            self.requires("nlohmann_json/[>=3.11 <4]")
        if self.options.with_curl:
            self.requires("libcurl/[>=7.80 <9]")
        if self.options.with_asio:
            self.requires("openssl/[>=1.1 <4]")

    def build_requirements(self):
        # Only for working on keyspan itself: conan install . -c user.keyspan:tests=True
        wanted = self.conf.get("user.keyspan:tests", default=False, check_type=bool)
        skipped = self.conf.get("tools.build:skip_test", default=False, check_type=bool)
        if wanted and not skipped:
            self.test_requires("catch2/[>=3.7 <4]")
            # What is required anyway is not asked for a second time.
            if not self.options.with_cosmos:
                self.test_requires("nlohmann_json/[>=3.11 <4]")
            if not self.options.with_curl:
                self.test_requires("libcurl/[>=7.80 <9]")
            if not self.options.with_asio:
                self.test_requires("openssl/[>=1.1 <4]")

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
        # Conan links all components to the package's own target, so that one is not keyspan::keyspan.
        self.cpp_info.set_property("cmake_target_name", "keyspan::all")
        self.cpp_info.set_property("pkg_config_name", "keyspan-all")
        core = self._component("keyspan", "keyspan")
        core.requires = ["range-v3::range-v3", "boost::headers"]
        if self._is_libcxx:
            core.requires.append("fast_float::fast_float")
        if self.options.with_cosmos:
            cosmos = self._component("cosmos", "keyspan-cosmos")
            cosmos.requires = ["keyspan", "nlohmann_json::nlohmann_json"]
        if self.options.with_curl:
            curl = self._component("curl", "keyspan-curl")
            curl.requires = ["keyspan", "libcurl::libcurl"]
        if self.options.with_asio:
            asio = self._component("asio", "keyspan-asio")
            asio.requires = ["keyspan", "boost::headers", "openssl::ssl", "openssl::crypto"]
            if self.settings.get_safe("os") in ("Linux", "FreeBSD"):
                asio.system_libs = ["pthread"]

    def _component(self, name, pkg_config_name):
        component = self.cpp_info.components[name]
        component.set_property("cmake_target_name", f"keyspan::{name}")
        component.set_property("pkg_config_name", pkg_config_name)
        component.bindirs = []
        component.libdirs = []
        return component

    @property
    def _is_libcxx(self):
        # libc++ reads no doubles before version 20; under the names it has on Android, too.
        names = ("libc++", "c++_static", "c++_shared")
        return str(self.settings.get_safe("compiler.libcxx")) in names
