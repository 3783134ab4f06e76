// test/hash/server/cassandra_test.cpp — tokens as DataStax's driver for Node computes them.
#include "process.hpp"

#include <keyspan/core/json.hpp>
#include <keyspan/core/number.hpp>
#include <keyspan/hash/cassandra.hpp>

#include <support/check.hpp>
#include <support/random.hpp>

#include <array>
#include <cstdint>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

namespace {

using keyspan::cassandra_column;
using keyspan::key_value;

std::string some_text(test::random& random) {
  static constexpr std::array<std::string_view, 8> pieces{"a",
                                                          "user",
                                                          "-",
                                                          std::string_view{"\0", 1},
                                                          "\x7F",
                                                          "\xD0\x9F",
                                                          "\xE4\xB8\x96",
                                                          "\xF0\x9F\x98\x80"};
  std::string text;
  for (auto left = random.below(14); left > 0; --left) text += random.pick(pieces);
  return text;
}

std::string some_uuid(test::random& random) {
  static constexpr std::string_view digits = "0123456789abcdefABCDEF";
  std::string uuid = "00000000-0000-0000-0000-000000000000";
  for (char& c : uuid)
    if (c == '0') c = random.pick(digits);
  return uuid;
}

// A value of one column, both as we take it and as the driver is told of it.
struct column_value {
  cassandra_column column = cassandra_column::natural;
  std::string text{};  // owned here, borrowed by `value`
  key_value value{};
  std::string_view type{};
};

double whole(test::random& random, int bits) {
  std::int64_t const limit = std::int64_t{1} << (bits - 1);
  return static_cast<double>(random.between(-limit, limit - 1));
}

void choose(column_value& to, test::random& random) {
  switch (random.below(9)) {
    case 0:
    case 1:
      to.text = some_text(random);
      to.value = key_value{to.text};
      to.type = "text";
      break;
    case 2:
      to.value = random.any_finite_double(), to.type = "double";
      break;
    case 3:
      to.value = random.chance(50), to.type = "boolean";
      break;
    case 4:
      to.column = cassandra_column::bigint;
      to.value = whole(random, 54) * (random.chance(50) ? 1024 : 1);
      to.type = "bigint";
      break;
    case 5:
      to.column = cassandra_column::int32, to.value = whole(random, 32), to.type = "int";
      break;
    case 6:
      to.column = cassandra_column::smallint;
      to.value = whole(random, 16);
      to.type = "smallint";
      break;
    case 7:
      if (random.chance(50)) {
        to.column = cassandra_column::tinyint, to.value = whole(random, 8), to.type = "tinyint";
      } else {
        to.column = cassandra_column::float32;
        to.value = static_cast<float>(random.unit() * 1000 - 500);
        to.type = "float";
      }
      break;
    default:
      to.column = cassandra_column::uuid;
      to.text = some_uuid(random);
      to.value = key_value{to.text};
      to.type = "uuid";
  }
}

void write(keyspan::json_writer& out, column_value const& from) {
  out.begin_array().string(from.type);
  if (from.value.is_string()) {
    out.string(from.value.string());
  } else if (from.value.is_boolean()) {
    out.boolean(from.value.boolean());
  } else if (from.type == "bigint") {
    out.string(std::to_string(static_cast<std::int64_t>(from.value.number())));
  } else {
    out.number(from.value.number());
  }
  out.end_array();
}

TEST_CASE("tokens are those of the Cassandra driver, of one column and of several") {
  test::random random{21};
  std::vector<std::int64_t> ours;
  std::string lines;
  while (ours.size() < 6000) {
    std::array<column_value, 3> columns;
    std::size_t const count = 1 + random.below(3);
    std::vector<key_value> values;
    for (std::size_t i = 0; i < count; ++i) {
      choose(columns[i], random);
      values.push_back(columns[i].value);
    }
    auto const [first, second, third] = columns;
    keyspan::cassandra_scheme const scheme{
        .columns = count == 1 ? keyspan::cassandra_columns{first.column}
                   : count == 2
                       ? keyspan::cassandra_columns{first.column, second.column}
                       : keyspan::cassandra_columns{first.column, second.column, third.column}};
    auto const token = scheme.token_of(values);
    if (count == 1 && columns[0].value == key_value{""}) {
      CHECK(token.error().code == keyspan::errc::key_mismatch);  // as the server refuses it
      continue;
    }
    REQUIRE(token.has_value());
    ours.push_back(*token);
    keyspan::json_writer out{lines, {.ascii = true}};
    out.begin_array();
    for (std::size_t i = 0; i < count; ++i) write(out, columns[i]);
    out.end_array();
    lines += '\n';
  }

  test::temporary_folder const folder;
  std::ofstream{folder.path() / "keys", std::ios::binary} << lines;
  test::process node{{NODE, SCRIPT, PACKAGES}, folder.path() / "tokens", folder.path() / "keys"};
  auto const status = node.wait(std::chrono::seconds{100});
  INFO(test::text_of_file(folder.path() / "tokens").substr(0, 1000));
  REQUIRE(status == 0);

  std::ifstream theirs{folder.path() / "tokens"};
  for (std::size_t i = 0; i < ours.size(); ++i) {
    std::int64_t token = 0;
    REQUIRE(theirs >> token);
    if (token != ours[i])
      FAIL_CHECK("key " << i << ": " << ours[i] << ", the driver says " << token);
  }
}

}  // namespace
