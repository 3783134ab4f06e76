# test/package/conan/recipe_test.py — what conanfile.py declares, packages and says, by the stand-in.
#
#   recipe_test.py TREE OUT VERSION STANDARD_LIBRARY found:COMPONENT,... CMAKE_COMMAND...
#
# The components are those that stand on what is installed here. Leaves the package in OUT/package, its CMake files in OUT/generators, and runs test_package with them.
import fnmatch
import importlib.util
import os
import shutil
import sys

import stand_in

tree, out, version, libcxx, found, *cmake = sys.argv[1:]
found = [component for component in found.removeprefix("found:").split(",") if component]
stand_in.install()
stand_in.CMake.command = cmake


def check(holds, sentence):
    if not holds:
        sys.exit(f"conanfile.py: {sentence}")


def recipe_in(folder):
    path = os.path.join(folder, "conanfile.py")
    spec = importlib.util.spec_from_file_location("recipe", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    classes = [c for c in vars(module).values() if isinstance(c, type)]
    recipes = [c for c in classes if issubclass(c, stand_in.ConanFile) and c.__module__ == "recipe"]
    check(len(recipes) == 1, f"{path} has one recipe")
    return recipes[0]


def profile(cppstd="20", libcxx="libstdc++11"):
    return {"os": "Linux", "arch": "x86_64", "build_type": "Release", "compiler": "clang",
            "compiler.cppstd": cppstd, "compiler.libcxx": libcxx}


recipe = recipe_in(tree)


def required(method="requirements", conf=None, options=None, **settings):
    made = recipe(profile(**settings), conf, options)
    getattr(made, method)()
    return sorted(made.required + made.test_required)


# --- what it declares -------------------------------------------------------------------------------

check(recipe.package_type == "header-library", "it is a header library")
check(recipe.license == "BSL-1.0", "the licence is named")
check(set(recipe.settings) == {"os", "arch", "compiler", "build_type"}, "it sees all settings")
components = "cosmos", "curl", "asio"
chosen = {f"with_{component}": True for component in components}
check(recipe.options == {name: [True, False] for name in chosen}, "its options are the components")
check(not hasattr(recipe, "version"), "the version stands in version.hpp alone")
check(recipe.no_copy_source is True, "sources are not copied for the build")
check(recipe.default_options == {**dict.fromkeys(chosen, False), "boost/*:header_only": True},
      "no component is wanted by default, and Boost as headers")

names = [r.split("/")[0] for r in required()]
check(names == ["boost", "range-v3"], f"with libstdc++ it requires Boost and range-v3, not {names}")
check("range-v3/0.12.0" in required(), "range-v3 is 0.12.0")
for name in ("libc++", "c++_static", "c++_shared"):
    names = [r.split("/")[0] for r in required(libcxx=name)]
    check(names == ["boost", "fast_float", "range-v3"],
          f"with {name} it requires fast_float too, not {names}")
made = recipe({"os": "Windows", "compiler": "msvc", "compiler.cppstd": "20"})
made.requirements()
check(len(made.required) == 2, "a compiler without the setting libcxx is no libc++")

for component, package in zip(components, ("nlohmann_json", "libcurl", "openssl")):
    names = [r.split("/")[0] for r in required(options={f"with_{component}": True})]
    check(names == sorted(["boost", "range-v3", package]), f"{component} requires {package}, not {names}")

check(required("build_requirements") == [], "a user of the package builds no test framework")
tests = {"user.keyspan:tests": True}
check([r.split("/")[0] for r in required("build_requirements", tests)]
      == ["catch2", "libcurl", "nlohmann_json", "openssl"], "tests want Catch2 and all components")
check([r.split("/")[0] for r in required("build_requirements", tests, chosen)] == ["catch2"],
      "what the components require is not required twice")
tests["tools.build:skip_test"] = True
check(required("build_requirements", tests) == [], "tools.build:skip_test is obeyed")

for cppstd, fine in (("17", False), ("gnu17", False), ("20", True), ("gnu20", True), ("23", True)):
    try:
        recipe(profile(cppstd=cppstd)).validate()
        accepted = True
    except stand_in.ConanInvalidConfiguration:
        accepted = False
    check(accepted == fine, f"C++{cppstd} is {'accepted' if fine else 'refused'}")

ids = []
for settings in (profile(), profile(cppstd="23", libcxx="libc++")):
    made = recipe(settings)
    made.package_id()
    ids.append(made.info.values)
check(ids == [{}, {}], "one package serves every setting")

# --- export, create, package ------------------------------------------------------------------------

shutil.rmtree(out, ignore_errors=True)
made = recipe(profile(libcxx=libcxx), options={f"with_{component}": True for component in found})
made.recipe_folder = tree
made.set_version()
check(made.version == version, f"the version is {version}, not {made.version}")

made.requirements()

made.source_folder = os.path.join(out, "source")
for pattern in recipe.exports_sources:
    folder = os.path.dirname(pattern)
    for where, _, files in os.walk(os.path.join(tree, folder)):
        for name in files:
            relative = os.path.relpath(os.path.join(where, name), tree)
            if fnmatch.fnmatch(relative, pattern):
                target = os.path.join(made.source_folder, relative)
                os.makedirs(os.path.dirname(target), exist_ok=True)
                shutil.copy2(os.path.join(where, name), target)
        if not folder:
            break

made.package_folder = os.path.join(out, "package")
made.layout()
made.package()
packaged = {os.path.relpath(os.path.join(where, name), made.package_folder)
            for where, _, files in os.walk(made.package_folder) for name in files}
expected = {os.path.relpath(os.path.join(where, name), tree)
            for where, _, files in os.walk(os.path.join(tree, "include")) for name in files}
expected.add("licenses/LICENSE")
check(packaged == expected, f"the package differs from the headers and the licence: {packaged ^ expected}")

# --- consume ----------------------------------------------------------------------------------------

plain = recipe(profile())
plain.package_info()
check(list(plain.cpp_info.components) == ["keyspan"], "a component that nobody wants has no target")

whole = recipe(profile(), options=chosen)
whole.requirements()
whole.package_info()
info = whole.cpp_info
check(info.properties["cmake_file_name"] == "keyspan", "find_package(keyspan) finds it")
check(info.properties["cmake_target_name"] != "keyspan::keyspan",
      "the target that links all components is another than keyspan::keyspan")
check(sorted(info.components) == sorted(["keyspan", *components]), "each component has a target")
for name, component in info.components.items():
    check(component.properties["cmake_target_name"] == f"keyspan::{name}", f"the target is keyspan::{name}")
    check(component.properties["pkg_config_name"] == ("keyspan" if name == "keyspan" else f"keyspan-{name}"),
          f"pkg-config knows {name}")
    check(component.bindirs == [] and component.libdirs == [], "headers have neither libraries nor programs")
    check(name == "keyspan" or "keyspan" in component.requires, f"{name} requires the core")
passed_on = {r.split("::")[0] for c in info.components.values() for r in c.requires if "::" in r}
check(passed_on == {r.split("/")[0] for r in whole.required}, "what it requires it passes on")

made.package_info()
generators = os.path.join(out, "generators")
stand_in.cmake_deps(made, generators)

folder = os.path.join(tree, recipe.test_package_folder)
tester_class = recipe_in(folder)
tester_class.tested_reference_str = f"keyspan/{version}"
tester = tester_class(profile())
tester.requirements()
check(tester.required == [f"keyspan/{version}"], "test_package requires the package under test")
tester.dependencies = {"keyspan": made}
tester.source_folder = folder
tester.build_folder = os.path.join(out, "test_package")
tester.generators_folder = generators
tester.layout()
tester.cpp.build.bindir = tester.build_folder
tester.build()
tester.test()
