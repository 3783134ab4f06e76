// test/key/described_member_test.cpp — members of structs by name.
#include <keyspan/key/described_member.hpp>

#include <support/check.hpp>

#include <boost/hana/adapt_adt.hpp>
#include <boost/hana/adapt_struct.hpp>
#include <boost/hana/define_struct.hpp>

#include <concepts>
#include <string>
#include <string_view>
#include <type_traits>

namespace {

// [region: example]
struct review {
  std::string id, article_id;
  int rating;
};
// [end: example]

struct inside {
  BOOST_HANA_DEFINE_STRUCT(inside, (int, a), (std::string_view, b));
};
struct behind_getters {
  int value() const { return 7; }
  std::string const& name() const { return name_; }
  std::string name_ = "n";
};
struct not_described {
  int id;
};
struct nothing_in_it {};

}  // namespace

// [region: example_description]
BOOST_HANA_ADAPT_STRUCT(review, id, article_id, rating);
// [end: example_description]
BOOST_HANA_ADAPT_STRUCT(nothing_in_it);
BOOST_HANA_ADAPT_ADT(behind_getters, (value, [](auto const& self) { return self.value(); }),
                     (name, [](auto const& self) -> auto const& { return self.name(); }));

namespace {

using keyspan::described_struct;
using keyspan::has_member_named;
using keyspan::member_named;
using test::check;

// [region: example_use]
static_assert(described_struct<review>);
static_assert(has_member_named<review, "article_id">);
static_assert(!has_member_named<review, "artcle_id">);
// [end: example_use]

static_assert(described_struct<inside> && described_struct<behind_getters> &&
              described_struct<nothing_in_it>);
static_assert(!described_struct<not_described> && !described_struct<int> &&
              !described_struct<std::string>);
static_assert(has_member_named<review, "id"> && has_member_named<review, "rating">);
static_assert(!has_member_named<review, ""> && !has_member_named<review, "Id"> &&
              !has_member_named<review, "id ">);
static_assert(!has_member_named<nothing_in_it, "id">);
static_assert(!has_member_named<not_described, "id"> && !has_member_named<int, "id">);
static_assert(has_member_named<behind_getters, "value"> &&
              !has_member_named<behind_getters, "name_">);

constexpr bool a_member_is_found_by_its_name() {
  inside const one{.a = 5, .b = "x"};
  check(member_named<"a">(one) == 5);
  check(member_named<"b">(one) == "x");
  check(&member_named<"a">(one) == &one.a);  // the member itself, no copy
  return true;
}
CHECK_BOTH(a_member_is_found_by_its_name);

TEST_CASE("a getter stands for a member") {
  behind_getters const one;
  CHECK(member_named<"value">(one) == 7);
  CHECK(&member_named<"name">(one) == &one.name_);
  static_assert(std::same_as<decltype(member_named<"value">(one)), int>);
  static_assert(std::same_as<decltype(member_named<"name">(one)), std::string const&>);
}

TEST_CASE("every member of a review is itself") {
  review const one{"r1", "a1", 5};
  CHECK(&member_named<"id">(one) == &one.id);
  CHECK(&member_named<"article_id">(one) == &one.article_id);
  CHECK(&member_named<"rating">(one) == &one.rating);
}

}  // namespace
