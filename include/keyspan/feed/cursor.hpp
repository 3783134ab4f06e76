// keyspan/feed/cursor.hpp — where a reader stands: in one range, and in all ranges that it reads.
//
//   cursor             [20, 40) at "17"
//   composite_cursor   container, [00, 20) at "9", [20, 40) at "17", [40, FF) from the beginning
#pragma once

#include <keyspan/core/bytes.hpp>
#include <keyspan/core/error.hpp>
#include <keyspan/core/json.hpp>
#include <keyspan/core/result.hpp>
#include <keyspan/core/text.hpp>
#include <keyspan/core/utf8.hpp>
#include <keyspan/feed/continuation.hpp>
#include <keyspan/feed/feed_mode.hpp>
#include <keyspan/feed/wall_time.hpp>
#include <keyspan/hash/hash_scheme.hpp>
#include <keyspan/hash/token.hpp>
#include <keyspan/key/key_json.hpp>
#include <keyspan/key/key_value.hpp>
#include <keyspan/key/partition_key.hpp>
#include <keyspan/range/cover.hpp>
#include <keyspan/range/token_range.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <utility>
#include <vector>

namespace keyspan {

// g++ 12 ends with an internal error where a list of cursors is written as an argument and it has
// not been asked this before.
static_assert(std::is_nothrow_default_constructible_v<continuation>);

/// How far one range was read. Good for any part of the range too, also after a split or a merge.
template <token Token>
struct cursor {
  token_range<Token> range;
  continuation from{};

  friend bool operator==(cursor const&, cursor const&) = default;
};

template <token Token>
cursor(token_range<Token>) -> cursor<Token>;
template <token Token>
cursor(token_range<Token>, continuation) -> cursor<Token>;

namespace detail {

template <class T>
concept decimal_token = json_integer<T> && sizeof(T) <= sizeof(std::uint64_t);
template <class T>
concept text_like_token = std::convertible_to<T const&, std::string_view>;

// In this order: a token whose text is hexadecimal is written so.
template <class T>
concept cursor_token = token<T> && (writes_hex<T> || decimal_token<T> || text_like_token<T>);

template <class S>
concept reads_cursor_tokens =
    hex_scheme<S> || hex_token<token_of_scheme<S>> || decimal_token<token_of_scheme<S>> ||
    (text_like_token<token_of_scheme<S>> &&
     !std::same_as<token_of_scheme<S>, std::string_view> &&  // nobody would keep the characters
     std::constructible_from<token_of_scheme<S>, std::string const&>);

template <class Cursor>
std::string text_of_cursor(Cursor const& from);
template <class Cursor, class Scheme>
result<Cursor> read_cursor(Scheme const& scheme, std::string_view text);

}  // namespace detail

/// The sentence that a compiler shows for a scheme whose tokens a cursor's text does not say: they
/// are none of hexadecimal, integers and strings.
template <class S>
concept scheme_of_cursor_texts =
    hash_scheme<S> && detail::cursor_token<token_of_scheme<S>> && detail::reads_cursor_tokens<S>;

/// How far a reader has come: what to keep, and to go on from anywhere else. The ranges do not
/// overlap; the first is read next, then the others in turn.
template <token Token>
struct composite_cursor {
  /// The `container()` of the source that it was taken from; only that one can go on with it.
  std::string container{};
  /// The name of the source's scheme.
  std::string scheme{};
  feed_mode mode = feed_mode::latest_version;
  /// The one key that is read, where it is one.
  std::optional<partition_key> key{};
  std::vector<cursor<Token>> parts{};

  /// The cursor as JSON, in one stable form; `from_text` reads it. Complexity: linear.
  std::string to_text() const
    requires detail::cursor_token<Token>
  {
    return detail::text_of_cursor(*this);
  }

  /// The cursor whose text this is, its members in any order and any white space between them.
  /// Errors, with the place: `malformed` for what is no such text, and where the check tells that a
  /// value was changed; `unsupported` for another version; `scheme_mismatch`; `invalid_range` and
  /// `overlap` for parts that no feed has; those of tokens and keys. Complexity: linear in the
  /// text, and that of sorting the parts.
  template <scheme_of_cursor_texts Scheme>
    requires std::same_as<token_of_scheme<Scheme>, Token>
  [[nodiscard]] static result<composite_cursor> from_text(Scheme const& scheme,
                                                          std::string_view text) {
    return detail::read_cursor<composite_cursor>(scheme, text);
  }

  friend bool operator==(composite_cursor const&, composite_cursor const&) = default;
};

namespace detail {

inline constexpr std::int64_t cursor_version = 1;

inline constexpr auto crc32_table = [] {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t byte = 0; byte < table.size(); ++byte) {
    std::uint32_t rest = byte;
    for (int bit = 0; bit < 8; ++bit) rest = rest >> 1 ^ ((rest & 1) != 0 ? 0xEDB8'8320 : 0);
    table[byte] = rest;
  }
  return table;
}();

// CRC-32 as Ethernet and zip have it: it never misses a stretch of up to four bytes.
constexpr std::uint32_t crc32(std::string_view text) noexcept {
  std::uint32_t rest = 0xFFFF'FFFF;
  for (char const c : text)
    rest = rest >> 8 ^ crc32_table[(rest ^ static_cast<unsigned char>(c)) & 0xFF];
  return ~rest;
}

// Eight digits over the text of all values.
inline inline_text<8> check_of(std::string_view text) {
  std::array<unsigned char, 4> bytes{};
  store_be(bytes.data(), crc32(text));
  char digits[8]{};
  return inline_text<8>{encode_hex(std::span{bytes}, digits)};
}

// Text that came from others may be any bytes; such as no JSON string can hold become {"hex":"…"}.
inline void write_bytes(json_writer& out, std::string_view bytes) {
  if (is_utf8(bytes)) {
    out.string(bytes);
    return;
  }
  std::string digits(2 * bytes.size(), '0');
  out.begin_object().name("hex").string(encode_hex(std::span{bytes}, digits)).end_object();
}

template <cursor_token Token>
void write_token(json_writer& out, Token const& token) {
  if constexpr (writes_hex<Token>) {
    auto const digits = token.to_hex();
    out.string(digits);
  } else if constexpr (decimal_token<Token>) {
    using wide = std::conditional_t<std::is_signed_v<Token>, std::int64_t, std::uint64_t>;
    inline_text<20> const digits{static_cast<wide>(token), ""};
    out.string(digits);
  } else {
    write_bytes(out, token);
  }
}

inline void write_continuation(json_writer& out, continuation const& from) {
  if (from.is_start()) out.name("start").string(name_of(from.start()));
  if (from.start() == start_kind::time) out.name("time").string(time_text(from.time()));
  if (from.is_start()) return;
  out.name("at");
  write_bytes(out, from.text());
}

// All values in their one order, without white space: what the check is made over.
template <class Cursor>
std::string values_of_cursor(Cursor const& from) {
  std::string text;
  text.reserve(192 + from.parts.size() * 64);
  json_writer out{text};
  out.begin_object().name("keyspan").integer(cursor_version).name("container");
  write_bytes(out, from.container);
  out.name("scheme");
  write_bytes(out, from.scheme);
  out.name("mode").string(name_of(from.mode));
  if (from.key) {
    out.name("key").begin_array();
    for (key_value const& value : *from.key) write_key_value(out, value);
    out.end_array();
  }
  out.name("parts").begin_array();
  for (auto const& part : from.parts) {
    out.begin_object().name("lower");
    write_token(out, part.range.lower());
    out.name("upper");
    if (part.range.upper().is_space_end()) {
      out.null();
    } else {
      write_token(out, part.range.upper().at());
    }
    write_continuation(out, part.from);
    out.end_object();
  }
  out.end_array().end_object();
  expects(out.ok(), "every value of a cursor has a text");
  return text;
}

template <class Cursor>
std::string text_of_cursor(Cursor const& from) {
  std::string text = values_of_cursor(from);
  auto const digits = check_of(text);
  text.back() = ',';
  return text.append("\"check\":\"").append(digits.view()).append("\"}");
}

// That two parts read the same, and which of them stands later in the list.
struct parts_overlap {
  std::size_t later = 0;
  error why;
};

// The first in token order that two parts both read.
template <token Token>
std::optional<parts_overlap> overlap_of(std::vector<cursor<Token>> const& parts) {
  std::vector<std::size_t> sorted(parts.size());
  for (std::size_t i = 0; i < sorted.size(); ++i) sorted[i] = i;
  std::sort(sorted.begin(), sorted.end(),
            [&](std::size_t a, std::size_t b) { return parts[a].range < parts[b].range; });
  for (std::size_t i = 1; i < sorted.size(); ++i) {
    token_range<Token> const& before = parts[sorted[i - 1]].range;
    token_range<Token> const& range = parts[sorted[i]].range;
    if (!overlaps(before, range)) continue;
    auto const& end = (std::min)(before.upper(), range.upper());
    stretch_text<Token> const text{std::addressof(range.lower()), token_at(end)};
    return parts_overlap{
        (std::max)(sorted[i - 1], sorted[i]),
        error{errc::overlap, "two parts both read ", text.lower, " to ", text.upper}};
  }
  return std::nullopt;
}

template <decimal_token Token>
result<Token> token_of_decimal(std::string_view digits) {
  using wide = std::conditional_t<std::is_signed_v<Token>, std::int64_t, std::uint64_t>;
  wide value = 0;
  char const* const end = digits.data() + digits.size();
  auto const read = std::from_chars(digits.data(), end, value);
  bool const is_number = read.ptr == end && !digits.empty();
  constexpr wide least = (std::numeric_limits<Token>::min)();
  constexpr wide greatest = (std::numeric_limits<Token>::max)();
  if (is_number && (read.ec == std::errc::result_out_of_range || value < least || value > greatest))
    return fail(errc::not_representable, "a token is from ", least, " to ", greatest, ", not ",
                inline_text<40>{digits});
  if (!is_number || read.ec != std::errc{} || inline_text<20>{value, ""} != digits)
    return fail(errc::malformed, "a token is a whole number in decimal, not \"",
                inline_text<40>{digits}, "\"");
  return static_cast<Token>(value);
}

template <class Scheme>
result<token_of_scheme<Scheme>> token_of_text(Scheme const& scheme, std::string const& text) {
  using token_type = token_of_scheme<Scheme>;
  if constexpr (hex_scheme<Scheme>) {
    return scheme.from_hex(text);
  } else if constexpr (hex_token<token_type>) {
    return token_type::from_hex(text);
  } else if constexpr (decimal_token<token_type>) {
    return token_of_decimal<token_type>(text);
  } else {
    token_type made(text);
    if (std::string_view(made) != std::string_view{text})  // one of a size that is fixed
      return fail(errc::too_large, "a token is shorter than ", text.size(), " bytes");
    return made;
  }
}

// Whether a token is one that the scheme can have, beyond what its type says.
template <class Scheme>
result<token_of_scheme<Scheme>> token_in_space(Scheme const& scheme,
                                               result<token_of_scheme<Scheme>> token) {
  if (!token) return token;
  bool is_in_space = !(*token < scheme.minimum());
  if constexpr (requires { scheme.space.contains(*token); })
    is_in_space = scheme.space.contains(*token);
  if (is_in_space) return token;
  return fail(errc::not_representable, "no token of ", std::string_view{scheme.name()}, " is ",
              text_of_token(*token));
}

inline std::string read_bytes(json_reader& in) {
  if (in.peek() != json_kind::object) return std::string{in.string()};
  in.begin_object();
  std::string_view name;
  std::string bytes;
  bool is_there = false;
  while (in.next_member(name)) {
    if (name != "hex") {
      in.fail_here("bytes are {\"hex\":\"...\"}, without a member \"", inline_text<40>{name}, "\"");
      break;
    }
    std::string_view const digits = in.string();
    bytes.resize(digits.size() / 2);
    auto const size = decode_hex(digits, std::span{bytes});
    if (!size) {
      in.fail_here(size.error());
    } else if (is_utf8(bytes)) {
      in.fail_here("what can be written as a string is not written in hexadecimal");
    }
    is_there = true;
  }
  expect_member(in, is_there, "hex");
  return bytes;
}

// The token of a scheme that a JSON value is the text of; none where the reader has failed.
template <class Scheme>
std::optional<token_of_scheme<Scheme>> read_token(Scheme const& scheme, json_reader& in) {
  using token_type = token_of_scheme<Scheme>;
  std::string text;
  if constexpr (writes_hex<token_type> || decimal_token<token_type>) {
    text = in.string();
  } else {
    text = read_bytes(in);
  }
  if (!in.ok()) return std::nullopt;
  auto token = token_in_space(scheme, token_of_text(scheme, text));
  if (token) return *std::move(token);
  in.fail_here(token.error());
  return std::nullopt;
}

// Reads the text of a cursor, once from its beginning to its end; that it is one, and of which
// version and scheme, is seen before, so that what is said of another text is not about details.
template <class Cursor, class Scheme>
class cursor_reader {
 public:
  cursor_reader(Scheme const& scheme, std::string_view text) : scheme_{scheme}, text_{text} {}

  result<Cursor> read() {
    if (auto const first = see_version(); !first) return unexpected{first.error()};
    if (auto const first = see_scheme(); !first) return unexpected{first.error()};
    if (auto const all = read_members(); !all) return unexpected{all.error()};
    if (auto const two = overlap_of(made_.parts))
      return unexpected{two->why.at(place_of_part(two->later))};
    auto const found = check_of(values_of_cursor(made_));
    if (found == check_) return std::move(made_);
    auto const refused = at_member("check", [&](json_reader& in) {
      static_cast<void>(in.string());
      in.fail_here("the check is ", inline_text<20>{check_}, ", that of these values is ", found,
                   ": something was changed after the text was written");
    });
    return unexpected{refused.error()};
  }

 private:
  using token_type = token_of_scheme<Scheme>;

  // Goes to a member of the outermost object, and to nothing behind it.
  template <class Read>
  result<void> at_member(std::string_view wanted, Read const& read) const {
    json_reader in{text_};
    in.begin_object();
    std::string_view name;
    while (in.next_member(name)) {
      if (name == "merged") {
        in.fail_here("this is the cursor of a merge, not of a feed: merged_cursor reads it");
        break;
      }
      if (name != wanted) {
        in.skip();
        continue;
      }
      read(in);
      if (in.ok()) return {};
      break;
    }
    in.fail_here("no cursor: the member \"", wanted, "\" is missing");
    return unexpected{in.error()};
  }

  result<void> see_version() const {
    return at_member("keyspan", [](json_reader& in) {
      auto const version = in.integer<std::int64_t>();
      if (in.ok() && version != cursor_version)
        in.fail_here(error{errc::unsupported, "the cursor is of version ", version,
                           "; this library reads version ", cursor_version});
    });
  }
  result<void> see_scheme() const {
    return at_member("scheme", [&](json_reader& in) {
      std::string const name = read_bytes(in);
      std::string_view const own{scheme_.name()};
      if (in.ok() && name != own)
        in.fail_here(error{errc::scheme_mismatch, "the cursor's tokens are of scheme ",
                           inline_text<40>{name}, ", they are read by ", own});
    });
  }
  text_position place_of_part(std::size_t number) const {
    text_position place;
    static_cast<void>(at_member("parts", [&](json_reader& in) {
      in.begin_array();
      for (std::size_t i = 0; i <= number && in.next_element(); ++i) in.skip();
      place = in.position();
    }));
    return place;
  }

  result<void> read_members() {
    bool has_container = false;
    bool has_mode = false;
    bool has_check = false;
    json_reader in{text_};
    in.begin_object();
    std::string_view name;
    while (in.next_member(name)) {
      if (name == "keyspan") {
        static_cast<void>(in.integer<std::int64_t>());
      } else if (name == "container") {
        made_.container = read_bytes(in);
        has_container = true;
      } else if (name == "scheme") {
        made_.scheme = read_bytes(in);
      } else if (name == "mode") {
        read_mode(in);
        has_mode = true;
      } else if (name == "key") {
        read_key(in);
      } else if (name == "parts") {
        read_parts(in);
      } else if (name == "check") {
        check_ = in.string();
        has_check = true;
      } else {
        in.fail_here("a cursor has no member \"", inline_text<40>{name}, "\"");
      }
    }
    expect_member(in, has_container, "container");
    expect_member(in, has_mode, "mode");
    expect_member(in, !made_.parts.empty(), "parts");
    expect_member(in, has_check, "check");
    in.finish();
    if (!in.ok()) return unexpected{in.error()};
    return {};
  }

  void read_mode(json_reader& in) {
    auto const mode = feed_mode_of(in.string());
    if (mode) {
      made_.mode = *mode;
    } else {
      in.fail_here(mode.error());
    }
  }

  void read_key(json_reader& in) {
    std::array<key_value, max_key_values> values{};
    std::size_t size = 0;
    in.begin_array();
    while (in.next_element()) {
      if (size == max_key_values) {
        in.skip();
        in.fail_here(error{errc::too_large, "a key has at most three values"});
        break;
      }
      values[size++] = read_key_value(in);
    }
    if (in.ok()) made_.key.emplace(partition_key_view{std::span{values}.first(size)});
  }

  void read_parts(json_reader& in) {
    in.begin_array();
    while (in.next_element()) read_part(in);
    if (made_.parts.empty()) in.fail_here("a cursor has a part at least");
  }

  void read_part(json_reader& in) {
    bound lower;
    bound upper;
    continuation_text from;
    in.begin_object();
    std::string_view name;
    while (in.next_member(name)) {
      if (name == "lower") {
        read_token(in, lower);
      } else if (name == "upper") {
        if (in.peek() == json_kind::null) {
          in.null();
          upper.is_there = true;
        } else {
          read_token(in, upper);
        }
      } else if (name == "start") {
        read_start(in, from);
      } else if (name == "time") {
        read_time(in, from);
      } else if (name == "at") {
        from.at = read_bytes(in);
        if (in.ok() && from.at->empty()) in.fail_here("\"at\" is a text, or is left out");
      } else {
        in.fail_here("a part has no member \"", inline_text<40>{name}, "\"");
      }
    }
    expect_member(in, lower.is_there, "lower");
    expect_member(in, upper.is_there, "upper");
    expect_whole(in, from);
    if (!in.ok()) return;
    upper_end<token_type> const end =
        upper.at ? upper_end<token_type>{*std::move(upper.at)} : upper_end<token_type>{space_end};
    auto range = token_range<token_type>::from(*std::move(lower.at), end);
    if (range) {
      made_.parts.push_back({*std::move(range), std::move(from).made()});
    } else {
      in.fail_here(range.error());
    }
  }

  struct bound {
    bool is_there = false;
    std::optional<token_type> at{};
  };
  struct continuation_text {
    std::optional<start_kind> start{};
    std::optional<wall_time> time{};
    std::optional<std::string> at{};

    continuation made() && {
      if (time && at) return {from_time{*time}, *std::move(at)};
      if (time) return from_time{*time};
      if (at) return continuation{*std::move(at)};
      if (start == start_kind::now) return from_now;
      return from_beginning;
    }
  };

  void read_token(json_reader& in, bound& to) {
    to.at = detail::read_token(scheme_, in);
    to.is_there = to.at.has_value();
  }

  static void read_start(json_reader& in, continuation_text& to) {
    std::string_view const name = in.string();
    for (auto const kind : {start_kind::beginning, start_kind::now, start_kind::time})
      if (name == name_of(kind)) to.start = kind;
    if (!to.start)
      in.fail_here("a start is beginning, now or time, not \"", inline_text<40>{name}, "\"");
  }

  static void read_time(json_reader& in, continuation_text& to) {
    std::string_view const text = in.string();
    if (!in.ok()) return;
    auto const time = read_time_text(text);
    if (!time) {
      in.fail_here(time.error());
    } else if (time_text(*time) != text) {
      in.fail_here("the time is written as ", time_text(*time), ", not \"", inline_text<40>{text},
                   "\"");
    } else {
      to.time = *time;
    }
  }

  // Either a start, and its time where it has one, or a text, and the time that it began from.
  static void expect_whole(json_reader& in, continuation_text const& from) {
    if (!in.ok()) return;
    if (from.start && from.at) in.fail_here("a part has \"start\" or \"at\", not both");
    if (!from.start && !from.at) in.fail_here("a part has \"start\" or \"at\"");
    if (from.start && (from.start == start_kind::time) != from.time.has_value())
      in.fail_here("a part has \"time\" where its start is time, and nowhere else");
  }

  Scheme const& scheme_;
  std::string_view text_;
  Cursor made_{};
  std::string check_{};
};

// Whether a cursor was taken from the container that is to go on with it.
template <token Token>
result<void> of_container(composite_cursor<Token> const& from, std::string_view container) {
  if (from.container == container) return {};
  return fail(errc::wrong_container, "the cursor was taken from container \"",
              std::string_view{from.container}.substr(0, 40), "\", this one is \"",
              container.substr(0, 40), "\"");
}

template <class Cursor, class Scheme>
result<Cursor> read_cursor(Scheme const& scheme, std::string_view text) {
  return cursor_reader<Cursor, Scheme>{scheme, text}.read();
}

}  // namespace detail

}  // namespace keyspan
