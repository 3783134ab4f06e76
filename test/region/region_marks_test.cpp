// test/region/region_marks_test.cpp — endpoints that were found out of order.
#include <keyspan/async/instant.hpp>
#include <keyspan/region/region_marks.hpp>
#include <keyspan/transport/endpoint.hpp>

#include <support/check.hpp>

#include <chrono>

namespace {

using keyspan::instant;
using keyspan::region_marks;
using keyspan::region_use;
using keyspan::service_endpoint;
using namespace std::chrono_literals;

instant at(std::chrono::seconds time) { return instant{} + time; }

TEST_CASE("a mark counts for its endpoint and its use, until its end") {
  auto const west = *service_endpoint::parse("http://west:1");
  auto const east = *service_endpoint::parse("http://east:1");
  region_marks marks;
  marks.mark(west, region_use::write, at(300s));
  CHECK(marks.is_marked(west, region_use::write, at(0s)));
  CHECK(marks.is_marked(west, region_use::administer, at(0s)));
  CHECK_FALSE(marks.is_marked(west, region_use::read, at(0s)));
  CHECK_FALSE(marks.is_marked(east, region_use::write, at(0s)));
  CHECK(marks.is_marked(west, region_use::write, at(299s)));
  CHECK_FALSE(marks.is_marked(west, region_use::write, at(300s)));

  marks.mark(west, region_use::read, at(10s));
  CHECK(marks.is_marked(west, region_use::read, at(9s)));
  CHECK(marks.is_marked(west, region_use::write, at(11s)));
}

TEST_CASE("a mark that is made again ends at the later moment") {
  auto const west = *service_endpoint::parse("http://west:1");
  region_marks marks;
  marks.mark(west, region_use::read, at(100s));
  marks.mark(west, region_use::read, at(200s));
  marks.mark(west, region_use::read, at(50s));
  CHECK(marks.size() == 1);
  CHECK(marks.is_marked(west, region_use::read, at(199s)));
  CHECK_FALSE(marks.is_marked(west, region_use::read, at(200s)));
}

TEST_CASE("marks that have ended are forgotten when that is asked for") {
  auto const west = *service_endpoint::parse("http://west:1");
  region_marks marks;
  marks.mark(west, region_use::read, at(100s));
  marks.mark(west, region_use::write, at(200s));
  marks.expire(at(100s));
  CHECK(marks.size() == 1);
  CHECK(marks.is_marked(west, region_use::write, at(150s)));
  marks.clear();
  CHECK_FALSE(marks.is_marked(west, region_use::write, at(150s)));
}

TEST_CASE("the example of region_marks reads as it should") {
  auto const west = *service_endpoint::parse("http://west:1");
  instant const now = at(0s);
  // [region: example]
  keyspan::region_marks marks;
  marks.mark(west, keyspan::region_use::write, now + 5min);
  CHECK(marks.is_marked(west, keyspan::region_use::administer, now));  // a write, too
  CHECK_FALSE(marks.is_marked(west, keyspan::region_use::read, now));
  CHECK_FALSE(marks.is_marked(west, keyspan::region_use::write, now + 5min));
  // [end: example]
}

}  // namespace
