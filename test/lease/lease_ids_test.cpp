// test/lease/lease_ids_test.cpp — ids of records: the same for ever, and never one for two things.
#include <keyspan/hash/cosmos_v2.hpp>
#include <keyspan/hash/token128.hpp>
#include <keyspan/lease/lease_ids.hpp>
#include <keyspan/lease/lease_store.hpp>
#include <keyspan/lease/session_id.hpp>
#include <keyspan/range/token_range.hpp>

#include <support/check.hpp>
#include <support/contracts.hpp>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

namespace {

using keyspan::cosmos_v2;
using keyspan::lease_ids;
using keyspan::record_kind;
using keyspan::session_id;
using keyspan::space_end;
using keyspan::token128;
using keyspan::token_range;
using test::check;

using slot_range = token_range<std::uint16_t>;

token128 at(std::string_view digits) { return *cosmos_v2.from_hex(digits); }

TEST_CASE("the example of lease_ids reads as it should") {
  // [region: example]
  using keyspan::cosmos_v2;
  keyspan::lease_ids const ids{"orders."};
  auto const id = ids.lease(cosmos_v2.name(), keyspan::whole_space(cosmos_v2));

  check(id == "orders.lease.-FF");
  check(ids.member(keyspan::session_id{0x1F}) == "orders.member.000000000000001f");
  check(ids.layout() == "orders.layout");
  check(id.starts_with(ids.leases()));
  check(ids.kind_of(id) == keyspan::record_kind::lease);
  // [end: example]
}

// Records stand in stores under these ids: they never change.
TEST_CASE("the id of a lease is the one it has always been") {
  lease_ids const ids;
  CHECK(ids.lease("cosmos_v2", token_range<token128>{at(""), space_end}) == "lease.-FF");
  CHECK(ids.lease("cosmos_v2", token_range<token128>{at("20"), space_end}) ==
        "lease.20000000000000000000000000000000-FF");
  CHECK(ids.lease("cosmos_v2",
                  token_range<token128>{at(""), at("0FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF")}) ==
        "lease.-0FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF");
  CHECK(ids.lease("redis_cluster", slot_range{0, 100}) == "lease.0-100");
  CHECK(ids.lease("cassandra_murmur3",
                  token_range<std::int64_t>{(std::numeric_limits<std::int64_t>::min)(), -1}) ==
        "lease.b4780bdb72e472a191b0d83677a1eb12");
  CHECK(ids.lease("words\"\xC3\xAB", token_range<std::string>{"", std::string{"\xFF\0", 2}}) ==
        "lease.433436bd395a89b080427d11941cdfb1");
  CHECK(ids.lease("bytes", token_range<signed char>{static_cast<signed char>(-128),
                                                    static_cast<signed char>(65)}) ==
        "lease.8e876b1cbe4b2547706b3840d70f997f");
}

TEST_CASE("an id says the bounds of a range where every store takes them, and no other's") {
  lease_ids const ids;
  using words = token_range<std::string>;
  CHECK(ids.lease("words", words{"", std::string{"A"}}) == "lease.-A");
  CHECK(ids.lease("words", words{"AZ09", space_end}) == "lease.AZ09-FF");
  // The end is none of these.
  CHECK(ids.lease("words", words{"AZ09", std::string{"FF"}}).size() == 6 + 32);
  CHECK(ids.lease("words", words{"FF", space_end}) == "lease.FF-FF");
  for (std::string const bound : {"a", "-", "A-", ".", "_", " ", "\xC3\xAB", "z"}) {
    CHECK(ids.lease("words", words{bound, space_end}).size() == 6 + 32);
    CHECK(ids.lease("words", words{"", bound}).size() == 6 + 32);
  }
  std::string const longest(77, '1');
  CHECK(ids.lease("words", words{longest, space_end}) == "lease." + longest + "-FF");
  CHECK(ids.lease("words", words{longest + "1", space_end}).size() == 6 + 32);
  for (std::string_view const name : {"-FF", "0-100", "A-B"})
    CHECK(ids.kind_of("lease." + std::string{name}) == record_kind::lease);
  for (std::string_view const name :
       {"-", "FF", "FF-", "--FF", "a-FF", "-ff", "A-layout", "A-B-C", "-A.", "A.B-C", "- A"})
    CHECK(!ids.kind_of("lease." + std::string{name}));
  CHECK(!ids.kind_of("lease." + longest + "1-FF"));
}

TEST_CASE("the order of an id is the one it has always been") {
  static_assert(keyspan::order_of("lease.00000000000000000000000000000000") ==
                0x4967'C513'02E1'4427);
  static_assert(keyspan::order_of("") == 0);
}

TEST_CASE("no two leases of a scheme have one id") {
  lease_ids const ids;
  std::vector<std::string> made;
  for (std::uint16_t lower = 0; lower < 60; ++lower) {
    made.push_back(ids.lease("redis_cluster", slot_range{lower, space_end}));
    for (auto upper = static_cast<std::uint16_t>(lower + 1); upper < 120; ++upper)
      made.push_back(ids.lease("redis_cluster", slot_range{lower, upper}));
  }
  auto const all_differ = [](std::vector<std::string> some) {
    std::sort(some.begin(), some.end());
    return std::adjacent_find(some.begin(), some.end()) == some.end();
  };
  CHECK(all_differ(made));
  // What moves from one text into the next, and texts that look like the end or like bytes.
  using words = token_range<std::string>;
  struct texts {
    std::string scheme, lower, upper;
  };
  std::vector<std::string> named;
  for (auto const& [scheme, lower, upper] : std::vector<texts>{{"a", "b", "c"},
                                                               {"ab", "", "c"},
                                                               {"a", "", "bc"},
                                                               {"a\",\"", "b", "c"},
                                                               {"a", "b\",\"", "c"},
                                                               {"a", "b", "null"},
                                                               {"a", "b", "{\"hex\":\"FF\"}"},
                                                               {"a", "B", "FF"},
                                                               {"a", "", "B"},
                                                               {"a", "", "-B"},
                                                               {"a", "b", "\xFF"}})
    named.push_back(ids.lease(scheme, words{lower, upper}));
  for (std::string const lower : {"b", "B", "B-", ""})
    named.push_back(ids.lease("a", words{lower, space_end}));
  CHECK(all_differ(named));

  std::vector<std::uint64_t> orders;
  for (auto const& id : made) orders.push_back(keyspan::order_of(id));
  std::sort(orders.begin(), orders.end());
  CHECK(std::adjacent_find(orders.begin(), orders.end()) == orders.end());
}

TEST_CASE("a prefix is of what every store takes") {
  for (int byte = 0; byte < 256; ++byte) {
    char const c = static_cast<char>(byte);
    std::string const text{'a', c, 'b'};
    CHECK(keyspan::is_lease_prefix(text) == keyspan::is_record_id(text));
    std::string const first{c};
    CHECK(keyspan::is_lease_prefix(first) == keyspan::is_record_id(first + "lease"));
  }
  static_assert(keyspan::is_lease_prefix(""));
  static_assert(keyspan::is_lease_prefix("a..") && !keyspan::is_lease_prefix(".a"));
  CHECK(keyspan::is_lease_prefix(std::string(100, '-')));
  CHECK(!keyspan::is_lease_prefix(std::string(101, '-')));

  CHECK(lease_ids::from("orders.") == lease_ids{"orders."});
  CHECK(lease_ids::from("or/ders").error().to_text() ==
        "invalid_options: a prefix of leases is at most 100 letters, digits, '.', '-' and '_', the "
        "first no dot, not \"or/ders\"");
  CHECK(test::promise_broken_by([] {
          return lease_ids{"or/ders"};
        }).starts_with("a prefix is at most 100 letters"));
  CHECK(lease_ids{}.prefix().empty());
  CHECK(lease_ids{"a-"}.prefix() == "a-");
}

TEST_CASE("every id is one that stores take, and tells what it is of") {
  for (std::string const& prefix : {std::string{}, std::string{"a."}, std::string(100, '_')}) {
    lease_ids const ids{prefix};
    auto const lease = ids.lease("redis_cluster", slot_range{1, 2});
    auto const member = ids.member({~std::uint64_t{0} - 1});
    CHECK(lease == prefix + "lease.1-2");
    auto const hashed = ids.lease("ints", token_range<std::int64_t>{-2, -1});
    CHECK(hashed.size() == ids.leases().size() + 32);
    CHECK(hashed.starts_with(prefix + "lease."));
    CHECK(member == prefix + "member.fffffffffffffffe");
    CHECK(member.starts_with(ids.members()));
    CHECK(ids.layout() == prefix + "layout");
    CHECK(ids.kind_of(lease) == record_kind::lease);
    CHECK(ids.kind_of(member) == record_kind::member);
    CHECK(ids.kind_of(ids.layout()) == record_kind::layout);
    for (auto const& id : {lease, hashed, member, ids.layout()}) CHECK(keyspan::is_record_id(id));
    CHECK(ids.kind_of(hashed) == record_kind::lease);
    for (auto const& id : {hashed, member, ids.layout()}) {
      CHECK(!ids.kind_of(id + "0"));
      CHECK(!ids.kind_of("x" + id));
      CHECK(!ids.kind_of(std::string_view{id}.substr(0, id.size() - 1)));
      CHECK(!lease_ids{"b."}.kind_of(id));
    }
    CHECK(!ids.kind_of(prefix));
    CHECK(!ids.kind_of(ids.leases()));
    for (char const c : std::string_view{"gG/:F`@-."}) {
      auto other = hashed;
      other.back() = c;
      CHECK(!ids.kind_of(other));
      other = member;
      other.back() = c;
      CHECK(!ids.kind_of(other));
    }
  }
}

TEST_CASE("sets with different prefixes in one store have no id in common") {
  // The second begins as ids of the first do.
  lease_ids const first;
  for (std::string_view const prefix :
       {"lease.", "member.", "layout", "l", "lease.0", "lease.0-", "lease.-", "lease.A-B"}) {
    lease_ids const second{std::string{prefix}};
    for (auto const& id : {second.lease("redis_cluster", slot_range{1, 2}),
                           second.lease("ints", token_range<std::int64_t>{-2, -1}),
                           second.member({7}), second.layout()}) {
      CHECK(second.kind_of(id));
      CHECK(!first.kind_of(id));
    }
    for (auto const& id :
         {first.lease("redis_cluster", slot_range{1, 2}), first.member({7}), first.layout()})
      CHECK(!second.kind_of(id));
  }
}

}  // namespace
