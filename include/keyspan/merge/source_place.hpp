// keyspan/merge/source_place.hpp — where a source stands in its page, to the item: what a cursor
// keeps of a page that was not given whole, and what is left of that page when it is read again.
#pragma once

#include <keyspan/merge/identified_order.hpp>
#include <keyspan/merge/merge_sources.hpp>
#include <keyspan/merge/merged_cursor.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

namespace keyspan::detail {

// By what items of a page are told apart as far as possible: nothing, in an order that does not
// sort.
template <class Keys, class Item>
std::uint64_t image_of([[maybe_unused]] Keys const& keys, [[maybe_unused]] Item& item) {
  if constexpr (Keys::is_checked) {
    return keys.key(0, item).first;
  } else {
    return 0;
  }
}

inline void sort_identities(given_items& given) {
  auto& all = given.identities;
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
}

// Whether an item that looks like the next one was given.
template <class Keys, class Item>
bool was_given([[maybe_unused]] Keys const& keys, given_items& given, [[maybe_unused]] Item& item) {
  if constexpr (tells_apart<Keys>) {
    if (!given.identities.empty())
      return std::binary_search(given.identities.begin(), given.identities.end(),
                                keys.identity(item));
  }
  if (given.alike == 0) return false;
  --given.alike;
  return true;
}

// Of the page that is shown, and that was asked for before: its pieces that were not given. Whether
// anything is left.
template <class Slot, class Keys>
bool leave_out_given(Slot& slot, Keys& keys) {
  given_items& given = slot.feed.given;
  auto const page = slot.page();
  std::size_t kept = 0;  // where the items begin that stay
  std::size_t at = 0;
  for (; at < page.size() && given.count > 0; ++at, --given.count) {
    std::uint64_t const image = image_of(keys, page[at]);
    if (image > given.image) break;  // all that were given come before it
    if (image == given.image && !was_given(keys, given, page[at])) continue;
    if (kept != at) slot.pieces.push_back(page.subspan(kept, at - kept));
    kept = at + 1;
    // An order that remembers goes by it all the same.
    if constexpr (!Keys::is_checked) static_cast<void>(keys.key(slot.number, page[at]));
  }
  if (at < page.size() || given.count == 0) {
    given = {};
  } else {
    given.alike = (std::min)(given.alike, given.count);
  }
  if (kept < page.size()) slot.pieces.push_back(page.subspan(kept));
  return kept < page.size() || !slot.pieces.empty();
}

// Where a source stands before an item of its page, or behind all of them.
template <class Slot, class Keys>
part_of_feed<decltype(Slot::feed)> part_before(Slot& slot, std::size_t item, Keys const& keys) {
  using part_type = part_of_feed<decltype(Slot::feed)>;
  auto const page = slot.page();
  auto const& range = slot.feed.at.range;
  if (item >= page.size()) {
    part_type part{{range, slot.end()}, {}};
    if (slot.feed.given.count > 0) part.given = slot.feed.given;
    part.given.state = keys.state(slot.number);
    return part;
  }
  part_type part{{range, slot.begin()}, slot.given_before};
  given_items& given = part.given;
  if (item > 0) {
    // Between two images nothing has to be told apart: all up to there was given.
    std::uint64_t const image = image_of(keys, page[item]);
    if (given.image != image) given = {};
    given.image = image;
    given.count = (std::max)(given.count, static_cast<std::uint32_t>(item));
    given.alike = 0;
    for (std::size_t i = item; i > 0 && image_of(keys, page[i - 1]) == image; --i) {
      ++given.alike;
      if constexpr (tells_apart<Keys>) given.identities.push_back(keys.identity(page[i - 1]));
    }
    sort_identities(given);
  }
  given.state = slot.state;
  return part;
}

}  // namespace keyspan::detail
