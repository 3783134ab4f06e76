// test/merge/merge_inbox_test.cpp — what is put in comes out once and in its order, and who waits
// goes on when the first thing is there.
#include <keyspan/async/awaitable.hpp>
#include <keyspan/merge/merge_inbox.hpp>

#include "../async/held.hpp"

#include <support/allocations.hpp>
#include <support/check.hpp>

#include <array>
#include <coroutine>
#include <cstddef>
#include <type_traits>
#include <vector>

namespace {

using keyspan::detail::inbox_node;
using keyspan::detail::merge_inbox;
using test::check;
using test::held;

static_assert(!std::is_copy_constructible_v<merge_inbox> &&
              !std::is_move_constructible_v<merge_inbox>);

struct letter : inbox_node {
  int number = 0;
};

std::vector<int> taken(merge_inbox& inbox) {
  std::vector<int> numbers;
  for (auto* one = inbox.take(); one != nullptr; one = one->behind)
    numbers.push_back(static_cast<letter*>(one)->number);
  return numbers;
}

TEST_CASE("the example of merge_inbox reads as it should") {
  // [region: example]
  struct arrival : keyspan::detail::inbox_node {
    int page = 0;
  };
  keyspan::detail::merge_inbox inbox;
  arrival first{{}, 1};
  arrival second{{}, 2};
  inbox.push(first).resume();  // nobody waits: nothing goes on
  inbox.push(second).resume();

  std::vector<int> pages;
  for (auto* one = inbox.take(); one != nullptr; one = one->behind)
    pages.push_back(static_cast<arrival*>(one)->page);
  check(pages == std::vector{1, 2});
  // [end: example]
}

TEST_CASE("all that is there comes out once, the first that was put in first") {
  merge_inbox inbox;
  check(inbox.take() == nullptr);
  std::array<letter, 5> letters;
  for (int size = 1; size <= 5; ++size) {
    std::vector<int> expected;
    for (int i = 0; i < size; ++i) {
      auto& one = letters[static_cast<std::size_t>(i)];
      one.number = i;
      one.behind = &one;  // of a use before this one
      check(inbox.push(one) == std::noop_coroutine());
      expected.push_back(i);
    }
    check(taken(inbox) == expected);
    check(inbox.take() == nullptr);
  }
}

TEST_CASE("who waits goes on with the first thing that is put in, and once") {
  merge_inbox inbox;
  std::vector<int> seen;
  int rounds = 0;
  auto const reader = [](merge_inbox& from, std::vector<int>& to, int& count) -> held {
    for (;;) {
      co_await from.wait();
      ++count;
      for (int const n : taken(from)) to.push_back(n);
    }
  };
  std::array<letter, 4> letters;
  for (int i = 0; i < 4; ++i) letters[static_cast<std::size_t>(i)].number = i;
  held const waiting = reader(inbox, seen, rounds);
  check(rounds == 0);
  auto const next = inbox.push(letters[0]);
  check(next && next != std::noop_coroutine());
  // It is not on its way yet: what comes meanwhile wakes nobody else, and is not lost.
  check(inbox.push(letters[1]) == std::noop_coroutine());
  check(rounds == 0);
  next.resume();
  check(rounds == 1 && seen == std::vector{0, 1});
  inbox.push(letters[2]).resume();
  check(rounds == 2 && seen == std::vector{0, 1, 2});
}

TEST_CASE("who waits where something is there already goes on at once") {
  merge_inbox inbox;
  letter one{{}, 3};
  check(inbox.push(one) == std::noop_coroutine());
  int rounds = 0;
  auto const reader = [](merge_inbox& from, int& count) -> held {
    co_await from.wait();
    ++count;
  };
  held const reading = reader(inbox, rounds);
  check(reading.is_done() && rounds == 1);
  check(taken(inbox) == std::vector{3});
}

TEST_CASE("what is put in between the look and the wait is seen") {
  merge_inbox inbox;
  letter one{{}, 3};
  auto wait = inbox.wait();
  check(!wait.await_ready());
  check(inbox.push(one) == std::noop_coroutine());
  check(!wait.await_suspend(std::noop_coroutine()));
  check(taken(inbox) == std::vector{3});
}

TEST_CASE("an inbox allocates nothing") {
  merge_inbox inbox;
  letter one;
  CHECK(test::allocations_in([&] {
          inbox.push(one).resume();
          inbox.take();
        }) == 0);
}

}  // namespace
