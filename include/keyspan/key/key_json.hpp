// keyspan/key/key_json.hpp — a partition key as the service writes it on the wire: ["a",1.5,{}].
//
// A JSON array of ASCII alone, so that it can stand in an HTTP header; undefined is {}. Any legal
// JSON that says the same is read.
#pragma once

#include <keyspan/core/error.hpp>
#include <keyspan/core/json.hpp>
#include <keyspan/core/result.hpp>
#include <keyspan/key/key_value.hpp>
#include <keyspan/key/partition_key.hpp>

#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace keyspan {

namespace detail {

constexpr result<std::string_view> finish_key_json(json_writer& out,
                                                   std::span<key_value const> values) {
  out.begin_array();
  for (key_value const& value : values) write_key_value(out, value);
  return out.end_array().finish();
}

// An object that is not {}: one of the limits that ranges of keys have, or a document's own.
constexpr error refusal_of_object(std::string_view object) {
  json_reader in{object};
  in.begin_object();
  std::string_view name;
  static_cast<void>(in.next_member(name));
  std::string_view const type = name == "type" && in.peek() == json_kind::string ? in.string() : "";
  for (std::string_view const limit : {"MinNumber", "MaxNumber", "MinString", "MaxString"})
    if (type == limit)
      return error{errc::unsupported, limit, " is a limit for ranges of keys and no key value"};
  return error{errc::not_a_key, "an object is no key value, only {}, which is undefined"};
}

}  // namespace detail

/// Writes the values of a key, or any others, at the end of `to`, and returns what was written.
constexpr result<std::string_view> write_key_json(std::span<key_value const> values,
                                                  std::string& to) {
  json_writer out{to, {.ascii = true}};
  return detail::finish_key_json(out, values);
}

/// Writes the values of a key, or any others, into `to`, and returns what was written. Allocates
/// nothing. Errors: `too_large` where `to` has not enough room.
[[nodiscard]] constexpr result<std::string_view> write_key_json(std::span<key_value const> values,
                                                                std::span<char> to) {
  json_writer out{to, {.ascii = true}};
  return detail::finish_key_json(out, values);
}

/// The text of a key on the wire; that of the empty key is [].
[[nodiscard]] inline std::string to_key_json(std::span<key_value const> values) {
  std::string text;
  static_cast<void>(write_key_json(values, text));
  return text;
}

/// Reads the next value as a key value; {} is `undefined`. Its characters live as long as the text
/// and the reader. Errors, kept by the reader: its own; `not_a_key` for an array and for an object
/// with members, `unsupported` for one that the service knows as a limit of ranges.
[[nodiscard]] constexpr key_value read_key_value(json_reader& in) {
  switch (in.peek()) {
    case json_kind::end:
      break;
    case json_kind::null:
      in.null();
      return null;
    case json_kind::boolean:
      return in.boolean();
    case json_kind::number:
      return in.number();
    case json_kind::string:
      return in.string();
    case json_kind::array:
      in.skip();
      in.fail_here(error{errc::not_a_key, "an array is no key value"});
      break;
    case json_kind::object: {
      std::string_view const object = in.skip();
      if (object.find('"') != object.npos) in.fail_here(detail::refusal_of_object(object));
    }
  }
  return undefined;
}

/// The key whose text this is. Errors, with the place: those of `json_reader` and
/// `read_key_value`; `too_large` for more than three values; `unsupported` for "Infinity", which
/// is no key but what lies behind all of them.
[[nodiscard]] constexpr result<partition_key> read_key_json(std::string_view text) {
  json_reader in{text};
  std::array<key_value, max_key_values> values;
  std::size_t size = 0;
  if (in.peek() != json_kind::string) {
    in.begin_array();
    while (in.next_element()) {
      if (size < max_key_values) {
        values[size++] = read_key_value(in);
        continue;
      }
      in.skip();
      in.fail_here(error{errc::too_large, "a partition key has at most three values"});
    }
  } else if (in.string() == "Infinity") {
    in.fail_here(error{errc::unsupported, "Infinity lies behind all keys and is none"});
  } else {
    in.fail_here("expected an array, found a string");
  }
  in.finish();
  if (!in.ok()) return unexpected{in.error()};
  return partition_key{partition_key_view{std::span{values}.first(size)}};
}

}  // namespace keyspan
