// test/hash/golden.hpp — the rows of test/golden/epk_*.json, read by the library's own reader.
//
// KEYSPAN_TEST_GOLDEN is the folder; test/golden/README.md says what the rows are and where they
// come from.
#pragma once

#include <keyspan/core/bytes.hpp>
#include <keyspan/core/json.hpp>
#include <keyspan/key/key_value.hpp>

#include <catch2/catch_test_macros.hpp>

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace test {

struct golden_row {
  std::vector<std::unique_ptr<std::string>> texts{};  // what the values borrow
  std::vector<keyspan::key_value> values{};
  bool is_key = true;  // false: a value is an infinity, not-a-number, or half a character
  bool has_minus_zero = false;

  std::string kind{};
  std::string epk{};
  std::string lower{};  // "min" in the files
  std::string upper{};  // "max"
  std::string mid{};
  std::vector<std::string> points{};
  std::optional<std::string> recommended{};
  std::size_t paths = 0;
  std::size_t partitions = 0;
  std::size_t index = 0;
  std::size_t parts = 0;
};

using golden_rows = std::vector<golden_row>;

namespace detail {

inline void read_component(keyspan::json_reader& in, golden_row& row) {
  std::string kind;
  std::string_view name;
  keyspan::key_value value;
  in.begin_object();
  while (in.next_member(name)) {
    if (name == "t") {
      kind = in.string();
    } else if (name == "v") {
      row.texts.push_back(std::make_unique<std::string>(in.string()));
      value = keyspan::key_value{*row.texts.back()};
    } else if (name == "bits") {
      std::array<unsigned char, 16> bytes{};
      auto const digits = in.string();
      REQUIRE(keyspan::decode_hex(digits.substr(2), std::span{bytes}) == 8u);
      auto const bits = keyspan::load_be<std::uint64_t>(bytes.data());
      row.has_minus_zero = row.has_minus_zero || bits == std::uint64_t{1} << 63;
      auto const number = keyspan::key_value::from(std::bit_cast<double>(bits));
      row.is_key = row.is_key && number.has_value();
      value = number.value_or(keyspan::key_value{});
    } else {
      REQUIRE(name == "utf16");
      row.is_key = false;
      in.skip();
    }
  }
  if (kind == "true" || kind == "false") value = keyspan::key_value{kind == "true"};
  if (kind == "null") value = keyspan::key_value{keyspan::null};
  REQUIRE((kind == "string" || kind == "number" || kind == "true" || kind == "false" ||
           kind == "null" || kind == "undefined"));
  row.values.push_back(value);
}

inline golden_row read_row(keyspan::json_reader& in) {
  golden_row row;
  std::string_view name;
  in.begin_object();
  while (in.next_member(name)) {
    if (name == "components") {
      for (in.begin_array(); in.next_element();) read_component(in, row);
    } else if (name == "kind") {
      row.kind = in.string();
    } else if (name == "epk") {
      row.epk = in.string();
    } else if (name == "min") {
      row.lower = in.string();
    } else if (name == "max") {
      row.upper = in.string();
    } else if (name == "mid") {
      row.mid = in.string();
    } else if (name == "recommended") {
      if (in.peek() == keyspan::json_kind::null) {
        in.null();
      } else {
        row.recommended = std::string{in.string()};
      }
    } else if (name == "points") {
      for (in.begin_array(); in.next_element();) row.points.emplace_back(in.string());
    } else if (name == "paths") {
      row.paths = in.integer<std::size_t>();
    } else if (name == "partitions") {
      row.partitions = in.integer<std::size_t>();
    } else if (name == "index") {
      row.index = in.integer<std::size_t>();
    } else if (name == "parts") {
      row.parts = in.integer<std::size_t>();
    } else {
      in.skip();
    }
  }
  return row;
}

inline golden_rows read_rows(keyspan::json_reader& in) {
  golden_rows rows;
  for (in.begin_array(); in.next_element();) rows.push_back(read_row(in));
  return rows;
}

inline std::string text_of_golden(std::string const& file) {
  std::ifstream in{std::string{KEYSPAN_TEST_GOLDEN "/"} + file, std::ios::binary};
  REQUIRE(in.is_open());
  return {std::istreambuf_iterator<char>{in}, {}};
}

}  // namespace detail

/// The rows of a file that is one array.
inline golden_rows golden(std::string const& file) {
  std::string const text = detail::text_of_golden(file);
  keyspan::json_reader in{text};
  auto rows = detail::read_rows(in);
  in.finish();
  REQUIRE(in.ok());
  return rows;
}

/// The rows of a file that is an object of such arrays, by name.
inline std::map<std::string, golden_rows> golden_lists(std::string const& file) {
  std::string const text = detail::text_of_golden(file);
  keyspan::json_reader in{text};
  std::map<std::string, golden_rows> lists;
  std::string_view name;
  in.begin_object();
  while (in.next_member(name)) {
    std::string const list{name};
    lists[list] = detail::read_rows(in);
  }
  in.finish();
  REQUIRE(in.ok());
  return lists;
}

}  // namespace test
