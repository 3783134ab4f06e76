# While the first number is 0, the second one says what is compatible. And the installed tree serves every
# architecture: the version file is asked from one with another size of pointers.
include(${CMAKE_CURRENT_LIST_DIR}/../tools.cmake)

string(REGEX MATCHALL "[0-9]+" numbers ${version})
list(POP_FRONT numbers major minor patch)
math(EXPR next_major "${major} + 1")
math(EXPR next_minor "${minor} + 1")
math(EXPR next_patch "${patch} + 1")

file(WRITE ${OUT}/ask.cmake [[
cmake_minimum_required(VERSION 3.25)
set(CMAKE_SIZEOF_VOID_P 2)
include(${VERSION_FILE})
set(accepted FALSE)
if(PACKAGE_VERSION_COMPATIBLE AND NOT PACKAGE_VERSION_UNSUITABLE)
  set(accepted TRUE)
endif()
message(NOTICE "accepted: ${accepted}")
]])
function(ask wanted expected)
  string(REPLACE "." ";" numbers ${wanted})
  list(LENGTH numbers count)
  list(APPEND numbers 0 0)
  list(POP_FRONT numbers major minor patch)
  run(COMMAND ${CMAKE_COMMAND} -D PACKAGE_FIND_NAME=keyspan -D PACKAGE_FIND_VERSION=${wanted}
              -D PACKAGE_FIND_VERSION_MAJOR=${major} -D PACKAGE_FIND_VERSION_MINOR=${minor}
              -D PACKAGE_FIND_VERSION_PATCH=${patch} -D PACKAGE_FIND_VERSION_COUNT=${count}
              -D VERSION_FILE=${PREFIX}/share/cmake/keyspan/keyspan-config-version.cmake -P ${OUT}/ask.cmake
      OUTPUT output)
  if(NOT output MATCHES "accepted: ${expected}")
    message(FATAL_ERROR "keyspan ${version} asked for ${wanted}: ${output}, expected was ${expected}")
  endif()
endfunction()

ask(${major}.${minor} TRUE)
ask(${version} TRUE)
ask(${major}.${minor}.${next_patch} FALSE)
ask(${major}.${next_minor} FALSE)
ask(${next_major}.${minor} FALSE)
if(minor GREATER 0)
  math(EXPR last_minor "${minor} - 1")
  ask(${major}.${last_minor} FALSE)
endif()

# And once through find_package itself.
set(find ${CMAKE_COMMAND} -G ${generator} -S ${TREE}/test/package/question -B ${OUT}/build -C ${SETTINGS}
    -D CMAKE_PREFIX_PATH=${PREFIX})
file(REMOVE_RECURSE ${OUT}/build)
run(COMMAND ${find} -D WANTED=${major}.${minor} OUTPUT output)
require_in("found: 1" "${output}")
run(COMMAND ${find} -D WANTED=${major}.${next_minor} OUTPUT output)
require_in("found: 0" "${output}")
