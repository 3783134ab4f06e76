// test/core/index_view_test.cpp — numbered elements as a range of either library.
#include <keyspan/core/index_view.hpp>

#include <range/v3/view/reverse.hpp>
#include <range/v3/view/transform.hpp>

#include <support/check.hpp>
#include <support/contracts.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <iterator>
#include <ranges>
#include <vector>

namespace {

using keyspan::index_iterator;
using keyspan::index_view;
using test::check;

// Makes what it shows: there is nothing to refer to.
struct squares {
  constexpr std::size_t operator[](std::size_t i) const { return i * i; }
};
// Shows what it has.
struct letters {
  std::array<char, 4> all{'a', 'b', 'c', 'd'};
  constexpr char const& operator[](std::size_t i) const { return all[i]; }
};

static_assert(std::random_access_iterator<index_iterator<squares>>);
static_assert(std::ranges::view<index_view<squares>>);
static_assert(std::ranges::borrowed_range<index_view<squares>>);
static_assert(std::ranges::random_access_range<index_view<squares>>);
static_assert(std::ranges::sized_range<index_view<squares>>);
static_assert(ranges::random_access_range<index_view<squares>>);
static_assert(ranges::sized_range<index_view<squares>>);
static_assert(ranges::viewable_range<index_view<squares>>);
static_assert(std::is_same_v<std::iterator_traits<index_iterator<letters>>::iterator_category,
                             std::random_access_iterator_tag>);
static_assert(std::is_same_v<std::iterator_traits<index_iterator<squares>>::iterator_category,
                             std::input_iterator_tag>);

constexpr bool an_iterator_goes_wherever_an_index_does() {
  squares const all{};
  index_iterator const begin{all, 2};
  auto it = begin;
  check(*it == 4 && it.index() == 2);
  check(*++it == 9 && *it++ == 9 && *it == 16);
  check(*--it == 9 && *it-- == 9 && it == begin);
  check(it[3] == 25 && *(it + 3) == 25 && *(3 + it) == 25);
  it += 5;
  check(*it == 49 && it - begin == 5 && begin - it == -5);
  it -= 6;
  check(*it == 1 && it < begin && *(begin - 2) == 0);
  return true;
}
CHECK_BOTH(an_iterator_goes_wherever_an_index_does);

constexpr bool a_view_shows_the_elements_between_two_numbers() {
  letters const all{};
  index_view const view{all, 1, 3};
  check(view.size() == 2 && !view.empty());
  check(view.front() == 'b' && view.back() == 'c' && view[1] == 'c');
  check(&view[0] == &all.all[1]);
  check(index_view{all, 2, 2}.empty() && index_view<letters>{}.empty());
  std::size_t sum = 0;
  squares const numbers{};
  for (auto const square : index_view{numbers, 1, 4}) sum += square;
  check(sum == 14);
  return true;
}
CHECK_BOTH(a_view_shows_the_elements_between_two_numbers);

struct point {
  int x, y;
};
struct points {  // made as they are looked at
  constexpr std::size_t size() const { return 4; }
  constexpr point operator[](std::size_t i) const {
    int const x = static_cast<int>(i);
    return {x, (x - 2) * (x - 2)};
  }
};
struct kept_points {
  point all[3]{{1, 2}, {3, 4}, {5, 6}};
  constexpr point const& operator[](std::size_t i) const { return all[i]; }
};

constexpr bool an_iterator_points_to_members_of_kept_and_of_made_elements() {
  points const made{};
  index_view const view{made, 0, 4};
  auto const least = std::ranges::min_element(view, {}, [](point p) { return p.y; });
  check(least->x == 2 && least->y == 0);
  kept_points const kept{};
  check(&index_view{kept, 1, 3}.begin()->y == &kept.all[1].y);
  return true;
}
CHECK_BOTH(an_iterator_points_to_members_of_kept_and_of_made_elements);

TEST_CASE("a view that ends before it begins is a broken promise") {
  squares const all{};
  CHECK(test::promise_broken_by([&] { return index_view{all, 3, 2}; }) ==
        "a view ends where it begins, or behind");
}

TEST_CASE("the example of an index view reads as it should") {
  // [region: example]
  squares const all{};
  auto const some = keyspan::index_view{all, 2, 5};  // 4, 9, 16: made as they are looked at
  auto const halved = [](std::size_t square) { return square / 2; };

  std::vector<std::size_t> found;
  for (auto const half : some | std::views::transform(halved)) found.push_back(half);
  for (auto const half : some | ranges::views::reverse | ranges::views::transform(halved))
    found.push_back(half);
  CHECK(found == std::vector<std::size_t>{2, 4, 8, 8, 4, 2});
  // [end: example]
}

}  // namespace
