// keyspan/merge/merged_cursor.hpp — where a merge stands in each of its feeds, to the item.
//
//   feed 0   [00, 40) at "17"   and of the page behind it 3 items given
//            [40, FF) at "12"
#pragma once

#include <keyspan/core/bytes.hpp>
#include <keyspan/core/contract.hpp>
#include <keyspan/core/error.hpp>
#include <keyspan/core/json.hpp>
#include <keyspan/core/result.hpp>
#include <keyspan/core/text.hpp>
#include <keyspan/feed/cursor.hpp>
#include <keyspan/feed/feed_mode.hpp>
#include <keyspan/hash/hash_scheme.hpp>
#include <keyspan/hash/token.hpp>
#include <keyspan/key/partition_key.hpp>

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace keyspan {

/// What was given of the page behind a part of a cursor. Who reads that page again leaves it out.
struct given_items {
  /// How many items of the page were looked at.
  std::uint32_t count = 0;
  /// How many of those have the image of the next one; all, in an order that is not sorted.
  std::uint32_t alike = 0;
  /// The `sort_image` of the next one: what comes before it was given. 0 in an order that is not
  /// sorted.
  std::uint64_t image = 0;
  /// What the order knew of the source where the page begins: a time, or a turn.
  std::uint64_t state = 0;
  /// What tells those alike apart, where the order says: sorted.
  std::vector<std::uint64_t> identities{};

  friend bool operator==(given_items const&, given_items const&) = default;
};

/// Where one range of a merge stands.
template <token Token>
struct merged_part {
  cursor<Token> at;
  given_items given{};

  friend bool operator==(merged_part const&, merged_part const&) = default;
};

/// Where one feed of a merge stands.
template <token Token>
struct merged_feed_cursor {
  /// The same as of a `composite_cursor`, for each page from its beginning.
  std::string container{};
  std::string scheme{};
  feed_mode mode = feed_mode::latest_version;
  std::optional<partition_key> key{};
  std::vector<merged_part<Token>> parts{};

  /// Where a feed goes on from that reads the same; it gives again what was given of pages that
  /// were not given whole.
  composite_cursor<Token> whole_pages() const {
    composite_cursor<Token> made{container, scheme, mode, key, {}};
    made.parts.reserve(parts.size());
    for (auto const& part : parts) made.parts.push_back(part.at);
    return made;
  }

  friend bool operator==(merged_feed_cursor const&, merged_feed_cursor const&) = default;
};

/// Where a merge stands: what to keep, and to go on from with the next item, anywhere else, with
/// the same feeds in the same order, whatever became of their partitions.
template <token Token>
struct merged_cursor {
  /// By what was merged; only that goes on.
  std::string order{};
  std::vector<merged_feed_cursor<Token>> feeds{};

  /// The cursor as JSON, in one stable form; `from_text` reads it. Complexity: linear.
  std::string to_text() const
    requires detail::cursor_token<Token>;

  /// The cursor whose text this is. Errors, with the place: `malformed` for what is no such text,
  /// and where the check tells that a value was changed; `unsupported` for another version; those
  /// of `composite_cursor::from_text`. Complexity: linear, and that of sorting the parts.
  template <scheme_of_cursor_texts Scheme>
    requires std::same_as<token_of_scheme<Scheme>, Token>
  [[nodiscard]] static result<merged_cursor> from_text(Scheme const& scheme, std::string_view text);

  friend bool operator==(merged_cursor const&, merged_cursor const&) = default;
};

namespace detail {

inline std::string hex_of(std::uint64_t word) {
  std::array<unsigned char, 8> bytes{};
  store_be(bytes.data(), word);
  std::string digits(16, '0');
  static_cast<void>(encode_hex(std::span{bytes}, digits));
  return digits;
}

inline void write_given(json_writer& out, std::size_t part, given_items const& given) {
  out.begin_object().name("part").integer(part);
  out.name("count").integer(given.count).name("alike").integer(given.alike);
  if (given.image != 0) out.name("image").string(hex_of(given.image));
  if (given.state != 0) out.name("state").string(hex_of(given.state));
  if (!given.identities.empty()) {
    out.name("identities").begin_array();
    for (std::uint64_t const one : given.identities) out.string(hex_of(one));
    out.end_array();
  }
  out.end_object();
}

// All but the check, with the bracket that ends it.
template <token Token>
std::string values_of_merged(merged_cursor<Token> const& from) {
  std::string text;
  json_writer out{text};
  out.begin_object().name("keyspan").integer(cursor_version).name("merged").string(from.order);
  out.name("feeds").begin_array();
  for (auto const& feed : from.feeds) {
    out.begin_object().name("cursor").string(feed.whole_pages().to_text());
    out.name("given").begin_array();
    for (std::size_t i = 0; i < feed.parts.size(); ++i)
      if (feed.parts[i].given != given_items{}) write_given(out, i, feed.parts[i].given);
    out.end_array().end_object();
  }
  out.end_array().end_object();
  expects(out.ok(), "every value of a cursor has a text");
  return text;
}

// Reads the text of a merged cursor.
template <class Scheme>
class merged_cursor_reader {
  using token_type = token_of_scheme<Scheme>;

 public:
  merged_cursor_reader(Scheme const& scheme, std::string_view text)
      : scheme_{scheme}, text_{text} {}

  result<merged_cursor<token_type>> read() {
    json_reader in{text_};
    bool has_version = false;
    bool has_order = false;
    bool has_feeds = false;
    std::string check;
    text_position at_check{};
    in.begin_object();
    std::string_view name;
    while (in.next_member(name)) {
      if (name == "keyspan") {
        auto const version = in.integer<std::int64_t>();
        if (in.ok() && version != cursor_version)
          in.fail_here(error{errc::unsupported, "the cursor is of version ", version,
                             "; this library reads version ", cursor_version});
        has_version = true;
      } else if (name == "merged") {
        made_.order = in.string();
        has_order = true;
      } else if (name == "feeds") {
        in.begin_array();
        while (in.next_element()) read_feed(in);
        has_feeds = true;
      } else if (name == "check") {
        check = in.string();
        at_check = in.position();
      } else if (name == "container") {
        in.fail_here("this is the cursor of a feed, not of a merge: composite_cursor reads it");
      } else {
        in.fail_here("a merged cursor has no member \"", inline_text<40>{name}, "\"");
      }
    }
    expect_member(in, has_version, "keyspan");
    expect_member(in, has_order, "merged");
    expect_member(in, has_feeds, "feeds");
    expect_member(in, !check.empty(), "check");
    in.finish();
    if (!in.ok()) return unexpected{in.error()};
    auto const found = check_of(values_of_merged(made_));
    if (found == check) return std::move(made_);
    return unexpected{error{errc::malformed, "the check is ", inline_text<20>{check},
                            ", that of these values is ", found,
                            ": something was changed after the text was written"}
                          .at(at_check)};
  }

 private:
  static void expect_member(json_reader& in, bool is_there, std::string_view name) {
    if (!is_there) in.fail_here("no merged cursor: the member \"", name, "\" is missing");
  }

  void read_feed(json_reader& in) {
    bool has_cursor = false;
    std::string_view name;
    auto& feed = made_.feeds.emplace_back();
    std::vector<std::pair<std::size_t, given_items>> given;
    in.begin_object();
    while (in.next_member(name)) {
      if (name == "cursor") {
        std::string const text{in.string()};
        if (!in.ok()) return;
        auto whole = composite_cursor<token_type>::from_text(scheme_, text);
        if (!whole) return in.fail_here(whole.error());
        feed = {std::move(whole->container),
                std::move(whole->scheme),
                whole->mode,
                std::move(whole->key),
                {}};
        for (auto& part : whole->parts) feed.parts.push_back({std::move(part), {}});
        has_cursor = true;
      } else if (name == "given") {
        in.begin_array();
        while (in.next_element()) given.push_back(read_given(in));
      } else {
        in.fail_here("a feed of a merged cursor has no member \"", inline_text<40>{name}, "\"");
      }
    }
    expect_member(in, has_cursor, "cursor");
    for (auto& [part, items] : given) {
      if (!in.ok()) return;
      if (part >= feed.parts.size()) {
        in.fail_here("part ", part, " is none of the ", feed.parts.size(), " of its feed");
      } else if (feed.parts[part].given != given_items{}) {
        in.fail_here("of part ", part, " it is told twice what was given");
      } else {
        feed.parts[part].given = std::move(items);
      }
    }
  }

  static std::pair<std::size_t, given_items> read_given(json_reader& in) {
    std::pair<std::size_t, given_items> made{};
    auto& [part, given] = made;
    bool has_part = false;
    std::string_view name;
    in.begin_object();
    while (in.next_member(name)) {
      if (name == "part") {
        part = in.integer<std::uint32_t>();
        has_part = true;
      } else if (name == "count") {
        given.count = in.integer<std::uint32_t>();
      } else if (name == "alike") {
        given.alike = in.integer<std::uint32_t>();
      } else if (name == "image") {
        given.image = read_word(in);
      } else if (name == "state") {
        given.state = read_word(in);
      } else if (name == "identities") {
        in.begin_array();
        while (in.next_element()) given.identities.push_back(read_word(in));
      } else {
        in.fail_here("what was given has no member \"", inline_text<40>{name}, "\"");
      }
    }
    expect_member(in, has_part, "part");
    if (in.ok() && given.alike > given.count)
      in.fail_here("of ", given.count, " items given no more are alike");
    if (in.ok() && !std::is_sorted(given.identities.begin(), given.identities.end()))
      in.fail_here("identities are in ascending order");
    return made;
  }

  static std::uint64_t read_word(json_reader& in) {
    std::string const digits{in.string()};
    std::array<unsigned char, 8> bytes{};
    if (!in.ok()) return 0;
    auto const size = decode_hex(digits, std::span{bytes});
    if (!size || *size != bytes.size() || digits.size() != 16) {
      in.fail_here("a word is 16 hexadecimal digits, not \"", inline_text<40>{digits}, "\"");
      return 0;
    }
    return load_be<std::uint64_t>(bytes.data());
  }

  Scheme const& scheme_;
  std::string_view text_;
  merged_cursor<token_type> made_{};
};

}  // namespace detail

template <token Token>
std::string merged_cursor<Token>::to_text() const
  requires detail::cursor_token<Token>
{
  std::string text = detail::values_of_merged(*this);
  auto const digits = detail::check_of(text);
  text.back() = ',';
  return text.append("\"check\":\"").append(digits.view()).append("\"}");
}

template <token Token>
template <scheme_of_cursor_texts Scheme>
  requires std::same_as<token_of_scheme<Scheme>, Token>
result<merged_cursor<Token>> merged_cursor<Token>::from_text(Scheme const& scheme,
                                                             std::string_view text) {
  return detail::merged_cursor_reader<Scheme>{scheme, text}.read();
}

}  // namespace keyspan
