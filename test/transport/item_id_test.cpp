#include <keyspan/transport/item_id.hpp>

#include <keyspan/key/key_value.hpp>
#include <keyspan/key/partition_key.hpp>

#include <catch2/catch_test_macros.hpp>

#include <array>
#include <concepts>
#include <string>
#include <string_view>
#include <vector>

namespace {

using keyspan::borrowed_text;
using keyspan::item_id;
using keyspan::key_value;
using keyspan::partition_key;

TEST_CASE("a document is told from others by its key and its id") {
  // [region: example]
  std::vector<item_id> const wanted{{partition_key{"redmond"}, "r-1"},
                                    {partition_key{"seattle"}, "r-1"}};
  std::string const token = "0:17";
  keyspan::read_options const as_new_as{.session_token = token};
  // [end: example]
  CHECK(wanted[0] == item_id{partition_key{"redmond"}, "r-1"});
  CHECK_FALSE(wanted[0] == wanted[1]);
  CHECK(as_new_as.session_token.view().data() == token.data());
}

TEST_CASE("a text is borrowed where it stays") {
  STATIC_REQUIRE(std::constructible_from<borrowed_text, std::string const&>);
  STATIC_REQUIRE(std::constructible_from<borrowed_text, char const*>);
  STATIC_REQUIRE(std::constructible_from<borrowed_text, std::string_view>);
  STATIC_REQUIRE_FALSE(std::constructible_from<borrowed_text, std::string>);
  CHECK(borrowed_text{}.view().empty());
}

TEST_CASE("whatever makes a key is looked at as one") {
  std::array<key_value, 2> const values{key_value{"a"}, key_value{2}};
  CHECK(keyspan::detail::view_of_key(values).size() == 2);
  CHECK(keyspan::detail::view_of_key("a")[0] == key_value{"a"});
  partition_key const own{"a"};
  CHECK(keyspan::detail::view_of_key(own)[0].string().data() == own[0].string().data());
}

}  // namespace
