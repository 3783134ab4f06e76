# What the tests with npm packages run: fetches the package, then a command beside a server.
#
# KIND is own or other, WHERE the server of with_server.mjs, COMMAND a list.
include(${CMAKE_CURRENT_LIST_DIR}/../../support/npm_ci.cmake)
keyspan_npm_ci(has_package NAME ${NAME} WANTS ${WANTS} NPM ${NPM} FROM ${FROM} INTO ${INTO})
if(NOT has_package)
  return()
endif()
execute_process(COMMAND ${NODE} ${CMAKE_CURRENT_LIST_DIR}/with_server.mjs ${KIND} ${WHERE} ${COMMAND}
                TIMEOUT 150 RESULT_VARIABLE status)
if(NOT status EQUAL 0)
  message(FATAL_ERROR "it ended with ${status}")
endif()
