# The target keyspan_bench_support, for benches and for its own tests.
include_guard(GLOBAL)
keyspan_nanobench()
set(folder ${CMAKE_CURRENT_LIST_DIR})
add_library(keyspan_bench_support STATIC EXCLUDE_FROM_ALL
  ${folder}/allocations.cpp ${folder}/bench.cpp ${folder}/chart.cpp)
add_library(keyspan_nanobench_code OBJECT EXCLUDE_FROM_ALL ${folder}/nanobench.cpp)
target_link_libraries(keyspan_nanobench_code PUBLIC keyspan_nanobench)
target_sources(keyspan_bench_support PRIVATE $<TARGET_OBJECTS:keyspan_nanobench_code>)
target_include_directories(keyspan_bench_support PUBLIC ${folder}/../..)
target_link_libraries(keyspan_bench_support PUBLIC keyspan_strict keyspan_nanobench)
