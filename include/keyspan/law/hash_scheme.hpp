// keyspan/law/hash_scheme.hpp — whether a scheme keeps what its concept promises.
//
// No test framework inside: each check answers with a finding, true where the laws hold. Over
// sample keys of every kind and many lengths, or over yours, which know better where it could hurt.
#pragma once

#include <keyspan/core/json.hpp>
#include <keyspan/core/result.hpp>
#include <keyspan/core/text.hpp>
#include <keyspan/core/utf8.hpp>
#include <keyspan/hash/hash_scheme.hpp>
#include <keyspan/hash/token.hpp>
#include <keyspan/key/key_value.hpp>
#include <keyspan/key/partition_key.hpp>
#include <keyspan/law/finding.hpp>

#include <algorithm>
#include <array>
#include <compare>
#include <concepts>
#include <cstddef>
#include <functional>
#include <limits>
#include <span>
#include <string_view>
#include <type_traits>
#include <vector>

namespace keyspan {

namespace detail {

inline constexpr std::string_view law_text =
    "The quick brown fox jumps over the lazy dog, "
    "\xD0\xBF\xD1\x80\xD0\xB8\xD0\xB2\xD0\xB5\xD1\x82 \xE4\xB8\x96\xE7\x95\x8C "
    "\xF0\x9F\x98\x80! Pack my box with five dozen liquor jugs; how vexingly quick daft zebras "
    "jump.";

// Keys whose strings and numbers stand where encodings and hashes change their step.
inline constexpr auto law_keys = [] {
  std::array<partition_key_view, 101> keys{};
  std::size_t count = 1;  // the first is the empty key
  auto const add = [&](auto const&... values) { keys[count++] = partition_key_view{values...}; };
  add(undefined), add(null), add(false), add(true);
  using number = std::numeric_limits<double>;
  for (double const magnitude : {1.0, 0.5, 2.0, 1e15, 9007199254740992.0, number::denorm_min(),
                                 (number::min)(), (number::max)()})
    add(magnitude), add(-magnitude);
  add(0.0);
  add("{a}b"), add("b{a}"), add("{}a"), add("\x7F"), add("\xEE\x80\x80"), add("\xF0\x90\x80\x80");
  add(std::string_view{"\0", 1}), add(std::string_view{"a\0b", 3});
  add("a", "b"), add("ab", ""), add("", "ab"), add("a", undefined), add("a", null);
  add("a", "b", "c"), add(1.0, true, "c");
  for (std::size_t size = 99; size < 103; ++size) add(law_text.substr(0, size));
  // Strings of every length up to some words, all of them beginnings of one text.
  for (std::size_t size = 0; count < keys.size(); ++size)
    if (is_utf8(law_text.substr(0, size))) add(law_text.substr(0, size));
  return keys;
}();

template <class T>
struct law_buffer {
  constexpr explicit law_buffer(std::size_t count) : data{new T[count + 1]{}}, size{count} {}
  law_buffer(law_buffer const&) = delete;
  law_buffer& operator=(law_buffer const&) = delete;
  constexpr ~law_buffer() { delete[] data; }
  T* data;
  std::size_t size;
};

// A copy of a key whose characters stand somewhere else and have other neighbours.
class disturbed_key {
 public:
  constexpr disturbed_key(std::span<key_value const> values, char neighbour)
      : values_(values.size()), characters_(room_for(values)) {
    std::fill_n(characters_.data, characters_.size, neighbour);
    std::size_t at = 1;
    for (std::size_t i = 0; i < values.size(); ++i) {
      values_.data[i] = values[i];
      if (!values[i].is_string()) continue;
      std::string_view const text = values[i].string();
      std::copy(text.begin(), text.end(), characters_.data + at);
      values_.data[i] = key_value{std::string_view{characters_.data + at, text.size()}};
      at += text.size() + 1;
    }
  }

  constexpr std::span<key_value const> values() const { return {values_.data, values_.size}; }

 private:
  static constexpr std::size_t room_for(std::span<key_value const> values) {
    std::size_t size = 1;
    for (key_value const& value : values) size += value.is_string() ? value.string().size() + 1 : 0;
    return size;
  }

  law_buffer<key_value> values_;
  law_buffer<char> characters_;
};

template <hash_scheme Scheme>
constexpr result<typename Scheme::token_type> token_or_error(Scheme const& scheme,
                                                             std::span<key_value const> values) {
  return scheme.token_of(values);
}

constexpr inline_text<120> law_text_of(std::span<key_value const> values) {
  char room[1024]{};
  json_writer out{std::span{room}, json_writer_options{.ascii = true}};
  out.begin_array();
  for (key_value const& value : values) write_key_value(out, value);
  out.end_array();
  auto const written = out.finish();
  return written ? inline_text<120>{*written} : inline_text<120>{"a long key"};
}

template <token Token>
constexpr inline_text<80> law_text_of(Token const& token) {
  if constexpr (std::integral<Token> && text_piece<Token>) {
    return inline_text<80>{token};
  } else if constexpr (writes_hex<Token>) {
    auto const digits = token.to_hex();
    return inline_text<80>{digits.empty() ? std::string_view{"the minimum"}
                                          : std::string_view{digits}};
  } else {
    return inline_text<80>{"a token"};
  }
}

template <token Token>
constexpr inline_text<80> law_text_of(upper_end<Token> const& end) {
  return end.is_space_end() ? inline_text<80>{"the end"} : law_text_of(end.at());
}

// What one asks of two tokens, whatever keys they are of.
template <token Token>
constexpr law::finding check_two_tokens(Token const& a, Token const& b) {
  auto const ordered = a <=> b;
  if ((a == b) != (ordered == 0) || (a != b) == (a == b) || (a < b) != (ordered < 0) ||
      (a > b) != (ordered > 0) || (b > a) != (a < b) || (b == a) != (a == b) ||
      ((b <=> a) < 0) != (ordered > 0))
    return law::finding{"the comparisons of tokens agree with each other", law_text_of(a), " and ",
                        law_text_of(b)};
  if constexpr (requires {
                  { std::hash<Token>{}(a) } -> std::convertible_to<std::size_t>;
                }) {
    if (!std::is_constant_evaluated() && a == b && std::hash<Token>{}(a) != std::hash<Token>{}(b))
      return law::finding{"tokens that are equal hash alike", law_text_of(a), " and ",
                          law_text_of(b)};
  }
  return {};
}

}  // namespace detail

namespace law {

/// Keys of every kind of value, of none to three values, and strings of many lengths; the first is
/// the empty key.
inline constexpr std::span<partition_key_view const> sample_keys{detail::law_keys};

/// Whether `scheme` keeps the laws of `hash_scheme` for these keys, and their tokens those of
/// `token`. Allocates a copy of each key. Complexity: quadratic in the number of keys.
template <hash_scheme Scheme>
constexpr finding check_hash_scheme(Scheme const& scheme,
                                    std::span<partition_key_view const> keys = sample_keys) {
  using answer = result<typename Scheme::token_type>;

  Scheme const copy = scheme;
  if (!(copy == scheme)) return finding{"a copy of a scheme is equal to it", scheme.name()};
  if (std::string_view{scheme.name()}.empty() ||
      std::string_view{scheme.name()} != std::string_view{copy.name()})
    return finding{"a scheme has a name, and its copy the same", scheme.name()};

  auto const least = scheme.minimum();
  if (!(least == scheme.minimum()) || !(least == copy.minimum()))
    return finding{"a scheme has one minimum", detail::law_text_of(least)};
  answer const empty = detail::token_or_error(scheme, {});
  if (empty && !(*empty == least))
    return finding{"the empty key has the minimum for its token", detail::law_text_of(*empty)};

  for (std::size_t i = 0; i < keys.size(); ++i) {
    auto const values = keys[i].values();
    answer const first = detail::token_or_error(scheme, values);
    if (first && *first < least)
      return finding{"no token is less than the minimum", detail::law_text_of(values), " has ",
                     detail::law_text_of(*first)};
    if (first)
      if (auto const found = detail::check_two_tokens(least, *first); !found) return found;

    // With a question about another key in between, whatever a scheme remembers shows.
    static_cast<void>(detail::token_or_error(scheme, keys[(i + 1) % keys.size()].values()));
    answer const again = detail::token_or_error(scheme, values);
    if (first.has_value() != again.has_value() || (first && !(*first == *again)))
      return finding{"nothing but the key and the scheme decides", detail::law_text_of(values),
                     " got another answer when asked again"};
    detail::disturbed_key const moved{values, 'x'};
    answer const elsewhere = detail::token_or_error(scheme, moved.values());
    detail::disturbed_key const signed_neighbours{values, '\xFF'};
    answer const by_copy = detail::token_or_error(copy, signed_neighbours.values());
    for (answer const* other : {&elsewhere, &by_copy})
      if (first.has_value() != other->has_value() || (first && !(*first == **other)))
        return finding{"equal keys have equal tokens", detail::law_text_of(values),
                       " and a copy of it ", other == &by_copy ? "in a copy of the scheme " : "",
                       "differ"};
  }

  for (std::size_t i = 0; i < keys.size(); ++i) {
    answer const a = detail::token_or_error(scheme, keys[i].values());
    for (std::size_t j = i; a && j < keys.size(); ++j) {
      answer const b = detail::token_or_error(scheme, keys[j].values());
      if (!b) continue;
      if (auto const found = detail::check_two_tokens(*a, *b); !found) return found;
      if (keys[i] == keys[j] && !(*a == *b))
        return finding{"equal keys have equal tokens", detail::law_text_of(keys[i].values())};
    }
  }
  return {};
}

/// As above, for keys that are owned.
template <hash_scheme Scheme>
finding check_hash_scheme(Scheme const& scheme, std::span<partition_key const> keys) {
  std::vector<partition_key_view> views(keys.begin(), keys.end());
  return check_hash_scheme(scheme, std::span<partition_key_view const>{views});
}

/// Whether `scheme` keeps the laws of `splittable_scheme`, with a space shared out to up to `parts`
/// parts, and with the tokens of these keys. Requires that such a part can be cut in two.
/// Complexity: quadratic in the number of parts.
template <splittable_scheme Scheme>
constexpr finding check_splittable_scheme(Scheme const& scheme,
                                          std::span<partition_key_view const> keys = sample_keys,
                                          std::size_t parts = 300) {
  using token_type = typename Scheme::token_type;
  using end_type = upper_end<token_type>;
  auto const upper_of = [&](std::size_t i, std::size_t count) {
    return i + 1 == count ? end_type{space_end} : end_type{scheme.boundary(i + 1, count)};
  };

  auto const check_successor = [&](token_type const& t) -> finding {
    end_type const next = scheme.successor(t);
    if (!(next > t))
      return finding{"a successor is greater than its token", detail::law_text_of(t),
                     " is followed by ", detail::law_text_of(next)};
    if constexpr (std::integral<token_type>) {
      if (!next.is_space_end() && next.at() - 1 != t)
        return finding{"no token lies between a token and its successor", detail::law_text_of(t),
                       " is followed by ", detail::law_text_of(next)};
    }
    if (auto const between = scheme.midpoint(t, next); between)
      return finding{"a token and its successor have no midpoint",
                     detail::law_text_of(t),
                     " and ",
                     detail::law_text_of(next),
                     " have ",
                     detail::law_text_of(*between)};
    return {};
  };
  auto const check_midpoint = [&](token_type const& lower, end_type const& upper,
                                  result<token_type> const& middle) -> finding {
    if (middle && !(lower < *middle && upper > *middle))
      return finding{"a midpoint lies strictly between the bounds",
                     detail::law_text_of(lower),
                     " and ",
                     detail::law_text_of(upper),
                     " have ",
                     detail::law_text_of(*middle)};
    return {};
  };

  for (std::size_t count = 1; count <= parts; ++count) {
    if (!(scheme.boundary(0, count) == scheme.minimum()))
      return finding{"boundary 0 is the minimum", detail::law_text_of(scheme.boundary(0, count)),
                     " of ", count, " parts"};
    for (std::size_t i = 1; i < count; ++i)
      if (!(scheme.boundary(i - 1, count) < scheme.boundary(i, count)))
        return finding{"boundaries rise",
                       "that of part ",
                       i,
                       " of ",
                       count,
                       " is ",
                       detail::law_text_of(scheme.boundary(i, count))};
    if (count > 7 && count != parts) continue;

    for (std::size_t i = 0; i < count; ++i) {
      token_type const lower = scheme.boundary(i, count);
      if (auto const found = check_successor(lower); !found) return found;
      end_type const upper = upper_of(i, count);
      auto const middle = scheme.midpoint(lower, upper);
      if (!middle)
        return finding{
            "a wide range has a midpoint", "part ", i, " of ", count, ": ", middle.error().text};
      if (auto const found = check_midpoint(lower, upper, middle); !found) return found;
    }
    for (auto const& key : keys) {
      auto const t = detail::token_or_error(scheme, key.values());
      std::size_t owners = 0;
      for (std::size_t i = 0; t && i < count; ++i)
        owners += scheme.boundary(i, count) <= *t && upper_of(i, count) > *t ? 1U : 0U;
      if (t && owners != 1)
        return finding{"every token lies in exactly one part",
                       detail::law_text_of(*t),
                       " lies in ",
                       owners,
                       " of ",
                       count};
    }
  }

  for (auto const& key : keys)
    if (auto const t = detail::token_or_error(scheme, key.values()); t)
      if (auto const found = check_successor(*t); !found) return found;

  // Down to the minimum and up to the end; an integer or a string of bytes bears as many cuts as it
  // has bits.
  for (bool const down : {true, false}) {
    token_type lower = scheme.minimum();
    end_type upper = space_end;
    std::size_t cuts = 0;
    for (auto middle = scheme.midpoint(lower, upper); middle;
         middle = scheme.midpoint(lower, upper)) {
      if (auto const found = check_midpoint(lower, upper, middle); !found) return found;
      if (down) {
        upper = *middle;
      } else {
        lower = *middle;
      }
      if (++cuts > 16 * sizeof(token_type) + 64)
        return finding{"halving a range comes to an end", "not after ", cuts, " times"};
    }
  }
  return {};
}

/// As above, for keys that are owned.
template <splittable_scheme Scheme>
finding check_splittable_scheme(Scheme const& scheme, std::span<partition_key const> keys,
                                std::size_t parts = 300) {
  std::vector<partition_key_view> views(keys.begin(), keys.end());
  return check_splittable_scheme(scheme, std::span<partition_key_view const>{views}, parts);
}

}  // namespace law
}  // namespace keyspan
