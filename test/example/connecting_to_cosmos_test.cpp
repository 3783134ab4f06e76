// test/example/connecting_to_cosmos_test.cpp — the program of the guide, against the server of the
// examples.
#include "program.hpp"

#include <catch2/catch_test_macros.hpp>

#include <cstdlib>
#include <sstream>
#include <string>

namespace {

TEST_CASE("connecting_to_cosmos writes, reads, follows, and leaves nothing behind") {
  std::string const key = "bm90IG11Y2ggb2YgYSBzZWNyZXQ=";
  test::program server{{COSMOS_SERVER_PROGRAM, "--port", "0", "--key", key, "--partitions", "3"}};
  std::istringstream said{server.lines(1)};
  std::string ready, port;
  said >> ready >> port;
  ::setenv("COSMOS_KEY", key.c_str(), 1);
  test::program guide{{CONNECTING_TO_COSMOS_PROGRAM, "http://127.0.0.1:" + port}};
  auto const end = guide.finish();
  CHECK(end.err.empty());
  CHECK(end.status == 0);
  CHECK(end.out ==
        "r-1 has 5 stars, read for 1 request units\n"
        "r-2 of redmond: 3\n"
        "r-1 of redmond: 4\n"
        "1 more since then\n");
  server.terminate();
  CHECK(server.finish().status == 0);
}

}  // namespace
