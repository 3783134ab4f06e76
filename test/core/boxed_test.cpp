// test/core/boxed_test.cpp — a value that is rarely there, and its copies.
#include <keyspan/core/boxed.hpp>

#include <catch2/catch_test_macros.hpp>

#include <support/allocations.hpp>
#include <support/contracts.hpp>

#include <string>
#include <type_traits>
#include <utility>

namespace {

using keyspan::detail::boxed;

static_assert(sizeof(boxed<std::string>) == sizeof(void*));
static_assert(std::is_nothrow_move_constructible_v<boxed<std::string>>);
static_assert(std::is_nothrow_move_assignable_v<boxed<std::string>>);

}  // namespace

TEST_CASE("the example of boxed reads as it should") {
  // [region: example]
  keyspan::detail::boxed<std::string> why;  // nothing is allocated
  bool const was_there = static_cast<bool>(why);
  why.emplace(3, '!');
  auto const copy = why;
  why->push_back('?');
  // [end: example]
  CHECK_FALSE(was_there);
  CHECK(*why == "!!!?");
  CHECK(*copy == "!!!");
  CHECK(copy->size() == 3);
  why.reset();
  CHECK_FALSE(why);
}

TEST_CASE("a boxed value is copied and moved like any other") {
  boxed<std::string> none;
  boxed<std::string> one;
  one.emplace("one");
  boxed<std::string> other;
  other = one;
  CHECK(*other == "one");
  other->push_back('s');
  CHECK(*one == "one");
  other = std::as_const(other);
  CHECK(*other == "ones");
  other = none;
  CHECK_FALSE(other);
  other = std::move(one);
  CHECK(*other == "one");
  CHECK_FALSE(boxed{none});
}

TEST_CASE("nothing is allocated for a boxed value that is not there") {
  auto const made = test::allocations_in([] {
    boxed<std::string> none;
    boxed<std::string> copy{none};
    copy = none;
  });
  CHECK(made == 0);
}

TEST_CASE("a boxed value that is not there is not looked at") {
  boxed<int> none;
  CHECK(test::promise_broken_by([&] { return *none; }) ==
        "a boxed value is looked at where it is there");
  CHECK(test::promise_broken_by([&] { return *std::as_const(none); }) != "");
}
