// test/hash/cassandra_test.cpp — tokens of Cassandra's ring, its columns, and what they do not
// hold. The same against a driver: server/cassandra_test.cpp.
#include <keyspan/hash/cassandra.hpp>

#include <keyspan/core/bytes.hpp>
#include <keyspan/hash/murmur3.hpp>
#include <keyspan/key/partition_key.hpp>

#include <golden/other_hashes.hpp>
#include <support/allocations.hpp>
#include <support/check.hpp>
#include <support/random.hpp>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

namespace {

using keyspan::cassandra;
using keyspan::cassandra_column;
using keyspan::cassandra_scheme;
using keyspan::errc;
using keyspan::partition_key_view;
using test::check;

constexpr bool the_example_of_cassandra_reads_as_it_should() {
  // [region: example]
  // PRIMARY KEY (name), name text
  check(keyspan::token_of(cassandra, partition_key_view{"abc"}) == -5434086359492102041);

  // PRIMARY KEY ((name, number), …), number bigint
  constexpr cassandra_scheme readings{
      .columns = {cassandra_column::natural, cassandra_column::bigint}};
  check(keyspan::token_of(readings, partition_key_view{"abc", 5}) == -6312420223926541999);
  check(keyspan::token_of(readings, partition_key_view{"abc", 0.5}).error().to_text() ==
        "not_representable: the number of the key is no whole number of 64 bits");
  // [end: example]
  return true;
}
CHECK_BOTH(the_example_of_cassandra_reads_as_it_should);

constexpr bool tokens_of_text_are_those_of_the_driver() {
  for (auto const& [key, token] : golden::cassandra_texts) {
    check(keyspan::cassandra_token(key) == token);
    check(keyspan::token_of(cassandra, partition_key_view{key}) == token);
  }
  return true;
}
CHECK_BOTH(tokens_of_text_are_those_of_the_driver);

constexpr auto token_of_column(cassandra_column column, auto const& value) {
  return keyspan::token_of(cassandra_scheme{.columns = {column}}, partition_key_view{value});
}

constexpr bool tokens_of_other_columns_are_those_of_the_driver() {
  check(token_of_column(cassandra_column::natural, true) == golden::cassandra_true);
  check(token_of_column(cassandra_column::natural, false) == golden::cassandra_false);
  check(token_of_column(cassandra_column::natural, 1.5) == golden::cassandra_double_1_5);
  check(token_of_column(cassandra_column::float32, 1.5) == golden::cassandra_float_1_5);
  check(token_of_column(cassandra_column::bigint, -5) == golden::cassandra_bigint_minus_5);
  check(token_of_column(cassandra_column::int32, -5) == golden::cassandra_int_minus_5);
  check(token_of_column(cassandra_column::smallint, -5) == golden::cassandra_smallint_minus_5);
  check(token_of_column(cassandra_column::tinyint, -5) == golden::cassandra_tinyint_minus_5);
  check(token_of_column(cassandra_column::bigint, 1700000000000) ==
        golden::cassandra_timestamp_1700000000000);
  for (std::string_view const text :
       {"01234567-89ab-cdef-0123-456789abcdef", "01234567-89AB-CDEF-0123-456789abcdef"})
    check(token_of_column(cassandra_column::uuid, text) == golden::cassandra_uuid);
  return true;
}
CHECK_BOTH(tokens_of_other_columns_are_those_of_the_driver);

constexpr bool several_columns_stand_between_their_lengths_and_zeros() {
  check(keyspan::token_of(cassandra, partition_key_view{"", "x"}) == golden::cassandra_empty_and_x);
  check(keyspan::token_of(cassandra, partition_key_view{"tenant", "user", 7}) ==
        golden::cassandra_tenant_user_7);
  check(keyspan::token_of(cassandra, partition_key_view{"ab", "c"}) ==
        keyspan::cassandra_token({"\0\2ab\0\0\1c\0", 9}));
  return true;
}
CHECK_BOTH(several_columns_stand_between_their_lengths_and_zeros);

// Of each word that is no part of a block, and each pattern of negative bytes in it, byte by byte.
constexpr std::uint64_t tail_word_of_signed_bytes(std::uint64_t word) {
  std::uint64_t all = 0;
  for (int i = 0; i < 8; ++i) {
    auto const byte = static_cast<std::int8_t>(word >> 8 * i & 0xFF);
    all ^= static_cast<std::uint64_t>(std::int64_t{byte}) << 8 * i;
  }
  return all;
}

constexpr bool negative_bytes_turn_over_all_above_them() {
  test::random random{40};
  for (unsigned pattern = 0; pattern < 256; ++pattern) {
    std::uint64_t word = random() & 0x7F7F'7F7F'7F7F'7F7F;
    for (int i = 0; i < 8; ++i) word |= std::uint64_t{pattern >> i & 1} << (8 * i + 7);
    check(keyspan::detail::cassandra_tail_word(word) == tail_word_of_signed_bytes(word));
  }
  return true;
}
CHECK_BOTH(negative_bytes_turn_over_all_above_them);

// Values of every length, so that each piece of a key meets each place in a block.
constexpr bool a_key_of_columns_is_hashed_as_its_bytes_in_a_row() {
  test::random random{41};
  char text[64]{};
  for (char& byte : text) byte = static_cast<char>(random.below(128));
  for (std::size_t first = 0; first < 20; ++first) {
    for (std::size_t second = 0; second < 20; ++second) {
      char bytes[64]{};
      char* at = bytes;
      for (std::size_t const size : {first, second}) {
        *at++ = 0;
        *at++ = static_cast<char>(size);
        at = std::copy_n(text, size, at);
        *at++ = 0;
      }
      std::string_view const row{bytes, static_cast<std::size_t>(at - bytes)};
      check(keyspan::token_of(cassandra, partition_key_view{std::string_view{text, first},
                                                            std::string_view{text, second}}) ==
            keyspan::cassandra_token(row));
    }
  }
  return true;
}
CHECK_BOTH(a_key_of_columns_is_hashed_as_its_bytes_in_a_row);

// The length is two bytes, the greater one first.
TEST_CASE("a long value of a key of columns stands behind both bytes of its length") {
  test::random random{42};
  std::string text(65535, '\0');
  for (char& byte : text) byte = static_cast<char>(random.below(128));
  auto const as_column = [](std::string_view value) {
    std::string bytes{static_cast<char>(value.size() / 256), static_cast<char>(value.size() % 256)};
    return bytes.append(value).append(1, '\0');
  };
  for (std::size_t const size : {255u, 256u, 257u, 300u, 511u, 512u, 4096u, 32768u, 65528u}) {
    INFO(size << " bytes");
    std::string_view const value = std::string_view{text}.substr(0, size);
    CHECK(keyspan::token_of(cassandra, partition_key_view{value, "x"}) ==
          keyspan::cassandra_token(as_column(value) + as_column("x")));
    CHECK(keyspan::token_of(cassandra, partition_key_view{"x", value}) ==
          keyspan::cassandra_token(as_column("x") + as_column(value)));
  }
  std::string_view const both = std::string_view{text}.substr(0, 300);
  CHECK(keyspan::token_of(cassandra, partition_key_view{both, "", both}) ==
        keyspan::cassandra_token(as_column(both) + as_column("") + as_column(both)));
  // Beside another value there is no room for as many bytes; alone they stand without a length.
  CHECK(keyspan::token_of(cassandra, partition_key_view{text, ""}).error().code == errc::too_large);
  CHECK(keyspan::token_of(cassandra, partition_key_view{text}) == keyspan::cassandra_token(text));
}

// Where nothing is left behind whole blocks, and where all that is left is ASCII, the hash is the
// plain one.
constexpr bool the_hash_is_the_public_one_but_for_bytes_from_80_behind_the_last_block() {
  test::random random{33};
  char bytes[80]{};
  for (char& byte : bytes) byte = static_cast<char>(random.below(128));
  for (std::size_t size = 1; size <= sizeof bytes; ++size) {
    auto const plain = static_cast<std::int64_t>(keyspan::murmur3_128({bytes, size}).h1);
    check(keyspan::cassandra_token({bytes, size}) == plain);
    char& last = bytes[size - 1];
    last = static_cast<char>(last | 0x80);
    bool const is_block = size % 16 == 0;
    check((keyspan::cassandra_token({bytes, size}) ==
           static_cast<std::int64_t>(keyspan::murmur3_128({bytes, size}).h1)) ==
          (is_block || size % 8 == 0));  // at the top of a word a sign reaches no other byte
    last = static_cast<char>(last & 0x7F);
  }
  return true;
}
CHECK_BOTH(the_hash_is_the_public_one_but_for_bytes_from_80_behind_the_last_block);

constexpr bool what_a_column_does_not_hold_is_refused() {
  check(keyspan::token_of(cassandra, partition_key_view{}) ==
        (std::numeric_limits<std::int64_t>::min)());
  auto const refusal = [](cassandra_column column, auto const& value) {
    return token_of_column(column, value).error();
  };
  check(refusal(cassandra_column::natural, "").text.view() ==
        "a partition key of Cassandra is not empty");
  check(refusal(cassandra_column::natural, keyspan::null).to_text() ==
        "key_mismatch: value 1 of the key is null, which its column in Cassandra does not hold");
  check(refusal(cassandra_column::natural, keyspan::undefined).code == errc::key_mismatch);
  for (auto const column :
       {cassandra_column::bigint, cassandra_column::int32, cassandra_column::smallint,
        cassandra_column::tinyint, cassandra_column::float32}) {
    check(refusal(column, "5").code == errc::key_mismatch);
    check(refusal(column, true).code == errc::key_mismatch);
    check(refusal(column, 0.1).code == errc::not_representable);
  }
  check(refusal(cassandra_column::uuid, 5).code == errc::key_mismatch);
  check(refusal(cassandra_column::uuid, true).code == errc::key_mismatch);
  for (std::string_view const none :
       {"", "01234567-89ab-cdef-0123-456789abcde", "01234567-89ab-cdef-0123-456789abcdef0",
        "01234567_89ab-cdef-0123-456789abcdef", "01234567-89ab_cdef-0123-456789abcdef",
        "01234567-89ab-cdef_0123-456789abcdef", "01234567-89ab-cdef-0123_456789abcdef",
        "g1234567-89ab-cdef-0123-456789abcdef", "01234567-89ab-cdef-0123-456789abcdeg"})
    check(refusal(cassandra_column::uuid, none).code == errc::malformed);
  auto const second = keyspan::token_of(cassandra, partition_key_view{"a", keyspan::undefined});
  check(second.error().text.view().starts_with("value 2 of the key is undefined"));
  return true;
}
CHECK_BOTH(what_a_column_does_not_hold_is_refused);

TEST_CASE("a partition key has no more bytes than Cassandra takes") {
  std::string const longest(65535, 'k');
  std::string const too_long(65536, 'k');
  CHECK(keyspan::token_of(cassandra, partition_key_view{longest}).has_value());
  CHECK(keyspan::token_of(cassandra, partition_key_view{too_long}).error().to_text() ==
        "too_large: a partition key of Cassandra has at most 65535 bytes");
  std::string const with_another(65535 - 3 - 4, 'k');
  CHECK(keyspan::token_of(cassandra, partition_key_view{with_another, "x"}).has_value());
  CHECK(keyspan::token_of(cassandra, partition_key_view{with_another, "xy"}).error().code ==
        errc::too_large);
  CHECK(keyspan::token_of(cassandra, partition_key_view{too_long, "x"}).error().code ==
        errc::too_large);
}

// Every step of the hash can be undone, so a key with a given hash can be computed.
constexpr std::uint64_t unmultiplied(std::uint64_t product, std::uint64_t by) {
  std::uint64_t inverse = by;  // three bits of it are right, and each step doubles them
  for (int i = 0; i < 5; ++i) inverse *= 2 - by * inverse;
  return product * inverse;
}

constexpr std::uint64_t unfinished(std::uint64_t h) {
  h = unmultiplied(h ^ h >> 33, 0xC4CE'B9FE'1A85'EC53);
  h = unmultiplied(h ^ h >> 33, 0xFF51'AFD7'ED55'8CCD);
  return h ^ h >> 33;
}

constexpr bool the_least_hash_counts_as_the_greatest_token() {
  constexpr std::uint64_t least = std::uint64_t{1} << 63;
  // One block of 16 bytes: the halves after mixing are chosen, and the block follows.
  constexpr std::uint64_t c1 = 0x87C3'7B91'1142'53D5;
  constexpr std::uint64_t c2 = 0x4CF5'AD43'2745'937F;
  std::uint64_t const g2 = 12345;                   // of the second half, any
  std::uint64_t const f1 = unfinished(least - g2);  // then the sum of both is the least
  std::uint64_t const f2 = unfinished(g2);
  std::uint64_t const h2 = (f2 - f1) ^ 16;
  std::uint64_t const h1 = (f1 - (f2 - f1)) ^ 16;
  std::uint64_t const k1 = std::rotr(unmultiplied(h1 - 0x52DC'E729, 5), 27);
  std::uint64_t const k2 = std::rotr(unmultiplied(h2 - 0x3849'5AB5, 5) - h1, 31);
  char block[16]{};
  keyspan::store_le(block, unmultiplied(std::rotr(unmultiplied(k1, c2), 31), c1));
  keyspan::store_le(block + 8, unmultiplied(std::rotr(unmultiplied(k2, c1), 33), c2));

  check(keyspan::murmur3_128({block, 16}).h1 == least);
  check(keyspan::cassandra_token({block, 16}) == (std::numeric_limits<std::int64_t>::max)());
  check(keyspan::cassandra_token("") == (std::numeric_limits<std::int64_t>::min)());
  return true;
}
CHECK_BOTH(the_least_hash_counts_as_the_greatest_token);

constexpr bool the_ring_is_shared_out_and_cut() {
  // What Cassandra's manual computes for a ring of four nodes.
  check(cassandra.boundary(0, 4) == (std::numeric_limits<std::int64_t>::min)());
  check(cassandra.boundary(1, 4) == -4611686018427387904);
  check(cassandra.boundary(2, 4) == 0 && cassandra.boundary(3, 4) == 4611686018427387904);
  check(cassandra.midpoint(cassandra.minimum(), keyspan::space_end) == 0);
  check(cassandra.midpoint(-1, 0).error().code == errc::invalid_range);
  check(cassandra.successor(-1) == 0);
  check(cassandra.successor((std::numeric_limits<std::int64_t>::max)()).is_space_end());
  return true;
}
CHECK_BOTH(the_ring_is_shared_out_and_cut);

constexpr bool a_table_of_other_columns_is_another_scheme() {
  check(cassandra_scheme{} == cassandra);
  check(cassandra_scheme{.columns = {cassandra_column::natural}} != cassandra);  // of one column
  check(cassandra_scheme{.columns = {cassandra_column::bigint}} != cassandra);
  check(cassandra_scheme{.columns = {cassandra_column::bigint}}.columns[1] ==
        cassandra_column::natural);
  return true;
}
CHECK_BOTH(a_table_of_other_columns_is_another_scheme);

constexpr bool a_key_has_a_value_for_each_column_that_is_named() {
  cassandra_scheme const table{.columns = {cassandra_column::natural, cassandra_column::bigint}};
  check(keyspan::token_of(table, keyspan::partition_key{"abc", 5}).has_value());
  check(keyspan::token_of(table, keyspan::partition_key{"abc"}).error().to_text() ==
        "key_mismatch: too few values: the key has 1, the table 2 columns");
  check(keyspan::token_of(table, keyspan::partition_key{"abc", 5, "x"}).error().to_text() ==
        "key_mismatch: too many values: the key has 3, the table 2 columns");
  check(keyspan::token_of(table, keyspan::partition_key{}) == table.minimum());
  return true;
}
CHECK_BOTH(a_key_has_a_value_for_each_column_that_is_named);

TEST_CASE("a token of the ring allocates nothing") {
  std::string const key(100, 'k');
  CHECK(test::allocations_in([&] {
          static_cast<void>(keyspan::token_of(cassandra, partition_key_view{key}));
          static_cast<void>(keyspan::token_of(cassandra, partition_key_view{key, key, 0.1}));
          static_cast<void>(keyspan::token_of(cassandra, partition_key_view{keyspan::null}));
        }) == 0);
}

}  // namespace
