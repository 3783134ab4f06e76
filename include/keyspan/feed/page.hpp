// keyspan/feed/page.hpp — some changes of one range, in the order they were made, and where the
// next ones begin.
#pragma once

#include <keyspan/core/text.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <ranges>
#include <string>
#include <type_traits>
#include <vector>

namespace keyspan {

/// What a source answers to one read of one range. `Items` holds the items side by side: a vector,
/// or whatever a source has at hand that lives as long as the page (a span, a shared block).
template <class Item, class Items = std::vector<Item>>
struct page {
  using item_type = Item;

  Items items{};
  /// The source's words for where the next page begins; also where nothing is new. Never empty.
  std::string continuation{};
  /// The range has no changes beyond this page for now (status 304). That is no end: more may come.
  bool nothing_new = false;
  /// How often the source sent the request.
  std::uint16_t attempts = 1;
  /// In request units.
  double charge = 0;
  /// The position of the newest change of the partition, to tell how far behind a reader is; 0
  /// where the source does not say.
  std::uint64_t lsn = 0;
  /// What the service calls the read in its own records.
  inline_text<36> activity_id{};
  /// Who answered: host and port, or the name of a container in memory. Never a path, a query or a
  /// credential.
  inline_text<80> endpoint{};
  /// What a later read in the same session is to show; opaque.
  std::string session_token{};

  friend bool operator==(page const&, page const&) = default;
};

namespace detail {
template <class>
inline constexpr bool is_page = false;
template <class Item, class Items>
inline constexpr bool is_page<page<Item, Items>> =
    std::ranges::contiguous_range<Items> && std::ranges::sized_range<Items> &&
    std::same_as<std::remove_cv_t<std::ranges::range_value_t<Items>>, Item> && std::movable<Items>;
}  // namespace detail

/// The sentence that a compiler shows for what is no `page` of items that stand side by side.
template <class T>
concept page_of_items = detail::is_page<T>;

}  // namespace keyspan
