// test/key/joined_test.cpp — texts of several parts.
#include <keyspan/key/extractor.hpp>
#include <keyspan/key/joined.hpp>
#include <keyspan/key/time_bucket.hpp>

#include <support/allocations.hpp>
#include <support/check.hpp>
#include <support/contracts.hpp>

#include <boost/hana/adapt_struct.hpp>

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace {

struct sale {
  std::string_view city;
  std::chrono::sys_seconds at{};
  double amount = 0;
  bool is_online = false;
  std::optional<std::string_view> shop{};
};
struct note {
  std::string text;
  std::optional<int> number;
};

}  // namespace

BOOST_HANA_ADAPT_STRUCT(sale, city, at, amount, is_online, shop);

namespace {

using keyspan::joined;
using keyspan::key_of;
using keyspan::partition_key;
using keyspan::path;
using keyspan::result;
using keyspan::undefined;
using test::check;

constexpr auto noon =
    std::chrono::sys_days{std::chrono::year{2026} / 11 / 18} + std::chrono::hours{12};

constexpr bool parts_are_joined_into_one_text() {
  // [region: example]
  constexpr auto city_day =
      joined("-", &sale::city, keyspan::time_bucket(&sale::at, keyspan::time_unit::day));
  sale const one{.city = "London", .at = noon};
  check(*city_day(one) == partition_key{"London-2026-11-18"});
  check(*key_of(&sale::is_online, city_day)(one) == partition_key{false, "London-2026-11-18"});
  // [end: example]
  return true;
}
CHECK_BOTH(parts_are_joined_into_one_text);

constexpr bool numbers_and_truth_values_appear_as_in_json() {
  sale const one{.city = "", .at = noon, .amount = 1e21, .is_online = true};
  check(*joined("/", &sale::city, &sale::amount, path<"/is_online">)(one) ==
        partition_key{"/1e+21/true"});
  auto const cents = [](sale const&) { return -0.25; };
  check(*joined("", cents, cents)(one) == partition_key{"-0.25-0.25"});
  check(*joined("unused", &sale::city)(one) == partition_key{""});
  return true;
}
CHECK_BOTH(numbers_and_truth_values_appear_as_in_json);

constexpr bool a_missing_part_leaves_the_whole_missing() {
  sale const one{.city = "London", .at = noon};
  auto const nothing = [](sale const&) { return keyspan::null; };
  check(*joined("-", &sale::city, &sale::shop)(one) == partition_key{undefined});
  check(*joined("-", &sale::city, nothing)(one) == partition_key{keyspan::null});
  check(*joined("-", &sale::shop, nothing)(one) == partition_key{undefined});  // the first decides
  check(*joined("-", nothing, &sale::shop)(one) == partition_key{keyspan::null});
  return true;
}
CHECK_BOTH(a_missing_part_leaves_the_whole_missing);

constexpr bool an_error_of_a_part_is_the_error_of_the_whole() {
  sale const one{.city = "London", .at = noon};
  auto const fails = [](sale const&) -> result<keyspan::key_value> {
    return keyspan::fail(keyspan::errc::unsupported, "no");
  };
  check(joined("-", &sale::city, fails)(one).error().text == "part 2 of the key: no");
  check(joined("-", &sale::shop, fails)(one)->size() == 1);  // missing before
  return true;
}
CHECK_BOTH(an_error_of_a_part_is_the_error_of_the_whole);

TEST_CASE("joined text belongs to the key") {
  auto const join = joined("-", &note::text, &note::number);
  auto const key = join(note{"of a document that is gone", 7});
  CHECK(*key == partition_key{"of a document that is gone-7"});
}

TEST_CASE("parts with the separator in them look like others") {
  auto const join = joined("-", &note::text, &note::number);
  auto const also = joined("-", [](note const&) { return "a"; }, [](note const&) { return "1-2"; });
  note const one{"a-1", 2};
  CHECK(*join(one) == *also(one));
}

TEST_CASE("a joined text of up to 64 bytes allocates nothing") {
  auto const join = joined("-", &note::text, &note::number);
  note one{std::string(61, 'x'), 42};
  CHECK(test::allocations_in([&] { static_cast<void>(join(one)); }) == 0);
  one.text += 'y';
  auto const longer = join(one);
  CHECK((*longer)[0].string().size() == 65);
  CHECK((*longer)[0].string() == one.text + "-42");
}

TEST_CASE("a separator is short UTF-8") {
  CHECK(joined("0123456789ABCDEF", &note::text).separator() == "0123456789ABCDEF");
  CHECK(test::promise_broken_by([] { return joined("0123456789ABCDEFG", &note::text); }) ==
        "a separator has at most 16 bytes, and is UTF-8");
  CHECK(test::promise_broken_by([] { return joined("\xFF", &note::text); }) ==
        "a separator has at most 16 bytes, and is UTF-8");
}

}  // namespace
