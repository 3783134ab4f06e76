// test/cosmos/address_test.cpp — names that may be, and how they stand in links and paths.
#include <keyspan/core/error.hpp>
#include <keyspan/cosmos/address.hpp>

#include <support/check.hpp>

#include <string>
#include <string_view>

namespace {

using keyspan::errc;
using keyspan::cosmos::container_address;
using keyspan::cosmos::is_name;
using test::check;

TEST_CASE("a name is UTF-8 without what divides paths") {
  for (std::string_view const name : {"a", "shop 2", "\u96fb", "a.b-c_d~e%f", " a"})
    CHECK(is_name(name));
  CHECK(is_name(std::string(255, 'x')));
  CHECK_FALSE(is_name(std::string(256, 'x')));
  for (std::string_view const name :
       {"", "a/b", "a\\b", "a?b", "a#b", "a ", "a\nb", "\x7f", "\xff"})
    CHECK_FALSE(is_name(name));
}

TEST_CASE("what nothing may be called is refused, with the name") {
  for (auto const& refused :
       {container_address::from("a/b", "c"), container_address::from("c", "a/b")}) {
    REQUIRE_FALSE(refused.has_value());
    CHECK(refused.error().code == errc::invalid_options);
    CHECK(refused.error().text.view().ends_with("this is none: a/b"));
  }
}

TEST_CASE("links have names as they are, and paths have them encoded") {
  auto const at = container_address::from("my shop", "r\u00e9views").value();
  CHECK(at.link() == "dbs/my shop/colls/r\u00e9views");
  CHECK(at.link("\u00e9 1") == "dbs/my shop/colls/r\u00e9views/docs/\u00e9 1");
  CHECK(at.path() == "/dbs/my%20shop/colls/r%C3%A9views");
  CHECK(at.path("a+b%") == "/dbs/my%20shop/colls/r%C3%A9views/docs/a%2Bb%25");
}

TEST_CASE("the example of address reads as it should") {
  // [region: example]
  auto const reviews = keyspan::cosmos::container_address::from("shop", "reviews");
  check(reviews->link("r 1") == "dbs/shop/colls/reviews/docs/r 1");
  check(reviews->path("r 1") == "/dbs/shop/colls/reviews/docs/r%201");
  // [end: example]
}

}  // namespace
