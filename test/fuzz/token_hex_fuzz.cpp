// test/fuzz/token_hex_fuzz.cpp — any text as the text of a token, and as a key that has tokens.
#include "fuzz.hpp"

#include <keyspan/hash/any_scheme.hpp>

#include <algorithm>
#include <cctype>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace {

using fuzz::require;

std::string upper(std::string_view text) {
  std::string made{text};
  for (char& c : made) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return made;
}

std::string without_zero_bytes(std::string text) {
  while (text.ends_with("00")) text.resize(text.size() - 2);
  return text;
}

template <class Scheme>
std::optional<typename Scheme::token_type> read_by(Scheme const& scheme, std::string_view text,
                                                   std::size_t most_bytes, bool is_wide) {
  bool const are_digits = std::all_of(text.begin(), text.end(), [](char c) {
    return std::isxdigit(static_cast<unsigned char>(c)) != 0;
  });
  bool const is_in_space =
      text.empty() ||
      (scheme.name() == "cosmos_v1" ? !upper(text).starts_with("FF") : text[0] < '4');
  auto const t = scheme.from_hex(text);
  require(t.has_value() == (are_digits && text.size() % 2 == 0 && text.size() / 2 <= most_bytes &&
                            upper(text) != "FF" && is_in_space),
          "digits of a token are taken, nothing else");
  auto const end = keyspan::upper_end_from_hex(scheme, text);
  require(end.has_value() == (t.has_value() || upper(text) == "FF"), "FF is an end and no token");
  if (!t) {
    require(t.error().position.offset <= text.size(), "an error lies in the text");
    return std::nullopt;
  }
  auto const hex = std::string{std::string_view{t->to_hex()}};
  if (is_wide) {
    require(without_zero_bytes(hex) == without_zero_bytes(upper(text)),
            "digits stay but for zeros");
  } else {
    require(hex == upper(text), "digits are written as they were read");
  }
  require(scheme.from_hex(hex) == *t, "what is written is read");
  require(scheme.minimum() <= *t, "nothing is below the minimum");
  auto const next = scheme.successor(*t);
  require(next > *t, "a successor is greater");
  if (auto const mid = scheme.midpoint(*t, keyspan::space_end))
    require(*t < *mid, "a midpoint is greater than the lower bound");
  return *t;
}

// What two texts compare like; zeros at the end count for the plain order alone.
template <class Token>
void compare(std::optional<Token> const& a, std::optional<Token> const& b, std::string_view text_a,
             std::string_view text_b, bool is_padded) {
  if (!a || !b) return;
  auto first = upper(text_a);
  auto second = upper(text_b);
  if (is_padded) {
    first = without_zero_bytes(first);
    second = without_zero_bytes(second);
  }
  require((*a <=> *b) == (first <=> second), "tokens compare like their texts");
  require((*a == *b) == (first == second), "equal tokens have equal texts");
  if (*a == *b)
    require(std::hash<Token>{}(*a) == std::hash<Token>{}(*b), "equal tokens hash alike");
}

template <class Scheme>
void same_tokens(Scheme const& scheme, keyspan::key_value const& value) {
  keyspan::result<typename Scheme::token_type> const fixed = keyspan::token_of(scheme, value);
  auto const any = keyspan::token_of(keyspan::any_scheme{scheme}, value);
  require(fixed.has_value() && any.has_value(), "one value always has a token");
  require(*any == keyspan::any_token{*fixed}, "the scheme chosen at run time gives the same");
  require(scheme.from_hex(fixed->to_hex()) == *fixed, "the text of a token is read");
  auto const next = scheme.successor(*fixed);
  require(next > *fixed, "a successor is greater");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  using keyspan::cosmos_multihash;
  using keyspan::cosmos_v1;
  using keyspan::cosmos_v2;
  auto const text = fuzz::text_of(data, size);
  auto const first = text.substr(0, text.find('|'));
  auto const second = first.size() < text.size() ? text.substr(first.size() + 1) : text;

  compare(read_by(cosmos_v1, first, 336, false), read_by(cosmos_v1, second, 336, false), first,
          second, false);
  compare(read_by(cosmos_v2, first, 16, true), read_by(cosmos_v2, second, 16, true), first, second,
          true);
  compare(read_by(cosmos_multihash, first, 48, false), read_by(cosmos_multihash, second, 48, false),
          first, second, true);

  // The hash by registers and by pieces, of a copy that ends where its allocation does.
  auto const value = keyspan::key_value::from(text);
  if (!value) return 0;
  require(keyspan::token_of(cosmos_v2, *value) ==
              keyspan::detail::cosmos_v2_token_of_several(std::span{&*value, 1}),
          "a text has one token");
  same_tokens(cosmos_v1, *value);
  same_tokens(cosmos_v2, *value);
  same_tokens(cosmos_multihash, *value);
  return 0;
}
