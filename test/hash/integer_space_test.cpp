// test/hash/integer_space_test.cpp — integers shared out and cut: small spaces whole, wide ones at
// their ends.
#include <keyspan/hash/integer_space.hpp>

#include <support/check.hpp>
#include <support/contracts.hpp>

#include <cstdint>
#include <limits>

namespace {

using keyspan::errc;
using keyspan::integer_space;
using keyspan::space_end;
using keyspan::upper_end;
using test::check;

constexpr bool the_example_of_integer_space_reads_as_it_should() {
  // [region: example]
  constexpr integer_space<std::uint16_t> slots{0, 16383};
  check(slots.boundary(1, 3) == 5461);
  check(slots.midpoint(0, 16383) == std::uint16_t{8191});
  check(slots.midpoint(8192, space_end) == std::uint16_t{12288});
  check(slots.successor(16383).is_space_end());
  check(slots.midpoint(7, 8).error().to_text() == "invalid_range: no token lies between 7 and 8");
  // [end: example]
  return true;
}
CHECK_BOTH(the_example_of_integer_space_reads_as_it_should);

// All spaces of up to so many integers, around zero; all bounds, all counts of parts.
constexpr bool spaces_are_right_everywhere(int size_at_most) {
  for (int first = -3; first <= 1; ++first) {
    for (int last = first; last < first + size_at_most; ++last) {
      integer_space<int> const space{first, last};
      auto const size = static_cast<std::size_t>(last - first + 1);
      for (int t = first; t <= last; ++t) {
        check(space.contains(t));
        check(t == last ? space.successor(t).is_space_end() : space.successor(t) == t + 1);
      }
      check(!space.contains(first - 1) && !space.contains(last + 1));
      for (std::size_t parts = 1; parts <= size; ++parts) {
        check(space.boundary(0, parts) == first);
        for (std::size_t i = 1; i < parts; ++i)
          check(space.boundary(i, parts) ==
                space.boundary(i - 1, parts) + static_cast<int>(size / parts));
        check(space.contains(space.boundary(parts - 1, parts)));
      }
      for (int lower = first; lower <= last; ++lower) {
        for (int upper = first; upper <= last + 1; ++upper) {  // one behind the last is the end
          upper_end<int> const end =
              upper > last ? upper_end<int>{space_end} : upper_end<int>{upper};
          auto const middle = space.midpoint(lower, end);
          check(middle.has_value() == (upper - lower >= 2));
          if (middle) {
            check(*middle == lower + (upper - lower) / 2);
          } else {
            check(middle.error().code == errc::invalid_range);
          }
        }
      }
    }
  }
  return true;
}
static_assert(spaces_are_right_everywhere(5));
TEST_CASE("small spaces are right everywhere") { check(spaces_are_right_everywhere(16)); }

template <class Integer>
constexpr void check_whole_space() {
  using limits = std::numeric_limits<Integer>;
  integer_space<Integer> const space{};
  check(space.first == limits::min() && space.last == limits::max());
  check(space.boundary(0, 1) == limits::min());
  check(space.boundary(1, 2) == static_cast<Integer>(limits::max() / 2 + limits::min() / 2 + 1));
  check(space.midpoint(limits::min(), space_end) == space.boundary(1, 2));
  check(space.midpoint(static_cast<Integer>(limits::max() - 1), space_end) == limits::max());
  check(!space.midpoint(limits::max(), space_end));
  check(!space.midpoint(static_cast<Integer>(limits::max() - 1), limits::max()));
  check(space.midpoint(static_cast<Integer>(limits::max() - 2), limits::max()) ==
        static_cast<Integer>(limits::max() - 1));
  check(!space.midpoint(limits::max(), limits::min()));
  check(space.successor(limits::max()).is_space_end());
  for (std::size_t parts = 1; parts <= 100; ++parts)
    for (std::size_t i = 1; i < parts; ++i)
      check(space.boundary(i - 1, parts) < space.boundary(i, parts));
}

constexpr bool whole_spaces_of_every_width_are_right_at_their_ends() {
  check_whole_space<std::int8_t>();
  check_whole_space<std::uint8_t>();
  check_whole_space<std::int16_t>();
  check_whole_space<std::uint32_t>();
  check_whole_space<std::int64_t>();
  check_whole_space<std::uint64_t>();
  // floor(2^64 / 3) = 6148914691236517205, and 2^64 is no multiple of 7 either.
  check(integer_space<std::uint64_t>{}.boundary(1, 3) == 6148914691236517205u);
  check(integer_space<std::uint64_t>{}.boundary(6, 7) == 15811494920322472812u);
  check(integer_space<std::int64_t>{}.boundary(3, 4) == 4611686018427387904);
  return true;
}
CHECK_BOTH(whole_spaces_of_every_width_are_right_at_their_ends);

TEST_CASE("what lies outside a space breaks a promise") {
  constexpr integer_space<int> space{0, 9};
  CHECK(test::promise_broken_by([&] { return space.successor(10); }) ==
        "the space contains the token");
  CHECK(test::promise_broken_by([&] { return space.boundary(3, 3); }) ==
        "a part has a number below the count of parts");
  CHECK(test::promise_broken_by([&] { return space.boundary(3, 11); }) == "every part has a token");
  CHECK(test::promise_broken_by([&] { return space.midpoint(-1, 5); }) ==
        "the space contains the bounds");
  CHECK(test::promise_broken_by([&] { return space.midpoint(1, 10); }) ==
        "the space contains the bounds");
}

}  // namespace
