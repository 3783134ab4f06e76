// test/law/hash_scheme_test.cpp — the laws of schemes: ours keep them all, and for each law there
// is a scheme that breaks it and is caught.
#include <keyspan/hash/any_scheme.hpp>
#include <keyspan/hash/cassandra.hpp>
#include <keyspan/hash/cosmos_multihash.hpp>
#include <keyspan/hash/cosmos_v1.hpp>
#include <keyspan/hash/cosmos_v2.hpp>
#include <keyspan/hash/fast64.hpp>
#include <keyspan/hash/identity.hpp>
#include <keyspan/hash/kafka.hpp>
#include <keyspan/hash/redis_cluster.hpp>
#include <keyspan/law/hash_scheme.hpp>

#include <support/check.hpp>

#include <algorithm>
#include <array>
#include <compare>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace {

using keyspan::integer_space;
using keyspan::key_value;
using keyspan::partition_key;
using keyspan::partition_key_view;
using keyspan::result;
using keyspan::space_end;
using keyspan::upper_end;
using keyspan::law::check_hash_scheme;
using keyspan::law::check_splittable_scheme;
using keyspan::law::finding;
using test::check;

using values_type = std::span<key_value const>;

template <class Scheme>
void keeps_its_laws(Scheme const& scheme) {
  INFO(scheme.name());
  auto const found = check_hash_scheme(scheme);
  INFO(found.text());
  CHECK(found);
  if constexpr (keyspan::splittable_scheme<Scheme>) {
    auto const in_parts = check_splittable_scheme(scheme);
    INFO(in_parts.text());
    CHECK(in_parts);
  }
}

TEST_CASE("the schemes of Cosmos DB keep their laws") {
  keeps_its_laws(keyspan::cosmos_v1);
  keeps_its_laws(keyspan::cosmos_v2);
  keeps_its_laws(keyspan::cosmos_multihash);
}

TEST_CASE("a scheme chosen at run time keeps the laws of each that it can be") {
  keeps_its_laws(keyspan::any_scheme{keyspan::cosmos_v1});
  keeps_its_laws(keyspan::any_scheme{keyspan::cosmos_v2});
  keeps_its_laws(keyspan::any_scheme{keyspan::cosmos_multihash});
}

TEST_CASE("the schemes of other systems keep their laws") {
  using keyspan::cassandra_column;
  using keyspan::number_form;
  keeps_its_laws(keyspan::redis_cluster);
  keeps_its_laws(keyspan::kafka);
  keeps_its_laws(keyspan::kafka_scheme{.numbers = number_form::int32});
  keeps_its_laws(keyspan::cassandra);
  keeps_its_laws(keyspan::cassandra_scheme{
      .columns = {cassandra_column::bigint, cassandra_column::uuid, cassandra_column::float32}});
}

TEST_CASE("the schemes that nobody brought keep their laws") {
  keeps_its_laws(keyspan::fast64);
  keeps_its_laws(keyspan::fast64_scheme{.seed = 42});
  keeps_its_laws(keyspan::identity);
  keeps_its_laws(keyspan::identity_scheme<16>{});
  keeps_its_laws(keyspan::identity_scheme<256>{});
}

constexpr std::array few_keys{partition_key_view{},     partition_key_view{"a"},
                              partition_key_view{5},    partition_key_view{"a", "b"},
                              partition_key_view{true}, partition_key_view{keyspan::null}};

constexpr bool laws_are_checked_in_constant_expressions_too() {
  check(static_cast<bool>(check_hash_scheme(keyspan::fast64, few_keys)));
  check(static_cast<bool>(check_hash_scheme(keyspan::cosmos_v2, few_keys)));
  check(static_cast<bool>(check_splittable_scheme(keyspan::fast64, few_keys, 4)));
  return true;
}
CHECK_BOTH(laws_are_checked_in_constant_expressions_too);

TEST_CASE("laws are checked over keys of one's own, borrowed or owned") {
  // [region: example]
  std::vector<partition_key> const keys{partition_key{"redmond"}, partition_key{"tenant", "user"}};
  auto const found = keyspan::law::check_hash_scheme(keyspan::fast64, keys);
  CHECK(found);  // where it does not hold, found.text() says the law and the key that breaks it
  CHECK(keyspan::law::check_splittable_scheme(keyspan::fast64, keys));
  // [end: example]
  CHECK(check_hash_scheme(keyspan::identity, few_keys));
  CHECK(check_splittable_scheme(keyspan::identity, few_keys, 7));
}

TEST_CASE("the sample keys have every kind, every count of values and many lengths") {
  auto const keys = keyspan::law::sample_keys;
  CHECK(keys.front().empty());
  std::array<int, 4> counts{};
  std::array<int, 5> kinds{};
  std::vector<std::size_t> lengths;
  for (auto const& key : keys) {
    ++counts[key.size()];
    for (auto const& value : key) {
      ++kinds[static_cast<std::size_t>(value.kind())];
      if (value.is_string()) lengths.push_back(value.string().size());
    }
  }
  CHECK(*std::ranges::min_element(counts) > 0);
  CHECK(*std::ranges::min_element(kinds) > 0);
  for (std::size_t length = 0; length <= 45; ++length)
    CHECK(std::ranges::count(lengths, length) > 0);
  CHECK(*std::ranges::max_element(lengths) > 100);
  std::vector<partition_key_view> distinct{keys.begin(), keys.end()};
  std::ranges::sort(distinct);
  CHECK(distinct.size() - 3 <=
        static_cast<std::size_t>(std::ranges::unique(distinct).begin() - distinct.begin()));
}

// A small scheme that keeps the laws, for others to break one of them each.
struct good {
  using token_type = int;
  static constexpr integer_space<int> space{0, 9999};

  int token_of(values_type values) const { return hash(values); }
  int minimum() const { return 0; }
  std::string_view name() const { return "good"; }
  upper_end<int> successor(int t) const { return space.successor(t); }
  int boundary(std::size_t part, std::size_t parts) const { return space.boundary(part, parts); }
  result<int> midpoint(int lower, upper_end<int> const& upper) const {
    return space.midpoint(lower, upper);
  }
  friend bool operator==(good const&, good const&) = default;

  static int hash(values_type values) {
    if (values.empty()) return 0;
    return static_cast<int>(keyspan::fast64.token_of(values) % 10'000);
  }
};

bool breaks(finding const& found, std::string_view law) {
  INFO(found.text());
  CHECK(!found);
  auto const text = std::string{"broken law: "}.append(law);
  return found.text().starts_with(text);
}

TEST_CASE("the scheme that the broken ones are made of keeps all laws") { keeps_its_laws(good{}); }

TEST_CASE("a scheme whose copy is another one is caught") {
  struct unequal : good {
    bool operator==(unequal const&) const { return false; }
  };
  CHECK(breaks(check_hash_scheme(unequal{}), "a copy of a scheme is equal to it"));
}

TEST_CASE("a scheme without a name is caught") {
  struct nameless : good {
    std::string_view name() const { return {}; }
    bool operator==(nameless const&) const = default;
  };
  CHECK(breaks(check_hash_scheme(nameless{}), "a scheme has a name, and its copy the same"));
}

TEST_CASE("a scheme whose minimum moves is caught") {
  struct moving : good {
    mutable int asked = 0;
    int minimum() const { return asked++; }
    bool operator==(moving const&) const { return true; }
  };
  CHECK(breaks(check_hash_scheme(moving{}), "a scheme has one minimum"));
}

TEST_CASE("a scheme that hashes the empty key is caught") {
  struct hashing : good {
    int token_of(values_type values) const { return values.empty() ? 77 : hash(values); }
    bool operator==(hashing const&) const = default;
  };
  CHECK(breaks(check_hash_scheme(hashing{}), "the empty key has the minimum for its token; 77"));
}

TEST_CASE("a token below the minimum is caught") {
  struct below : good {
    int token_of(values_type values) const {
      return values.empty() ? minimum() : values[0] == key_value{"a"} ? 9 : hash(values) + 10;
    }
    int minimum() const { return 10; }
    bool operator==(below const&) const = default;
  };
  CHECK(breaks(check_hash_scheme(below{}), "no token is less than the minimum"));
}

TEST_CASE("a scheme that remembers what it was asked before is caught") {
  struct counting : good {
    mutable int asked = 0;
    int token_of(values_type values) const {
      return values.empty() ? 0 : (hash(values) + asked++ / 10) % 10'000;
    }
    bool operator==(counting const&) const { return true; }
  };
  CHECK(breaks(check_hash_scheme(counting{}), "nothing but the key and the scheme decides"));

  struct keeping : good {  // it refuses a key once it has seen the next one
    mutable bool seen = false;
    result<int> token_of(values_type values) const {
      if (seen && values.size() == 1 && values[0].is_null())
        return keyspan::fail(keyspan::errc::not_representable, "seen");
      seen = seen || (values.size() == 1 && values[0] == key_value{false});
      return hash(values);
    }
    bool operator==(keeping const&) const { return true; }
  };
  CHECK(breaks(check_hash_scheme(keeping{}), "nothing but the key and the scheme decides; [null]"));
}

TEST_CASE("a scheme that looks at more than the key is caught") {
  struct by_address : good {
    int token_of(values_type values) const {
      if (values.empty() || !values[0].is_string()) return hash(values);
      return static_cast<int>(reinterpret_cast<std::uintptr_t>(values[0].string().data()) % 10'000);
    }
    bool operator==(by_address const&) const = default;
  };
  CHECK(breaks(check_hash_scheme(by_address{}), "equal keys have equal tokens"));

  // One character more than the string has: the copies have one there, and not the same.
  struct beyond : good {
    int token_of(values_type values) const {
      if (values.empty() || !values[0].is_string()) return hash(values);
      std::string_view const text = values[0].string();
      return static_cast<int>(
          keyspan::kafka_scheme::token_of_bytes({text.data(), text.size() + 1}) % 10'000);
    }
    bool operator==(beyond const&) const = default;
  };
  static constexpr std::array keys{partition_key_view{"abc"}};  // ends in a zero that can be read
  CHECK(breaks(check_hash_scheme(beyond{}, keys), "equal keys have equal tokens; [\"abc\"]"));

  struct forgetful : good {  // what it was told is lost when it is copied
    int salt = 5;
    forgetful() = default;
    forgetful(forgetful const&) : salt{0} {}
    forgetful& operator=(forgetful const&) = default;
    int token_of(values_type values) const {
      return values.empty() ? 0 : (hash(values) + salt) % 10'000;
    }
    bool operator==(forgetful const&) const { return true; }
  };
  CHECK(breaks(check_hash_scheme(forgetful{}), "equal keys have equal tokens"));
}

// A copy that the check makes has the token of the key it was made of, so that only the two keys
// side by side tell.
TEST_CASE("a scheme that tells equal keys of different origin apart is caught") {
  struct by_origin : good {
    char const* odd = nullptr;   // where the text begins whose token is another one,
    char const* even = nullptr;  // and the one that is equal to it
    bool* is_odd = nullptr;      // which of them was seen last, by any copy of the scheme
    int token_of(values_type values) const {
      if (values.empty()) return 0;
      char const* const at = values[0].string().data();
      if (at == odd || at == even) *is_odd = at == odd;
      return (hash(values) + (*is_odd ? 1 : 0)) % 10'000;
    }
    bool operator==(by_origin const&) const = default;
  };
  static constexpr char texts[2][4]{"abc", "abc"};
  static constexpr std::array keys{partition_key_view{texts[0]}, partition_key_view{texts[1]}};
  bool is_odd = false;
  by_origin scheme;
  scheme.odd = texts[0];
  scheme.even = texts[1];
  scheme.is_odd = &is_odd;
  auto const found = check_hash_scheme(scheme, keys);
  CHECK(breaks(found, "equal keys have equal tokens; [\"abc\"]"));
  CHECK(found.text().find("copy") == std::string_view::npos);
  scheme.odd = nullptr;  // then it keeps the law
  is_odd = false;
  CHECK(check_hash_scheme(scheme, keys));
}

// Tokens that compare or hash as they should not.
struct odd_token {
  int value = 0;
  friend bool operator==(odd_token a, odd_token b) { return a.value % 100 == b.value % 100; }
  friend std::strong_ordering operator<=>(odd_token a, odd_token b) { return a.value <=> b.value; }
};
struct loud_token {
  int value = 0;
  friend bool operator==(loud_token a, loud_token b) { return a.value / 100 == b.value / 100; }
  friend std::weak_ordering operator<=>(loud_token a, loud_token b) {
    return a.value / 100 <=> b.value / 100;
  }
};

template <class Token>
struct with_token {
  using token_type = Token;
  Token token_of(values_type values) const { return {good::hash(values)}; }
  Token minimum() const { return {0}; }
  std::string_view name() const { return "with a token of its own"; }
  friend bool operator==(with_token const&, with_token const&) = default;
};

}  // namespace

template <>
struct std::hash<loud_token> {
  std::size_t operator()(loud_token t) const noexcept { return static_cast<std::size_t>(t.value); }
};

namespace {

TEST_CASE("tokens whose comparisons contradict each other are caught") {
  CHECK(breaks(check_hash_scheme(with_token<odd_token>{}),
               "the comparisons of tokens agree with each other"));
}

TEST_CASE("equal tokens that hash differently are caught") {
  CHECK(breaks(check_hash_scheme(with_token<loud_token>{}), "tokens that are equal hash alike"));
}

TEST_CASE("a successor that is none is caught") {
  struct standing : good {
    upper_end<int> successor(int t) const { return t; }
    bool operator==(standing const&) const = default;
  };
  CHECK(breaks(check_splittable_scheme(standing{}), "a successor is greater than its token"));

  struct leaping : good {
    upper_end<int> successor(int t) const {
      return t + 2 > 9999 ? upper_end<int>{space_end} : upper_end<int>{t + 2};
    }
    bool operator==(leaping const&) const = default;
  };
  CHECK(breaks(check_splittable_scheme(leaping{}),
               "no token lies between a token and its successor"));
}

TEST_CASE("a midpoint that is none is caught") {
  struct touching : good {  // in ranges that hold one token it answers that one
    result<int> midpoint(int lower, upper_end<int> const& upper) const {
      auto const found = space.midpoint(lower, upper);
      return found ? found : result<int>{lower};
    }
    bool operator==(touching const&) const = default;
  };
  CHECK(breaks(check_splittable_scheme(touching{}), "a token and its successor have no midpoint"));

  struct outside : good {
    result<int> midpoint(int lower, upper_end<int> const& upper) const {
      auto const found = space.midpoint(lower, upper);
      return found ? result<int>{lower} : found;
    }
    bool operator==(outside const&) const = default;
  };
  CHECK(breaks(check_splittable_scheme(outside{}), "a midpoint lies strictly between the bounds"));

  struct beyond : good {
    result<int> midpoint(int lower, upper_end<int> const& upper) const {
      auto const found = space.midpoint(lower, upper);
      return !found || upper.is_space_end() ? found : result<int>{upper.at()};
    }
    bool operator==(beyond const&) const = default;
  };
  CHECK(breaks(check_splittable_scheme(beyond{}), "a midpoint lies strictly between the bounds"));

  struct refusing : good {
    result<int> midpoint(int lower, upper_end<int> const& upper) const {
      if (!upper.is_space_end() && upper.at() - lower < 1000)
        return keyspan::fail(keyspan::errc::invalid_range, "too narrow");
      return space.midpoint(lower, upper);
    }
    bool operator==(refusing const&) const = default;
  };
  CHECK(breaks(check_splittable_scheme(refusing{}), "a wide range has a midpoint; "));

  struct creeping : good {  // between the bounds, and next to one of them
    result<int> midpoint(int lower, upper_end<int> const& upper) const {
      auto const found = space.midpoint(lower, upper);
      return !found || upper.is_space_end() ? found : result<int>{upper.at() - 1};
    }
    bool operator==(creeping const&) const = default;
  };
  CHECK(breaks(check_splittable_scheme(creeping{}), "halving a range comes to an end"));

  struct creeping_up : good {
    result<int> midpoint(int lower, upper_end<int> const& upper) const {
      auto const found = space.midpoint(lower, upper);
      return found && upper.is_space_end() ? result<int>{lower + 1} : found;
    }
    bool operator==(creeping_up const&) const = default;
  };
  CHECK(breaks(check_splittable_scheme(creeping_up{}), "halving a range comes to an end"));
}

TEST_CASE("boundaries that do not share the space out are caught") {
  struct late : good {
    int boundary(std::size_t part, std::size_t parts) const {
      return parts == 5 && part == 0 ? 1 : space.boundary(part, parts);
    }
    bool operator==(late const&) const = default;
  };
  CHECK(breaks(check_splittable_scheme(late{}), "boundary 0 is the minimum; 1 of 5 parts"));

  struct resting : good {
    int boundary(std::size_t part, std::size_t parts) const {
      return space.boundary(parts == 299 && part == 298 ? 297 : part, parts);
    }
    bool operator==(resting const&) const = default;
  };
  CHECK(breaks(check_splittable_scheme(resting{}), "boundaries rise; that of part 298 of 299"));

  struct swapped : good {  // takes the count for the part
    int boundary(std::size_t part, std::size_t parts) const {
      return parts == 0 ? 0 : space.boundary(part == 0 ? 0 : parts - part, parts);
    }
    bool operator==(swapped const&) const = default;
  };
  CHECK(breaks(check_splittable_scheme(swapped{}), "boundaries rise"));
}

TEST_CASE("a token that no part owns is caught") {
  struct below : good {
    int token_of(values_type values) const { return values.empty() ? 0 : -1; }
    bool operator==(below const&) const = default;
  };
  CHECK(breaks(check_splittable_scheme(below{}), "every token lies in exactly one part; -1"));
}

}  // namespace
