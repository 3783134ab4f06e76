// test/hash/redis_cluster_test.cpp — slots of Redis Cluster, its hash tags, and what has no slot.
// The same against a running redis-server: server/redis_cluster_test.cpp.
#include <keyspan/hash/redis_cluster.hpp>

#include <keyspan/key/partition_key.hpp>

#include <golden/other_hashes.hpp>
#include <support/allocations.hpp>
#include <support/check.hpp>
#include <support/contracts.hpp>
#include <support/random.hpp>

#include <cstdint>
#include <string>
#include <string_view>

namespace {

using keyspan::errc;
using keyspan::partition_key_view;
using keyspan::redis_cluster;
using keyspan::redis_cluster_scheme;
using test::check;

static_assert(keyspan::crc16("123456789") == 0x31C3);

constexpr bool the_example_of_redis_cluster_reads_as_it_should() {
  // [region: example]
  check(keyspan::token_of(redis_cluster, partition_key_view{"foo"}) == std::uint16_t{12182});
  auto const one = keyspan::token_of(redis_cluster, partition_key_view{"{user1000}.following"});
  auto const other = keyspan::token_of(redis_cluster, partition_key_view{"{user1000}.followers"});
  check(one == other && one == redis_cluster_scheme::slot_of("user1000"));
  auto const two = keyspan::token_of(redis_cluster, partition_key_view{"tenant", "user"});
  check(two.error().to_text() ==
        "key_mismatch: here a key is one value, this one has 2; join them into one string");
  // [end: example]
  return true;
}
CHECK_BOTH(the_example_of_redis_cluster_reads_as_it_should);

constexpr bool slots_are_those_of_redis() {
  for (auto const& [key, slot] : golden::redis_slots) {
    check(redis_cluster_scheme::slot_of(key) == slot);
    check(keyspan::token_of(redis_cluster, partition_key_view{key}) == slot);
  }
  check(keyspan::token_of(redis_cluster, partition_key_view{5}) == std::uint16_t{9974});
  return true;
}
CHECK_BOTH(slots_are_those_of_redis);

// One bit after another, as the polynomial says it.
constexpr std::uint16_t crc16_bit_by_bit(std::string_view bytes) {
  unsigned remainder = 0;
  for (char const c : bytes) {
    remainder ^= static_cast<unsigned>(static_cast<unsigned char>(c)) << 8;
    for (int bit = 0; bit < 8; ++bit)
      remainder = (remainder << 1 ^ ((remainder & 0x8000) != 0 ? 0x1021u : 0u)) & 0xFFFF;
  }
  return static_cast<std::uint16_t>(remainder);
}

constexpr bool the_checksum_is_that_of_its_polynomial_at_every_length() {
  test::random random{32};
  char bytes[70]{};
  for (char& byte : bytes) byte = static_cast<char>(random.below(256));
  for (std::size_t size = 0; size <= sizeof bytes; ++size)
    check(keyspan::crc16({bytes, size}) == crc16_bit_by_bit({bytes, size}));
  return true;
}
CHECK_BOTH(the_checksum_is_that_of_its_polynomial_at_every_length);

constexpr bool a_hash_tag_is_between_the_first_brace_and_the_next_that_closes() {
  struct {
    std::string_view key, tag;
  } const cases[]{{"abc", "abc"},     {"{abc}", "abc"},     {"a{b}c", "b"},    {"a{b}c{d}", "b"},
                  {"{}abc", "{}abc"}, {"a{}{b}", "a{}{b}"}, {"a{{b}}c", "{b"}, {"}a{b}", "b"},
                  {"a}b", "a}b"},     {"a{b", "a{b"},       {"{", "{"},        {"}{", "}{"},
                  {"a{b}", "b"},      {"{a}", "a"},         {"{ }", " "},      {"", ""},
                  {"{}", "{}"},       {"a}{b}c}", "b"}};
  for (auto const& one : cases) check(keyspan::redis_hash_tag(one.key) == one.tag);
  return true;
}
CHECK_BOTH(a_hash_tag_is_between_the_first_brace_and_the_next_that_closes);

constexpr bool what_has_no_form_in_redis_is_refused() {
  check(keyspan::token_of(redis_cluster, partition_key_view{}) == std::uint16_t{0});
  check(keyspan::token_of(redis_cluster, partition_key_view{""}) == std::uint16_t{0});
  check(keyspan::token_of(redis_cluster, partition_key_view{true}).error().code ==
        errc::not_representable);
  check(keyspan::token_of(redis_cluster, partition_key_view{keyspan::null}).error().code ==
        errc::not_representable);
  check(keyspan::token_of(redis_cluster, partition_key_view{"a", "b"}).error().code ==
        errc::key_mismatch);
  return true;
}
CHECK_BOTH(what_has_no_form_in_redis_is_refused);

constexpr bool slots_are_shared_out_and_cut() {
  // Three nodes as every tutorial shows them: 0-5460, 5461-10922, 10923-16383.
  check(redis_cluster.boundary(0, 3) == 0 && redis_cluster.boundary(1, 3) == 5461);
  check(redis_cluster.boundary(2, 3) == 10923);
  check(redis_cluster.boundary(16383, 16384) == 16383);
  check(redis_cluster.midpoint(0, keyspan::space_end) == std::uint16_t{8192});
  check(redis_cluster.midpoint(16383, keyspan::space_end).error().code == errc::invalid_range);
  check(redis_cluster.successor(16383).is_space_end() && redis_cluster.successor(0) == 1);
  return true;
}
CHECK_BOTH(slots_are_shared_out_and_cut);

TEST_CASE("more nodes than slots break a promise, and so does a token that is no slot") {
  CHECK(test::promise_broken_by([] { return redis_cluster.boundary(0, 16385); }) ==
        "there are 16384 slots to share out, and a part below the count of parts");
  CHECK(test::promise_broken_by([] { return redis_cluster.boundary(2, 2); }) ==
        "there are 16384 slots to share out, and a part below the count of parts");
  CHECK(test::promise_broken_by([] { return redis_cluster.successor(16384); }) ==
        "the space contains the token");
}

TEST_CASE("a slot allocates nothing") {
  std::string const key(100, 'k');
  CHECK(test::allocations_in([&] {
          static_cast<void>(keyspan::token_of(redis_cluster, keyspan::key_value{key}));
          static_cast<void>(keyspan::token_of(redis_cluster, keyspan::key_value{0.1}));
          static_cast<void>(keyspan::token_of(redis_cluster, keyspan::key_value{true}));
        }) == 0);
}

}  // namespace
