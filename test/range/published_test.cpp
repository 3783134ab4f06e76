// test/range/published_test.cpp — who sees which snapshot, and when it is freed.
#include <keyspan/core/error.hpp>
#include <keyspan/hash/cosmos_v2.hpp>
#include <keyspan/range/published.hpp>
#include <keyspan/range/range_map.hpp>
#include <keyspan/range/token_range.hpp>

#include <support/allocations.hpp>
#include <support/check.hpp>
#include <support/contracts.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace {

using keyspan::errc;
using keyspan::fail;
using keyspan::published;
using keyspan::result;
using test::check;

// A snapshot that is counted, and that may say what it does on its way out.
class noted {
 public:
  explicit noted(int number) : number_{number} { ++alive; }
  noted(noted const& other) : number_{other.number_} { ++alive; }
  noted(noted&& other) noexcept(false)
      : number_{other.number_}, last_words_{std::exchange(other.last_words_, nullptr)} {
    if (throws_when_moved) throw std::runtime_error{"no room"};
    ++alive;
  }
  noted& operator=(noted const&) = delete;
  noted& operator=(noted&&) = delete;
  ~noted() {
    --alive;
    if (last_words_) last_words_();
  }

  int number() const { return number_; }
  void on_its_way_out(std::function<void()> last_words) { last_words_ = std::move(last_words); }

  static inline int alive = 0;
  static inline bool throws_when_moved = false;

 private:
  int number_;
  std::function<void()> last_words_{};
};

static_assert(!std::is_copy_constructible_v<published<noted>> &&
              !std::is_move_constructible_v<published<noted>> &&
              !std::is_copy_assignable_v<published<noted>>);
static_assert(std::is_same_v<published<noted>::pinned, std::shared_ptr<noted const>>);

TEST_CASE("the example of published reads as it should") {
  // [region: example]
  using owners = keyspan::range_map<keyspan::token128, std::string>;
  published<owners> map{owners{whole_space(keyspan::cosmos_v2), "node-0"}};

  auto const pin = map.pin();  // for a batch of look-ups
  auto const token = keyspan::token_of(keyspan::cosmos_v2, "redmond");
  check(pin->at(token) == "node-0");

  map.update([&](owners const& now) {  // meanwhile, on another thread
    auto next = now;
    next.split(*keyspan::cosmos_v2.midpoint({}, keyspan::space_end), "node-0", "node-1");
    return next;
  });
  check(pin->at(token) == "node-0" && pin->size() == 1);  // what was pinned stays as it was
  check(!map.is_current(pin));
  check(map.pin()->at(token) == "node-1");
  // [end: example]
}

TEST_CASE("a pin keeps its snapshot while others are published") {
  published place{noted{1}};
  auto const first = place.pin();
  auto const again = place.pin();
  CHECK(first == again);
  auto const second = place.publish(noted{2});
  CHECK(second == place.pin());
  CHECK(first->number() == 1);
  CHECK(second->number() == 2);
}

TEST_CASE("a snapshot is freed when nobody has it any more") {
  REQUIRE(noted::alive == 0);
  {
    published place{noted{1}};
    CHECK(noted::alive == 1);
    auto pin = place.pin();
    auto other = pin;
    place.publish(noted{2});
    CHECK(noted::alive == 2);
    place.publish(noted{3});  // nobody looked at the second one
    CHECK(noted::alive == 2);
    pin.reset();
    CHECK(noted::alive == 2);
    other.reset();
    CHECK(noted::alive == 1);
  }
  CHECK(noted::alive == 0);
}

TEST_CASE("a pin lives on when the place it came from is gone") {
  auto place = std::make_unique<published<noted>>(noted{7});
  auto const pin = place->pin();
  place.reset();
  CHECK(pin->number() == 7);
  CHECK(noted::alive == 1);
}

TEST_CASE("a reader is told when its pin is no longer the current snapshot") {
  published place{noted{1}};
  auto pin = place.pin();
  CHECK(place.is_current(pin));
  place.publish(noted{1});  // an equal one is another one
  CHECK(!place.is_current(pin));
  pin = place.pin();
  CHECK(place.is_current(pin));
  CHECK(!place.is_current(nullptr));
  CHECK(!place.is_current(published{noted{1}}.pin()));
}

TEST_CASE("an update makes the next snapshot from the current one") {
  published place{noted{1}};
  for (int i = 2; i < 5; ++i) {
    auto const made = place.update([](noted const& now) { return noted{now.number() + 1}; });
    static_assert(std::is_same_v<decltype(made), std::shared_ptr<noted const> const>);
    CHECK(made->number() == i);
    CHECK(place.is_current(made));
  }
  CHECK(place.pin()->number() == 4);
  // What gives the current one back publishes a copy of it.
  auto const before = place.pin();
  auto const copy = place.update([&](noted const&) -> noted const& { return *before; });
  CHECK(copy->number() == 4);
  CHECK(copy != before);
}

TEST_CASE("an update that gives an error publishes nothing and returns it") {
  published place{noted{1}};
  auto const pin = place.pin();
  auto const plus_one_below_three = [](noted const& now) -> result<noted> {
    if (now.number() + 1 < 3) return noted{now.number() + 1};
    return fail(errc::too_large, "there is no ", now.number() + 1);
  };
  auto const second = place.update(plus_one_below_three);
  REQUIRE(second.has_value());
  CHECK((*second)->number() == 2);
  CHECK(place.is_current(*second));
  auto const third = place.update(plus_one_below_three);
  REQUIRE(!third.has_value());
  CHECK(third.error() == keyspan::error{errc::too_large, "there is no 3"});
  CHECK(place.is_current(*second));
  CHECK(noted::alive == 2);
}

TEST_CASE("what a change throws passes through and nothing changes") {
  published place{noted{1}};
  auto const pin = place.pin();
  auto const plain = [](noted const&) -> noted { throw std::runtime_error{"no"}; };
  auto const fallible = [](noted const&) -> result<noted> { throw std::runtime_error{"no"}; };
  CHECK_THROWS_AS(place.update(plain), std::runtime_error);
  CHECK_THROWS_AS(place.update(fallible), std::runtime_error);
  CHECK(place.is_current(pin));
  // No lock and no mark is left behind.
  CHECK(place.update([](noted const&) { return noted{2}; })->number() == 2);
  CHECK(place.publish(noted{3})->number() == 3);
}

TEST_CASE("what moving a snapshot throws passes through and nothing changes") {
  published place{noted{1}};
  auto const pin = place.pin();
  noted::throws_when_moved = true;
  CHECK_THROWS_AS(place.publish(noted{2}), std::runtime_error);
  CHECK_THROWS_AS(place.update([](noted const&) { return noted{2}; }), std::runtime_error);
  CHECK_THROWS_AS(place.replace(pin, noted{2}), std::runtime_error);
  noted::throws_when_moved = false;
  CHECK(place.is_current(pin));
  CHECK(place.replace(pin, noted{2}) != nullptr);
  CHECK(noted::alive == 2);
}

TEST_CASE("a snapshot is replaced only by who saw the current one") {
  published place{noted{1}};
  auto const seen = place.pin();
  auto const mine = place.replace(seen, noted{2});
  REQUIRE(mine != nullptr);
  CHECK(mine->number() == 2);
  CHECK(place.is_current(mine));
  // Somebody who saw the first one as well comes late.
  CHECK(place.replace(seen, noted{3}) == nullptr);
  CHECK(place.is_current(mine));
  CHECK(place.replace(nullptr, noted{3}) == nullptr);
  CHECK(place.replace(published{noted{2}}.pin(), noted{3}) == nullptr);
  CHECK(place.pin()->number() == 2);
  CHECK(noted::alive == 2);
}

TEST_CASE("a snapshot that is made already is published as it is") {
  published place{noted{1}};
  auto const first = place.pin();
  auto const second = std::make_shared<noted const>(2);
  CHECK(place.replace(first, second) == second);
  CHECK(place.pin() == second);
  CHECK(place.replace(first, std::make_shared<noted const>(3)) == nullptr);
  CHECK(place.is_current(second));
  // One that was there before may come back.
  CHECK(place.replace(second, first) == first);
  CHECK(place.is_current(first));
  CHECK(noted::alive == 2);
  CHECK(test::promise_broken_by([&] { return place.replace(first, published<noted>::pinned{}); }) ==
        "there is always a snapshot");
  CHECK(test::promise_broken_by([&] { return place.publish(published<noted>::pinned{}); }) ==
        "there is always a snapshot");
  CHECK(test::promise_broken_by([&] { return published{published<noted>::pinned{}}.pin(); }) ==
        "there is always a snapshot");
  CHECK(place.is_current(first));
  CHECK(place.publish(second) == second);
  CHECK(place.is_current(second));
  static_assert(!std::is_convertible_v<published<noted>::pinned, published<noted>>);
  static_assert(std::is_same_v<decltype(published{std::make_shared<noted>(1)}), published<noted>>);
  published const another{second};
  static_assert(std::is_same_v<decltype(another), published<noted> const>);
  CHECK(another.pin() == second);
}

TEST_CASE("a snapshot may look at its place and write there on its way out") {
  std::vector<int> found;
  {
    published place{noted{1}};
    auto const leave_with = [&](int number) {
      noted next{number};
      next.on_its_way_out([&, number] {
        found.push_back(place.pin()->number());  // would wait for ever for a lock that is held
        if (number == 2) place.update([](noted const& now) { return noted{now.number() + 10}; });
      });
      return next;
    };
    place.publish(leave_with(2));
    place.publish(leave_with(3));
    CHECK(place.pin()->number() == 13);
    CHECK(found == std::vector{3, 13});  // the third one left when the second had its last word
    place.update([&](noted const&) { return leave_with(4); });
    place.update([](noted const&) { return noted{5}; });
    CHECK(found == std::vector{3, 13, 5});
    CHECK(place.pin()->number() == 5);
    auto const seen = place.publish(leave_with(6));
    CHECK(place.replace(seen, noted{7}) != nullptr);
    CHECK(found == std::vector{3, 13, 5});  // a pin keeps it from leaving
  }
  CHECK(noted::alive == 0);
}

TEST_CASE("a change that writes where its outcome will go breaks a promise") {
  published place{noted{1}};
  auto const pin = place.pin();
  auto const promise = "a change gives the next snapshot and does not write itself";
  CHECK(test::promise_broken_by([&] {
          return place.update([&](noted const& now) {
            place.publish(noted{8});
            return now;
          });
        }) == promise);
  CHECK(test::promise_broken_by([&] {
          return place.update([&](noted const& now) -> result<noted> {
            static_cast<void>(place.replace(pin, noted{8}));
            return now;
          });
        }) == promise);
  CHECK(test::promise_broken_by([&] {
          return place.update([&](noted const& now) {
            place.update([](noted const& same) { return same; });
            return now;
          });
        }) == promise);
  CHECK(place.is_current(pin));
  // Looking is allowed, and so is writing elsewhere.
  published other{noted{1}};
  place.update([&](noted const& now) {
    CHECK(place.is_current(pin));
    CHECK(place.pin() == pin);
    other.publish(noted{3});
    return noted{now.number() + 1};
  });
  CHECK(place.pin()->number() == 2);
}

// Move-only, and made from anything: neither confuses the place it is kept in.
struct greedy {
  greedy() = default;
  template <class T>
    requires(!std::is_same_v<std::remove_cvref_t<T>, greedy>)
  explicit greedy(T&&) : made_of_something_else{true} {}
  greedy(greedy&&) = default;

  std::unique_ptr<int> owned{};
  bool made_of_something_else = false;
};

TEST_CASE("a snapshot may be one that only moves") {
  published<greedy> place{greedy{}};
  CHECK(!place.pin()->made_of_something_else);
  CHECK(!place.publish(greedy{})->made_of_something_else);
  CHECK(!place.update([](greedy const&) { return greedy{}; })->made_of_something_else);
  auto const fallible = place.update([](greedy const&) -> result<greedy> { return greedy{}; });
  CHECK(!fallible.value()->made_of_something_else);
  CHECK(!place.replace(*fallible, greedy{})->made_of_something_else);
}

TEST_CASE("pinning and asking allocate nothing, publishing allocates the snapshot") {
  published place{noted{1}};
  CHECK(test::allocations_in([&] {
          auto const pin = place.pin();
          check(place.is_current(pin));
        }) == 0);
  CHECK(test::allocations_in([&] { place.publish(noted{2}); }) == 1);
  CHECK(test::allocations_in(
            [&] { place.update([](noted const& now) { return noted{now.number()}; }); }) == 1);
}

}  // namespace
