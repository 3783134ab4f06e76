# Conan's own check of the package: the consumer and those of the components that are wanted, built with
# the package and run.
import os

from conan import ConanFile
from conan.tools.build import can_run
from conan.tools.cmake import CMake, cmake_layout


class TestPackageConan(ConanFile):
    settings = "os", "arch", "compiler", "build_type"
    generators = "CMakeDeps", "CMakeToolchain"

    def requirements(self):
        self.requires(self.tested_reference_str)

    def layout(self):
        cmake_layout(self)

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def test(self):
        if can_run(self):
            programs = ["consumer"]
            for component in ("cosmos", "curl", "asio"):
                if self.dependencies["keyspan"].options.get_safe(f"with_{component}"):
                    programs.append(f"consumer_{component}")
            for name in programs:
                program = os.path.join(self.cpp.build.bindir, name)
                self.run(f'"{program}"', env="conanrun")
