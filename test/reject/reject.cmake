# Tells whether FILE fails to compile for the reason it states. Run by cmake -P with
#
#   FILE      the file that must not compile
#   COMPILER  CMAKE_CXX_COMPILER_ID
#   COMMANDS  compile_commands.json
#   PROBE     the file in it whose command line is used
#
# FILE begins with the reason:
#
#   // reject: and_then takes a function that returns a result
#
# text, or a regular expression of CMake, that must stand in one line of the diagnostics; the source lines
# that a compiler quotes do not count. Keep it within 100 columns, or clang-format breaks it. Where one
# compiler words it differently, `// reject-gcc:`, `// reject-clang:` or `// reject-msvc:` takes its
# place. With KEYSPAN_GOOD_TWIN defined the same file must compile, so that nothing but the lines left
# out is at fault.
cmake_minimum_required(VERSION 3.25)

cmake_path(GET FILE PARENT_PATH folder)
cmake_path(GET folder FILENAME folder)
cmake_path(GET FILE FILENAME name)

function(complain complaint)
  message(NOTICE "${folder}/${name}: ${complaint}")
  foreach(line IN LISTS ARGN)
    message(NOTICE "  ${line}")
  endforeach()
  message(FATAL_ERROR "not rejected as it should be")
endfunction()

# The first lines of the diagnostics, as a list.
function(first_lines text result)
  string(REGEX REPLACE "[][;]" " " text "${text}")  # lists would split and join there
  string(REPLACE "\n" ";" lines "${text}")
  list(LENGTH lines count)
  list(SUBLIST lines 0 20 lines)
  if(count GREATER 20)
    math(EXPR more "${count} - 20")
    list(APPEND lines "... and ${more} lines more")
  endif()
  set(${result} "${lines}" PARENT_SCOPE)
endfunction()

# --- the reason -------------------------------------------------------------------------------------

if(COMPILER STREQUAL "GNU")
  set(dialect gcc)
elseif(COMPILER MATCHES "Clang")
  set(dialect clang)
else()
  set(dialect msvc)
endif()
file(READ ${FILE} text)
set(reason "")
foreach(word IN ITEMS reject reject-${dialect})
  if(text MATCHES "(^|\n)// ${word}: *([^\n]+)")
    string(STRIP "${CMAKE_MATCH_2}" reason)
  endif()
endforeach()
if(reason STREQUAL "")
  complain("it states no reason" "its first line should be: // reject: <what the diagnostics say>")
endif()
# Whether the reason stands in one of the lines, as it is or as a regular expression.
function(stands_in diagnostics result)
  string(FIND "${diagnostics}" "${reason}" position)
  if(position GREATER -1)
    set(${result} TRUE PARENT_SCOPE)
    return()
  endif()
  set(${result} FALSE PARENT_SCOPE)
  string(APPEND diagnostics "\n")
  while(diagnostics MATCHES "${reason}")
    string(FIND "${diagnostics}" "\n" end)
    string(SUBSTRING "${diagnostics}" 0 ${end} line)
    if(line MATCHES "${reason}")
      set(${result} TRUE PARENT_SCOPE)
      return()
    elseif(end EQUAL -1)
      return()
    endif()
    math(EXPR next "${end} + 1")
    string(SUBSTRING "${diagnostics}" ${next} -1 diagnostics)
  endwhile()
endfunction()
stands_in("" always)
if(always)
  complain("its reason is satisfied by anything" "reason: ${reason}")
endif()

# --- the compiler -----------------------------------------------------------------------------------

file(STRINGS ${COMMANDS} entry REGEX "\"command\": .*${PROBE}['\\\"]*\"")
string(REGEX REPLACE ",[ \t]*$" "" entry "${entry}")
string(JSON command ERROR_VARIABLE error GET "{${entry}}" command)
if(error)
  message(FATAL_ERROR "${COMMANDS} has no command for ${PROBE}: ${error}")
endif()
separate_arguments(command NATIVE_COMMAND "${command}")
set(arguments)
set(skip_next FALSE)
foreach(argument IN LISTS command)
  if(skip_next)
    set(skip_next FALSE)
  elseif(argument STREQUAL "-o")
    set(skip_next TRUE)
  elseif(NOT argument MATCHES "^([-/]c|[-/]F[od].*)$" AND NOT argument STREQUAL PROBE)
    list(APPEND arguments "${argument}")
  endif()
endforeach()
if(dialect STREQUAL "gcc")
  list(APPEND arguments -fsyntax-only -fdiagnostics-color=never -fno-diagnostics-show-caret)
elseif(dialect STREQUAL "clang")
  list(APPEND arguments -fsyntax-only -fno-color-diagnostics -fno-caret-diagnostics)
else()
  list(APPEND arguments /nologo /Zs)
endif()

function(compile exit_code diagnostics)
  execute_process(COMMAND ${CMAKE_COMMAND} -E env LC_ALL=C ${arguments} ${ARGN} ${FILE}
                  RESULT_VARIABLE code OUTPUT_VARIABLE text ERROR_VARIABLE text)
  set(${exit_code} "${code}" PARENT_SCOPE)
  set(${diagnostics} "${text}" PARENT_SCOPE)
endfunction()

# --- the verdict ------------------------------------------------------------------------------------

compile(code diagnostics)
if(code EQUAL 0)
  complain("it compiled" "reason not met: ${reason}")
endif()
stands_in("${diagnostics}" for_that_reason)
if(NOT for_that_reason)
  first_lines("${diagnostics}" lines)
  complain("it failed for another reason" "stated: ${reason}" ${lines})
endif()
compile(code diagnostics -DKEYSPAN_GOOD_TWIN)
if(NOT code EQUAL 0)
  first_lines("${diagnostics}" lines)
  complain("its good twin does not compile" ${lines})
endif()
