// keyspan/feed/divide.hpp — one cursor shared out among n readers.
//
//   3 ranges   [=========)[=========)[=========)
//   2 readers  [=======1======)[======2========)      a range and a half each
#pragma once

#include <keyspan/core/contract.hpp>
#include <keyspan/core/error.hpp>
#include <keyspan/core/result.hpp>
#include <keyspan/feed/cursor.hpp>
#include <keyspan/feed/feed.hpp>
#include <keyspan/feed/page_source.hpp>
#include <keyspan/hash/hash_scheme.hpp>
#include <keyspan/range/provisioning.hpp>
#include <keyspan/range/token_range.hpp>

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <utility>
#include <vector>

namespace keyspan {

/// Shares the parts of a cursor out among `readers`, each part counting the same: that is one
/// partition, where the cursor is a feed's that is open. Every reader gets neighbours, and as much
/// as every other: parts are cut where it does not come out even, as long as the scheme can cut,
/// and each piece goes on from where its part stood. Requires one reader at least. Errors:
/// `invalid_range` where a part has no room for a cut; `unsupported` where the scheme cannot cut
/// and there are fewer parts than readers.
template <hash_scheme Scheme>
[[nodiscard]] result<std::vector<composite_cursor<token_of_scheme<Scheme>>>> divide(
    Scheme const& scheme, composite_cursor<token_of_scheme<Scheme>> whole, std::size_t readers) {
  expects(readers > 0, "a cursor is divided among one reader at least");
  using cursor_type = composite_cursor<token_of_scheme<Scheme>>;
  auto parts = std::move(whole.parts);
  whole.parts.clear();
  std::vector<cursor_type> shares(readers, whole);
  std::sort(parts.begin(), parts.end(),
            [](auto const& a, auto const& b) { return a.range < b.range; });

  if constexpr (!splittable_scheme<Scheme>) {
    if (parts.size() < readers)
      return fail(errc::unsupported, "scheme ", std::string_view{scheme.name()},
                  " cannot cut ranges: ", parts.size(), " of them are too few for ", readers,
                  " readers");
    for (std::size_t i = 0; i < parts.size(); ++i)
      shares[i * readers / parts.size()].parts.push_back(std::move(parts[i]));
  } else {
    // Each part has so many pieces, each reader gets so many, and neither could be fewer.
    std::size_t const common = std::gcd(parts.size(), readers);
    std::size_t const pieces = readers / common;
    std::size_t const share = parts.size() / common;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      std::size_t const first = i * pieces;  // the number of the part's first piece
      std::size_t reader = first / share;
      auto& rest = parts[i];
      if (first + pieces > (reader + 1) * share) {
        auto const cuts = split_points(scheme, rest.range, pieces);
        if (!cuts) return unexpected{cuts.error()};
        for (; first + pieces > (reader + 1) * share; ++reader) {
          auto [piece, behind] = split(rest.range, (*cuts)[(reader + 1) * share - first - 1]);
          shares[reader].parts.push_back({std::move(piece), rest.from});
          rest.range = std::move(behind);
        }
      }
      shares[reader].parts.push_back(std::move(rest));
    }
  }
  return shares;
}

/// The same of where a feed stands. Opens the feed, so that its parts are partitions; in a
/// coroutine `co_await whole.open_async()` first, and this waits for nobody. The feed goes on by
/// itself as before: read the shares in its stead. Errors: those of `open`, too.
template <page_source Source>
[[nodiscard]] result<std::vector<typename feed<Source>::cursor_type>> divide(feed<Source>& whole,
                                                                             std::size_t readers) {
  if (auto const opened = whole.open(); !opened) return unexpected{opened.error()};
  return divide(whole.source().scheme(), whole.cursor(), readers);
}

}  // namespace keyspan
