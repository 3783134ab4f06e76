// test/key/extractor_test.cpp — from documents to partition keys, as users write it.
#include <keyspan/hash/cosmos_v2.hpp>
#include <keyspan/hash/hash_scheme.hpp>
#include <keyspan/hash/token.hpp>
#include <keyspan/key/extractor.hpp>

#include <support/allocations.hpp>
#include <support/check.hpp>

#include <boost/hana/adapt_struct.hpp>

#include "tree.hpp"

#include <concepts>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

// [region: example]
struct review {
  std::string id, article_id;
  int rating;
};
BOOST_HANA_ADAPT_STRUCT(review, id, article_id, rating);

constexpr auto by_article = keyspan::key_of(&review::article_id);
constexpr auto same = keyspan::key_of<review>(keyspan::path<"/article_id">);  // checked here
constexpr auto tenant_user = keyspan::key_of(keyspan::path<"/tenant">, keyspan::path<"/user/id">);

TEST_CASE("a document has a place in the hash space") {
  review const r{"r1", "redmond", 5};
  auto const token = keyspan::token_of(keyspan::cosmos_v2, by_article(r));
  CHECK(keyspan::to_hex(token) == "22E342F38A486A088463DFF7838A5963");
}
// [end: example]

namespace {

struct person {
  std::string_view id;
  std::optional<int> age;
};
struct message {
  std::string_view tenant;
  std::optional<person> user;
};
enum class color { red };
struct painted {
  color of;
};
struct holder {
  char code[4] = "abc";
  keyspan::partition_key kept{};
};
struct plain {
  int number;
  std::string_view text;
};
struct titled {
  std::string title;

  std::string_view view() const { return title; }
  std::size_t length() const { return title.size(); }
};

}  // namespace

BOOST_HANA_ADAPT_STRUCT(person, id, age);
BOOST_HANA_ADAPT_STRUCT(message, tenant, user);
BOOST_HANA_ADAPT_STRUCT(plain, number, text);

namespace {

using keyspan::errc;
using keyspan::key_extractor;
using keyspan::key_of;
using keyspan::key_path;
using keyspan::partition_key;
using keyspan::partition_key_view;
using keyspan::path;
using keyspan::result;
using keyspan::undefined;
using test::check;
using test::tree;
using test::tree_view;

static_assert(key_extractor<decltype(by_article), review>);
static_assert(key_extractor<decltype(same), review>);
static_assert(key_extractor<decltype(tenant_user), message> &&
              key_extractor<decltype(tenant_user), tree>);
static_assert(!key_extractor<decltype(by_article), message> &&
              !key_extractor<decltype(tenant_user), review>);

// Anything that gives a key is an extractor; nothing else is.
static_assert(key_extractor<partition_key (*)(review const&), review>);
static_assert(key_extractor<result<partition_key_view> (*)(review const&), review>);
static_assert(!key_extractor<std::string (*)(review const&), review> &&
              !key_extractor<review (*)(review const&), review> &&
              !key_extractor<void (*)(review const&), review> &&
              !key_extractor<partition_key (*)(review&), review>);

template <class E, class Document>
using key_from = std::invoke_result_t<E const&, Document>;
static_assert(std::same_as<key_from<decltype(by_article), review&>, result<partition_key_view>>);
static_assert(
    std::same_as<
        key_from<decltype(key_of([](review const& r) { return partition_key{r.id}; })), review>,
        result<partition_key>>);

// A document that ends with the expression may give what it does not take along.
static_assert(!std::invocable<decltype(by_article), review> &&
              !std::invocable<decltype(by_article), review const> &&
              !std::invocable<decltype(same), review>);
static_assert(std::invocable<decltype(key_of(&review::rating)), review> &&
              std::invocable<decltype(key_of(&plain::number)), plain> &&
              std::invocable<decltype(key_of(&plain::text)), plain> &&
              std::invocable<decltype(key_of(path<"/text">)), plain> &&
              std::invocable<decltype(tenant_user), message>);
static_assert(!std::invocable<decltype(key_of(&review::rating, &review::id)), review>);
constexpr auto viewed = key_of([](auto const& d) -> std::string_view { return d.id; });
static_assert(std::invocable<decltype(viewed), review&> &&
              !std::invocable<decltype(viewed), review>);  // nobody knows whose text it is
template <class Component>
constexpr bool is_of_named_documents_only(Component const&) {
  using extract = decltype(key_of(std::declval<Component>()));
  return std::invocable<extract const&, titled&> && std::invocable<extract const&, titled const&> &&
         !std::invocable<extract const&, titled> && !std::invocable<extract const&, titled const>;
}
static_assert(is_of_named_documents_only(&titled::view));
static_assert(is_of_named_documents_only([](titled const& d) {
  return std::optional<std::string_view>{d.title};
}));
static_assert(is_of_named_documents_only([](titled const& d) {
  return result<std::string_view>{d.title};
}));
static_assert(is_of_named_documents_only([](titled const& d) { return &d.title; }));
static_assert(std::invocable<decltype(key_of(&titled::length)), titled>);
static_assert(!std::invocable<decltype(key_of(&holder::code)), holder> &&
              !std::invocable<decltype(key_of(&holder::kept)), holder> &&
              std::invocable<decltype(key_of(&holder::code, &holder::kept)), holder&>);
static_assert(!std::invocable<decltype(tenant_user), tree> &&
              std::invocable<decltype(tenant_user), tree_view>);

// What key_of takes is asked for by name, so that `requires` can ask, too.
template <class... Components>
concept composable = requires(Components... components) { key_of(components...); };
template <class Document, class... Components>
concept composable_for = requires(Components... components) { key_of<Document>(components...); };
static_assert(composable<decltype(&review::id)> && !composable<> &&
              !composable<decltype(&painted::of)> && !composable<decltype(by_article)*> &&
              !composable<char const*>);
static_assert(composable<key_path, key_path, key_path> &&
              !composable<key_path, key_path, key_path, key_path>);
static_assert(composable_for<review, decltype(path<"/id">)> &&
              !composable_for<review, decltype(path<"/idd">)> &&
              !composable_for<review, decltype(path<"/id">), decltype(path<"/idd">)> &&
              !composable_for<review, key_path> && composable_for<tree, key_path>);

constexpr bool one_to_three_values_make_a_key() {
  message const written{"t", person{"u", 30}};
  auto const three = key_of(&message::tenant, path<"/user/id">,
                            [](message const& m) { return m.user->age.value_or(0) / 10; });
  static_assert(three.value_count() == 3);
  check(*three(written) == partition_key_view{"t", "u", 3});
  check(*tenant_user(written) == partition_key_view{"t", "u"});
  check(*key_of(&message::tenant)(written) == partition_key_view{"t"});
  check(*tenant_user(message{"t", std::nullopt}) == partition_key_view{"t", undefined});
  return true;
}
CHECK_BOTH(one_to_three_values_make_a_key);

constexpr bool extractors_nest_and_own_only_what_is_new() {
  message const written{"t", person{"u", 30}};
  auto const nested = key_of(key_of(&message::tenant), path<"/user/id">);
  check(*nested(written) == partition_key_view{"t", "u"});
  auto const made = key_of(&message::tenant, [](message const& m) {
    partition_key const initial{m.user->id.substr(0, 1), 1};
    return initial[0] == keyspan::key_value{"u"} ? partition_key{"made"} : partition_key{"other"};
  });
  result<partition_key> const key = made(written);
  check(*key == partition_key{"t", "made"});
  return true;
}
CHECK_BOTH(extractors_nest_and_own_only_what_is_new);

constexpr bool the_first_value_that_is_none_decides() {
  auto const fails = [](char const* sentence) {
    return [sentence](message const&) -> result<keyspan::key_value> {
      return keyspan::fail(errc::unsupported, sentence);
    };
  };
  message const written{"t", std::nullopt};
  auto const borrowed = key_of(&message::tenant, fails("first"), fails("second"));
  check(borrowed(written).error().text == "value 2 of the key: first");
  auto const owned =
      key_of(fails("first"), fails("second"), [](message const&) { return partition_key{"made"}; });
  check(owned(written).error().text == "value 1 of the key: first");
  check(key_of(fails("only"))(written).error().text == "only");
  return true;
}
CHECK_BOTH(the_first_value_that_is_none_decides);

TEST_CASE("keys are borrowed from the document") {
  review const r{"r1", "a1", 5};
  auto const key = by_article(r);
  REQUIRE(key);
  CHECK((*key)[0].string().data() == r.article_id.data());
  CHECK(*same(r) == *key);
}

TEST_CASE("run-time paths go through documents, and own their names") {
  auto const extract = [] {
    std::string text = "/user/id";
    auto made = key_of(*key_path::parse("/tenant"), *key_path::parse(text));
    text.assign(text.size(), '#');
    return made;
  }();
  tree const inner[]{tree::leaf("id", "u1")};
  tree const outer[]{tree::leaf("tenant", 7), tree::object("user", inner)};
  auto const document = tree::object("", outer);
  CHECK(*extract(document) == partition_key_view{7, "u1"});
  CHECK(extract(document) == tenant_user(document));
}

TEST_CASE("extracting a key and finding its place allocate nothing") {
  review const r{std::string(500, 'i'), std::string(500, 'a'), 5};
  tree const inner[]{tree::leaf("id", "u1")};
  tree const outer[]{tree::leaf("tenant", 7), tree::object("user", inner)};
  auto const document = tree::object("", outer);
  auto const at_run_time = key_of(*key_path::parse("/tenant"), *key_path::parse("/user/id"));
  auto const makes = key_of(&review::rating, [](review const& one) {
    return partition_key{std::string_view{one.id}.substr(0, 60)};
  });
  CHECK(test::allocations_in([&] {
          static_cast<void>(keyspan::token_of(keyspan::cosmos_v2, by_article(r)));
          static_cast<void>(keyspan::token_of(keyspan::cosmos_v2, tenant_user(document)));
          static_cast<void>(keyspan::token_of(keyspan::cosmos_v2, at_run_time(document)));
          static_cast<void>(keyspan::token_of(keyspan::cosmos_v2, makes(r)));
          static_cast<void>(by_article(r).error_or(keyspan::error{errc::unsupported}));
        }) == 0);
}

TEST_CASE("an error on the way to a key is the error of its token") {
  tree const outer[]{tree::object("tenant", {})};
  auto const document = tree::object("", outer);
  auto const token = keyspan::token_of(keyspan::cosmos_v2, tenant_user(document));
  REQUIRE_FALSE(token);
  CHECK(token.error().code == errc::not_a_key);
  CHECK(token.error().text == "at /tenant: an object is no key value");
}

}  // namespace
