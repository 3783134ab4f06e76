// test/merge/united_run_test.cpp — who is held of a run, and that it costs no more for being long.
#include <keyspan/merge/sort_order.hpp>
#include <keyspan/merge/united_order.hpp>
#include <keyspan/merge/united_run.hpp>

#include <catch2/catch_test_macros.hpp>

#include <support/check.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace {

using test::check;

struct note {
  int key = 0;
  int who = 0;
  int time = 0;
};
struct name_of {
  std::size_t* looked;
  int operator()(note const& one) const {
    ++*looked;
    return one.who;
  }
};
using order_type = decltype(united_by(keyspan::ascending(&note::key), name_of{nullptr},
                                      keyspan::last_writer(&note::time)));
using keys_type = order_type::keys<note>;
using run_type = keyspan::detail::united_run<note, std::uint32_t, keys_type>;
using given_type = keyspan::detail::given_batch<note>;

keys_type keys_counting(std::size_t& looked) {
  return keys_type{united_by(keyspan::ascending(&note::key), name_of{&looked},
                             keyspan::last_writer(&note::time))};
}

TEST_CASE("the example of united_run reads as it should") {
  std::size_t looked = 0;
  auto const keys = keys_counting(looked);
  // [region: example]
  note early{3, 'a', 1};
  note other{3, 'b', 1};
  note late{3, 'a', 2};
  run_type run;
  run.hold(early, 0, keys);
  run.hold(other, 1, keys);
  run.hold(late, 1, keys);  // takes the place of the first one

  given_type given;
  check(run.give(given, [](std::uint32_t source) { return source; }) == 2);
  check(given.items == std::vector{&other, &late});
  check(given.sources == std::vector<std::uint32_t>{1, 1});
  check(run.empty());
  // [end: example]
}

TEST_CASE("what is saved outlives its page until the next batch, and has an heir") {
  std::size_t looked = 0;
  auto const keys = keys_counting(looked);
  auto page = std::make_unique<std::vector<note>>(std::vector<note>{{1, 7, 0}, {1, 8, 0}});
  note other{1, 9, 0};
  run_type run;
  for (note& one : *page) run.hold(one, 4, keys);
  run.hold(other, 5, keys);
  run.save(4);
  page.reset();
  run.save(4);  // once is enough
  run.inherit(4, 6);
  given_type given;
  CHECK(run.give(given, [](std::uint32_t source) { return source; }) == 3);
  CHECK(given.sources == std::vector<std::uint32_t>{6, 6, 5});
  CHECK(given.items[0]->who == 7);
  CHECK(given.items[1]->who == 8);
  CHECK(given.items[2] == &other);
  CHECK(given.copies.size() == 2);
  given.clear();
  CHECK(given.items.empty());
  CHECK(given.copies.empty());
}

TEST_CASE("a run of many names is as cheap an item as a short one") {
  for (int const names : {5, 1'000, 50'000}) {
    std::size_t looked = 0;
    auto const keys = keys_counting(looked);
    std::vector<note> notes;
    for (int i = 0; i < 50'000; ++i) notes.push_back({1, i % names, i});
    run_type run;
    for (note& one : notes) run.hold(one, 0, keys);
    given_type given;
    CHECK(run.give(given, [](std::uint32_t source) { return source; }) ==
          static_cast<std::size_t>(names));
    // The latest of each, where it came.
    for (std::size_t i = 0; i < given.items.size(); ++i)
      CHECK(given.items[i] == &notes[notes.size() - static_cast<std::size_t>(names) + i]);
    CHECK(looked < 20 * notes.size() * 2);
  }
}

}  // namespace
