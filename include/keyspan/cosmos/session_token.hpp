// keyspan/cosmos/session_token.hpp — how far a client has seen each range of a container, so that
// what it reads next is not older.
//
//   0:1#1200#3=1190#5=1200,1:1#77     ranges 0 and 1; version, global LSN, region = its LSN
//   2:1203                            range 2 in the older form, an LSN alone
#pragma once

#include <keyspan/core/contract.hpp>
#include <keyspan/core/error.hpp>
#include <keyspan/core/result.hpp>
#include <keyspan/core/text.hpp>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace keyspan::cosmos {

namespace detail {

// A number from the beginning of a text, which it is taken from.
template <class Integer>
bool take_number(std::string_view& text, Integer& to) {
  auto const [end, why] = std::from_chars(text.data(), text.data() + text.size(), to);
  if (why != std::errc{}) return false;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return true;
}
inline bool take(std::string_view& text, char wanted) {
  if (!text.starts_with(wanted)) return false;
  text.remove_prefix(1);
  return true;
}

}  // namespace detail

/// How far one range was seen.
struct range_session {
  struct region_lsn {
    std::uint32_t region = 0;
    std::int64_t lsn = 0;

    friend bool operator==(region_lsn const&, region_lsn const&) = default;
  };

  /// Whether it is of the older form: `lsn` is all there is.
  bool is_simple = false;
  std::int64_t version = 0;           ///< grows when regions come and go
  std::int64_t lsn = 0;               ///< of all regions together
  std::vector<region_lsn> regions{};  ///< in the order of their ids

  friend bool operator==(range_session const&, range_session const&) = default;

  /// Reads what stands behind the range's id. Errors: `malformed`, with the place.
  static result<range_session> from_text(std::string_view text) {
    std::string_view left = text;
    auto const malformed = [&](std::string_view wanted) {
      auto const offset = static_cast<std::uint32_t>(text.size() - left.size());
      return unexpected{error{errc::malformed, "a session token has ", wanted, " here"}.at(
          {.line = 1, .column = offset + 1, .offset = offset})};
    };
    range_session made;
    if (!detail::take_number(left, made.version)) return malformed("a number");
    if (left.empty()) {
      made.is_simple = true;
      made.lsn = std::exchange(made.version, 0);
      return made;
    }
    if (!detail::take(left, '#')) return malformed("a '#'");
    if (!detail::take_number(left, made.lsn)) return malformed("a number");
    while (!left.empty()) {
      region_lsn one;
      if (!detail::take(left, '#')) return malformed("a '#'");
      if (!detail::take_number(left, one.region)) return malformed("the number of a region");
      if (!detail::take(left, '=')) return malformed("a '='");
      if (!detail::take_number(left, one.lsn)) return malformed("a number");
      made.regions.push_back(one);
    }
    std::sort(made.regions.begin(), made.regions.end(),
              [](region_lsn const& a, region_lsn const& b) { return a.region < b.region; });
    auto const twice = std::adjacent_find(
        made.regions.begin(), made.regions.end(),
        [](region_lsn const& a, region_lsn const& b) { return a.region == b.region; });
    if (twice != made.regions.end())
      return fail(errc::malformed, "a session token names region ", twice->region, " twice");
    return made;
  }
  std::string to_text() const {
    if (is_simple) return std::to_string(lsn);
    std::string text = std::to_string(version) + '#' + std::to_string(lsn);
    for (auto const& [region, own] : regions)
      text += '#' + std::to_string(region) + '=' + std::to_string(own);
    return text;
  }

  /// What has seen as much as both. The later version says which regions there are, and how far all
  /// of them have come; each region has come as far as either says. Errors: `unsupported` for two
  /// forms, `malformed` for one version with different regions.
  static result<range_session> merged(range_session const& a, range_session const& b) {
    if (a.is_simple != b.is_simple)
      return fail(errc::unsupported, "session tokens of two forms cannot be merged");
    if (a.is_simple) return a.lsn < b.lsn ? b : a;
    range_session const& later = a.version < b.version ? b : a;
    range_session const& other = a.version < b.version ? a : b;
    range_session made = later;
    if (a.version == b.version) {
      made.lsn = (std::max)(a.lsn, b.lsn);
      bool const is_alike =
          std::equal(a.regions.begin(), a.regions.end(), b.regions.begin(), b.regions.end(),
                     [](region_lsn const& x, region_lsn const& y) { return x.region == y.region; });
      if (!is_alike)
        return fail(errc::malformed, "session tokens of version ", a.version,
                    " name different regions");
    }
    for (auto& one : made.regions) {
      auto const found =
          std::find_if(other.regions.begin(), other.regions.end(),
                       [&](region_lsn const& its) { return its.region == one.region; });
      if (found != other.regions.end()) one.lsn = (std::max)(one.lsn, found->lsn);
    }
    return made;
  }
};

/// How far a client has seen the ranges of one container.
class session_tokens {
 public:
  /// Takes what a response says in `x-ms-session-token`: one range's, or several. Nothing is taken
  /// where one of them cannot be read. Errors: `malformed`, with the place; those of `merged`.
  result<void> take(std::string_view text) {
    // Of one range nothing is taken in part.
    bool const is_one = text.find(',') == text.npos;
    sessions copy;
    if (!is_one) copy = ranges_;
    sessions& made = is_one ? ranges_ : copy;
    std::size_t begin = 0;
    while (begin <= text.size()) {
      std::size_t const end = (std::min)(text.find(',', begin), text.size());
      std::string_view const one = text.substr(begin, end - begin);
      auto const at = [&](error why, std::size_t offset) {
        auto const place = static_cast<std::uint32_t>(begin + offset);
        return unexpected{why.at({.line = 1, .column = place + 1, .offset = place})};
      };
      auto const colon = one.find(':');
      if (colon == 0 || colon == std::string_view::npos)
        return at(
            error{errc::malformed, "a session token is such as 0:1#12, an id and a colon first"},
            0);
      auto const session = range_session::from_text(one.substr(colon + 1));
      if (!session) return at(session.error(), colon + 1 + session.error().position.offset);
      if (auto const taken = add(made, one.substr(0, colon), *session); !taken)
        return at(taken.error(), 0);
      begin = end + 1;
    }
    if (!is_one) ranges_ = std::move(copy);
    return {};
  }
  /// What a request to a range is to say; nothing where nothing was seen of it. A range of which
  /// nothing was seen itself has come as far as all that it came from, its `partition::parents`;
  /// one that others came from, as far as all `children`: who still has it in one piece is behind
  /// them. Errors: those of `merged`.
  result<std::string> token_for(std::string_view range, std::span<std::string const> parents = {},
                                std::span<std::string const> children = {}) const {
    std::optional<range_session> all;
    auto const add = [&](std::string_view one) -> result<void> {
      auto const found = ranges_.find(one);
      if (found == ranges_.end()) return {};
      auto merged =
          all ? range_session::merged(*all, found->second) : result<range_session>{found->second};
      if (!merged) return unexpected{merged.error()};
      all = *std::move(merged);
      return {};
    };
    if (auto const own = add(range); !own) return unexpected{own.error()};
    if (!all)
      for (auto const& one : parents)
        if (auto const added = add(one); !added) return unexpected{added.error()};
    for (auto const& one : children)
      if (auto const added = add(one); !added) return unexpected{added.error()};
    if (!all) return std::string{};
    return std::string{range} + ':' + all->to_text();
  }
  /// Of all ranges, with commas between them: what a reader elsewhere needs to see as much.
  std::string to_text() const {
    std::string text;
    for (auto const& [range, session] : ranges_) {
      if (!text.empty()) text += ',';
      text += range + ':' + session.to_text();
    }
    return text;
  }
  /// The ranges of which something was seen.
  std::vector<std::string> ranges() const {
    std::vector<std::string> made;
    for (auto const& [range, session] : ranges_) made.push_back(range);
    return made;
  }
  bool empty() const noexcept { return ranges_.empty(); }
  /// Forgets all: the container is another one by now.
  void clear() noexcept { ranges_.clear(); }

 private:
  using sessions = std::map<std::string, range_session, std::less<>>;

  static result<void> add(sessions& to, std::string_view range, range_session const& session) {
    auto const found = to.find(range);
    if (found == to.end()) {
      to.emplace(std::string{range}, session);
      return {};
    }
    auto merged = range_session::merged(found->second, session);
    if (!merged) return unexpected{merged.error()};
    found->second = *std::move(merged);
    return {};
  }

  sessions ranges_{};
};

}  // namespace keyspan::cosmos
