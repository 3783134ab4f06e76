// test/key/json_documents_test.cpp — partition keys out of nlohmann::json.
#include <keyspan/core/number.hpp>
#include <keyspan/key/container_definition.hpp>
#include <keyspan/key/extractor.hpp>
#include <keyspan/key/json_documents.hpp>

#include <support/allocations.hpp>
#include <support/check.hpp>
#include <support/random.hpp>

#include <nlohmann/json.hpp>

#include <array>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace {

using keyspan::errc;
using keyspan::key_of;
using keyspan::key_path;
using keyspan::key_value;
using keyspan::partition_document;
using keyspan::partition_key_view;
using keyspan::path;
using keyspan::undefined;
using nlohmann::json;
using nlohmann::ordered_json;

template <class Key, class Value, class, class Allocator>
using opaque = std::map<Key, Value, std::less<Key>, Allocator>;
using opaque_json = nlohmann::basic_json<opaque>;
using small_json =
    nlohmann::basic_json<std::map, std::vector, std::string, bool, std::int32_t, std::uint32_t>;
using float_json = nlohmann::basic_json<std::map, std::vector, std::string, bool, std::int64_t,
                                        std::uint64_t, float>;

static_assert(partition_document<json> && partition_document<ordered_json> &&
              partition_document<opaque_json> && partition_document<small_json>);
static_assert(!partition_document<float_json>, "its numbers are not those of its text");
static_assert(!partition_document<std::string> && !partition_document<json*>);
static_assert(!keyspan::key_input<json>, "a document is no value, its members are");

TEST_CASE("a key is read out of a JSON document") {
  // [region: example]
  constexpr auto tenant_user = key_of(path<"/tenant">, path<"/user/id">);
  auto const document = json::parse(R"({"tenant": "contoso", "user": {"id": 17}})");
  CHECK(*tenant_user(document) == partition_key_view{"contoso", 17});
  auto const refused = key_of(path<"/user">)(document);
  CHECK(refused.error().to_text() ==
        "not_a_key: at /user: an object is no key value; choose a path that leads to one");
  // [end: example]
  CHECK((*tenant_user(document))[0].string().data() ==
        document["tenant"].get_ref<std::string const&>().data());
  static_assert(!std::invocable<decltype(tenant_user), json>, "the key would outlive its text");
}

constexpr char const* everything = R"({
  "text": "Zürich", "empty": "", "whole": 5, "below": -5, "large": 9007199254740992,
  "fraction": 1.5, "minus_zero": -0.0, "yes": true, "no": false, "nothing": null,
  "object": {"inner": {"deep": "x"}}, "list": [1], "a/b \"c\"": "quoted", "": "nameless",
  "too_large": 9007199254740993, "too_low": -9007199254740993, "even": 18014398509481984,
  "largest": 18446744073709551615, "beyond": 18446744073709551616
})";

template <class Json>
void each_kind_of_value() {
  auto const document = Json::parse(everything);
  auto const at = [&](auto route) {
    auto const fixed = key_of(route)(document);
    auto const parsed = key_of(key_path{route})(document);  // the same at run time
    CHECK(fixed.has_value() == parsed.has_value());
    if (!fixed) {
      CHECK(fixed.error().code == parsed.error().code);
      return keyspan::result<key_value>{keyspan::unexpected{fixed.error()}};
    }
    CHECK(*fixed == *parsed);
    return keyspan::result<key_value>{(*fixed)[0]};
  };
  CHECK(*at(path<"/text">) == key_value{"Z\xC3\xBCrich"});
  CHECK(*at(path<"/empty">) == key_value{""});
  CHECK(*at(path<"/whole">) == key_value{5});
  CHECK(*at(path<"/below">) == key_value{-5});
  CHECK(*at(path<"/large">) == key_value{9007199254740992.0});
  CHECK(*at(path<"/fraction">) == key_value{1.5});
  CHECK(std::bit_cast<std::uint64_t>(at(path<"/minus_zero">)->number()) == 0);
  CHECK(*at(path<"/yes">) == key_value{true});
  CHECK(*at(path<"/no">) == key_value{false});
  CHECK(at(path<"/nothing">)->is_null());
  CHECK(*at(path<"/object/inner/deep">) == key_value{"x"});
  CHECK(*at(path<R"(/"a/b \"c\"")">) == key_value{"quoted"});
  CHECK(*at(path<R"(/"")">) == key_value{"nameless"});

  CHECK(at(path<"/missing">)->is_undefined());
  CHECK(at(path<"/object/missing/deep">)->is_undefined());
  CHECK(at(path<"/text/beyond">)->is_undefined());
  CHECK(at(path<"/whole/beyond">)->is_undefined());
  CHECK(at(path<"/nothing/beyond">)->is_undefined());
  CHECK(at(path<"/list/0">)->is_undefined());  // elements have no names

  CHECK(at(path<"/object">).error().code == errc::not_a_key);
  CHECK(at(path<"/object/inner">).error().text ==
        "at /object/inner: an object is no key value; choose a path that leads to one");
  CHECK(at(path<"/list">).error().text ==
        "at /list: an array is no key value; choose a path that leads to one");
}

TEST_CASE("each kind of value is a key value, or an error that names its path") {
  each_kind_of_value<json>();
  each_kind_of_value<ordered_json>();
  each_kind_of_value<opaque_json>();
}

TEST_CASE("integers that a double does not hold exactly are refused") {
  auto const document = json::parse(everything);
  auto const error_at = [&](auto route) { return key_of(route)(document).error(); };
  CHECK(error_at(path<"/too_large">).code == errc::not_representable);
  CHECK(error_at(path<"/too_large">).text ==
        "at /too_large: 9007199254740993 is no number that a double holds exactly; "
        "make it a string");
  CHECK(error_at(path<"/too_low">).code == errc::not_representable);
  CHECK(error_at(path<"/largest">).code == errc::not_representable);
  CHECK(*key_of(path<"/even">)(document) == partition_key_view{18014398509481984.0});
  // In these digits a large double is written, and only in these is it accepted inexactly.
  auto const large = json::parse(R"({"n": 1234567890123456800, "next": 1234567890123456801,
                                     "below": -1234567890123456800})");
  CHECK(*key_of(path<"/n">)(large) == partition_key_view{1234567890123456768.0});
  CHECK(*key_of(path<"/below">)(large) == partition_key_view{-1234567890123456768.0});
  CHECK(key_of(path<"/next">)(large).error().code == errc::not_representable);
  // Beyond 64 bits it is a double already when it is parsed.
  CHECK(*key_of(path<"/beyond">)(document) == partition_key_view{18446744073709551616.0});
}

TEST_CASE("what only a program can put into a document is refused") {
  json document;
  document["ill"] = "a\xFFz";
  document["surrogate"] = "\xED\xA0\x80";
  document["infinity"] = std::numeric_limits<double>::infinity();
  document["nan"] = std::numeric_limits<double>::quiet_NaN();
  document["bytes"] = json::binary({1, 2});
  document["discarded"] = json(json::value_t::discarded);
  auto const error_at = [&](auto route) { return key_of(route)(document).error(); };
  CHECK(error_at(path<"/ill">).code == errc::invalid_utf8);
  CHECK(error_at(path<"/ill">).text ==
        "at /ill: a key value is UTF-8, this text is not from byte 1 on");
  CHECK(error_at(path<"/surrogate">).code == errc::invalid_utf8);
  CHECK(error_at(path<"/infinity">).text == "at /infinity: infinity is no key value");
  CHECK(error_at(path<"/nan">).code == errc::not_representable);
  CHECK(error_at(path<"/bytes">).code == errc::not_a_key);
  CHECK(error_at(path<"/discarded">).code == errc::not_a_key);
}

TEST_CASE("a document that is no object has no members") {
  for (auto const* text : {"5", "\"text\"", "null", "[{\"a\": 1}]", "true"})
    CHECK(*key_of(path<"/a">)(json::parse(text)[json::json_pointer{}]) ==
          partition_key_view{undefined});
}

TEST_CASE("every double comes out of a document with the bits that its text has") {
  test::random random{1};
  std::string text;
  std::size_t wrong = 0;
  constexpr auto number = key_of(path<"/n">);
  for (int i = 0; i < 100'000; ++i) {
    double const value = random.any_finite_double();
    char digits[keyspan::max_number_text];
    text.assign(R"({"n": )").append(*keyspan::write_number(value, digits)).append("}");
    auto const document = json::parse(text);
    auto const key = number(document);
    double const expected = value == 0 ? 0.0 : value;
    wrong += !key || std::bit_cast<std::uint64_t>((*key)[0].number()) !=
                         std::bit_cast<std::uint64_t>(expected);
  }
  CHECK(wrong == 0);
}

TEST_CASE("reading a key out of a document allocates nothing") {
  auto const document = json::parse(
      R"({"a name that is longer than a short string": {"another name that is no short string": "x"}})");
  auto const ordered = ordered_json(document);
  constexpr auto fixed = key_of(
      path<
          R"(/"a name that is longer than a short string"/"another name that is no short string")">,
      path<R"(/"a name that is not there, as long as the others")">);
  auto const parsed = key_of(*key_path::parse(
      R"(/"a name that is longer than a short string"/"another name that is no short string")"));
  CHECK(test::allocations_in([&] {
          static_cast<void>(fixed(document));
          static_cast<void>(fixed(ordered));
          static_cast<void>(parsed(document));
          static_cast<void>(parsed(ordered));
        }) == 0);
  CHECK(*fixed(document) == partition_key_view{"x", undefined});
}

TEST_CASE("a container finds both keys of a JSON document") {
  auto const document = json::parse(
      R"({"id": "row", "_id": {"$oid": "507f1f77bcf86cd799439011"}, "address": {"city": "Oslo"}})");
  auto const documents = keyspan::documents_container<"/address/city">();
  CHECK(*documents.key(document) == partition_key_view{"Oslo"});
  CHECK(documents.row_key(document)->string() == "row");
  auto const mongo = keyspan::mongodb_container<"address.city">();
  CHECK(*mongo.key(document) == partition_key_view{"Oslo"});
  CHECK(mongo.row_key(document).error().code == errc::not_a_key);
  auto const by_object_id = mongo.with_row_key(path<R"(/_id/"$oid")">);
  CHECK(by_object_id.row_key(document)->string() == "507f1f77bcf86cd799439011");
}

TEST_CASE("a function that returns a document's node gives the node's value") {
  auto const document = json::parse(R"({"list": ["a", "b"]})");
  auto const second = key_of([](json const& d) -> json const& { return d["list"][1]; });
  CHECK(*second(document) == partition_key_view{"b"});
  auto const copied = [](json const& d) { return d["list"][1]; };
  static_assert(!keyspan::key_component_of<decltype(copied), json>, "its text ends with the call");
}

}  // namespace
