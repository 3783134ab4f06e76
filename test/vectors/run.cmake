# What the test runs: fetches the official client once, lets it make vectors, and compares.
include(${CMAKE_CURRENT_LIST_DIR}/../support/npm_ci.cmake)
set(client ${OUT}/client)
keyspan_npm_ci(has_client NAME ${NAME} WANTS @azure/cosmos NPM ${NPM} FROM ${FROM} INTO ${client})
if(NOT has_client)
  return()
endif()

foreach(seed IN ITEMS 1 $ENV{KEYSPAN_VECTORS_SEED})
  set(lines ${OUT}/lines_${seed}.tsv)
  execute_process(COMMAND ${NODE} ${FROM}/generate.mjs ${client}/node_modules/@azure/cosmos ${seed}
                  OUTPUT_FILE ${lines} ERROR_VARIABLE said RESULT_VARIABLE status)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "generate.mjs with the seed ${seed} ended with ${status}:\n${said}")
  endif()
  execute_process(COMMAND ${CHECK} INPUT_FILE ${lines} OUTPUT_VARIABLE said ERROR_VARIABLE said
                  RESULT_VARIABLE status)
  message(NOTICE "seed ${seed}:\n${said}")
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "what differs is in ${lines}; make it again with KEYSPAN_VECTORS_SEED=${seed}")
  endif()
endforeach()
