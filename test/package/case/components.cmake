# Asking for what does not exist is answered in words.
include(${CMAKE_CURRENT_LIST_DIR}/../tools.cmake)

set(question ${TREE}/test/package/question)
set(ask ${CMAKE_COMMAND} -G ${generator} -S ${question} -B ${OUT}/build -C ${SETTINGS}
    -D CMAKE_PREFIX_PATH=${PREFIX})
file(REMOVE_RECURSE ${OUT}/build)

run(COMMAND ${ask} "-DWANTED=0.1" OUTPUT output)
require_in("found: 1" "${output}")
run(COMMAND ${ask} "-DWANTED=0.1 REQUIRED COMPONENTS cosmos OPTIONAL_COMPONENTS nor_this" OUTPUT output)
require_in("found: 1" "${output}")
run(COMMAND ${ask} "-DWANTED=0.1 COMPONENTS no_such_thing OPTIONAL_COMPONENTS nor_this" OUTPUT output)
require_in("found: 0" "${output}")
require_in("refused: keyspan ${version} has no component: no_such_thing\n" "${output}")
require_in("no_such_thing: FALSE" "${output}")
run(EXPECT_FAILURE COMMAND ${ask} "-DWANTED=0.1 REQUIRED COMPONENTS no_such_thing" OUTPUT output)
string(REGEX REPLACE "[ \n]+" " " output "${output}")
require_in("keyspan ${version} has no component: no_such_thing" "${output}")
run(COMMAND ${ask} "-DWANTED=0.1 OPTIONAL_COMPONENTS no_such_thing" OUTPUT output)
require_in("found: 1" "${output}")
require_in("no_such_thing: FALSE" "${output}")
