// test/golden/other_hashes.hpp — what other people's systems answer.
//
// Redis: CLUSTER KEYSLOT of redis-server 7.0.15; the remainder of "123456789" and the slot of
// {user1000} are also in the Redis Cluster specification.
// Kafka: the values of the unit test of murmur2 in Apache Kafka (UtilsTest), which are signed
// there. Cassandra: Murmur3Tokenizer of npm cassandra-driver 4.8.0, over its own encoding of the
// values.
#pragma once

#include <cstdint>
#include <string_view>

namespace golden {

struct redis_slot {
  std::string_view key;
  std::uint16_t slot;
};

inline constexpr redis_slot redis_slots[]{
    {"foo", 12182},
    {"bar", 5061},
    {"foo{bar}", 5061},
    {"foo{bar}{zap}", 5061},
    {"foo{}{bar}", 8363},
    {"foo{{bar}}zap", 4015},
    {"{user1000}.following", 3443},
    {"{user1000}.followers", 3443},
    {"user1000", 3443},
    {"", 0},
    {"5", 9974},
    {"{", 4092},
    {"}{a}", 15495},
    {"0123456789abcdef", 10405},
    {"\xD0\x9F\xD1\x80\xD0\xB8\xD0\xB2\xD0\xB5\xD1\x82", 14015},
};

struct kafka_hash {
  std::string_view key;
  std::int32_t murmur2;
};

inline constexpr kafka_hash kafka_hashes[]{
    {"21", -973932308},
    {"foobar", -790332482},
    {"a-little-bit-long-string", -985981536},
    {"a-little-bit-longer-string", -1486304829},
    {"lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8", -58897971},
    {"abc", 479470107},
};

struct kafka_token {
  std::string_view key;
  std::uint32_t token;
};

inline constexpr kafka_token kafka_tokens[]{
    {"", 275646681},
    {"\xC3\xA9", 186971271},
    {"\xE4\xB8\x96", 306980774},
    {"\xE4\xB8\x96\xE7\x95\x8C\xC3", 825227266},  // cut within a character
    {"\xD0\x9F\xD1\x80\xD0\xB8\xD0\xB2\xD0\xB5\xD1\x82", 1865092511},
};

struct cassandra_text {
  std::string_view key;
  std::int64_t token;
};

inline constexpr cassandra_text cassandra_texts[]{
    {"a", -8839064797231613815},
    {"21", -3201810799627846645},
    {"abc", -5434086359492102041},
    {"0123456789abcdef", 5467490433528156583},
    {"01234567-89ab-cdef-0123-456789abcdef", -8522463644116314126},
    {"\xC3\xA9", 5461403030378599040},
    {"0123456789abcdef\xC3\xA9", 8755401265980413160},
    {"\xD0\x9F\xD1\x80\xD0\xB8\xD0\xB2\xD0\xB5\xD1\x82", 4217859723549820200},
    {"\xD0\x9F\xD1\x80\xD0\xB8\xD0\xB2\xD0\xB5\xD1\x82, \xD0\xBC\xD0\xB8\xD1\x80, "
     "\xD0\xBA\xD0\xB0\xD0\xBA \xD0\xB4\xD0\xB5\xD0\xBB\xD0\xB0?",
     2336861746037993555},
};

// Of other types than text.
inline constexpr std::int64_t cassandra_true = 8849112093580131862;
inline constexpr std::int64_t cassandra_false = 5048724184180415669;
inline constexpr std::int64_t cassandra_double_1_5 = -2904970586342177944;
inline constexpr std::int64_t cassandra_float_1_5 = 731613433076368549;
inline constexpr std::int64_t cassandra_bigint_minus_5 = -3990791270766580267;
inline constexpr std::int64_t cassandra_int_minus_5 = 4304547803022098149;
inline constexpr std::int64_t cassandra_smallint_minus_5 = -4912074222961308991;
inline constexpr std::int64_t cassandra_tinyint_minus_5 = -849468531535768100;
inline constexpr std::int64_t cassandra_timestamp_1700000000000 = 2187109011984497983;
inline constexpr std::int64_t cassandra_uuid = 7106092891388100052;  // the text of 36 above
// Of several columns.
inline constexpr std::int64_t cassandra_abc_and_bigint_5 = -6312420223926541999;
inline constexpr std::int64_t cassandra_empty_and_x = -3884662248573342722;
inline constexpr std::int64_t cassandra_tenant_user_7 = -5395150688620656880;

}  // namespace golden
