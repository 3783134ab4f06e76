// keyspan/core/json.hpp — a small strict JSON reader and writer, for keys and cursors.
//
// The reader walks once over a text that it has whole, and the code that walks reads like the
// schema of the text. Both keep the first error and do nothing after it: only the end has to ask.
#pragma once

#include <keyspan/core/bytes.hpp>
#include <keyspan/core/contract.hpp>
#include <keyspan/core/error.hpp>
#include <keyspan/core/number.hpp>
#include <keyspan/core/result.hpp>
#include <keyspan/core/text.hpp>
#include <keyspan/core/utf8.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace keyspan {

/// What stands next in a JSON text. `end`: no value.
enum class json_kind : std::uint8_t { end, null, boolean, number, string, array, object };

/// How deep objects and arrays may be nested at most, whatever the options say.
inline constexpr std::size_t max_json_depth = 1024;

struct json_reader_options {
  std::size_t max_depth = 64;    ///< at most `max_json_depth`
  std::size_t max_names = 4096;  ///< of the members of all objects that are open at once
};

struct json_writer_options {
  /// Writes every character beyond ASCII, and DEL, as \uXXXX, as HTTP headers want it.
  bool ascii = false;
};

namespace detail {

template <class T>
concept json_integer = std::integral<T> && !std::same_as<std::remove_cv_t<T>, bool>;

constexpr bool is_json_space(char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }

constexpr std::string_view words_of(json_kind kind) {
  constexpr std::string_view words[]{"nothing",  "null",     "a boolean", "a number",
                                     "a string", "an array", "an object"};
  return words[static_cast<std::size_t>(kind)];
}

// By the first character alone; `end` for what begins no value.
constexpr json_kind kind_by(char first) {
  switch (first) {
    case '{':
      return json_kind::object;
    case '[':
      return json_kind::array;
    case '"':
      return json_kind::string;
    case 't':
    case 'f':
      return json_kind::boolean;
    case 'n':
      return json_kind::null;
    case '-':
      return json_kind::number;
    default:
      return is_digit(first) ? json_kind::number : json_kind::end;
  }
}

// Which of the open objects and arrays are objects.
class json_nesting {
 public:
  constexpr std::size_t depth() const { return depth_; }
  constexpr bool in_object() const { return depth_ != 0 && bit(depth_ - 1); }
  constexpr bool in_array() const { return depth_ != 0 && !bit(depth_ - 1); }
  constexpr void push(bool is_object) {
    auto& word = words_[depth_ / 64];
    std::uint64_t const mask = std::uint64_t{1} << depth_ % 64;
    word = is_object ? word | mask : word & ~mask;
    ++depth_;
  }
  constexpr void pop() { --depth_; }

 private:
  constexpr bool bit(std::size_t i) const { return (words_[i / 64] >> i % 64 & 1) != 0; }

  std::size_t depth_ = 0;
  std::array<std::uint64_t, max_json_depth / 64> words_{};
};

// The names of the open objects' members, to find one that comes twice. An object's names go when
// it is closed, last come first gone, so that a slot of the table is simply emptied. No allocation
// up to 32 names.
class json_names {
 public:
  constexpr explicit json_names(std::string_view text) : text_{text} {}
  json_names(json_names const&) = delete;
  json_names& operator=(json_names const&) = delete;

  constexpr std::size_t count() const { return count_; }
  constexpr void begin_object() { base_ = count_; }

  // Whether the innermost object does not have this name yet. `name` is what the `size` bytes at
  // `offset` of the text mean.
  constexpr bool add(std::string_view name, std::size_t offset, std::size_t size) {
    if (count_ == names_.size()) grow();
    entry const added{.offset = static_cast<std::uint32_t>(offset),
                      .size = static_cast<std::uint32_t>(size),
                      .hash = hash_of(name),
                      .base = base_};
    std::size_t slot = first_slot(added);
    for (; slots_[slot] != 0; slot = next(slot)) {
      entry const& other = names_[slots_[slot] - 1];
      if (other.hash == added.hash && other.base == base_ && same_name(other, added)) return false;
    }
    names_[count_] = added;
    slots_[slot] = ++count_;
    return true;
  }

  constexpr void end_object() {
    while (count_ > base_) {
      std::size_t slot = first_slot(names_[count_ - 1]);
      while (slots_[slot] != count_) slot = next(slot);
      slots_[slot] = 0;
      --count_;
    }
    // The object around has this one as a member, so its name is the last one left.
    base_ = count_ == 0 ? 0 : names_[count_ - 1].base;
  }

 private:
  struct entry {
    std::uint32_t offset;
    std::uint32_t size;
    std::uint32_t hash;
    std::uint32_t base;  // how many names there were when its object began
  };

  static constexpr std::uint32_t hash_of(std::string_view name) {
    constexpr std::uint64_t factor = 0x9E37'79B9'7F4A'7C15;
    std::uint64_t hash = name.size() * factor;
    auto const mix = [&](std::uint64_t more) {
      hash = (hash ^ more) * factor;
      hash ^= hash >> 32;
    };
    std::size_t i = 0;
    for (; name.size() - i >= 8; i += 8) mix(load_le<std::uint64_t>(name.data() + i));
    std::uint64_t tail = 0;
    for (; i < name.size(); ++i) tail = tail << 8 | static_cast<unsigned char>(name[i]);
    mix(tail);
    return static_cast<std::uint32_t>(hash);
  }

  constexpr std::size_t first_slot(entry const& name) const {
    return (name.hash + name.base * 0x9E37'79B1u) & (slots_.size() - 1);
  }

  constexpr std::size_t next(std::size_t slot) const { return (slot + 1) & (slots_.size() - 1); }

  constexpr bool same_name(entry const& a, entry const& b) const;

  constexpr void grow() {
    std::vector<entry> more(names_.begin(), names_.end());
    more.resize(names_.size() * 2);
    more_names_ = std::move(more);
    names_ = more_names_;
    more_slots_.assign(names_.size() * 2, 0);
    slots_ = more_slots_;
    for (std::uint32_t i = 0; i < count_; ++i) {
      std::size_t slot = first_slot(names_[i]);
      while (slots_[slot] != 0) slot = next(slot);
      slots_[slot] = i + 1;
    }
  }

  std::string_view text_;
  std::array<entry, 32> few_names_{};
  std::array<std::uint32_t, 64>
      few_slots_{};  // a power of two of them; 0, or the number of a name, counted from 1
  std::vector<entry> more_names_;
  std::vector<std::uint32_t> more_slots_;
  std::span<entry> names_{few_names_};
  std::span<std::uint32_t> slots_{few_slots_};
  std::uint32_t count_ = 0;
  std::uint32_t base_ = 0;
};

// What an escape means, or what is wrong with it, and where.
struct json_escape {
  char32_t code_point = 0;
  std::size_t size = 0;  // in bytes; 0: refused
  errc refusal = errc::malformed;
  std::size_t wrong_at = 0;
  std::string_view expected{};
};

// The four digits after \u at `at`; `size` of them are good.
struct json_unit {
  char32_t value = 0;
  std::size_t size = 0;
};

constexpr json_unit read_json_unit(std::string_view text, std::size_t at) {
  json_unit unit;
  for (; unit.size < 4 && at + unit.size < text.size(); ++unit.size) {
    int const digit = hex_values[static_cast<unsigned char>(text[at + unit.size])];
    if (digit < 0) break;
    unit.value = unit.value << 4 | static_cast<char32_t>(digit);
  }
  return unit;
}

// Of the backslash at `at`.
constexpr json_escape read_json_escape(std::string_view text, std::size_t at) {
  constexpr std::string_view letters = "\"\\/bfnrt";
  constexpr std::string_view meanings = "\"\\/\b\f\n\r\t";
  char const letter = at + 1 < text.size() ? text[at + 1] : '\0';
  if (auto const i = letters.find(letter); i != letters.npos)
    return {.code_point = static_cast<unsigned char>(meanings[i]), .size = 2};
  if (letter != 'u')
    return {.wrong_at = at + 1, .expected = "one of \" \\ / b f n r t u after a backslash"};
  auto const unit = read_json_unit(text, at + 2);
  if (unit.size != 4)
    return {.wrong_at = at + 2 + unit.size, .expected = "four hexadecimal digits after \\u"};
  if (is_code_point(unit.value)) return {.code_point = unit.value, .size = 6};
  if (unit.value < 0xDC00 && text.substr(at + 6).starts_with("\\u")) {
    auto const low = read_json_unit(text, at + 8);
    if (low.size != 4)
      return {.wrong_at = at + 8 + low.size, .expected = "four hexadecimal digits after \\u"};
    if (low.value >= 0xDC00 && low.value <= 0xDFFF)
      return {.code_point = 0x1'0000 + ((unit.value - 0xD800) << 10) + (low.value - 0xDC00),
              .size = 12};
  }
  return {.refusal = errc::invalid_utf8, .wrong_at = at};
}

// One character of a string that was found to be good.
constexpr utf8_character read_json_character(std::string_view text, std::size_t at) {
  if (text[at] != '\\') return decode_utf8(text, at);
  auto const escape = read_json_escape(text, at);
  return {escape.code_point, escape.size};
}

constexpr bool json_names::same_name(entry const& a, entry const& b) const {
  auto const first = text_.substr(a.offset, a.size);
  auto const second = text_.substr(b.offset, b.size);
  if (first == second) return true;
  std::size_t i = 0;
  std::size_t j = 0;
  while (i < first.size() && j < second.size()) {
    auto const x = read_json_character(first, i);
    auto const y = read_json_character(second, j);
    if (x.code_point != y.code_point) return false;
    i += x.size;
    j += y.size;
  }
  return i == first.size() && j == second.size();
}

// How many bytes at the beginning stand for themselves in a string: ASCII, no control character, no
// quote, no backslash.
constexpr std::size_t plain_json_prefix(std::string_view text) {
  std::size_t i = 0;
  constexpr std::uint64_t ones = 0x0101'0101'0101'0101;
  constexpr std::uint64_t tops = 0x8080'8080'8080'8080;
  for (; text.size() - i >= 8; i += 8) {
    auto const x = load_le<std::uint64_t>(text.data() + i);
    // The top bit of each byte that is below 0x20, a quote, a backslash, or has its top bit set. A
    // borrow may mark bytes above the first such one, never one below it.
    std::uint64_t const quote = (x ^ ones * '"') - ones;
    std::uint64_t const backslash = (x ^ ones * '\\') - ones;
    std::uint64_t const marks = (x | (x - ones * 0x20) | quote | backslash) & tops;
    if (marks != 0) return i + static_cast<std::size_t>(std::countr_zero(marks)) / 8;
  }
  for (; i < text.size(); ++i) {
    auto const c = static_cast<unsigned char>(text[i]);
    if (c < 0x20 || c == '"' || c == '\\' || c >= 0x80) break;
  }
  return i;
}

}  // namespace detail

/// Reads one JSON text by RFC 8259, no leniency: exactly one value, well-formed UTF-8 alone, no
/// comments, no trailing commas, no name twice in one object (two readers of such a text would not
/// agree on what it says).
///
/// After the first error every call gives an empty value and every loop ends; `ok()` and `error()`
/// tell. Each value that `next_member` or `next_element` announces is read or skipped before the
/// next one is asked for: that, and asking for members in objects alone, is the caller's promise.
///
/// The text outlives the reader and what was read. Texts without escapes are read without
/// allocation up to 32 names at once; the first string with an escape allocates once.
class json_reader {
 public:
  /// Errors: `too_large` for a text of 4 GiB, in which places could not be named.
  constexpr explicit json_reader(std::string_view text, json_reader_options options = {})
      : text_{text}, names_{text}, options_{options} {
    expects(options.max_depth <= max_json_depth, "max_depth is at most max_json_depth");
    if (text.size() > (std::numeric_limits<std::uint32_t>::max)() - 1) {
      text_ = {};
      stop(keyspan::error{errc::too_large, "the text has 4 GiB or more"});
    } else if (text.starts_with("\xEF\xBB\xBF")) {
      refuse(0, keyspan::error{errc::malformed, "expected a value, found a byte order mark"});
    }
  }
  /// A text that ends with this line cannot be read after it.
  template <class Text>
    requires std::same_as<std::remove_const_t<Text>, std::string>
  json_reader(Text&& temporary, json_reader_options = {}) = delete;
  json_reader(json_reader const&) = delete;
  json_reader& operator=(json_reader const&) = delete;

  /// What the next value is, by its first character. `end` where no value is to be read now, and
  /// after an error.
  [[nodiscard]] constexpr json_kind peek() {
    if (!ok() || !is_value_next_) return json_kind::end;
    skip_space();
    json_kind const kind = at_ < text_.size() ? detail::kind_by(text_[at_]) : json_kind::end;
    if (kind == json_kind::end) expected("a value");
    return kind;
  }

  /// Enters an object; `next_member` then goes through it.
  constexpr void begin_object() { begin('{', json_kind::object); }

  /// Goes to the next member of the object and gives its name, or leaves the object: false. The
  /// name is a view as `string()` returns.
  constexpr bool next_member(std::string_view& name) {
    if (!ok()) return false;
    expects(nesting_.in_object(), "members are asked for in an object");
    expects_nothing_left();
    skip_space();
    if (at_ < text_.size() && text_[at_] == '}') {
      names_.end_object();
      end();
      return false;
    }
    if (!is_first_) {
      if (!take(',', "',' or '}' after a member")) return false;
      skip_space();
    }
    if (at_ == text_.size() || text_[at_] != '"') {
      expected(is_first_ ? "a member's name or '}'" : "a member's name after ','");
      return false;
    }
    is_first_ = false;
    here_ = at_;
    auto const raw = scan_string();
    if (!ok()) return false;
    // Names chosen to collide are compared with each other: the limit bounds the time they take.
    if (names_.count() == options_.max_names) {
      refuse(here_, keyspan::error{errc::too_large, "the open objects have more than ",
                                   options_.max_names, " names"});
      return false;
    }
    std::string_view const read = meaning_of(raw);
    if (!names_.add(read, raw.begin, raw.end - raw.begin)) {
      refuse(here_,
             keyspan::error{errc::malformed, "expected each name once in an object, found again: ",
                            text_.substr(raw.begin, raw.end - raw.begin)});
      return false;
    }
    skip_space();
    if (!take(':', "':' after a member's name")) return false;
    is_value_next_ = true;
    name = read;
    return true;
  }

  /// Enters an array; `next_element` then goes through it.
  constexpr void begin_array() { begin('[', json_kind::array); }

  /// Goes to the next element of the array, or leaves the array: false.
  constexpr bool next_element() {
    if (!ok()) return false;
    expects(nesting_.in_array(), "elements are asked for in an array");
    expects_nothing_left();
    skip_space();
    if (at_ < text_.size() && text_[at_] == ']') {
      end();
      return false;
    }
    if (!is_first_) {
      if (!take(',', "',' or ']' after an element")) return false;
      skip_space();
      if (at_ < text_.size() && text_[at_] == ']') {
        expected("an element after ','");
        return false;
      }
    } else if (at_ == text_.size()) {
      expected("an element or ']'");
      return false;
    }
    is_first_ = false;
    is_value_next_ = true;
    return true;
  }

  /// A string's characters. A view into the text, or where the string has escapes into the reader:
  /// good as long as both live.
  [[nodiscard]] constexpr std::string_view string() {
    if (!begin_value(json_kind::string)) return {};
    auto const raw = scan_string();
    return ok() ? meaning_of(raw) : std::string_view{};
  }

  /// The nearest double. Errors: `not_representable` beyond the largest one.
  [[nodiscard]] constexpr double number() {
    if (!begin_value(json_kind::number)) return 0;
    auto const scan = scan_number();
    if (!ok()) return 0;
    auto const text = text_.substr(here_, scan.size);
    double const value = detail::nearest_double(scan, text);
    if (value > (std::numeric_limits<double>::max)() ||
        value < std::numeric_limits<double>::lowest()) [[unlikely]] {
      stop(detail::number_too_large(text).error().at(place_of(here_)));
      return 0;
    }
    return value;
  }

  /// A number as it is written.
  [[nodiscard]] constexpr std::string_view number_text() {
    if (!begin_value(json_kind::number)) return {};
    auto const scan = scan_number();
    return ok() ? text_.substr(here_, scan.size) : std::string_view{};
  }

  /// A whole number, written without fraction and exponent. Errors: `not_representable` where it is
  /// none that an `Integer` can hold.
  template <detail::json_integer Integer>
  [[nodiscard]] constexpr Integer integer() {
    if (!begin_value(json_kind::number)) return 0;
    auto const scan = scan_number();
    if (!ok()) return 0;
    constexpr auto greatest = +(std::numeric_limits<Integer>::max)();  // + makes an int of a char
    constexpr auto least = +(std::numeric_limits<Integer>::min)();
    auto const text = text_.substr(here_, scan.size);
    std::uint64_t const limit = scan.is_negative ? 0 - static_cast<std::uint64_t>(least)
                                                 : static_cast<std::uint64_t>(greatest);
    std::uint64_t magnitude = 0;
    bool fits = scan.is_whole;
    for (std::size_t i = scan.is_negative ? 1 : 0; fits && i < text.size(); ++i) {
      auto const digit = static_cast<std::uint64_t>(text[i] - '0');
      fits = magnitude <= limit / 10 && digit <= limit - magnitude * 10;
      magnitude = magnitude * 10 + digit;
    }
    if (fits) return static_cast<Integer>(scan.is_negative ? 0 - magnitude : magnitude);
    refuse(here_, keyspan::error{errc::not_representable, "expected a whole number from ", least,
                                 " to ", greatest, ", found ", text.substr(0, 40),
                                 text.size() > 40 ? "\xE2\x80\xA6" : ""});
    return 0;
  }

  [[nodiscard]] constexpr bool boolean() {
    if (!begin_value(json_kind::boolean)) return false;
    bool const value = text_[at_] == 't';
    return take_word(value ? "true" : "false") && value;
  }

  constexpr void null() {
    if (begin_value(json_kind::null)) take_word("null");
  }

  /// Passes over the next value, whatever it is, as strictly as if it were read, and returns its
  /// text.
  constexpr std::string_view skip() {
    json_kind kind = peek();
    if (!ok()) return {};
    expects(is_value_next_, "a value is read where one stands");
    std::size_t const begin = at_;
    std::size_t const depth = nesting_.depth();
    do {
      if (!is_value_next_) {
        std::string_view name;
        static_cast<void>(nesting_.in_object() ? next_member(name) : next_element());
      } else if (kind = peek(); kind == json_kind::object) {
        begin_object();
      } else if (kind == json_kind::array) {
        begin_array();
      } else if (kind == json_kind::string) {
        begin_value(kind);
        scan_string();
      } else if (kind == json_kind::number) {
        static_cast<void>(number());
      } else if (kind == json_kind::boolean) {
        static_cast<void>(boolean());
      } else if (kind == json_kind::null) {
        null();
      }
    } while (ok() && (is_value_next_ || nesting_.depth() > depth));
    if (!ok()) return {};
    here_ = begin;
    return text_.substr(begin, at_ - begin);
  }

  /// After the value nothing but white space may follow.
  constexpr void finish() {
    if (!ok()) return;
    expects(nesting_.depth() == 0, "every object and array is read to its end");
    expects_nothing_left();
    skip_space();
    if (at_ != text_.size()) expected("the end of the text");
  }

  /// Finishes, and gives `value` or the error.
  template <class T>
  [[nodiscard]] constexpr result<std::remove_cvref_t<T>> finish(T&& value) {
    finish();
    if (!ok()) return unexpected{*error_};
    return std::forward<T>(value);
  }

  [[nodiscard]] constexpr bool ok() const noexcept { return !error_.has_value(); }

  /// The first error. Requires that there is one.
  [[nodiscard]] constexpr keyspan::error const& error() const {
    expects(!ok(), "error() is asked of a reader that has one");
    return *error_;
  }

  /// Where the name or value stands that was read last, a closing bracket when an object or array
  /// was just left. Complexity: linear in what was read so far.
  [[nodiscard]] constexpr text_position position() const { return place_of(here_); }

  /// What was not read yet; behind `peek()` it begins with the next value. Two of them, from before
  /// and behind a value, tell its text where it is not skipped but read. Empty after an error.
  [[nodiscard]] constexpr std::string_view rest() const noexcept { return text_.substr(at_); }

  /// Refuses what was read last, where it stands: `in.fail_here("no such member: ", name)`.
  template <text_piece... Pieces>
    requires(sizeof...(Pieces) > 0)
  constexpr void fail_here(Pieces const&... pieces) {
    fail_here(keyspan::error{errc::malformed, pieces...});
  }
  /// The same with an error of another origin, whose place becomes the one in this text.
  constexpr void fail_here(keyspan::error const& refusal) {
    if (ok()) stop(refusal.at(place_of(here_)));
  }

 private:
  struct raw_string {
    std::size_t begin = 0;
    std::size_t end = 0;
    bool has_escapes = false;
  };

  constexpr void expects_nothing_left() const {
    expects(!is_value_next_, "each value is read or skipped before one goes on");
  }

  constexpr void skip_space() {
    while (at_ < text_.size() && detail::is_json_space(text_[at_])) ++at_;
  }

  // Goes to the next value and sees that it is of this kind.
  constexpr bool begin_value(json_kind kind) {
    if (!ok()) return false;
    expects(is_value_next_, "a value is read where one stands");
    skip_space();
    here_ = at_;
    json_kind const found = at_ < text_.size() ? detail::kind_by(text_[at_]) : json_kind::end;
    if (found != kind) [[unlikely]] {
      if (found == json_kind::end)
        expected(detail::words_of(kind));
      else
        refuse(at_, keyspan::error{errc::malformed, "expected ", detail::words_of(kind), ", found ",
                                   detail::words_of(found)});
      return false;
    }
    is_value_next_ = false;
    return true;
  }

  constexpr void begin(char bracket, json_kind kind) {
    if (!begin_value(kind)) return;
    if (nesting_.depth() == options_.max_depth) {
      refuse(at_, keyspan::error{errc::too_large, "objects and arrays are nested deeper than ",
                                 options_.max_depth, " levels"});
      return;
    }
    ++at_;
    nesting_.push(bracket == '{');
    if (bracket == '{') names_.begin_object();
    is_first_ = true;
  }

  constexpr void end() {
    here_ = at_++;
    nesting_.pop();
    is_first_ = false;
  }

  constexpr bool take(char wanted, std::string_view words) {
    if (at_ == text_.size() || text_[at_] != wanted) {
      expected(words);
      return false;
    }
    ++at_;
    return true;
  }

  constexpr bool take_word(std::string_view word) {
    if (!text_.substr(at_).starts_with(word)) {
      refuse(at_, keyspan::error{errc::malformed, "expected ", word});
      return false;
    }
    at_ += word.size();
    return true;
  }

  constexpr detail::scanned_number scan_number() {
    auto const scan = detail::scan_number(text_.substr(at_));
    at_ += scan.size;
    if (!scan.expected.empty()) expected(scan.expected);
    return scan;
  }

  // Of the opening quote at `at_` to behind the closing one.
  constexpr raw_string scan_string() {
    std::size_t i = at_ + 1;
    raw_string raw{.begin = i};
    for (;;) {
      i += detail::plain_json_prefix(text_.substr(i));
      if (i == text_.size()) {
        at_ = i;
        expected("'\"' at the end of a string");
        return raw;
      }
      char const c = text_[i];
      if (c == '"') {
        raw.end = i;
        at_ = i + 1;
        return raw;
      }
      if (c == '\\') {
        auto const escape = detail::read_json_escape(text_, i);
        if (escape.size == 0) {
          if (escape.refusal == errc::malformed) {
            at_ = escape.wrong_at;
            expected(escape.expected);
          } else {
            refuse(escape.wrong_at,
                   keyspan::error{escape.refusal,
                                  "expected both halves of a surrogate pair, found one alone"});
          }
          return raw;
        }
        raw.has_escapes = true;
        i += escape.size;
      } else if (static_cast<unsigned char>(c) < 0x20) {
        at_ = i;
        expected("an escape such as \\n for a control character in a string");
        return raw;
      } else if (auto const character = decode_utf8(text_, i)) {
        i += character.size;
      } else {
        refuse(i, keyspan::error{errc::invalid_utf8, "expected well-formed UTF-8 in a string"});
        return raw;
      }
    }
  }

  constexpr std::string_view meaning_of(raw_string const& raw) {
    auto const text = text_.substr(raw.begin, raw.end - raw.begin);
    if (!raw.has_escapes) return text;
    // No string is longer than its escaped form: what is asked for once is enough for all that
    // follow, and no view handed out moves.
    if (unescaped_.empty()) unescaped_.reserve(text_.size() - raw.begin);
    std::size_t const begin = unescaped_.size();
    for (std::size_t i = 0; i < text.size();) {
      std::size_t const plain = detail::plain_json_prefix(text.substr(i));
      auto const run = text.substr(i, plain);
      unescaped_.insert(unescaped_.end(), run.begin(), run.end());
      i += plain;
      if (i == text.size()) break;
      auto const character = detail::read_json_character(text, i);
      auto const bytes = encode_utf8(character.code_point);
      unescaped_.insert(unescaped_.end(), bytes.view().begin(), bytes.view().end());
      i += character.size;
    }
    return {unescaped_.data() + begin, unescaped_.size() - begin};
  }

  constexpr text_position place_of(std::size_t offset) const {
    std::size_t line = 1;
    std::size_t begin = 0;
    for (std::size_t i = 0; i < offset; ++i) {
      // A carriage return ends a line too, unless a line feed is about to.
      bool const ends =
          text_[i] == '\n' || (text_[i] == '\r' && !(i + 1 < text_.size() && text_[i + 1] == '\n'));
      if (!ends) continue;
      ++line;
      begin = i + 1;
    }
    auto const column = count_characters(text_.substr(begin, offset - begin)) + 1;
    return {.line = static_cast<std::uint32_t>(line),
            .column = static_cast<std::uint32_t>(column),
            .offset = static_cast<std::uint32_t>(offset)};
  }

  // "expected …, found …" at `at_`.
  constexpr void expected(std::string_view what) {
    if (at_ == text_.size()) {
      refuse(at_,
             keyspan::error{errc::malformed, "expected ", what, ", found the end of the text"});
      return;
    }
    auto const byte = static_cast<unsigned char>(text_[at_]);
    auto const hex = [](char32_t value, std::size_t shift) {
      return "0123456789ABCDEF"[value >> shift & 0xF];
    };
    auto const found = decode_utf8(text_, at_);
    if (!found) {
      refuse(at_, keyspan::error{errc::malformed, "expected ", what, ", found the byte 0x",
                                 hex(byte, 4), hex(byte, 0)});
    } else if (byte >= 0x20 && byte != 0x7F) {
      refuse(at_, keyspan::error{errc::malformed, "expected ", what, ", found '",
                                 text_.substr(at_, found.size), "'"});
    } else {
      refuse(at_, keyspan::error{errc::malformed, "expected ", what, ", found U+00", hex(byte, 4),
                                 hex(byte, 0)});
    }
  }

  constexpr void refuse(std::size_t offset, keyspan::error const& refusal) {
    here_ = offset;
    stop(refusal.at(place_of(offset)));
  }

  constexpr void stop(keyspan::error const& first) {
    error_.emplace(first);
    at_ = text_.size();
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::size_t here_ = 0;
  bool is_value_next_ = true;
  bool is_first_ = false;  // nothing of the innermost object or array was read yet
  detail::json_nesting nesting_;
  detail::json_names names_;
  std::vector<char> unescaped_;
  std::optional<keyspan::error> error_;
  json_reader_options options_;
};

/// Writes one JSON text without white space, at the end of a string or into given room.
///
/// That names stand in objects, one before each value, and that there is one value in all is the
/// caller's promise. What the values bring along is an error: ill-formed UTF-8, an infinity or
/// not-a-number, lack of room. After the first error nothing more is written; `finish()` tells.
class json_writer {
 public:
  /// Appends to `to`, which is as it was after an error.
  constexpr explicit json_writer(std::string& to, json_writer_options options = {})
      : string_{&to}, begin_{to.size()}, options_{options} {}
  /// Writes into `to` without allocation. Errors: `too_large` where it has not enough room.
  constexpr explicit json_writer(std::span<char> to, json_writer_options options = {})
      : room_{to}, options_{options} {}
  json_writer(json_writer const&) = delete;
  json_writer& operator=(json_writer const&) = delete;

  constexpr json_writer& begin_object() { return begin('{'); }
  constexpr json_writer& end_object() {
    if (!ok()) return *this;
    expects(nesting_.in_object() && !is_after_name_, "an object is ended where one is open");
    return end('}');
  }
  constexpr json_writer& begin_array() { return begin('['); }
  constexpr json_writer& end_array() {
    if (!ok()) return *this;
    expects(nesting_.in_array(), "an array is ended where one is open");
    return end(']');
  }

  /// The name of the member whose value comes next.
  constexpr json_writer& name(std::string_view text) {
    if (!ok()) return *this;
    expects(nesting_.in_object() && !is_after_name_,
            "a name stands in an object, before its value");
    if (!is_first_) put(',');
    is_first_ = false;
    put_string(text);
    put(':');
    is_after_name_ = true;
    return *this;
  }

  /// Errors: `invalid_utf8`.
  constexpr json_writer& string(std::string_view text) {
    if (begin_value()) put_string(text);
    return *this;
  }

  /// The shortest text that gives the double back. Errors: `not_representable` for an infinity and
  /// for not-a-number.
  constexpr json_writer& number(double value) {
    if (!begin_value()) return *this;
    char text[max_number_text]{};
    auto const written = write_number(value, text);
    if (written) {
      put(*written);
    } else {
      stop(written.error());
    }
    return *this;
  }

  template <detail::json_integer Integer>
  constexpr json_writer& integer(Integer value) {
    if (!begin_value()) return *this;
    char digits[20]{};
    auto magnitude = static_cast<std::uint64_t>(value);
    if (value < 0) {
      put('-');
      magnitude = 0 - magnitude;
    }
    char const* const end = detail::write_decimal(magnitude, digits);
    put({digits, static_cast<std::size_t>(end - digits)});
    return *this;
  }

  constexpr json_writer& boolean(bool value) {
    if (begin_value()) put(value ? std::string_view{"true"} : std::string_view{"false"});
    return *this;
  }

  constexpr json_writer& null() {
    if (begin_value()) put("null");
    return *this;
  }

  /// The text, once its one value is complete, or the first error.
  [[nodiscard]] constexpr result<std::string_view> finish() const {
    if (!ok()) return unexpected{*error_};
    expects(has_value_ && nesting_.depth() == 0,
            "a text is finished when its one value is complete");
    return string_ ? std::string_view{*string_}.substr(begin_)
                   : std::string_view{room_.data(), size_};
  }

  [[nodiscard]] constexpr bool ok() const noexcept { return !error_.has_value(); }

  /// The first error. Requires that there is one.
  [[nodiscard]] constexpr keyspan::error const& error() const {
    expects(!ok(), "error() is asked of a writer that has one");
    return *error_;
  }

 private:
  constexpr bool begin_value() {
    if (!ok()) return false;
    if (nesting_.in_object()) {
      expects(is_after_name_, "a value in an object has a name");
      is_after_name_ = false;
    } else if (nesting_.in_array()) {
      if (!is_first_) put(',');
      is_first_ = false;
    } else {
      expects(!has_value_, "a text is one value");
    }
    has_value_ = true;
    return true;
  }

  constexpr json_writer& begin(char bracket) {
    if (!begin_value()) return *this;
    if (nesting_.depth() == max_json_depth) {
      stop(keyspan::error{errc::too_large, "objects and arrays are nested deeper than ",
                          max_json_depth, " levels"});
      return *this;
    }
    put(bracket);
    nesting_.push(bracket == '{');
    is_first_ = true;
    return *this;
  }

  constexpr json_writer& end(char bracket) {
    put(bracket);
    nesting_.pop();
    is_first_ = false;
    return *this;
  }

  constexpr void put(char c) { put({&c, 1}); }
  constexpr void put(std::string_view text) {
    if (!ok()) return;
    if (string_) {
      string_->append(text);
      return;
    }
    if (text.size() > room_.size() - size_) {
      stop(keyspan::error{errc::too_large, "the text has more than the ", room_.size(),
                          " bytes there is room for"});
      return;
    }
    std::copy(text.begin(), text.end(), room_.data() + size_);
    size_ += text.size();
  }

  constexpr void put_string(std::string_view text) {
    put('"');
    std::size_t begin = 0;  // of what stands for itself
    for (std::size_t i = 0;;) {
      auto const plain = text.substr(i, detail::plain_json_prefix(text.substr(i)));
      // DEL stands for itself in JSON, but not in a header.
      i += options_.ascii ? (std::min)(plain.find('\x7F'), plain.size()) : plain.size();
      if (i >= text.size()) break;
      auto const character = decode_utf8(text, i);
      if (!character) {
        stop(keyspan::error{errc::invalid_utf8, "a string to write is not UTF-8 from its byte ", i,
                            " on"});
        return;
      }
      if (character.size > 1 && !options_.ascii) {
        i += character.size;
        continue;
      }
      put(text.substr(begin, i - begin));
      put_escape(character.code_point);
      i += character.size;
      begin = i;
    }
    put(text.substr(begin));
    put('"');
  }

  constexpr void put_escape(char32_t code_point) {
    constexpr std::string_view meanings = "\"\\\b\f\n\r\t";
    constexpr std::string_view letters = "\"\\bfnrt";
    if (code_point < 0x80) {
      if (auto const i = meanings.find(static_cast<char>(code_point)); i != meanings.npos) {
        char const escape[]{'\\', letters[i]};
        put({escape, 2});
        return;
      }
    }
    if (utf16_size(code_point) == 1) {
      put_unit(code_point);
    } else {
      put_unit(0xD800 + ((code_point - 0x1'0000) >> 10));
      put_unit(0xDC00 + (code_point & 0x3FF));
    }
  }

  constexpr void put_unit(char32_t unit) {
    char escape[6]{'\\', 'u'};
    for (int i = 0; i < 4; ++i) escape[i + 2] = "0123456789ABCDEF"[unit >> (12 - 4 * i) & 0xF];
    put({escape, 6});
  }

  constexpr void stop(keyspan::error const& first) {
    error_.emplace(first);
    if (string_) string_->resize(begin_);
  }

  std::string* string_ = nullptr;
  std::span<char> room_{};
  std::size_t begin_ = 0;
  std::size_t size_ = 0;
  bool has_value_ = false;
  bool is_after_name_ = false;
  bool is_first_ = false;
  detail::json_nesting nesting_;
  std::optional<keyspan::error> error_;
  json_writer_options options_;
};

namespace detail {

// Where an object has been read to its end without a member that it must have.
constexpr void expect_member(json_reader& in, bool is_there, std::string_view name) {
  if (!is_there) in.fail_here("the member \"", name, "\" is missing");
}

}  // namespace detail
}  // namespace keyspan
