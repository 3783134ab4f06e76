// test/transport/memory_options_test.cpp — what a container does where nothing is said.
#include <keyspan/transport/memory_options.hpp>

#include <support/check.hpp>

#include <chrono>
#include <string>

namespace {

using namespace std::chrono_literals;

struct review {
  std::string id, article;
};

TEST_CASE("without options a container has one partition and no limits") {
  keyspan::memory_options<review> const plain;
  CHECK(plain.partitions == 1);
  CHECK(plain.request_units == 0);
  CHECK_FALSE(plain.time_to_live);
  CHECK_FALSE(plain.keeps_versions);
  CHECK_FALSE(plain.splits_when_full);
  CHECK_FALSE(plain.on_event);
  CHECK(plain.page_size == 100);
  CHECK(plain.most_operations == 100);
  CHECK(plain.largest_document == 2'000'000);
  CHECK(plain.limits == keyspan::provisioning_limits{});
}

TEST_CASE("the example of a container's options reads as it should") {
  // [region: example]
  keyspan::memory_options<review> const options{
      .name = "reviews",
      .partitions = 4,
      .size_of = [](review const& one) { return one.id.size() + one.article.size(); },
      .time_to_live = 24h,
      .request_units = 10'000,
      .splits_when_full = true};
  // [end: example]
  CHECK(options.size_of({"12", "345"}) == 5);
  CHECK(options.time_to_live == 24h);
}

}  // namespace
