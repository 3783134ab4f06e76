// test/hash/kafka_test.cpp — Kafka's murmur2, its partitions, and what is no key of a record.
// The same against librdkafka: server/kafka_test.cpp.
#include <keyspan/hash/kafka.hpp>

#include <keyspan/key/partition_key.hpp>

#include <golden/other_hashes.hpp>
#include <support/allocations.hpp>
#include <support/check.hpp>
#include <support/contracts.hpp>

#include <cstdint>
#include <string>
#include <string_view>

namespace {

using keyspan::errc;
using keyspan::kafka;
using keyspan::kafka_scheme;
using keyspan::number_form;
using keyspan::partition_key_view;
using test::check;

constexpr bool the_example_of_kafka_reads_as_it_should() {
  // [region: example]
  auto const token = keyspan::token_of(kafka, partition_key_view{"foobar"});
  check(token == std::uint32_t{1357151166});
  check(keyspan::kafka_partition(*token, 12) == 6);

  constexpr kafka_scheme of_longs{.numbers = number_form::int64};  // keys by LongSerializer
  check(keyspan::token_of(of_longs, partition_key_view{5}) ==
        kafka_scheme::token_of_bytes({"\0\0\0\0\0\0\0\5", 8}));
  // [end: example]
  return true;
}
CHECK_BOTH(the_example_of_kafka_reads_as_it_should);

constexpr bool hashes_are_those_of_kafka() {
  for (auto const& [key, murmur2] : golden::kafka_hashes) {
    auto const bits = static_cast<std::uint32_t>(murmur2);
    check(keyspan::kafka_murmur2(key) == bits);
    check(kafka_scheme::token_of_bytes(key) == (bits & 0x7FFF'FFFF));
    check(keyspan::token_of(kafka, partition_key_view{key}) == (bits & 0x7FFF'FFFF));
  }
  return true;
}
CHECK_BOTH(hashes_are_those_of_kafka);

constexpr bool bytes_from_80_up_count_as_they_are() {
  for (auto const& [key, token] : golden::kafka_tokens) {
    check(kafka_scheme::token_of_bytes(key) == token);
    check(keyspan::kafka_partition(token, 2'147'483'647) == token);
  }
  return true;
}
CHECK_BOTH(bytes_from_80_up_count_as_they_are);

constexpr bool a_scheme_of_other_numbers_is_another_scheme() {
  constexpr kafka_scheme of_integers{.numbers = number_form::int32};
  check(of_integers != kafka && kafka_scheme{} == kafka);
  check(keyspan::token_of(of_integers, partition_key_view{5}) ==
        kafka_scheme::token_of_bytes({"\0\0\0\5", 4}));
  check(keyspan::token_of(of_integers, partition_key_view{0.5}).error().code ==
        errc::not_representable);
  check(keyspan::token_of(kafka, partition_key_view{5}) == kafka_scheme::token_of_bytes("5"));
  return true;
}
CHECK_BOTH(a_scheme_of_other_numbers_is_another_scheme);

constexpr bool what_is_no_key_of_a_record_is_refused() {
  check(keyspan::token_of(kafka, partition_key_view{}) == std::uint32_t{0});
  check(keyspan::token_of(kafka, partition_key_view{""}) == std::uint32_t{275646681});
  check(keyspan::token_of(kafka, partition_key_view{keyspan::null}).error().code ==
        errc::not_representable);
  check(keyspan::token_of(kafka, partition_key_view{false}).error().code ==
        errc::not_representable);
  check(keyspan::token_of(kafka, partition_key_view{"a", "b"}).error().code == errc::key_mismatch);
  return true;
}
CHECK_BOTH(what_is_no_key_of_a_record_is_refused);

TEST_CASE("a topic without partitions breaks a promise, and a token allocates nothing") {
  CHECK(test::promise_broken_by([] { return keyspan::kafka_partition(1, 0); }) ==
        "a topic has a partition");
  std::string const key(100, 'k');
  CHECK(test::allocations_in([&] {
          static_cast<void>(keyspan::token_of(kafka, keyspan::key_value{key}));
          static_cast<void>(keyspan::token_of(kafka, keyspan::key_value{0.1}));
        }) == 0);
}

}  // namespace
