# Packages that npm fetches for a test.
#
# keyspan_npm_ci(<variable> NAME <test> WANTS <package> NPM <npm> FROM <folder> INTO <folder>)
#
# Has npm put what FROM/package-lock.json says, to the byte, into INTO/node_modules, unless it is there;
# where from, the machine's npm knows. Several tests may share a folder. The variable is false where npm
# cannot reach what it should fetch: the test says "skipped: <test> wants <package>" then and is to end.
function(keyspan_npm_ci variable)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "NAME;WANTS;NPM;FROM;INTO" "")
  file(MAKE_DIRECTORY ${arg_INTO}/..)
  file(LOCK ${arg_INTO}.lock GUARD FUNCTION TIMEOUT 300)
  set(${variable} TRUE PARENT_SCOPE)
  file(SHA256 ${arg_FROM}/package-lock.json wanted)
  set(fetched "")
  if(EXISTS ${arg_INTO}/fetched)
    file(READ ${arg_INTO}/fetched fetched)
  endif()
  if(fetched STREQUAL wanted)
    return()
  endif()
  file(REMOVE_RECURSE ${arg_INTO})
  file(COPY ${arg_FROM}/package.json ${arg_FROM}/package-lock.json DESTINATION ${arg_INTO})
  execute_process(
    COMMAND ${arg_NPM} ci --ignore-scripts --no-audit --no-fund --prefer-offline --fetch-retries=1
            --fetch-timeout=30000
    WORKING_DIRECTORY ${arg_INTO} TIMEOUT 240 RESULT_VARIABLE status OUTPUT_VARIABLE said ERROR_VARIABLE said)
  if(NOT status EQUAL 0)
    # Out of reach is one thing, something else than what was locked is another.
    if(status MATCHES "timeout" OR said MATCHES
       "E(NOTFOUND|AI_AGAIN|CONN[A-Z]+|TIMEDOUT|NETUNREACH|HOSTUNREACH|NOTCACHED|40[134]|5[0-9][0-9])|CERT|TIMEOUT")
      if(NOT "$ENV{CI}" STREQUAL "true")
        message(NOTICE "skipped: ${arg_NAME} wants the npm package ${arg_WANTS}, and npm cannot fetch it")
        set(${variable} FALSE PARENT_SCOPE)
        return()
      endif()
    endif()
    message(FATAL_ERROR "npm ci ended with ${status}:\n${said}")
  endif()
  file(WRITE ${arg_INTO}/fetched ${wanted})
endfunction()
