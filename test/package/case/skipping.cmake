# test/support/skip.cmake under ctest itself, with CI=true and without.
include(${CMAKE_CURRENT_LIST_DIR}/../tools.cmake)

configure(${TREE}/test/package/skip ${OUT}/build -D KEYSPAN_TREE=${TREE})
set(test ${CMAKE_CTEST_COMMAND} --test-dir ${OUT}/build --output-on-failure)

run(COMMAND ${CMAKE_COMMAND} -E env --unset=CI ${test} -V OUTPUT output)
require_in("skipped: on the moon wants a rocket" "${output}")
require_in("on the moon (Skipped)" "${output}")
require_in("skipped: in the kitchen wants a spoon" "${output}")
require_in("in the kitchen (Skipped)" "${output}")
run(EXPECT_FAILURE COMMAND ${CMAKE_COMMAND} -E env CI=true ${test} OUTPUT output)
require_in("on the moon (Skipped)" "${output}")
require_in("in the kitchen (Failed)" "${output}")
require_in("in the kitchen wants a spoon, which can be installed" "${output}")
run(COMMAND ${CMAKE_COMMAND} -E env CI=true ${test} -L quick OUTPUT output)
require_in("on the moon (Skipped)" "${output}")
