// test/example/change_processor_test.cpp — workers that share a feed, and lose one of them.
#include "program.hpp"

#include <catch2/catch_test_macros.hpp>

#include <string>

namespace {

TEST_CASE("workers handle every order though one of them hangs, and refuse what it does late") {
  test::program sharing{{CHANGE_PROCESSOR_PROGRAM}};
  auto const seen = sharing.finish();
  INFO(seen.out);
  CHECK(seen.status == 0);
  CHECK(seen.err.empty());
  for (std::string const step : {"A and B share", "one was split", "A hangs", "A's are taken over",
                                 "A comes too late", "two were merged", "all is handled"})
    CHECK(seen.out.find(step) != std::string::npos);
}

}  // namespace
