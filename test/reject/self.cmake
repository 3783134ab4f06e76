# Runs reject.cmake on FILE and requires that it says COMPLAINT about it and fails, or, where COMPLAINT
# is empty, that it is content.
cmake_minimum_required(VERSION 3.25)

execute_process(COMMAND ${CMAKE_COMMAND} -D FILE=${FILE} -D COMPILER=${COMPILER} -D COMMANDS=${COMMANDS}
                        -D PROBE=${PROBE} -P ${CMAKE_CURRENT_LIST_DIR}/reject.cmake
                RESULT_VARIABLE code OUTPUT_VARIABLE output ERROR_VARIABLE output)
cmake_path(GET FILE FILENAME name)
set(said "")
if(output MATCHES "(^|\n)self/${name}: ([^\n]*)")
  set(said "${CMAKE_MATCH_2}")
endif()
if(NOT said STREQUAL COMPLAINT)
  message(FATAL_ERROR "the harness says about ${name}: '${said}', not '${COMPLAINT}'\n${output}")
elseif(COMPLAINT STREQUAL "" AND NOT code EQUAL 0)
  message(FATAL_ERROR "the harness fails on ${name}, which is sound\n${output}")
elseif(NOT COMPLAINT STREQUAL "" AND code EQUAL 0)
  message(FATAL_ERROR "the harness complains about ${name}, but its exit code is 0\n${output}")
endif()
