# conanfile.py by a stand-in for Conan, and the consumer with the package that comes out.
include(${CMAKE_CURRENT_LIST_DIR}/../tools.cmake)

set(libcxx libstdc++11)
if(CMAKE_CXX_FLAGS MATCHES "-stdlib=libc\\+\\+")
  set(libcxx libc++)
endif()
list(JOIN components "," found)
run(COMMAND ${python} -B ${TREE}/test/package/conan/recipe_test.py ${TREE} ${OUT}/cache ${version} ${libcxx}
            found:${found} ${CMAKE_COMMAND} -G ${generator} -C ${SETTINGS} OUTPUT output)
require_in("invalid_utf8: at /article_id" "${output}")
foreach(component IN LISTS components)
  require_in("keyspan::${component} works" "${output}")
endforeach()
# The language version comes from the profile, by way of CMakeToolchain.
set(options -D CMAKE_PREFIX_PATH=${OUT}/cache/generators -D CMAKE_CXX_STANDARD=20)
consume(find_package -isystem ${OUT}/cache/package/include ${options})
consume(find_package_plain -I ${OUT}/cache/package/include ${options})
