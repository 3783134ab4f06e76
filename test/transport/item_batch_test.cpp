// test/transport/item_batch_test.cpp — how a batch is put together.
#include <keyspan/core/error.hpp>
#include <keyspan/core/result.hpp>
#include <keyspan/key/partition_key.hpp>
#include <keyspan/transport/item_batch.hpp>

#include <support/check.hpp>

#include <cstddef>
#include <functional>
#include <string>
#include <type_traits>
#include <utility>

namespace {

using keyspan::errc;
using keyspan::item_batch;
using keyspan::partition_key;
using what = keyspan::detail::item_operation;

struct review {
  std::string id;
  int rating = 0;
};

TEST_CASE("a batch keeps its operations in their order, and texts of its own") {
  item_batch<review> work{std::string{"redmond"}};
  CHECK(work.empty());
  {
    std::string const etag = "\"a long text that is gone soon\"";
    std::string const id = "a long id that is gone as soon as the other one";
    work.create({"r-1"})
        .upsert({"r-2"}, {.if_match = etag})
        .replace({"r-3"})
        .remove(id, {.if_match = etag})
        .read(id)
        .patch(id, [](review& one) { ++one.rating; });
  }
  CHECK(work.key() == partition_key{"redmond"});
  REQUIRE(work.size() == 6);
  auto const& all = work.operations();
  constexpr what wanted[]{what::create, what::upsert, what::replace,
                          what::remove, what::read,   what::patch};
  for (std::size_t i = 0; i < 6; ++i) {
    CHECK(all[i].what == wanted[i]);
    CHECK(all[i].document.has_value() == (i < 3));
    CHECK((all[i].if_match == "\"a long text that is gone soon\"") == (i == 1 || i == 3));
    if (i >= 3)
      CHECK(all[i].id == partition_key{"a long id that is gone as soon as the other one"});
  }
  review patched{"x", 1};
  CHECK(all[5].patch(patched).has_value());
  CHECK(patched.rating == 2);
}

TEST_CASE("a patch may refuse") {
  item_batch<review> work{partition_key{1, "b"}};
  work.patch("r", [](review&) -> keyspan::result<void> {
    return keyspan::fail(errc::invalid_options, "not so");
  });
  review one;
  CHECK(work.operations()[0].patch(one).error().text == "not so");
}

// A function that changes a document is a patch of it; one that changes nothing, or whose answer
// would be lost, is none.
struct edits {
  void operator()(review& one) const { ++one.rating; }
};
struct edited {
  int stars = 0;
  void praise() { ++stars; }
};
using asks = keyspan::result<void>;
constexpr auto of_any = [](auto& one) { ++one.rating; };
constexpr auto of_a_copy = [](review one) { ++one.rating; };
constexpr auto of_a_constant = [](review const& one) { return void(one.rating); };
constexpr auto of_any_copy = [](auto one) { ++one.rating; };
constexpr auto that_asks = [](review&) { return asks{}; };
constexpr auto that_counts = [](review& one) { return one.rating; };
constexpr auto that_doubts = [](review&) { return true; };
constexpr auto that_may_count = [](review&) { return keyspan::result<int>{1}; };
template <auto const& F>
constexpr bool is_patch = keyspan::patch_of<std::remove_cvref_t<decltype(F)>, review>;
static_assert(is_patch<of_any> && is_patch<that_asks> && keyspan::patch_of<edits, review>);
static_assert(keyspan::patch_of<void (*)(review&), review>);
static_assert(keyspan::patch_of<std::function<void(review&)>, review>);
static_assert(keyspan::patch_of<std::reference_wrapper<edits const>, review>);
static_assert(keyspan::patch_of<decltype(&edited::praise), edited>);
static_assert(!is_patch<of_a_copy> && !is_patch<of_a_constant> && !is_patch<of_any_copy>);
static_assert(!is_patch<that_counts> && !is_patch<that_doubts> && !is_patch<that_may_count>);
static_assert(!keyspan::patch_of<int, review> && !keyspan::patch_of<int edited::*, edited>);

TEST_CASE("a batch can be copied and executed again") {
  item_batch<review> const work = item_batch<review>{"k"}.create({"r-1"});
  item_batch<review> copy = work;
  copy.remove("r-1");
  CHECK(work.size() == 1);
  CHECK(copy.size() == 2);
}

TEST_CASE("the example of a batch reads as it should") {
  // [region: example]
  keyspan::item_batch<review> work{"redmond"};
  work.create({"r-1", 5}).patch("r-2", [](review& one) { one.rating = 4; }).remove("r-3");
  // [end: example]
  CHECK(work.size() == 3);
}

}  // namespace
