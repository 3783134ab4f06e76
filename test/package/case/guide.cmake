# The CMake of docs/guide/installing.md is what the consumer runs. On the line before each fence stands
#
#   <!-- cmake: <file> -->           the fence is that file, or
#   <!-- cmake: <file>#<region> -->  what stands in it between "# [region: ...]" and "# [end: ...]"
#
# and "<where you cloned it>" in the guide is ${KEYSPAN_TREE} in the file.
include(${CMAKE_CURRENT_LIST_DIR}/../tools.cmake)

file(READ ${TREE}/docs/guide/installing.md guide)
string(REPLACE ";" "<semicolon>" guide "${guide}")
string(REPLACE "[" "<open>" guide "${guide}")
string(REPLACE "]" "<close>" guide "${guide}")
string(REGEX MATCHALL "[^\n]*\n```cmake\n([^`]*)```" fences "${guide}")
string(REGEX MATCHALL "```cmake" all "${guide}")
list(LENGTH fences count)
list(LENGTH all expected)
if(count EQUAL 0 OR NOT count EQUAL expected)
  message(FATAL_ERROR "installing.md: ${count} of ${expected} CMake fences can be read")
endif()
foreach(fence IN LISTS fences)
  if(NOT fence MATCHES "^<!-- cmake: ([^ #]+)(#([a-z_]+))? -->\n```cmake\n(.*)```$")
    message(FATAL_ERROR "installing.md: a CMake fence that names no file:\n${fence}")
  endif()
  set(file "${CMAKE_MATCH_1}")
  set(region "${CMAKE_MATCH_3}")
  set(shown "${CMAKE_MATCH_4}")
  file(READ ${TREE}/${file} text)
  if(region)
    if(NOT text MATCHES "# \\[region: ${region}\\]\n(.*)# \\[end: ${region}\\]")
      message(FATAL_ERROR "installing.md: ${file} has no region ${region}")
    endif()
    set(text "${CMAKE_MATCH_1}")
  endif()
  string(REPLACE "<where you cloned it>" "\${KEYSPAN_TREE}" shown "${shown}")
  if(NOT shown STREQUAL text)
    message(FATAL_ERROR "installing.md shows\n${shown}\nbut ${file} says\n${text}")
  endif()
endforeach()
