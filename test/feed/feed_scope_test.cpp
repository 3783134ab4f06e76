// test/feed/feed_scope_test.cpp — which range of tokens a scope comes down to, scheme by scheme.
#include <keyspan/core/error.hpp>
#include <keyspan/feed/feed_scope.hpp>
#include <keyspan/hash/any_scheme.hpp>
#include <keyspan/hash/cosmos_multihash.hpp>
#include <keyspan/hash/cosmos_v1.hpp>
#include <keyspan/hash/cosmos_v2.hpp>
#include <keyspan/hash/fast64.hpp>
#include <keyspan/hash/hash_scheme.hpp>
#include <keyspan/hash/identity.hpp>
#include <keyspan/hash/redis_cluster.hpp>
#include <keyspan/key/partition_key.hpp>
#include <keyspan/range/token_range.hpp>

#include <support/check.hpp>

#include <catch2/catch_template_test_macros.hpp>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace {

using keyspan::any_scheme;
using keyspan::cosmos_multihash;
using keyspan::cosmos_v2;
using keyspan::errc;
using keyspan::key_prefix;
using keyspan::partition_key;
using keyspan::redis_cluster;
using keyspan::scope_of;
using keyspan::space_end;
using keyspan::token128;
using keyspan::whole_container;
using test::check;

TEST_CASE("the example of feed_scope reads as it should") {
  // [region: example]
  using scope = keyspan::feed_scope<keyspan::token_multihash>;
  scope const all = whole_container;
  scope const tenant = key_prefix{partition_key{"contoso"}, 2};  // of /tenant, /user
  scope const user = partition_key{"contoso", "ada"};

  auto const whole = scope_of(cosmos_multihash, all)->range;
  auto const of_tenant = scope_of(cosmos_multihash, tenant)->range;
  auto const of_user = scope_of(cosmos_multihash, user);
  check(whole.contains(of_tenant) && of_tenant.contains(of_user->range));
  check(of_user->key == partition_key{"contoso", "ada"});  // others may share its tokens
  // [end: example]
}

TEMPLATE_TEST_CASE("the whole container is the whole space", "", keyspan::cosmos_v1_scheme,
                   keyspan::cosmos_v2_scheme, keyspan::cosmos_multihash_scheme,
                   keyspan::redis_cluster_scheme, keyspan::fast64_scheme,
                   keyspan::identity_scheme<>) {
  TestType const scheme{};
  auto const bounds = *scope_of(scheme, whole_container);
  CHECK(bounds.range == keyspan::whole_space(scheme));
  CHECK_FALSE(bounds.key.has_value());
}

TEST_CASE("a range is itself") {
  keyspan::token_range<std::uint16_t> const range{3, std::uint16_t{70}};
  CHECK(scope_of(redis_cluster, range)->range == range);
  CHECK_FALSE(scope_of(redis_cluster, range)->key.has_value());
}

template <class Scheme>
void holds_key(Scheme const& scheme, partition_key const& key) {
  auto const bounds = scope_of(scheme, key);
  REQUIRE(bounds.has_value());
  CHECK(bounds->key == key);
  keyspan::result<keyspan::token_of_scheme<Scheme>> const token = keyspan::token_of(scheme, key);
  CHECK(bounds->range.lower() == *token);
  CHECK(bounds->range.contains(*token));
}

TEST_CASE("one key is the range of its token, and the key") {
  for (auto const& key : {partition_key{"redmond"}, partition_key{42}, partition_key{true}}) {
    holds_key(keyspan::cosmos_v1, key);
    holds_key(cosmos_v2, key);
    holds_key(cosmos_multihash, key);
    holds_key(keyspan::fast64, key);
    holds_key(keyspan::identity_scheme<>{}, key);
  }
  holds_key(redis_cluster, partition_key{"redmond"});
  holds_key(cosmos_multihash, partition_key{"contoso", "ada", 7});
  holds_key(any_scheme{cosmos_v2}, partition_key{"redmond"});
  holds_key(any_scheme{keyspan::cosmos_v1}, partition_key{"redmond"});
  holds_key(any_scheme{cosmos_multihash}, partition_key{"contoso", "ada"});

  // No wider than its token, where the scheme knows what follows it.
  auto const slot = keyspan::token_of(redis_cluster, "redmond");
  CHECK(scope_of(redis_cluster, partition_key{"redmond"})->range ==
        keyspan::token_range<std::uint16_t>{*slot, static_cast<std::uint16_t>(*slot + 1)});
  auto const v2 = *scope_of(cosmos_v2, partition_key{"redmond"});
  CHECK(v2.range.upper() == cosmos_v2.successor(v2.range.lower()));
}

TEST_CASE("the key of the last token has a range that ends with the space") {
  std::string key;
  for (int i = 0; key.empty(); ++i)
    if (*keyspan::token_of(redis_cluster, std::to_string(i)) == 16383) key = std::to_string(i);
  CHECK(scope_of(redis_cluster, partition_key{key})->range ==
        keyspan::token_range<std::uint16_t>{16383, space_end});
}

// It knows the order of its tokens, and nothing between them.
struct uncut_scheme {
  using token_type = int;
  constexpr int token_of(std::span<keyspan::key_value const> values) const {
    return static_cast<int>(values.size());
  }
  constexpr int minimum() const { return 0; }
  constexpr std::string_view name() const { return "uncut"; }
  bool operator==(uncut_scheme const&) const = default;
};

TEST_CASE("where a scheme cannot say what follows a token, a key is looked for from there on") {
  auto const bounds = *scope_of(uncut_scheme{}, partition_key{"a", "b"});
  CHECK(bounds.range == keyspan::token_range<int>{2, space_end});
  CHECK(bounds.key == partition_key{"a", "b"});
}

TEST_CASE("a prefix is the range of all keys under it, and no key") {
  partition_key const tenant{"contoso"};
  auto const bounds = *scope_of(cosmos_multihash, key_prefix{tenant, 3});
  CHECK_FALSE(bounds.key.has_value());
  for (int i = 0; i < 200; ++i) {
    CHECK(bounds.range.contains(
        keyspan::token_of(cosmos_multihash, partition_key{"contoso", std::to_string(i), i})));
    CHECK_FALSE(bounds.range.contains(
        keyspan::token_of(cosmos_multihash, partition_key{std::to_string(i), "contoso", i})));
  }
  auto const any = *scope_of(any_scheme{cosmos_multihash}, key_prefix{tenant, 3});
  CHECK(any.range.lower().to_hex() == bounds.range.lower().to_hex());
  // As many values as paths: one key, and its whole range.
  auto const user = *scope_of(cosmos_multihash, key_prefix{partition_key{"contoso", "ada"}, 2});
  CHECK(user.range == scope_of(cosmos_multihash, partition_key{"contoso", "ada"})->range);
}

TEST_CASE("a prefix that is no part of a key is refused, saying why") {
  CHECK(scope_of(cosmos_multihash, key_prefix{partition_key{"a", "b", "c"}, 2}).error().to_text() ==
        "key_mismatch: too many values: the key has 3, its container 2 paths");
  CHECK(scope_of(cosmos_v2, key_prefix{partition_key{"a"}, 2}).error().to_text() ==
        "key_mismatch: too few values: the key has 1, its container 2 paths, and only a "
        "hierarchical key has prefixes");
  CHECK(scope_of(any_scheme{cosmos_v2}, key_prefix{partition_key{"a"}, 2}).error().code ==
        errc::key_mismatch);
  CHECK(scope_of(redis_cluster, key_prefix{partition_key{"a"}, 2}).error().to_text() ==
        "key_mismatch: keys of scheme redis_cluster have no prefixes: read the whole container, or "
        "one key");
}

TEST_CASE("a key that has no token is refused as the scheme does") {
  auto const why = scope_of(redis_cluster, partition_key{true});
  REQUIRE_FALSE(why.has_value());
  CHECK(why.error() == keyspan::token_of(redis_cluster, partition_key{true}).error());
}

}  // namespace
