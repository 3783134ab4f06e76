// keyspan/hash/number_bytes.hpp — a number in the bytes by which another system knows it.
//
// A number of a key is a double. Systems that hash the bytes of a typed value need to be told which
// type that is; what has no exact form there is refused, never rounded.
#pragma once

#include <keyspan/core/bytes.hpp>
#include <keyspan/core/contract.hpp>
#include <keyspan/core/error.hpp>
#include <keyspan/core/number.hpp>
#include <keyspan/core/result.hpp>

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string_view>
#include <type_traits>

namespace keyspan {

/// The form of a number in bytes. All but `text` write the most significant byte first.
enum class number_form : std::uint8_t {
  text,     ///< the shortest digits that give the double back, as JavaScript writes them
  float64,  ///< 8 bytes of the double
  float32,  ///< 4 bytes, where the number is one of those
  int64,    ///< 8 bytes of a whole number in two's complement
  int32,    ///< 4 of them
  int16,    ///< 2
  int8,     ///< 1
};

namespace detail {

template <std::signed_integral Integer>
constexpr bool store_whole_number(double value, char* to) {
  // The limit itself is a power of two and so a double; the greatest integer may be none.
  constexpr double limit = static_cast<double>(std::uint64_t{1} << (sizeof(Integer) * 8 - 1));
  if (!(value >= -limit && value < limit)) return false;
  auto const whole = static_cast<Integer>(value);
  if (static_cast<double>(whole) != value) return false;
  store_be(to, static_cast<std::make_unsigned_t<Integer>>(whole));
  return true;
}

constexpr bool store_float32(double value, char* to) {
  constexpr double greatest = (std::numeric_limits<float>::max)();
  if (!(value >= -greatest && value <= greatest)) return false;
  auto const narrow = static_cast<float>(value);
  if (static_cast<double>(narrow) != value) return false;
  store_be(to, std::bit_cast<std::uint32_t>(narrow));
  return true;
}

}  // namespace detail

/// Writes the number in this form to `to` and returns what was written. Requires room for
/// `max_number_text` bytes. Errors: `not_representable` where the form has no such number.
[[nodiscard]] constexpr result<std::string_view> number_bytes(double value, number_form form,
                                                              std::span<char> to) {
  expects(to.size() >= max_number_text, "there is room for a number in any form");
  auto const written = [&](std::size_t size) { return std::string_view{to.data(), size}; };
  auto const refused = [](std::string_view form_name) {
    return fail(errc::not_representable, "the number of the key is no ", form_name);
  };
  switch (form) {
    case number_form::text:
      break;
    case number_form::float64:
      store_be(to.data(), std::bit_cast<std::uint64_t>(value));
      return written(8);
    case number_form::float32:
      if (!detail::store_float32(value, to.data())) return refused("float of 32 bits");
      return written(4);
    case number_form::int64:
      if (!detail::store_whole_number<std::int64_t>(value, to.data()))
        return refused("whole number of 64 bits");
      return written(8);
    case number_form::int32:
      if (!detail::store_whole_number<std::int32_t>(value, to.data()))
        return refused("whole number of 32 bits");
      return written(4);
    case number_form::int16:
      if (!detail::store_whole_number<std::int16_t>(value, to.data()))
        return refused("whole number of 16 bits");
      return written(2);
    case number_form::int8:
      if (!detail::store_whole_number<std::int8_t>(value, to.data()))
        return refused("whole number of 8 bits");
      return written(1);
  }
  return write_number(value, to);
}

}  // namespace keyspan
