// test/cosmos/document_json_test.cpp — documents of three kinds of types, there and back.
#include <keyspan/core/error.hpp>
#include <keyspan/cosmos/document_json.hpp>

#include <boost/hana/adapt_struct.hpp>
#include <catch2/catch_test_macros.hpp>
#include <nlohmann/json.hpp>
#include <support/random.hpp>

#include <bit>
#include <cmath>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace {

struct place {
  std::string city;
  std::optional<int> zip{};

  friend bool operator==(place const&, place const&) = default;
};

// [region: struct]
struct review {
  std::string id, article_id;
  int rating = 0;
  std::optional<std::string> text{};
};
// [end: struct]

struct everything {
  std::string id;
  bool is_good = false;
  std::int8_t small = 0;
  std::uint64_t large = 0;
  double weight = 0;
  place home{};
  std::vector<place> others{};
  std::vector<bool> flags{};
  std::optional<place> work{};
  nlohmann::json rest{};

  friend bool operator==(everything const&, everything const&) = default;
};

struct converted {
  std::string id;
  int n = 0;

  friend bool operator==(converted const&, converted const&) = default;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(converted, id, n)

struct unknown {};

}  // namespace

BOOST_HANA_ADAPT_STRUCT(place, city, zip);
BOOST_HANA_ADAPT_STRUCT(review, id, article_id, rating, text);
BOOST_HANA_ADAPT_STRUCT(everything, id, is_good, small, large, weight, home, others, flags, work,
                        rest);

namespace {

using keyspan::errc;
using keyspan::cosmos::document_from;
using keyspan::cosmos::document_type;
using keyspan::cosmos::json_from;
using keyspan::cosmos::json_of;
using keyspan::cosmos::text_of;

static_assert(document_type<nlohmann::json> && document_type<review> && document_type<converted>);
static_assert(!document_type<unknown> && !document_type<std::unique_ptr<int>>);

template <class T>
std::string text_for(T const& document) {
  return text_of(json_of(document).value()).value();
}

TEST_CASE("a struct is an object of its members") {
  // [region: example]
  review const one{"r-1", "redmond", 5};
  std::string const text = *text_of(*json_of(one));
  auto const again = document_from<review>(*json_from(text));
  // [end: example]
  CHECK(text == R"({"article_id":"redmond","id":"r-1","rating":5})");
  REQUIRE(again);
  CHECK(again->rating == 5);
  CHECK_FALSE(again->text);
}

TEST_CASE("members are there and back what they were") {
  everything const one{"e",
                       true,
                       -128,
                       ~std::uint64_t{0},
                       0.1,
                       {"c", 5},
                       {{"d"}, {"e", 6}},
                       {true, false},
                       place{"w"},
                       {{"x", {1, 2}}}};
  auto const again = document_from<everything>(json_from(text_for(one)).value());
  REQUIRE(again);
  CHECK(*again == one);
  everything const plain{"p"};
  CHECK(document_from<everything>(json_from(text_for(plain)).value()).value() == plain);
}

TEST_CASE("what nlohmann/json converts is converted by it, and its complaint is told") {
  converted const one{"c", 7};
  CHECK(text_for(one) == R"({"id":"c","n":7})");
  CHECK(document_from<converted>(json_of(one).value()).value() == one);
  auto const refused = document_from<converted>({{"id", "c"}});
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == errc::malformed);
  CHECK(refused.error().text == "key 'n' not found");
}

TEST_CASE("a member that is missing or of another kind is named") {
  auto const refusal = [](nlohmann::json const& from) {
    auto const read = document_from<everything>(from);
    REQUIRE_FALSE(read);
    return std::string{read.error().text.view()};
  };
  nlohmann::json good = json_of(everything{"e"}).value();
  REQUIRE(document_from<everything>(good));
  auto const with = [&](char const* name, nlohmann::json value) {
    auto made = good;
    made[name] = std::move(value);
    return refusal(made);
  };
  auto missing = good;
  missing.erase("weight");
  CHECK(refusal(missing) == "member \"weight\" is not there");
  CHECK(with("is_good", 1) == "member \"is_good\": a boolean belongs there, not number");
  CHECK(with("small", "x") == "member \"small\": a whole number belongs there, not string");
  CHECK(with("weight", "x") == "member \"weight\": a number belongs there, not string");
  CHECK(with("home", nullptr) == "member \"home\": an object belongs there, not null");
  CHECK(with("home", {{"town", "c"}}) == "member \"home\": member \"city\" is not there");
  CHECK(with("others", {{"city", "c"}}) == "member \"others\": an array belongs there, not object");
  CHECK(with("others", nlohmann::json::array({1})) ==
        "member \"others\": an object belongs there, not number");
  CHECK(with("work", 1) == "member \"work\": an object belongs there, not number");
  CHECK(with("id", 1).starts_with("member \"id\": "));
  CHECK(document_from<everything>(1).error().code == errc::malformed);
}

TEST_CASE("whole numbers are read exactly or not at all") {
  nlohmann::json good = json_of(everything{"e"}).value();
  auto const small = [&](nlohmann::json value) {
    good["small"] = std::move(value);
    return document_from<everything>(good);
  };
  CHECK(small(127)->small == 127);
  CHECK(small(-128)->small == -128);
  CHECK(small(5.0)->small == 5);
  CHECK(small(128).error().code == errc::not_representable);
  CHECK(small(-129).error().code == errc::not_representable);
  CHECK(small(5.5).error().code == errc::not_representable);
  CHECK(small(1e300).error().code == errc::not_representable);
  CHECK(small(~std::uint64_t{0}).error().code == errc::not_representable);
}

TEST_CASE("what is no document is refused") {
  CHECK(json_of(nlohmann::json{1, 2}).error().code == errc::malformed);
  CHECK(json_of(nlohmann::json{}).error().code == errc::malformed);
  CHECK(json_from("{\"a\":").error().code == errc::malformed);
  CHECK(json_from("{\"a\":1e999}").error().code == errc::malformed);
  CHECK(json_from("").error().code == errc::malformed);
  nlohmann::json const bad{{"id", "\xFF"}};
  CHECK(text_of(bad).error().code == errc::invalid_utf8);
  for (double const none : {std::nan(""), HUGE_VAL, -HUGE_VAL}) {
    CHECK(text_of({{"id", "d"}, {"deep", {{"n", {1, none}}}}}).error().code ==
          errc::not_representable);
    CHECK(text_of(json_of(everything{.id = "e", .weight = none}).value()).error().code ==
          errc::not_representable);
  }
}

TEST_CASE("a text is read as nlohmann/json reads it, kinds of numbers included") {
  for (std::string const text :
       {R"({"id":"r-1","n":-7,"o":{"a":[1,[],{},[null,true,false]]}})",
        R"("caf\u00e9 \ud83d\ude00 \n \"quoted\"")", R"({"\u0069d":"an escape in a name","":0})",
        "[0,-0,-0.0,1e2,1E-2,5.0,0.1,1.5e300]", "[18446744073709551615,18446744073709551616,1e19]",
        "[-9223372036854775808,-9223372036854775809]", "123456789012345678901234567890",
        " \t\r\n[ 1 , 2 ]\n", "null", "\"\"", "{}"}) {
    INFO(text);
    auto const read = json_from(text);
    auto const wanted = nlohmann::json::parse(text);
    REQUIRE(read);
    CHECK(*read == wanted);
    CHECK(read->dump() == wanted.dump());
    CHECK(read->type() == wanted.type());
    if (!read->is_array()) continue;
    for (std::size_t i = 0; i < read->size(); ++i) CHECK((*read)[i].type() == wanted[i].type());
  }
  for (std::string const text : {R"({"a":1,"a":2})", "[1,]", "01", "1 2", "\"\xFF\"", "[-]", "nul"})
    CHECK(json_from(text).error().code == errc::malformed);
}

TEST_CASE("a document may be as deep as a reader goes, and no deeper") {
  auto const nested = [](std::size_t levels) {
    return std::string(levels, '[') + std::string(levels, ']');
  };
  CHECK(json_from(nested(1'024)).value().dump() == nested(1'024));
  CHECK(json_from(nested(1'025)).error().code == errc::malformed);
}

// A token is made of the double's bits: what one JSON library rounds otherwise has another token.
TEST_CASE("a hundred thousand doubles are the same bits behind their text") {
  test::random random{20'240'817};
  int seen = 0;
  while (seen < 100'000) {
    auto const value = std::bit_cast<double>(random());
    if (!std::isfinite(value)) continue;
    ++seen;
    nlohmann::json const document{{"id", "d"}, {"n", value}};
    auto const again = json_from(text_of(document).value()).value();
    REQUIRE(std::bit_cast<std::uint64_t>(again["n"].get<double>()) ==
            std::bit_cast<std::uint64_t>(value));
  }
}

}  // namespace
