# What the test runs: fetches the official client once, lets it make vectors, and compares.
set(client ${OUT}/client)

# package-lock.json says what is fetched, to the byte; where from, the machine's npm knows.
file(SHA256 ${FROM}/package-lock.json wanted)
set(fetched "")
if(EXISTS ${client}/fetched)
  file(READ ${client}/fetched fetched)
endif()
if(NOT fetched STREQUAL wanted)
  file(REMOVE_RECURSE ${client})
  file(COPY ${FROM}/package.json ${FROM}/package-lock.json DESTINATION ${client})
  execute_process(
    COMMAND ${NPM} ci --ignore-scripts --no-audit --no-fund --prefer-offline --fetch-retries=1 --fetch-timeout=30000
    WORKING_DIRECTORY ${client} TIMEOUT 240 RESULT_VARIABLE status OUTPUT_VARIABLE said ERROR_VARIABLE said)
  if(NOT status EQUAL 0)
    # Out of reach is one thing, something else than what was locked is another.
    if(status MATCHES "timeout" OR said MATCHES
       "E(NOTFOUND|AI_AGAIN|CONN[A-Z]+|TIMEDOUT|NETUNREACH|HOSTUNREACH|NOTCACHED|40[134]|5[0-9][0-9])|CERT|TIMEOUT")
      if(NOT "$ENV{CI}" STREQUAL "true")
        message(NOTICE "skipped: ${NAME} wants the npm package @azure/cosmos, and npm cannot fetch it")
        return()
      endif()
    endif()
    message(FATAL_ERROR "npm ci ended with ${status}:\n${said}")
  endif()
  file(WRITE ${client}/fetched ${wanted})
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
