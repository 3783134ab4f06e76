// test/processor/lease_reading_test.cpp — the position is behind all that was handled without a
// gap: in every order in which a few batches can be.
#include <keyspan/feed/continuation.hpp>
#include <keyspan/feed/cursor.hpp>
#include <keyspan/feed/page.hpp>
#include <keyspan/processor/lease_reading.hpp>
#include <keyspan/range/token_range.hpp>

#include <support/check.hpp>
#include <support/random.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace {

using keyspan::continuation;
using test::check;

using page_type = keyspan::page<int>;
using batches = keyspan::detail::batches_in_order<int, page_type>;
using batch_pointer = std::shared_ptr<batches::batch_type>;
using cursors = std::vector<keyspan::cursor<int>>;

cursors at(std::uint64_t sequence) {
  return {{{0, 8}, continuation{"\"" + std::to_string(sequence) + "\""}}};
}
page_type page_of(std::size_t items) {
  page_type made;
  made.items.resize(items);
  return made;
}

// What should be so, by the words of the rule.
struct model {
  struct batch {
    std::size_t pieces;
    std::size_t items;
    bool has_news;
  };
  std::size_t prefix() const {
    std::size_t count = 0;
    while (count < all.size() && all[count].pieces == 0) ++count;
    return count;
  }
  std::vector<batch> all{};
};

void compare(batches& real, model const& wanted, std::uint64_t first) {
  std::size_t const prefix = wanted.prefix();
  check(real.position() == first + prefix);
  check(real.at() == at(first + prefix));
  check(real.open() == wanted.all.size() - prefix);
  std::size_t items = 0;
  bool news = false;
  for (std::size_t i = 0; i < prefix; ++i) {
    items += wanted.all[i].items;
    news = news || wanted.all[i].has_news;
  }
  check(real.count() == items);
  check(real.has_news() == news);
}

// Each acknowledgement of a piece, in each order: the pieces of one batch are alike.
void in_every_order(std::vector<std::size_t> const& pieces) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < pieces.size(); ++i) order.insert(order.end(), pieces[i], i);
  do {
    batches real{10, at(10)};
    model wanted;
    std::vector<batch_pointer> all;
    for (std::size_t i = 0; i < pieces.size(); ++i) {
      std::size_t const before = wanted.prefix();
      wanted.all.push_back({pieces[i], i + 1, i % 2 == 0});
      auto const position = real.position();
      all.push_back(real.push(page_of(i + 1), at(11 + i), i % 2 == 0, pieces[i]));
      check(all.back()->sequence == 11 + i);
      check((real.position() != position) == (wanted.prefix() != before));
      compare(real, wanted, 10);
    }
    for (std::size_t const which : order) {
      std::size_t const before = wanted.prefix();
      --wanted.all[which].pieces;
      check(real.acknowledge(*all[which]) == (wanted.prefix() != before));
      compare(real, wanted, 10);
    }
    check(real.open() == 0);
    check(real.position() == 10 + pieces.size());
    for (auto const& one : all) check(!real.acknowledge(*one));  // once too often
    compare(real, wanted, 10);
  } while (std::ranges::next_permutation(order).found);
}

TEST_CASE("up to four batches in up to two pieces each, and without any, are done in every order") {
  for (std::size_t count = 0; count <= 4; ++count) {
    std::vector<std::size_t> pieces(count, 0);
    for (bool is_last = false; !is_last;) {
      in_every_order(pieces);
      is_last = true;
      for (auto& one : pieces) {
        if (++one <= 2) {
          is_last = false;
          break;
        }
        one = 0;
      }
    }
  }
}

// Six batches of two pieces, of which so many are left, as the digits of a number to base 3.
// Reached from the last to the first batch where `is_backward`.
struct six_batches {
  six_batches(unsigned left, bool is_backward) {
    for (std::size_t i = 0; i < 6; ++i, left /= 3) {
      wanted.all.push_back({left % 3, i + 1, i % 2 == 1});
      all.push_back(real.push(page_of(i + 1), at(11 + i), i % 2 == 1, 2));
    }
    for (std::size_t i = 0; i < 6; ++i) {
      std::size_t const which = is_backward ? 5 - i : i;
      for (auto n = wanted.all[which].pieces; n < 2; ++n) real.acknowledge(*all[which]);
    }
  }
  batches real{10, at(10)};
  model wanted{};
  std::vector<batch_pointer> all{};
};

// All 7.5 million orders go through the same 729 states, so each step from each of them is enough.
TEST_CASE("six batches in two pieces are done right by each step from each state") {
  for (unsigned left = 0; left < 729; ++left) {
    for (std::size_t which = 0; which < 6; ++which) {
      for (bool const is_backward : {false, true}) {
        six_batches one{left, is_backward};
        compare(one.real, one.wanted, 10);
        std::size_t const before = one.wanted.prefix();
        auto& pieces = one.wanted.all[which].pieces;
        if (pieces > 0) --pieces;
        check(one.real.acknowledge(*one.all[which]) == (one.wanted.prefix() != before));
        compare(one.real, one.wanted, 10);
      }
    }
  }
}

TEST_CASE("reading and handling by turns keeps the position behind what is done without a gap") {
  test::random rng{7};
  for (int round = 0; round < 2'000; ++round) {
    std::uint64_t const first = rng.below(1'000);
    batches real{first, at(first)};
    model wanted;
    std::vector<batch_pointer> all;
    for (int step = 0; step < 60; ++step) {
      if (rng.chance(40)) {
        auto const pieces = static_cast<std::size_t>(rng.below(4));
        auto const items = static_cast<std::size_t>(rng.below(5));
        bool const news = rng.chance(50);
        wanted.all.push_back({pieces, items, news});
        all.push_back(real.push(page_of(items), at(first + all.size() + 1), news, pieces));
      } else if (!all.empty()) {
        auto const which = static_cast<std::size_t>(rng.below(all.size()));
        if (wanted.all[which].pieces > 0) --wanted.all[which].pieces;
        real.acknowledge(*all[which]);
      }
      compare(real, wanted, first);
    }
  }
}

TEST_CASE("changes are counted once, and news are told until they are cleared") {
  batches real{0, at(0)};
  CHECK(!real.has_news());
  CHECK(real.take_count() == 0);
  auto const one = real.push(page_of(3), at(1), true, 1);
  CHECK(real.count() == 0);  // not handled yet
  CHECK(real.acknowledge(*one));
  CHECK(real.count() == 3);
  CHECK(real.take_count() == 3);
  CHECK(real.take_count() == 0);
  CHECK(real.has_news());
  real.clear_news();
  CHECK(!real.has_news());
  real.push(page_of(0), at(2), false, 0);  // the same place, once more
  CHECK(real.position() == 2);
  CHECK(!real.has_news());
  real.push(page_of(0), at(3), true, 0);
  CHECK(real.has_news());
}

TEST_CASE("a batch that is done keeps its page for who still holds it") {
  batches real{0, at(0)};
  auto const one = real.push(page_of(3), at(1), true, 1);
  real.acknowledge(*one);
  CHECK(real.open() == 0);
  CHECK(one->page.items.size() == 3);
  CHECK(one->pieces == 0);
}

TEST_CASE("the example of lease_reading reads as it should") {
  // [region: example]
  keyspan::detail::batches_in_order<int, keyspan::page<int>> read{41, at(41)};
  auto const first = read.push({.items = {1, 2}}, at(42), true, 1);
  auto const second = read.push({.items = {3}}, at(43), true, 2);  // in two pieces
  read.acknowledge(*second);
  read.acknowledge(*second);
  check(read.position() == 41);  // what was read first is not done yet
  read.acknowledge(*first);
  check(read.position() == 43 && read.take_count() == 3);
  // [end: example]
}

}  // namespace
