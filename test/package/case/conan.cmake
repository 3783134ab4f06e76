# Conan itself, with a home of its own: it builds the package and runs test_package.
include(${CMAKE_CURRENT_LIST_DIR}/../tools.cmake)

set(ENV{CONAN_HOME} ${OUT}/home)
run(COMMAND ${conan} profile detect --force)
# test_package is built beside its sources, so it works on a copy of the tree.
file(REMOVE_RECURSE ${OUT}/tree)
foreach(part IN ITEMS conanfile.py LICENSE include test/package)
  cmake_path(GET part PARENT_PATH folder)
  file(COPY ${TREE}/${part} DESTINATION ${OUT}/tree/${folder})
endforeach()
run(COMMAND ${conan} create ${OUT}/tree --build=missing -s compiler.cppstd=20 OUTPUT output)
require_in("invalid_utf8: at /article_id" "${output}")
