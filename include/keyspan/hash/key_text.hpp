// keyspan/hash/key_text.hpp — the one text that a key is, where keys have no types.
//
// Redis, Kafka and their like know a key by its bytes alone. What a key of several values, a truth
// value or nothing should be there, nobody has agreed on, so these are refused.
#pragma once

#include <keyspan/core/error.hpp>
#include <keyspan/core/result.hpp>
#include <keyspan/hash/number_bytes.hpp>
#include <keyspan/key/key_value.hpp>

#include <cstddef>
#include <span>
#include <string_view>

namespace keyspan {

/// The bytes of a key that is one value: those of the string itself, or of the number in this form,
/// which are written to `room`. Requires room for `max_number_text` bytes.
/// Errors: `key_mismatch` for any other count of values; `not_representable` for a bool, null and
/// undefined, and for a number that the form does not have.
[[nodiscard]] constexpr result<std::string_view> key_text(std::span<key_value const> values,
                                                          std::span<char> room,
                                                          number_form numbers = number_form::text) {
  if (values.size() != 1) [[unlikely]]
    return fail(errc::key_mismatch, "here a key is one value, this one has ", values.size(),
                "; join them into one string");
  key_value const& value = values.front();
  if (value.is_string()) [[likely]]
    return value.string();
  if (value.is_number()) return number_bytes(value.number(), numbers, room);
  return fail(errc::not_representable, "here a key is a string or a number, this one is ",
              value.is_boolean() ? (value.boolean() ? "true" : "false")
              : value.is_null()  ? "null"
                                 : "undefined",
              "; make it a string");
}

}  // namespace keyspan
