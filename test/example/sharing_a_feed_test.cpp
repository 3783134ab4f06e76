// test/example/sharing_a_feed_test.cpp — the pieces of the guide, each of which checks itself.
#include "program.hpp"

#include <catch2/catch_test_macros.hpp>

namespace {

TEST_CASE("every piece of the guide to sharing a feed does what the guide says") {
  test::program pieces{{SHARING_A_FEED_PROGRAM}};
  auto const seen = pieces.finish();
  INFO(seen.out);
  CHECK(seen.status == 0);
  CHECK(seen.err.empty());
}

}  // namespace
