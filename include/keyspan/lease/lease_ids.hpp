// keyspan/lease/lease_ids.hpp — the ids of the records of leases, of members and of the layout.
//
//   orders.lease.-1FFFFFFF                          a range, by its bounds
//   orders.lease.0b0c0e6e4b1e4f37a1c7e2a5d3f0c9b8   one whose bounds are no plain texts
//   orders.member.41d07a6e3bc25f19                  a session
//   orders.layout
#pragma once

#include <keyspan/core/contract.hpp>
#include <keyspan/core/error.hpp>
#include <keyspan/core/json.hpp>
#include <keyspan/core/result.hpp>
#include <keyspan/core/text.hpp>
#include <keyspan/feed/cursor.hpp>
#include <keyspan/hash/murmur3.hpp>
#include <keyspan/hash/token.hpp>
#include <keyspan/lease/session_id.hpp>
#include <keyspan/range/token_range.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace keyspan {

/// What a record is of.
enum class record_kind : std::uint8_t { lease, member, layout };

/// How long a prefix of ids may be.
inline constexpr std::size_t longest_lease_prefix = 100;

/// Whether every store takes ids that begin so: nothing, or up to 100 letters, digits, `.`, `-` and
/// `_` of ASCII, the first of them no dot.
constexpr bool is_lease_prefix(std::string_view prefix) noexcept {
  return prefix.size() <= longest_lease_prefix && !prefix.starts_with('.') &&
         std::all_of(prefix.begin(), prefix.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                  c == '.' || c == '-' || c == '_';
         });
}

/// How long the bounds of a range may be, with what is around them, for an id to say them.
inline constexpr std::size_t longest_plain_lease = 80;

/// The ids of all records of one set of leases, which are of ranges of one scheme. Sets with
/// different prefixes share a store and have no id in common.
class lease_ids {
 public:
  /// Without a prefix.
  lease_ids() = default;
  /// Requires `is_lease_prefix(prefix)`.
  explicit lease_ids(std::string prefix) : prefix_{std::move(prefix)} {
    expects(is_lease_prefix(prefix_),
            "a prefix is at most 100 letters, digits, '.', '-' and '_', the first of them no dot");
  }
  /// With a prefix that came from somewhere else. Errors: `invalid_options` where it is none.
  [[nodiscard]] static result<lease_ids> from(std::string prefix) {
    if (is_lease_prefix(prefix)) return lease_ids{std::move(prefix)};
    return fail(errc::invalid_options, "a prefix of leases is at most ", longest_lease_prefix,
                " letters, digits, '.', '-' and '_', the first no dot, not \"",
                inline_text<40>{prefix}, "\"");
  }

  /// What stands in front of every id.
  std::string const& prefix() const noexcept { return prefix_; }

  /// The id of the lease of a range, the same for ever: both bounds, "20…-40…", where their texts
  /// are digits and capital letters of ASCII, and not too long; `FF` is the end of the space, and
  /// no bound then. Of any other range `murmur3_128` of the JSON text `["words","a\"","b"]`, the
  /// name of the scheme and both bounds, `null` for the end.
  template <token Token>
    requires detail::cursor_token<Token>
  std::string lease(std::string_view scheme, token_range<Token> const& range) const;
  /// The id of a member.
  std::string member(session_id session) const {
    return members().append(session.to_text().view());
  }
  /// The id of the layout.
  std::string layout() const { return prefix_ + "layout"; }

  /// What the ids of all leases begin with.
  std::string leases() const { return prefix_ + "lease."; }
  /// What the ids of all members begin with.
  std::string members() const { return prefix_ + "member."; }

  /// What the record of an id is of; none where it is not one of these: a list may show records of
  /// a set with a longer prefix as well.
  std::optional<record_kind> kind_of(std::string_view id) const;

  friend bool operator==(lease_ids const&, lease_ids const&) = default;

 private:
  std::string prefix_{};
};

/// A number for an id, the same on every host and for ever: the `id` of a `planned_lease`.
[[nodiscard]] constexpr std::uint64_t order_of(std::string_view id) { return murmur3_128(id).h1; }

namespace detail {

// Capitals alone: what stands behind a longer prefix, "member." and so on, is in small letters.
constexpr bool is_plain_bound(std::string_view text) noexcept {
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z'); });
}

inline constexpr std::string_view end_of_plain_lease = "FF";

// Whether a text is "20-40": the bounds of a range.
constexpr bool is_plain_lease(std::string_view text) noexcept {
  auto const dash = text.find('-');
  return dash != text.npos && dash + 1 < text.size() && text.size() <= longest_plain_lease &&
         is_plain_bound(text.substr(0, dash)) && is_plain_bound(text.substr(dash + 1));
}

template <cursor_token Token>
std::string bound_text(Token const& token) {
  if constexpr (writes_hex<Token>) {
    return std::string{std::string_view{token.to_hex()}};
  } else if constexpr (decimal_token<Token>) {
    return std::to_string(token);
  } else {
    return std::string{std::string_view(token)};
  }
}

// The bounds as they stand in an id; nothing where they cannot.
template <cursor_token Token>
std::string plain_lease(token_range<Token> const& range) {
  bool const is_last = range.upper().is_space_end();
  std::string const upper =
      is_last ? std::string{end_of_plain_lease} : bound_text(range.upper().at());
  if (!is_last && upper == end_of_plain_lease) return {};
  std::string text = bound_text(range.lower()) + '-' + upper;
  if (!is_plain_lease(text)) text.clear();
  return text;
}

}  // namespace detail

template <token Token>
  requires detail::cursor_token<Token>
std::string lease_ids::lease(std::string_view scheme, token_range<Token> const& range) const {
  if (auto const plain = detail::plain_lease(range); !plain.empty()) return leases() + plain;
  std::string text;
  json_writer out{text};
  out.begin_array();
  detail::write_bytes(out, scheme);
  detail::write_token(out, range.lower());
  if (range.upper().is_space_end()) {
    out.null();
  } else {
    detail::write_token(out, range.upper().at());
  }
  out.end_array();
  auto const hash = murmur3_128(text);
  return leases()
      .append(session_id{hash.h1}.to_text().view())
      .append(session_id{hash.h2}.to_text().view());
}

inline std::optional<record_kind> lease_ids::kind_of(std::string_view id) const {
  if (!id.starts_with(prefix_)) return std::nullopt;
  std::string_view const rest = id.substr(prefix_.size());
  auto const is_named = [&](std::string_view kind, std::size_t digits) {
    if (!rest.starts_with(kind) || rest.size() != kind.size() + digits) return false;
    std::string_view const name = rest.substr(kind.size());
    return std::all_of(name.begin(), name.end(),
                       [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
  };
  constexpr std::string_view lease = "lease.";
  if (rest.starts_with(lease) && detail::is_plain_lease(rest.substr(lease.size())))
    return record_kind::lease;
  if (is_named(lease, 32)) return record_kind::lease;
  if (is_named("member.", 16)) return record_kind::member;
  if (rest == "layout") return record_kind::layout;
  return std::nullopt;
}

}  // namespace keyspan
