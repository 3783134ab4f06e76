# test/package/conan/stand_in.py — as much of Conan 2 as our two recipes touch, for machines without it.
#
# What Conan would compute is computed here from the same declarations: folders, options, requirements,
# and the CMake package that CMakeDeps writes from cpp_info. Whatever is asked of it that Conan does not
# have, or that is not modelled, is an AttributeError or an ImportError.
import collections
import fnmatch
import os
import shutil
import subprocess
import sys
import types


class ConanInvalidConfiguration(Exception):
    pass


class Settings:
    def __init__(self, values):
        self._values = values

    def get_safe(self, name, default=None):
        return self._values.get(name, default)


class Conf:
    def __init__(self, values):
        self._values = values

    def get(self, name, default=None, check_type=None):
        value = self._values.get(name, default)
        if check_type is not None and not isinstance(value, check_type):
            raise TypeError(f"{name} is no {check_type}")
        return value


class Info:
    def __init__(self, values):
        self.values = dict(values)

    def clear(self):
        self.values.clear()


class Options:
    def __init__(self, declared, defaults, chosen):
        own = {name: value for name, value in defaults.items() if ":" not in name}
        for name, value in {**own, **chosen}.items():
            if value not in declared[name]:
                raise ValueError(f"{name} cannot be {value}")
        self.__dict__.update(own)
        self.__dict__.update(chosen)

    def get_safe(self, name, default=None):
        return self.__dict__.get(name, default)


class Component:
    properties_known = "cmake_target_name", "pkg_config_name"

    def __init__(self):
        self.includedirs = ["include"]
        self.libdirs = ["lib"]
        self.bindirs = ["bin"]
        self.requires = []
        self.system_libs = []
        self.defines = []
        self.properties = {}

    def set_property(self, name, value):
        if name not in self.properties_known:
            raise AttributeError(f"no property {name}")
        self.properties[name] = value


class CppInfo(Component):
    properties_known = "cmake_file_name", "cmake_target_name", "pkg_config_name", "cmake_find_mode"

    def __init__(self):
        super().__init__()
        self.components = collections.defaultdict(Component)


class ConanFile:
    options, default_options = {}, {}

    def __init__(self, settings, conf=None, options=None):
        declared = self.settings if isinstance(self.settings, tuple) else (self.settings,)
        for name in settings:
            if name.split(".")[0] not in declared:
                raise AttributeError(f"{name} is not among the recipe's settings")
        self.settings = Settings(settings)
        self.conf = Conf(conf or {})
        self.options = Options(self.options, self.default_options, options or {})
        self.dependencies = {}
        self.info = Info(settings)
        self.cpp_info = CppInfo()
        self.cpp = types.SimpleNamespace(build=types.SimpleNamespace(bindir="."))
        self.required, self.test_required, self.laid_out = [], [], False

    def requires(self, reference):
        self.required.append(reference)

    def test_requires(self, reference):
        self.test_required.append(reference)

    def run(self, command, env=None):
        subprocess.run(command, shell=True, check=True, cwd=self.build_folder)


def check_min_cppstd(conanfile, cppstd):
    used = conanfile.settings.get_safe("compiler.cppstd")
    if used is None or int(used.removeprefix("gnu")) < int(cppstd):
        raise ConanInvalidConfiguration(f"C++{cppstd} is wanted, this is {used}")


def copy(conanfile, pattern, src, dst):
    copied = []
    for folder, _, files in os.walk(src):
        for name in files:
            relative = os.path.relpath(os.path.join(folder, name), src)
            if fnmatch.fnmatch(relative, pattern):
                target = os.path.join(dst, relative)
                os.makedirs(os.path.dirname(target), exist_ok=True)
                copied.append(shutil.copy2(os.path.join(src, relative), target))
    return copied


def load(conanfile, path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def cmake_layout(conanfile):
    conanfile.laid_out = True


class CMake:
    command = []  # set by the test: how this machine configures a project

    def __init__(self, conanfile):
        self._conanfile = conanfile

    def configure(self):
        c = self._conanfile
        shutil.rmtree(c.build_folder, ignore_errors=True)
        cppstd = c.settings.get_safe("compiler.cppstd")
        self._run([*self.command, "-S", c.source_folder, "-B", c.build_folder,
                   f"-DCMAKE_PREFIX_PATH={c.generators_folder}",
                   f"-DCMAKE_CXX_STANDARD={cppstd}"])  # which CMakeToolchain does

    def build(self):
        self._run([self.command[0], "--build", self._conanfile.build_folder])

    @staticmethod
    def _run(command):
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if done.returncode != 0:
            sys.exit(f"failed: {command}\n{done.stdout}")


# The targets behind the components of the packages we require, and the CMake packages that have them.
TARGETS = {
    "range-v3::range-v3": ("range-v3", "range-v3::range-v3"),
    "boost::headers": ("Boost", "Boost::headers"),
    "fast_float::fast_float": ("FastFloat", "FastFloat::fast_float"),
    "nlohmann_json::nlohmann_json": ("nlohmann_json", "nlohmann_json::nlohmann_json"),
    "libcurl::libcurl": ("CURL", "CURL::libcurl"),
    "openssl::ssl": ("OpenSSL", "OpenSSL::SSL"),
    "openssl::crypto": ("OpenSSL", "OpenSSL::Crypto"),
}


def interface(target, libraries, includes):
    return [
        f"if(NOT TARGET {target})",
        f"  add_library({target} INTERFACE IMPORTED)",
        f"  set_target_properties({target} PROPERTIES",
        f"    INTERFACE_INCLUDE_DIRECTORIES \"{';'.join(includes)}\"",
        f"    INTERFACE_LINK_LIBRARIES \"{';'.join(libraries)}\")",
        "endif()",
    ]


def cmake_deps(conanfile, folder):
    """What CMakeDeps makes of the recipe's cpp_info."""
    info = conanfile.cpp_info
    file_name = info.properties["cmake_file_name"]
    if info.requires:
        raise ValueError("a package with components requires nothing but through them")
    os.makedirs(folder, exist_ok=True)
    lines = ["include(CMakeFindDependencyMacro)"]
    every = []
    for component in info.components.values():
        libraries = list(component.system_libs)
        for required in component.requires:
            if "::" in required:
                package, library = TARGETS[required]
                lines.append(f"find_dependency({package})")
            else:
                library = info.components[required].properties["cmake_target_name"]
            libraries.append(library)
        includes = [os.path.join(conanfile.package_folder, d) for d in component.includedirs]
        every.append(component.properties["cmake_target_name"])
        lines += interface(every[-1], libraries, includes)
    lines += interface(info.properties["cmake_target_name"], every, [])
    with open(os.path.join(folder, f"{file_name}-config.cmake"), "w", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n")
    with open(os.path.join(folder, f"{file_name}-config-version.cmake"), "w", encoding="utf-8") as file:
        file.write(f"set(PACKAGE_VERSION {conanfile.version})\nset(PACKAGE_VERSION_COMPATIBLE TRUE)\n")


def install():
    """Makes `import conan` find all this."""
    modules = {
        "conan": {"ConanFile": ConanFile},
        "conan.errors": {"ConanInvalidConfiguration": ConanInvalidConfiguration},
        "conan.tools": {},
        "conan.tools.build": {"check_min_cppstd": check_min_cppstd, "can_run": lambda c: True},
        "conan.tools.cmake": {"CMake": CMake, "cmake_layout": cmake_layout},
        "conan.tools.files": {"copy": copy, "load": load},
    }
    for name, content in modules.items():
        module = types.ModuleType(name)
        module.__dict__.update(content)
        sys.modules[name] = module
