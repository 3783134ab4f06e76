// keyspan/hash/token_bytes.hpp — a place that is a string of bytes, held inline.
//
//   token_order::bytes    plain: the end of a string comes before any byte
//   token_order::padded   as if zeros followed without end: "22E3" and "22E300" are one place
#pragma once

#include <keyspan/core/bytes.hpp>
#include <keyspan/core/contract.hpp>
#include <keyspan/core/error.hpp>
#include <keyspan/core/result.hpp>
#include <keyspan/core/text.hpp>
#include <keyspan/hash/token.hpp>

#include <algorithm>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <span>
#include <string_view>
#include <type_traits>

namespace keyspan {

/// How strings of bytes of different lengths compare.
enum class token_order : std::uint8_t { bytes, padded };

namespace detail {
template <class Token>
class token_writer;
}  // namespace detail

/// At most `Capacity` bytes held in the object. The default is no bytes, the minimum. What is equal
/// by `Order` hashes alike, though its texts may differ in zeros at the end.
template <std::size_t Capacity, token_order Order = token_order::bytes>
class token_bytes {
 public:
  static constexpr token_order order = Order;

  constexpr token_bytes() = default;

  /// A token of these bytes. Errors: `too_large` beyond the capacity.
  template <class Byte, std::size_t Extent>
    requires byte_like<std::remove_const_t<Byte>>
  [[nodiscard]] static constexpr result<token_bytes> from_bytes(std::span<Byte, Extent> bytes) {
    if (bytes.size() > Capacity)
      return fail(errc::too_large, "a token of this kind has at most ", Capacity,
                  " bytes, these are ", bytes.size());
    token_bytes made;
    std::transform(bytes.begin(), bytes.end(), made.bytes_,
                   [](Byte byte) { return static_cast<unsigned char>(byte); });
    made.size_ = static_cast<std::uint16_t>(bytes.size());
    return made;
  }

  /// A token of these digits, of either case. Errors: `malformed`, with the place of what is no
  /// digit; `too_large` beyond the capacity; `not_representable` for FF, which is the end and no
  /// token.
  [[nodiscard]] static constexpr result<token_bytes> from_hex(std::string_view text) {
    if (detail::is_text_of_space_end(text)) return detail::space_end_is_no_token();
    token_bytes made;
    auto const size = decode_hex(text, std::span{made.bytes_});
    if (!size) return unexpected{size.error()};
    made.size_ = static_cast<std::uint16_t>(*size);
    return made;
  }

  constexpr std::span<unsigned char const> bytes() const noexcept { return {bytes_, size_}; }
  constexpr std::size_t size() const noexcept { return size_; }
  constexpr bool empty() const noexcept { return size_ == 0; }
  static constexpr std::size_t capacity() noexcept { return Capacity; }

  /// Two upper-case digits per byte; the minimum is the empty text.
  constexpr inline_text<2 * Capacity> to_hex() const {
    char digits[2 * Capacity];
    return inline_text<2 * Capacity>{encode_hex(bytes(), digits)};
  }
  constexpr inline_text<2 * Capacity> to_text() const { return to_hex(); }

  friend constexpr bool operator==(token_bytes const& a, token_bytes const& b) noexcept {
    return (a <=> b) == 0;
  }
  friend constexpr std::strong_ordering operator<=>(token_bytes const& a,
                                                    token_bytes const& b) noexcept {
    // Tokens that are hashes differ in their first word nearly always. Behind the size there are
    // zeros, so that all words can be compared, and for one of the orders that is all.
    if (auto const first = word(a, 0) <=> word(b, 0); first != 0) return first;
    std::size_t const used = (std::max)(a.size_, b.size_);
    for (std::size_t i = 8; i < used; i += 8)
      if (auto const next = word(a, i) <=> word(b, i); next != 0) return next;
    if constexpr (Order == token_order::padded) return std::strong_ordering::equal;
    return a.size_ <=> b.size_;
  }

 private:
  friend class detail::token_writer<token_bytes>;
  friend struct std::hash<token_bytes>;

  static_assert(Capacity > 0 && Capacity % 8 == 0 && Capacity <= 0x4000,
                "whole words of bytes, and room for twice as many digits");

  static constexpr std::uint64_t word(token_bytes const& token, std::size_t at) noexcept {
    return load_be<std::uint64_t>(token.bytes_ + at);
  }

  std::size_t hashed() const noexcept {
    // Not 0, or words of zeros at the beginning would not count.
    std::uint64_t all = 0x2545'F491'4F6C'DD1D;
    std::size_t used = size_;
    if constexpr (Order == token_order::padded) {
      while (used > 0 && bytes_[used - 1] == 0) --used;
    } else {
      all ^= size_;
    }
    for (std::size_t i = 0; i < used; i += 8) {
      all = (all ^ load_le<std::uint64_t>(bytes_ + i)) * 0x9E37'79B9'7F4A'7C15u;
      all ^= all >> 32;
    }
    return static_cast<std::size_t>(all);
  }

  unsigned char bytes_[Capacity]{};  // zeros behind the size
  std::uint16_t size_ = 0;
};

namespace detail {

// Bytes put at the end of a token, and counted beyond its capacity, so that an error can say how
// many there would have been.
template <class Token>
class token_writer {
 public:
  constexpr explicit token_writer(Token& to) : to_{&to} {}

  constexpr void add(unsigned char byte) {
    if (wanted_ < Token::capacity()) to_->bytes_[wanted_] = byte;
    ++wanted_;
    to_->size_ = static_cast<std::uint16_t>((std::min)(wanted_, Token::capacity()));
  }
  // Eight bytes, most significant first. Requires room for them.
  constexpr void add_word(std::uint64_t word) {
    store_be(to_->bytes_ + wanted_, word);
    wanted_ += 8;
    to_->size_ = static_cast<std::uint16_t>(wanted_);
  }
  // Each byte plus one.
  constexpr void add_raised(std::string_view bytes) {
    std::size_t const room = Token::capacity() - (std::min)(wanted_, Token::capacity());
    std::size_t const fits = (std::min)(bytes.size(), room);
    unsigned char* const to = to_->bytes_ + (Token::capacity() - room);
    for (std::size_t i = 0; i < fits; ++i)
      to[i] = static_cast<unsigned char>(static_cast<unsigned char>(bytes[i]) + 1);
    wanted_ += bytes.size();
    to_->size_ = static_cast<std::uint16_t>((std::min)(wanted_, Token::capacity()));
  }

  constexpr std::size_t wanted() const { return wanted_; }
  constexpr bool fits() const { return wanted_ <= Token::capacity(); }

 private:
  Token* to_;
  std::size_t wanted_ = 0;
};

}  // namespace detail

}  // namespace keyspan

/// Equal tokens hash alike, by the order that says what is equal.
template <std::size_t Capacity, keyspan::token_order Order>
struct std::hash<keyspan::token_bytes<Capacity, Order>> {
  std::size_t operator()(keyspan::token_bytes<Capacity, Order> const& token) const noexcept {
    return token.hashed();
  }
};
