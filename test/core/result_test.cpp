// test/core/result_test.cpp — a result is std::expected<T, error>: its conversions, lifetimes,
// guarantees.
#include <keyspan/core/result.hpp>

#include <support/allocations.hpp>
#include <support/check.hpp>
#include <support/contracts.hpp>

#include <any>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace {

using keyspan::errc;
using keyspan::error;
using keyspan::fail;
using keyspan::result;
using keyspan::unexpected;
using test::check;

// ---- types that are hard to hold

struct move_only {
  int n = 0;
  constexpr explicit move_only(int from) : n{from} {}
  constexpr move_only(move_only&& other) noexcept : n{std::exchange(other.n, -1)} {}
  constexpr move_only& operator=(move_only&& other) noexcept {
    n = std::exchange(other.n, -1);
    return *this;
  }
};

struct immovable {
  int n = 0;
  constexpr explicit immovable(int from) noexcept : n{from} {}
  immovable(immovable&&) = delete;
};

// Not trivial in any respect, and counted.
struct counted {
  int* alive;
  int n;
  constexpr counted(int& count, int from) noexcept : alive{&count}, n{from} { ++*alive; }
  constexpr counted(counted const& other) : alive{other.alive}, n{other.n} { ++*alive; }
  constexpr counted& operator=(counted const&) = default;
  constexpr ~counted() { --*alive; }
};

// Throws at the moment that a test chooses.
struct throwing {
  enum moment { never, on_construction, on_copy, on_move, on_assignment };
  struct thrown {};
  inline static moment when = never;
  inline static int passes = 0;  // how many such moments are let through first
  inline static int alive = 0;

  int n = 0;
  explicit throwing(int from) : n{from} {
    strike(on_construction);
    ++alive;
  }
  throwing(throwing const& other) : n{other.n} {
    strike(on_copy);
    ++alive;
  }
  // NOLINTNEXTLINE(performance-noexcept-move-constructor)
  throwing(throwing&& other) noexcept(false) : n{other.n} {
    strike(on_move);
    other.n = -1;
    ++alive;
  }
  throwing& operator=(throwing const& other) {
    strike(on_assignment);
    n = other.n;
    return *this;
  }
  // NOLINTNEXTLINE(performance-noexcept-move-constructor)
  throwing& operator=(throwing&& other) noexcept(false) {
    strike(on_assignment);
    n = std::exchange(other.n, -1);
    return *this;
  }
  ~throwing() { --alive; }

  static void strike(moment now) {
    if (when == now && passes-- == 0) throw thrown{};
  }
};

template <class Action>
bool throws_when(throwing::moment when, Action&& action, int passes = 0) {
  throwing::when = when;
  throwing::passes = passes;
  bool thrown = false;
  try {
    action();
  } catch (throwing::thrown const&) {
    thrown = true;
  }
  throwing::when = throwing::never;
  return thrown;
}

// ---- construction

// [region: example]
constexpr result<int> half_of(int n) {
  if (n % 2 != 0) return fail(errc::not_representable, n, " is odd");
  return n / 2;
}

constexpr bool an_error_passes_by_what_follows() {
  auto const quarter = [](int n) { return half_of(n).and_then(half_of); };
  check(quarter(12) == 3);
  check(quarter(6) == fail(errc::not_representable, "3 is odd"));
  check(quarter(6).value_or(0) == 0);
  return true;
}
// [end: example]
CHECK_BOTH(an_error_passes_by_what_follows);

constexpr bool a_value_or_a_failure_converts_to_a_result() {
  result<int> const value = 7;
  check(value.has_value() && static_cast<bool>(value) && *value == 7);
  result<int> const failure = fail(errc::gap, "between ", 1, " and ", 2);
  check(!failure && failure.error().code == errc::gap);
  check(failure.error().text == "between 1 and 2");
  result<int> const made{};
  check(made == 0);
  result<std::uint8_t> const narrow = 200;  // as with std::expected, the conversion is the value's
  check(narrow == 200);
  return true;
}
CHECK_BOTH(a_value_or_a_failure_converts_to_a_result);

TEST_CASE("a char array becomes a result of a string without being asked") {
  result<std::string> const text = "redmond";
  CHECK(text == "redmond");
  auto const returned = []() -> result<std::string> { return "redmond"; }();
  CHECK(returned == text);
  result<std::string> const list{std::in_place, {'a', 'b'}};
  CHECK(list == "ab");
  result<std::vector<int>> const three{std::in_place, {1, 2, 3}};
  CHECK(three->size() == 3);
}

constexpr bool a_result_holds_what_cannot_be_moved_or_copied() {
  result<immovable> r{std::in_place, 4};
  check(r->n == 4);
  r.emplace(5);
  check(r->n == 5);
  result<immovable> failed = fail(errc::gap, "none");
  failed.emplace(6);
  check(failed->n == 6);
  result<move_only> owner{move_only{3}};
  result<move_only> heir = std::move(owner);
  check(heir->n == 3 && owner->n == -1);
  heir = move_only{8};
  check(heir->n == 8);
  check(std::move(heir).value().n == 8);
  // A call's prvalue is built in its place.
  auto const made = result<int>{9}.transform([](int n) { return immovable{n}; });
  check(made->n == 9);
  auto const chained =
      result<int>{1}.and_then([](int n) { return result<immovable>{std::in_place, n}; });
  check(chained->n == 1);
  auto const begun = result<void>{}.transform([] { return immovable{2}; });
  check(begun->n == 2);
  return true;
}
CHECK_BOTH(a_result_holds_what_cannot_be_moved_or_copied);

constexpr bool a_result_converts_by_its_value() {
  struct wide {
    long n;
    constexpr explicit(false) wide(int from) : n{from} {}
  };
  result<int> const narrow = 5;
  result<wide> const widened = narrow;
  check(widened->n == 5);
  result<int> const failed = fail(errc::overlap, "two");
  result<wide> const still_failed = failed;
  check(still_failed.error() == failed.error());
  check(std::is_constructible_v<result<move_only>, result<int>>);
  check(!std::is_convertible_v<result<int>, result<move_only>>);  // explicit, as move_only{int} is
  check(!std::is_constructible_v<result<int>, result<std::string>>);
  check(!std::is_constructible_v<result<int>, result<void>>);
  check(!std::is_constructible_v<result<void>, result<int>>);
  return true;
}
CHECK_BOTH(a_result_converts_by_its_value);

constexpr bool a_bool_is_the_value_and_never_whether_there_is_one() {
  result<bool> const no = false;
  check(no.has_value() && !*no);
  result<int> const zero = 0;
  result<bool> const from_zero = zero;
  check(from_zero == false);
  result<bool> const from_failure = result<int>{fail(errc::gap, "none")};
  check(!from_failure.has_value());
  check(!std::is_convertible_v<result<bool>, bool>);
  check(!std::is_constructible_v<result<std::optional<bool>>, result<int>>);
  return true;
}
CHECK_BOTH(a_bool_is_the_value_and_never_whether_there_is_one);

TEST_CASE("a type that can hold anything does not swallow a failure or another result") {
  using any_result = result<std::any>;
  any_result const failed = fail(errc::gap, "none");
  CHECK_FALSE(failed.has_value());
  any_result assigned = std::any{1};
  assigned = fail(errc::gap, "none");
  CHECK_FALSE(assigned.has_value());
  any_result const copy = assigned;
  CHECK_FALSE(copy.has_value());
  any_result number = 5;
  any_result const copied = number;  // from a result that is not const
  REQUIRE(copied.has_value());
  CHECK(std::any_cast<int>(*copied) == 5);
  STATIC_CHECK(!std::is_constructible_v<any_result, result<int>>);
}

constexpr bool a_result_of_an_optional_tells_empty_from_failed() {
  using maybe = result<std::optional<int>>;
  maybe const nothing = std::nullopt;
  check(nothing.has_value() && !nothing->has_value());
  maybe const five = 5;
  check(*five == 5 && five == 5);
  maybe const from_result = result<int>{5};
  check(from_result == five);
  maybe const failed = fail(errc::gap, "none");
  check(!failed.has_value());
  return true;
}
CHECK_BOTH(a_result_of_an_optional_tells_empty_from_failed);

constexpr bool a_result_can_hold_a_result() {
  result<result<int>> const nested = result<int>{5};
  check(nested.has_value() && *nested == 5);
  result<result<int>> const inner = result<int>{fail(errc::gap, "inner")};
  check(inner.has_value() && !inner->has_value());
  result<result<int>> const outer = fail(errc::gap, "outer");
  check(!outer.has_value());
  auto const copy = nested;
  check(copy == nested);
  return true;
}
CHECK_BOTH(a_result_can_hold_a_result);

constexpr bool a_class_that_converts_to_a_result_does() {
  struct source {
    constexpr operator result<int>() const { return 4; }
  };
  result<int> const r = source{};
  check(r == 4);
  result<int> again = 1;
  again = source{};
  check(again == 4);
  return true;
}
CHECK_BOTH(a_class_that_converts_to_a_result_does);

// ---- what the type promises

template <class T>
concept can_be_held = requires { sizeof(result<T>); };

TEST_CASE("a result is as trivial and as noexcept as its value") {
  STATIC_CHECK(std::is_trivially_copyable_v<result<int>>);
  STATIC_CHECK(std::is_trivially_destructible_v<result<std::string_view>>);
  STATIC_CHECK(std::is_trivially_copyable_v<result<void>>);
  STATIC_CHECK(!std::is_trivially_copy_constructible_v<result<std::string>>);
  STATIC_CHECK(!std::is_trivially_destructible_v<result<std::string>>);
  STATIC_CHECK(std::is_nothrow_move_constructible_v<result<std::string>>);
  STATIC_CHECK(std::is_nothrow_move_assignable_v<result<std::string>>);
  STATIC_CHECK(std::is_nothrow_swappable_v<result<std::string>>);
  STATIC_CHECK(!std::is_nothrow_copy_constructible_v<result<std::string>>);
  STATIC_CHECK(!std::is_nothrow_move_constructible_v<result<throwing>>);
  STATIC_CHECK(!std::is_nothrow_move_assignable_v<result<throwing>>);
  STATIC_CHECK(std::is_nothrow_default_constructible_v<result<int>>);
  STATIC_CHECK(std::is_nothrow_constructible_v<result<std::string>, unexpected>);
  STATIC_CHECK(std::is_nothrow_default_constructible_v<result<void>>);

  STATIC_CHECK(!std::is_copy_constructible_v<result<move_only>>);
  STATIC_CHECK(!std::is_copy_assignable_v<result<move_only>>);
  STATIC_CHECK(std::is_move_constructible_v<result<move_only>>);
  STATIC_CHECK(std::is_move_assignable_v<result<move_only>>);
  STATIC_CHECK(!std::is_move_constructible_v<result<immovable>>);
  STATIC_CHECK(!std::is_move_assignable_v<result<immovable>>);
  STATIC_CHECK(!std::is_default_constructible_v<result<move_only>>);
  STATIC_CHECK(!std::is_convertible_v<error, result<int>>);  // only through fail or unexpected

  STATIC_CHECK(std::is_same_v<result<int>::value_type, int>);
  STATIC_CHECK(std::is_same_v<result<int>::error_type, error>);
  STATIC_CHECK(std::is_same_v<result<int>::unexpected_type, unexpected>);
  STATIC_CHECK(std::is_same_v<result<int>::rebind<std::string>, result<std::string>>);
}

constexpr bool access_keeps_constness_and_value_category() {
  using r = result<int>;
  check(std::is_same_v<decltype(*std::declval<r&>()), int&>);
  check(std::is_same_v<decltype(*std::declval<r const&>()), int const&>);
  check(std::is_same_v<decltype(*std::declval<r>()), int&&>);
  check(std::is_same_v<decltype(*std::declval<r const>()), int const&&>);
  check(std::is_same_v<decltype(std::declval<r&>().value()), int&>);
  check(std::is_same_v<decltype(std::declval<r const&>().value()), int const&>);
  check(std::is_same_v<decltype(std::declval<r>().value()), int&&>);
  check(std::is_same_v<decltype(std::declval<r const>().value()), int const&&>);
  check(std::is_same_v<decltype(std::declval<r const&>().operator->()), int const*>);
  return true;
}
CHECK_BOTH(access_keeps_constness_and_value_category);

TEST_CASE("reading what is not there breaks a promise, and value() throws the error") {
  result<int> const failed = fail(errc::throttled, "slow down");
  result<int> const fine = 1;
  result<void> const done{};
  result<void> const undone = fail(errc::stopped, "stop");
  std::string const slow =
      "a result is read where it has a value; this one has the error throttled: slow down";
  CHECK(test::promise_broken_by([&] { return *failed; }) == slow);
  CHECK(test::promise_broken_by([&] { return *result<int>{failed}; }) == slow);
  CHECK(test::promise_broken_by([&] { return failed.operator->(); }) == slow);
  CHECK(test::promise_broken_by([&] { return *undone, 0; }) ==
        "a result is read where it has a value; this one has the error stopped: stop");
  CHECK(test::promise_broken_by([&] { return &fine.error(); }) ==
        "error() is asked where there is no value, and here is one");
  CHECK(test::promise_broken_by([&] { return &done.error(); }) ==
        "error() is asked where there is no value, and here is one");
  CHECK(test::promise_broken_by([&] { return *fine; }).empty());

  try {
    static_cast<void>(failed.value());
    FAIL("value() of a failure returned");
  } catch (keyspan::failed const& e) {
    CHECK(e.error() == failed.error());
    CHECK(std::string_view{e.what()} == "throttled: slow down");
  }
  CHECK_THROWS_AS(undone.value(), keyspan::failed);
  CHECK_NOTHROW(done.value());
  STATIC_CHECK(std::is_nothrow_copy_constructible_v<keyspan::failed>);
}

// ---- changing

constexpr bool every_assignment_between_the_two_states_works() {
  int alive = 0;
  {
    using outcome = result<counted>;
    outcome const value{std::in_place, alive, 1};
    outcome const other{std::in_place, alive, 2};
    outcome const failure = fail(errc::gap, "a");
    outcome const another = fail(errc::overlap, "b");
    for (auto const* const from : {&value, &other, &failure, &another}) {
      for (auto const* const to : {&value, &other, &failure, &another}) {
        auto copied = *from;
        copied = *to;
        check(copied.has_value() == to->has_value());
        check(copied ? copied->n == (*to)->n : copied.error() == to->error());
        auto moved = *from;
        auto source = *to;
        moved = std::move(source);
        check(moved ? moved->n == (*to)->n : moved.error() == to->error());
        auto a = *from;
        auto b = *to;
        swap(a, b);
        check(a ? a->n == (*to)->n : a.error() == to->error());
        check(b ? b->n == (*from)->n : b.error() == from->error());
      }
      auto itself = *from;
      auto const& alias = itself;
      itself = alias;
      check(itself ? itself->n == (*from)->n : itself.error() == from->error());
      itself.swap(itself);
      check(itself ? itself->n == (*from)->n : itself.error() == from->error());
      itself = fail(errc::stopped, "c");
      check(!itself && itself.error().code == errc::stopped);
      itself = counted{alive, 9};
      check(itself->n == 9);
      itself.emplace(alive, 10);
      check(itself->n == 10);
    }
  }
  check(alive == 0);  // as many were destroyed as were made
  return true;
}
CHECK_BOTH(every_assignment_between_the_two_states_works);

constexpr bool a_result_can_be_assigned_a_part_of_itself() {
  struct tree {
    int n = 0;
    error last{errc::gap, "inside"};
    constexpr explicit(false) tree(int from) : n{from} {}
    constexpr explicit(false) tree(error const& from) : last{from} {}
  };
  result<tree> r = 3;
  r = unexpected{r->last};
  check(r.error().text == "inside");
  r = r.error();  // the value is made of the error that it replaces
  check(r.has_value() && r->last.text == "inside");

  using text = keyspan::inline_text<160>;
  result<text> sentence = fail(errc::gap, "between two ranges");
  sentence = sentence.error().text;
  check(sentence->view() == "between two ranges");

  result<errc> kind = fail(errc::contended, "again");
  kind = kind.error().code;
  check(kind == errc::contended);
  return true;
}
CHECK_BOTH(a_result_can_be_assigned_a_part_of_itself);

// A chain that owns its next link; each may be a failure.
struct chain {
  result<chain>* next;
  constexpr explicit chain(result<chain>* owned) : next{owned} {}
  constexpr chain(chain&& other) noexcept : next{std::exchange(other.next, nullptr)} {}
  constexpr chain& operator=(chain&& other) noexcept;
  constexpr ~chain();
};
constexpr chain& chain::operator=(chain&& other) noexcept {
  auto* const old = std::exchange(next, std::exchange(other.next, nullptr));
  delete old;
  return *this;
}
constexpr chain::~chain() { delete next; }

constexpr bool a_failure_that_lives_in_the_value_outlives_it() {
  result<chain> r{chain{new result<chain>{fail(errc::gap, "the end of the chain")}}};
  r = std::move(*r->next);
  check(r == fail(errc::gap, "the end of the chain"));
  return true;
}
CHECK_BOTH(a_failure_that_lives_in_the_value_outlives_it);

TEST_CASE("a string assigned from the error's own text holds that text") {
  result<std::string> r = fail(errc::gap, "a sentence that is longer than what fits inline");
  r = r.error().text.view();
  CHECK(r == "a sentence that is longer than what fits inline");
}

TEST_CASE("an assignment that throws leaves the result as it was") {
  throwing::alive = 0;
  {
    auto const failure = fail(errc::gap, "kept");
    auto const value = [](int n) { return result<throwing>{std::in_place, n}; };

    for (auto const when : {throwing::on_copy, throwing::on_move}) {
      INFO("moment " << when);
      auto const source = value(1);
      result<throwing> r = failure;
      if (throws_when(when, [&] { r = source; })) {
        CHECK_FALSE(r.has_value());
        CHECK(r == failure);
      }
    }
    {
      auto source = value(2);
      result<throwing> r = failure;
      CHECK(throws_when(throwing::on_move, [&] { r = std::move(source); }));
      CHECK(r == failure);
      CHECK(source->n == 2);
    }
    {
      auto r = value(3);
      auto const source = value(4);
      CHECK(throws_when(throwing::on_assignment, [&] { r = source; }));
      CHECK(r->n == 3);
      CHECK(throws_when(throwing::on_construction, [&] { r.emplace(5); }));
      CHECK(r->n == 3);
      result<throwing> failed = failure;
      CHECK(throws_when(throwing::on_construction, [&] { failed.emplace(5); }));
      CHECK(failed == failure);
      CHECK(throws_when(throwing::on_move, [&] { failed.emplace(5); }));
      CHECK(failed == failure);
    }
    // A swap of a value with an error keeps both where the value cannot move over.
    {
      auto a = value(6);
      result<throwing> b = failure;
      CHECK(throws_when(throwing::on_move, [&] { a.swap(b); }));
      CHECK(a->n == 6);
      CHECK(b == failure);
      CHECK(throws_when(throwing::on_move, [&] { swap(b, a); }));
      CHECK(a->n == 6);
      CHECK(b == failure);
      for (int passes = 1; passes < 4; ++passes) {
        auto value_side = value(6);
        result<throwing> error_side = failure;
        if (!throws_when(throwing::on_move, [&] { value_side.swap(error_side); }, passes)) continue;
        CHECK(value_side.has_value());
        CHECK(error_side == failure);
      }
      swap(a, b);
      CHECK(a == failure);
      CHECK(b->n == 6);
    }
    CHECK(throws_when(throwing::on_copy, [&] {
      auto const r = value(7);
      auto const copy = r;
    }));
  }
  CHECK(throwing::alive == 0);
}

TEST_CASE("a result allocates nothing of its own") {
  std::size_t const count = test::allocations_in([] {
    result<int> r = fail(errc::range_gone, "the range ", 7, " was split at ", "05C1");
    auto copy = r;
    r = 5;
    swap(r, copy);
    auto const text = r.error().to_text();
    auto const chained = copy.transform([](int n) { return n + 1; }).and_then(half_of);
    static_cast<void>(text);
    static_cast<void>(chained);
  });
  CHECK(count == 0);
}

// ---- chains

constexpr bool chains_run_what_they_should_and_pass_the_rest_on() {
  auto const three = [] { return result<int>{3}; };
  auto const failed = [] { return result<int>{fail(errc::gap, "none")}; };
  auto const twice = [](int n) { return 2 * n; };

  check(three().transform(twice) == 6);
  check(failed().transform(twice) == fail(errc::gap, "none"));
  check(three().and_then([](int n) { return result<long>{n + 1L}; }) == 4);
  check(!failed().and_then([](int) { return result<void>{}; }));
  check(three().transform([](int) {}).has_value());
  check(!failed().transform([](int) {}).has_value());

  check(three().or_else([](error const&) -> result<int> { return 0; }) == 3);
  check(failed().or_else([](error const& e) -> result<int> { return e.code == errc::gap; }) == 1);
  auto const renamed = [](error const& e) { return error{errc::overlap, "was ", name_of(e.code)}; };
  check(failed().transform_error(renamed) == fail(errc::overlap, "was gap"));
  check(three().transform_error(renamed) == 3);

  check(three().value_or(9) == 3 && failed().value_or(9) == 9);
  check(failed().value_or({}) == 0);
  check(three().error_or(error{errc::stopped}).code == errc::stopped);
  check(failed().error_or(error{errc::stopped}).code == errc::gap);

  struct row {
    int id;
    constexpr int doubled() const { return 2 * id; }
  };
  check(result<row>{row{4}}.transform(&row::doubled) == 8);

  result<void> const done{};
  result<void> const undone = fail(errc::stopped, "stop");
  check(done.transform([] { return 1; }) == 1 && !undone.transform([] { return 1; }));
  check(done.transform([] {}).has_value());
  check(done.and_then([] { return result<int>{2}; }) == 2);
  check(undone.and_then([] { return result<int>{2}; }) == fail(errc::stopped, "stop"));
  check(undone.or_else([](error const&) { return result<void>{}; }).has_value());
  check(undone.transform_error(renamed) == fail(errc::overlap, "was stopped"));
  check(done == result<void>{} && !(done == undone) && undone == fail(errc::stopped, "stop"));
  auto a = done;
  auto b = undone;
  swap(a, b);
  check(!a && b.has_value());
  a.emplace();
  check(a.has_value());
  return true;
}
CHECK_BOTH(chains_run_what_they_should_and_pass_the_rest_on);

constexpr bool chains_hand_their_value_on_by_its_category() {
  auto const take = [](move_only&& from) { return result<move_only>{std::move(from)}; };
  result<move_only> owner{move_only{2}};
  auto const heir = std::move(owner).and_then(take);
  check(heir->n == 2 && owner->n == -1);
  auto const kept = result<move_only>{move_only{3}}.or_else(
      [](error const&) -> result<move_only> { return fail(errc::gap, "none"); });
  check(kept->n == 3);
  check(result<move_only>{fail(errc::gap, "none")}.value_or(move_only{4}).n == 4);
  result<int> counter = 1;
  static_cast<void>(counter.transform([](int& n) { return ++n; }));
  check(counter == 2);
  return true;
}
CHECK_BOTH(chains_hand_their_value_on_by_its_category);

// ---- comparison

constexpr bool results_are_equal_in_state_and_content() {
  result<int> const one = 1;
  result<long> const one_too = 1L;
  result<int> const failed = fail(errc::gap, "a");
  check(one == one_too && one_too == one && one == 1 && 1L == one);
  check(one != failed && failed != one && failed != 1);
  check(failed == fail(errc::gap, "a") && fail(errc::gap, "a") == failed);
  check(failed != fail(errc::gap, "b") && failed != fail(errc::overlap, "a"));
  check(one != fail(errc::gap, "a"));
  result<std::size_t> const many = ~std::size_t{0};
  check(many != -1);  // as numbers, not as bit patterns
  check(result<int>{-1} != ~0U);
  check(result<std::size_t>{5U} == 5);
  check(result<std::string_view>{"a"} == "a");
  return true;
}
CHECK_BOTH(results_are_equal_in_state_and_content);

// ---- std::expected, where there is one

#if KEYSPAN_STD_EXPECTED
template <class T>
using standard = std::expected<T, error>;

constexpr bool a_result_converts_to_std_expected_and_back() {
  result<int> const fine = 5;
  result<int> const failed = fail(errc::gap, "none");
  standard<int> const fine_there = fine;
  standard<int> const failed_there = failed;
  check(fine_there == 5 && failed_there.error() == failed.error());
  result<int> const back = fine_there;
  result<int> const failed_back = failed_there;
  check(back == fine && failed_back == failed);
  result<int> const refused = std::unexpected{error{errc::stopped}};
  check(refused.error().code == errc::stopped);
  result<int> assigned = 1;
  assigned = failed_there;
  check(assigned == failed);
  assigned = fine_there;
  check(assigned == fine);

  result<void> const done{};
  standard<void> const done_there = done;
  check(done_there.has_value());
  standard<void> const undone_there = result<void>{fail(errc::stopped, "stop")};
  check(undone_there.error().text == "stop");
  check(result<void>{undone_there} == fail(errc::stopped, "stop"));
  check(result<void>{done_there}.has_value());

  result<move_only> owner{move_only{3}};
  standard<move_only> there = std::move(owner);
  check(there->n == 3 && owner->n == -1);
  result<move_only> const home = std::move(there);
  check(home->n == 3);
  check(!std::is_convertible_v<result<move_only> const&, standard<move_only>>);
  check(!std::is_constructible_v<result<move_only>, standard<move_only> const&>);

  standard<bool> const no_there = result<bool>{false};
  check(no_there.has_value() && !*no_there);
  result<bool> const no = no_there;
  check(no == false);
  check(!std::is_constructible_v<result<bool>, standard<int>>);
  return true;
}
CHECK_BOTH(a_result_converts_to_std_expected_and_back);

TEST_CASE("a std::unexpected or std::expected is not swallowed by a type that can hold anything") {
  result<std::any> const refused = std::unexpected{error{errc::stopped}};
  CHECK_FALSE(refused.has_value());
  standard<std::any> there{5};
  result<std::any> const here = there;
  CHECK(std::any_cast<int>(*here) == 5);
}
#endif

}  // namespace
