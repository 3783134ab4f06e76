// keyspan/key/key_path.hpp — where in a document a key value stands: /address/city.
//
//   key_path                read at run time, out of a container's definition
//   path<"/address/city">   read by the compiler: a malformed one does not compile
//
// A path is the names of properties, one inside the other; which quotes they stood in is forgotten.
#pragma once

#include <keyspan/core/contract.hpp>
#include <keyspan/core/error.hpp>
#include <keyspan/core/index_view.hpp>
#include <keyspan/core/result.hpp>
#include <keyspan/core/utf8.hpp>

#include <algorithm>
#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace keyspan {

/// The most names that a path has: documents are not nested deeper.
inline constexpr std::size_t max_path_segments = 128;
/// The most bytes that the names of a path have together.
inline constexpr std::size_t max_path_size = 4096;

namespace detail {

// Why a text is no path, and from which byte on. The numbers in the sentences are those above.
struct path_fault {
  std::string_view sentence{};
  std::size_t offset = 0;
  errc code = errc::malformed;

  constexpr explicit operator bool() const { return !sentence.empty(); }
};

// What stands between two slashes.
struct path_segment {
  std::string_view name{};  // without its quotes, with its escapes
  std::size_t size = 0;     // in the text, with its quotes
  std::size_t escapes = 0;  // backslashes that are not part of the name
  path_fault fault{};       // its offset counts from the segment's beginning
};

constexpr path_segment scan_plain_segment(std::string_view text) {
  auto const name = text.substr(0, text.find_first_of("/\"'\\"));
  auto const refused = [](std::string_view sentence, std::size_t offset = 0,
                          errc code = errc::malformed) {
    return path_segment{.fault = {sentence, offset, code}};
  };
  if (name.size() < text.size() && text[name.size()] != '/')
    return refused("a name with a quote or a backslash in it stands in quotes", name.size());
  if (name.empty()) return refused("a name follows a '/'");
  if (name == "*" || name == "?" || name == "[]")
    return refused("* and ? and [] are for indexing; a property of that name stands in quotes", 0,
                   errc::unsupported);
  // Some readers of such a path would drop the spaces.
  if (name.front() == ' ' || name.back() == ' ')
    return refused("a name that begins or ends with a space stands in quotes",
                   name.front() == ' ' ? 0 : name.size() - 1);
  return {.name = name, .size = name.size()};
}

constexpr path_segment scan_quoted_segment(std::string_view text) {
  char const stops[]{text.front(), '\\'};
  std::size_t escapes = 0;
  for (std::size_t i = 1;; ++i, ++escapes) {
    i = text.find_first_of({stops, 2}, i);
    if (i == text.npos) return {.fault = {"the quote that opens a name is not closed"}};
    if (text[i] != '\\') return {.name = text.substr(1, i - 1), .size = i + 1, .escapes = escapes};
    ++i;
    if (i == text.size() || (text[i] != '"' && text[i] != '\'' && text[i] != '\\'))
      return {.fault = {"a backslash stands before a quote or another backslash", i}};
  }
}

// The one parser: gives `take(name, is_quoted)` each name, with its escapes.
template <class Take>
constexpr path_fault walk_path(std::string_view text, Take take) {
  // With every character escaped and every name in quotes. What is longer is not looked at.
  constexpr std::size_t enough = 2 * max_path_size + 3 * max_path_segments;
  if (text.size() > enough)
    return {"the names of a path have at most 4096 bytes", enough, errc::too_large};
  if (auto const sound = utf8_prefix(text); sound != text.size())
    return {"a path is well-formed UTF-8", sound, errc::invalid_utf8};
  for (std::size_t i = 0; i < text.size(); ++i)
    if (static_cast<unsigned char>(text[i]) < 0x20 || text[i] == '\x7F')
      return {"a path has no control characters", i};
  std::size_t at = 0;
  std::size_t count = 0;
  std::size_t size = 0;  // of the names
  do {
    if (at == text.size() || text[at] != '/')
      return {count == 0 ? "a path begins with '/'" : "a '/' or the end follows a closing quote",
              at};
    if (count++ == max_path_segments) return {"a path has at most 128 names", at, errc::too_large};
    auto const rest = text.substr(++at);
    bool const is_quoted = rest.starts_with('"') || rest.starts_with('\'');
    auto const segment = is_quoted ? scan_quoted_segment(rest) : scan_plain_segment(rest);
    if (auto const& fault = segment.fault) return {fault.sentence, at + fault.offset, fault.code};
    size += segment.name.size() - segment.escapes;
    if (size > max_path_size)
      return {"the names of a path have at most 4096 bytes", at, errc::too_large};
    take(segment.name, is_quoted);
    at += segment.size;
  } while (at != text.size());
  return {};
}

// A name in quotes without its escapes, character by character: g++ with UBSan takes no find() over
// a template argument for a constant.
template <class Put>
constexpr void unescape_path_name(std::string_view name, Put put) {
  for (std::size_t i = 0; i < name.size(); ++i) {
    if (name[i] == '\\') ++i;
    put(name.substr(i, 1));
  }
}

constexpr text_position place_in_path(std::string_view text, path_fault const& fault) {
  return {.line = 1,
          .column = static_cast<std::uint32_t>(count_characters(text.substr(0, fault.offset)) + 1),
          .offset = static_cast<std::uint32_t>(fault.offset)};
}

// The names in a text of `Size` bytes, one after another.
template <std::size_t Size>
struct path_names {
  std::array<char, Size> characters{};
  std::array<std::size_t, Size / 2 + 1> ends{};  // a slash and a name are two bytes at least
  std::size_t count = 0;

  constexpr explicit path_names(std::string_view text) {
    std::size_t used = 0;
    auto const put = [&](std::string_view piece) {
      std::copy(piece.begin(), piece.end(), characters.begin() + static_cast<std::ptrdiff_t>(used));
      used += piece.size();
    };
    walk_path(text, [&](std::string_view name, bool is_quoted) {
      is_quoted ? unescape_path_name(name, put) : put(name);
      ends[count++] = used;
    });
  }
  constexpr std::string_view operator[](std::size_t i) const {
    std::size_t const begin = i == 0 ? 0 : ends[i - 1];
    return {characters.data() + begin, ends[i] - begin};
  }
};

// What every reader takes for a name without quotes around it.
constexpr bool is_plain_path_name(std::string_view name) {
  return !name.empty() && std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  });
}

}  // namespace detail

/// A text as a template argument: what `path<"…">` takes its literal by.
template <std::size_t Size>
struct fixed_string {
  char bytes[Size]{};  ///< with the NUL at the end of the literal

  consteval fixed_string(char const (&literal)[Size]) { std::copy(literal, literal + Size, bytes); }
  /// Requires `text.size() < Size`.
  consteval explicit fixed_string(std::string_view text) {
    std::copy(text.begin(), text.end(), bytes);
  }
  constexpr std::string_view view() const noexcept { return {bytes, Size - 1}; }
};

namespace detail {

template <fixed_string Text>
inline constexpr path_names<Text.view().size()> names_of_path{Text.view()};

// Not constexpr on purpose: a path that gets here does not compile.
inline void this_path_is_malformed() {}

constexpr void expects_path(bool is_path, std::uint32_t /*column*/, char const* /*because*/) {
  if (!is_path) this_path_is_malformed();
}

// To be seen in diagnostics. One compiler shows the arguments of a template in full, the other
// those of a call, so the column and the sentence are both.
template <std::uint32_t Column, fixed_string Because>
struct path_error_at_column {
  static constexpr bool is_none(path_fault const& fault) {
    expects_path(!fault, Column, fault.sentence.data());
    return true;
  }
};

template <fixed_string Text>
struct path_check {
  static constexpr auto fault = walk_path(Text.view(), [](std::string_view, bool) {});
  static constexpr auto column = place_in_path(Text.view(), fault).column;
  static constexpr fixed_string<fault.sentence.size() + 1> sentence{fault.sentence};
  static constexpr bool passes() { return path_error_at_column<column, sentence>::is_none(fault); }
};

}  // namespace detail

/// The type of `path<Text>`. The views it gives last for the whole program.
template <fixed_string Text>
struct static_path {
  static_assert(detail::path_check<Text>::passes(),
                "the text is not a path; the notes say where and why");

  /// How many names there are.
  static constexpr std::size_t size() noexcept { return detail::names_of_path<Text>.count; }

  /// A name, without quotes and escapes.
  template <std::size_t Index>
    requires(Index < size())
  static constexpr std::string_view segment() noexcept {
    return detail::names_of_path<Text>[Index];
  }

  /// The text as it was written.
  static constexpr std::string_view text() noexcept { return Text.view(); }

  /// The text of the `key_path` of the same names.
  std::string to_text() const;
};

/// A path that the compiler reads: `path<"/tenant">`. One that is malformed does not compile, and
/// the compiler says in which column and why.
template <fixed_string Text>
inline constexpr static_path<Text> path{};

/// A path that is read while the program runs, names and all its own. What it was moved from has no
/// names.
class key_path {
 public:
  /// Goes over the names.
  using iterator = index_iterator<key_path>;

  /// The path that a text is: `/a/b`, or with quotes where a name is not plain, `/"a b"/'c'`.
  /// Errors, with the place: `malformed`, `invalid_utf8`, `too_large`; `unsupported` for the
  /// wildcards of indexing policies.
  [[nodiscard]] static constexpr result<key_path> parse(std::string_view text) {
    key_path read;
    if (auto const fault = read.add_names(text))
      return unexpected{error{fault.code, fault.sentence}.at(detail::place_in_path(text, fault))};
    return read;
  }

  /// The path that the compiler has read.
  template <fixed_string Text>
  constexpr key_path(static_path<Text> path) {
    add_names(path.text());
  }

  /// How many names there are.
  constexpr std::size_t size() const noexcept { return ends_.size(); }
  /// A name, without quotes and escapes. Requires `i < size()`.
  constexpr std::string_view operator[](std::size_t i) const {
    expects(i < size(), "the path has a name of this number");
    std::size_t const begin = i == 0 ? 0 : ends_[i - 1];
    return {characters_.data() + begin, ends_[i] - begin};
  }
  constexpr iterator begin() const noexcept { return {*this, 0}; }
  constexpr iterator end() const noexcept { return {*this, size()}; }

  /// The text that every reader takes for this path: a name of anything but ASCII letters, digits
  /// and _ stands in double quotes. It parses to the same path.
  std::string to_text() const {
    std::string text;
    for (std::string_view const name : *this) {
      text.push_back('/');
      if (detail::is_plain_path_name(name)) {
        text.append(name);
        continue;
      }
      text.push_back('"');
      for (char const c : name) {
        if (c == '"' || c == '\\') text.push_back('\\');
        text.push_back(c);
      }
      text.push_back('"');
    }
    return text;
  }

  /// The same names: `/a` is `/"a"`.
  friend constexpr bool operator==(key_path const&, key_path const&) = default;
  /// Name by name, by bytes; a path comes before those that go on from it.
  friend constexpr std::strong_ordering operator<=>(key_path const& a, key_path const& b) {
    return std::lexicographical_compare_three_way(a.begin(), a.end(), b.begin(), b.end());
  }

 private:
  constexpr key_path() = default;

  constexpr detail::path_fault add_names(std::string_view text) {
    auto const put = [&](std::string_view piece) {
      characters_.insert(characters_.end(), piece.begin(), piece.end());
    };
    return detail::walk_path(text, [&](std::string_view name, bool is_quoted) {
      is_quoted ? detail::unescape_path_name(name, put) : put(name);
      ends_.push_back(static_cast<std::uint16_t>(characters_.size()));
    });
  }

  std::vector<char> characters_;  // of the names, one after another
  std::vector<std::uint16_t> ends_;
};

template <fixed_string Text>
std::string static_path<Text>::to_text() const {
  return key_path{*this}.to_text();
}

}  // namespace keyspan

/// Equal paths hash alike.
template <>
struct std::hash<keyspan::key_path> {
  std::size_t operator()(keyspan::key_path const& path) const noexcept {
    std::size_t all = path.size();
    for (std::string_view const name : path)
      all = all * static_cast<std::size_t>(0x9E37'79B9'7F4A'7C15u) ^
            std::hash<std::string_view>{}(name);
    return all;
  }
};
