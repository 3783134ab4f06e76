# A test that cannot run on this machine, reported by name instead of left out in silence.
#
# keyspan_skipped_test(NAME <test> WANTS <tool> [OBTAINABLE] [LABELS <label>...])
#
# A ctest entry that says "skipped: <test> wants <tool>" and counts as skipped. OBTAINABLE says that
# Debian or npm has the tool: with CI=true in the environment of ctest such an entry fails, since there
# somebody forgot to install it. LABELS is quick where nothing is said.
function(keyspan_skipped_test)
  cmake_parse_arguments(PARSE_ARGV 0 arg "OBTAINABLE" "NAME;WANTS" "LABELS")
  if(NOT arg_NAME OR NOT arg_WANTS OR arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "keyspan_skipped_test(NAME <test> WANTS <tool> [OBTAINABLE] [LABELS ...])")
  endif()
  if(NOT arg_LABELS)
    set(arg_LABELS quick)
  endif()
  add_test(NAME ${arg_NAME}
           COMMAND ${CMAKE_COMMAND} -D "NAME=${arg_NAME}" -D "WANTS=${arg_WANTS}"
                   -D OBTAINABLE=${arg_OBTAINABLE} -P ${CMAKE_CURRENT_FUNCTION_LIST_FILE})
  set_tests_properties(${arg_NAME} PROPERTIES LABELS "${arg_LABELS}"
                       SKIP_REGULAR_EXPRESSION "skipped: .* wants ")
endfunction()

# What the entry runs is this file.
if(CMAKE_SCRIPT_MODE_FILE STREQUAL CMAKE_CURRENT_LIST_FILE)
  if(OBTAINABLE AND "$ENV{CI}" STREQUAL "true")
    message(FATAL_ERROR "${NAME} wants ${WANTS}, which can be installed: with CI=true nothing is left out")
  endif()
  message(NOTICE "skipped: ${NAME} wants ${WANTS}")
endif()
