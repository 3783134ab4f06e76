// keyspan/law/page_source.hpp — whether a source keeps what the concept promises to those who read
// it: every change once, from any continuation, in any part of a range, across splits and merges.
//
// No test framework inside: the check answers with a finding. It reads a source that has items and
// is at rest, again and again, and compares the readings.
#pragma once

#include <keyspan/async/stop_token.hpp>
#include <keyspan/async/sync_wait.hpp>
#include <keyspan/core/error.hpp>
#include <keyspan/core/result.hpp>
#include <keyspan/core/text.hpp>
#include <keyspan/feed/continuation.hpp>
#include <keyspan/feed/page_source.hpp>
#include <keyspan/feed/read_request.hpp>
#include <keyspan/feed/wall_time.hpp>
#include <keyspan/hash/hash_scheme.hpp>
#include <keyspan/hash/token.hpp>
#include <keyspan/key/key_value.hpp>
#include <keyspan/key/partition_key.hpp>
#include <keyspan/law/finding.hpp>
#include <keyspan/range/partition.hpp>
#include <keyspan/range/routing.hpp>
#include <keyspan/range/routing_refresh.hpp>
#include <keyspan/range/token_range.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace keyspan {

namespace detail {

template <class KeyOf, class Source>
using key_of_item =
    std::remove_cvref_t<std::invoke_result_t<KeyOf const&, item_of_source<Source> const&>>;

template <class IdOf, class Source>
using id_of_item =
    std::remove_cvref_t<std::invoke_result_t<IdOf const&, item_of_source<Source> const&>>;

/// The sentence that a compiler shows for a projection that gives neither a key nor a token.
template <class KeyOf, class Source>
concept gives_key_or_token_of_item =
    page_source<Source> && std::invocable<KeyOf const&, item_of_source<Source> const&> &&
    (std::same_as<key_of_item<KeyOf, Source>, token_of_source<Source>> ||
     routable_by<key_of_item<KeyOf, Source>, typename Source::scheme_type>);

/// The sentence that a compiler shows for a projection by which items cannot be told apart.
template <class IdOf, class Source>
concept tells_items_apart =
    page_source<Source> && std::invocable<IdOf const&, item_of_source<Source> const&> &&
    std::equality_comparable<id_of_item<IdOf, Source>>;

struct nothing_is_split {
  constexpr void operator()() const noexcept {}
};

}  // namespace detail

namespace law {

struct page_source_options {
  /// How many pages one reading has at most. A source that never says that nothing is new breaks a
  /// law, and is found to.
  std::size_t most_pages = 100'000;
  /// How many items there are in all; not looked at where it is none.
  std::optional<std::size_t> items{};
};

}  // namespace law

namespace detail {

template <page_source Source, class KeyOf, class IdOf>
class page_source_check {
  using scheme_type = typename Source::scheme_type;
  using token_type = token_of_source<Source>;
  using range_type = token_range<token_type>;
  using item_type = item_of_source<Source>;
  using partition_type = partition<token_type>;
  using routing_pointer = std::shared_ptr<routing<scheme_type> const>;
  using finding = law::finding;

  // What was read of one range, and where its pages ended.
  struct page_end {
    continuation next;
    std::size_t items;
  };
  struct reading {
    range_type range;
    std::vector<item_type> items{};
    std::vector<token_type> tokens{};
    std::vector<page_end> ends{};
  };
  // Where a reading is done, and with what.
  struct place {
    range_type range;
    partition_type const* owner;
    std::uint32_t page_size = 0;
    partition_key const* key = nullptr;
  };
  using picked = std::vector<std::size_t>;

  static constexpr std::string_view topology_law =
      "a topology lists partitions that own every token exactly once";
  static constexpr std::string_view part_law = "a part has the items of the whole that lie in it";
  static constexpr std::string_view going_on_law =
      "a continuation goes on with all that follows, as often as it is read from";
  static constexpr std::string_view part_going_on_law =
      "a continuation is good for any part of its range";
  static constexpr std::string_view again_law = "a range that is read again has the same items";
  static constexpr std::string_view size_law = "a page size is a hint, and changes no item";
  static constexpr std::string_view now_law = "from now on there is nothing that was there before";
  static constexpr std::string_view first_moment_law =
      "from the first moment on there is everything, or errc::unsupported";
  static constexpr std::string_view last_moment_law =
      "from the last moment on there is nothing, or errc::unsupported";
  static constexpr std::string_view gone_law = "a range over several partitions is gone";
  static constexpr std::string_view replaced_partition_law =
      "a partition that was split or merged is gone";
  static constexpr std::string_view error_law = "an error moves nothing";
  static constexpr std::string_view key_law = "a read of one key gives its items and no others";
  static constexpr std::string_view survival_law = "a continuation outlives splits and merges";
  static constexpr std::string_view replaced_law = "a topology tells what replaced a range";

 public:
  page_source_check(Source& source, KeyOf const& key_of, IdOf const& id_of,
                    law::page_source_options options)
      : source_{source}, key_of_{key_of}, id_of_{id_of}, options_{options} {}

  template <class Split>
  finding run(Split& split_something) {
    std::string const container{std::string_view{source_.container()}};
    if (container.empty()) return finding{"a container has a name"};
    if (auto found = read_partitions(); !found) return found;
    readings_.reserve(known_->size());
    readings_from_now_.reserve(known_->size());
    for (partition_type const& one : known_->partitions())
      if (auto found = check_range(one); !found) return found;
    if (auto found = check_all_items(); !found) return found;
    if (auto found = check_gone(); !found) return found;
    if constexpr (!std::same_as<Split, nothing_is_split>) {
      split_something();
      if (auto found = check_change(); !found) return found;
    }
    if (std::string_view{source_.container()} != container)
      return finding{"a container keeps its name", container, " became another one"};
    return {};
  }

 private:
  // ---- who owns what ---------------------------------------------------------------------------

  finding read_partitions() {
    if (auto found = refresh(routing_refresh{source_.scheme(), limits()}, known_); !found)
      return found;
    auto const newest = sync_wait(source_.topology(known_->version()));
    if (!newest) return finding{topology_law, "asked again it fails: ", newest.error().to_text()};
    if (!newest->not_modified)
      return finding{"a topology has nothing newer than its newest version",
                     "version ",
                     known_->version(),
                     " is followed by ",
                     newest->partitions.size(),
                     " partitions"};
    routing_pointer again;
    if (auto found = refresh(routing_refresh{source_.scheme(), limits()}, again); !found)
      return found;
    if (!std::ranges::equal(again->partitions(), known_->partitions()))
      return finding{"a topology that is read again is the same"};
    return {};
  }
  finding refresh(routing_refresh<scheme_type> list, routing_pointer& to) {
    while (list.wants_page()) {
      auto page = sync_wait(source_.topology(list.version()));
      if (!page) return finding{topology_law, "it fails: ", page.error().to_text()};
      list.take(*std::move(page));
    }
    auto const& outcome = list.outcome();
    if (!outcome) return finding{topology_law, outcome.error().to_text()};
    to = *outcome;
    return {};
  }
  routing_refresh_options limits() const { return {.most_pages = options_.most_pages}; }

  // ---- reading ---------------------------------------------------------------------------------

  static read_request request_of(place const& where) {
    read_request request;
    request.partition = where.owner->id;
    request.is_whole_partition = where.range == where.owner->range;
    request.page_size = where.page_size;
    request.key = where.key;
    return request;
  }
  static inline_text<120> name_of_range(range_type const& range) {
    return {"[", text_of_token(range.lower()), ", ", text_of_token(range.upper()), ")"};
  }

  finding read(place const& where, continuation from, reading& to) {
    read_request const request = request_of(where);
    for (std::size_t pages = 0; pages < options_.most_pages; ++pages) {
      auto page = sync_wait(source_.read(where.range, from, request));
      if (!page)
        return finding{
            "a source at rest answers", name_of_range(where.range), " ", from.to_text(), " fails: ",
            page.error().to_text()};
      if (std::string_view{page->continuation}.empty())
        return finding{"a page says where the next one begins", name_of_range(where.range), " ",
                       from.to_text(), " does not"};
      from.advance(page->continuation);
      for (auto& item : page->items) {
        result<token_type> const token = token_of_item(item);
        if (!token)
          return finding{"every item has a key, and that a token", token.error().to_text()};
        if (!where.range.contains(*token))
          return finding{"a range has items of its own tokens", name_of_range(where.range),
                         " has one of ", text_of_token(*token)};
        to.tokens.push_back(*token);
        to.items.push_back(std::move(item));
      }
      to.ends.push_back({from, to.items.size()});
      if (page->nothing_new) return {};
    }
    return finding{"a reading comes to where nothing is new", name_of_range(where.range),
                   " does not in ", options_.most_pages, " pages"};
  }

  result<token_type> token_of_item(item_type const& item) const {
    if constexpr (std::same_as<key_of_item<KeyOf, Source>, token_type>) {
      return std::invoke(key_of_, item);
    } else {
      return token_of(source_.scheme(), std::invoke(key_of_, item));
    }
  }

  // Reads a place and holds what comes against the items picked of another reading.
  finding expect(std::string_view law, place const& where, continuation const& from,
                 reading const& of, picked const& wanted) {
    reading got{where.range};
    if (auto found = read(where, from, got); !found) return found;
    picked all(got.items.size());
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = i;
    return same(law, where, from, of, wanted, got, std::move(all));
  }

  // ---- comparing -------------------------------------------------------------------------------

  // Those of a reading that lie in a range, from a place in it on.
  static picked picked_of(reading const& of, range_type const& range, std::size_t from = 0) {
    picked inside;
    for (std::size_t i = from; i < of.items.size(); ++i)
      if (range.contains(of.tokens[i])) inside.push_back(i);
    return inside;
  }
  // Requires rising places; those of one token stay so.
  static void sort_by_token(reading const& of, picked& items) {
    std::sort(items.begin(), items.end(), [&](std::size_t a, std::size_t b) {
      return of.tokens[a] == of.tokens[b] ? a < b : of.tokens[a] < of.tokens[b];
    });
  }

  bool same_item(item_type const& a, item_type const& b) const {
    return static_cast<bool>(std::invoke(id_of_, a) == std::invoke(id_of_, b));
  }
  // Only of items of one token.
  bool same_key(item_type const& a, item_type const& b) const {
    using key = key_of_item<KeyOf, Source>;
    if constexpr (std::same_as<key, token_type>) {
      return true;
    } else if constexpr (std::convertible_to<key const&, std::string_view>) {
      return std::string_view{std::invoke(key_of_, a)} == std::string_view{std::invoke(key_of_, b)};
    } else if constexpr (std::equality_comparable<key>) {
      return static_cast<bool>(std::invoke(key_of_, a) == std::invoke(key_of_, b));
    } else {
      return true;
    }
  }

  // The same items, those of one key in the same order. The others may come in any.
  finding same(std::string_view law, place const& where, continuation const& from,
               reading const& of, picked wanted, reading const& got, picked found) const {
    auto const name = name_of_range(where.range);
    auto const start = from.to_text();
    std::string_view const among = where.page_size == 0 ? "" : " in small pages";
    if (wanted.size() != found.size())
      return finding{law,          name,           " ",          start, among, " has ",
                     found.size(), " items, not ", wanted.size()};
    sort_by_token(of, wanted);
    sort_by_token(got, found);
    auto const differs = [&](token_type const& at) {
      return finding{law,
                     name,
                     " ",
                     start,
                     among,
                     " has another item, or another order, at token ",
                     text_of_token(at)};
    };
    for (std::size_t first = 0, last = 0; first < wanted.size(); first = last) {
      token_type const& token = of.tokens[wanted[first]];
      bool is_equal = true;
      for (last = first; last < wanted.size() && of.tokens[wanted[last]] == token; ++last) {
        if (!(got.tokens[found[last]] == token)) return differs(token);
        is_equal = is_equal && same_item(of.items[wanted[last]], got.items[found[last]]);
      }
      if (is_equal) continue;
      // Keys of one token may lie in one another.
      std::vector<bool> is_used(last - first, false);
      for (std::size_t i = first; i < last; ++i) {
        auto const& item = of.items[wanted[i]];
        std::size_t j = first;
        while (j < last && (is_used[j - first] || !same_key(item, got.items[found[j]]))) ++j;
        if (j == last || !same_item(item, got.items[found[j]])) return differs(token);
        is_used[j - first] = true;
      }
    }
    return {};
  }

  // ---- one range -------------------------------------------------------------------------------

  finding check_range(partition_type const& owner) {
    place const whole{owner.range, &owner};
    reading& all = readings_.emplace_back(reading{owner.range});
    if (auto found = read(whole, from_beginning, all); !found) return found;
    picked const everything = picked_of(all, owner.range);
    if (auto found = expect(again_law, whole, from_beginning, all, everything); !found)
      return found;
    if (auto found = check_continuations(whole, all); !found) return found;
    for (std::size_t const share : {std::size_t{100}, std::size_t{3}}) {
      place in_pages = whole;
      in_pages.page_size = page_size_for(all.items.size(), share);
      reading small_pages{owner.range};
      if (auto found = read(in_pages, from_beginning, small_pages); !found) return found;
      if (auto found = same(size_law, in_pages, from_beginning, all, everything, small_pages,
                            picked_of(small_pages, owner.range));
          !found)
        return found;
      if (auto found = check_continuations(in_pages, small_pages); !found) return found;
    }
    if (auto found = check_parts(owner, all); !found) return found;
    if (auto found = check_now(whole, readings_from_now_.emplace_back(reading{owner.range}));
        !found)
      return found;
    if (auto found = check_moments(whole, all); !found) return found;
    return check_keys(owner, all);
  }

  // Some of many, the first and the last among them.
  static std::vector<page_end> some_of(std::vector<page_end> const& ends, std::size_t most) {
    if (ends.size() <= most) return ends;
    std::vector<page_end> some;
    for (std::size_t i = 0; i < most; ++i) some.push_back(ends[i * (ends.size() - 1) / (most - 1)]);
    return some;
  }

  finding check_continuations(place const& where, reading const& all) {
    for (auto const& end : some_of(all.ends, 9)) {
      auto const rest = picked_of(all, where.range, end.items);
      for (int times = 0; times < 2; ++times)
        if (auto found = expect(going_on_law, where, end.next, all, rest); !found) return found;
    }
    return {};
  }

  // So that a reading has so many pages and one more, or as many as it has items.
  static std::uint32_t page_size_for(std::size_t items, std::size_t pages) {
    return static_cast<std::uint32_t>(items / pages + 1);
  }

  // Halves of what is owned and of what was read, all but the last token, and one token alone.
  std::vector<range_type> parts_of(range_type const& whole, reading const& all) const {
    std::vector<range_type> parts;
    auto const cut = [&](token_type const& at) {
      if (!(whole.lower() < at) || !whole.contains(at)) return;
      auto const [left, right] = keyspan::split(whole, at);
      parts.push_back(left);
      parts.push_back(right);
    };
    if (!all.tokens.empty()) {
      auto sorted = all.tokens;
      std::sort(sorted.begin(), sorted.end());
      cut(sorted[sorted.size() / 2]);
      cut(sorted.back());
    }
    if constexpr (splittable_scheme<scheme_type>) {
      scheme_type const scheme = source_.scheme();
      auto const middle = scheme.midpoint(whole.lower(), whole.upper());
      if (middle) cut(*middle);
      if (!all.tokens.empty()) {
        range_type const narrow{all.tokens.front(), scheme.successor(all.tokens.front())};
        if (whole.contains(narrow)) parts.push_back(narrow);
      }
    }
    return parts;
  }

  finding check_parts(partition_type const& owner, reading& all) {
    reading small_pages{owner.range};
    place const in_pages{owner.range, &owner, page_size_for(all.items.size(), 5)};
    if (auto found = read(in_pages, from_beginning, small_pages); !found) return found;
    if (auto found = same(size_law, in_pages, from_beginning, all, picked_of(all, owner.range),
                          small_pages, picked_of(small_pages, owner.range));
        !found)
      return found;
    for (range_type const& part : parts_of(owner.range, all)) {
      auto const inside = picked_of(all, part);
      place const where{part, &owner};
      if (auto found = expect(part_law, where, from_beginning, all, inside); !found) return found;
      for (auto const& end : some_of(small_pages.ends, 5))
        if (auto found = expect(part_going_on_law, where, end.next, small_pages,
                                picked_of(small_pages, part, end.items));
            !found)
          return found;
      place const in_its_pages{part, &owner, page_size_for(inside.size(), 3)};
      if (auto found = expect(size_law, in_its_pages, from_beginning, all, inside); !found)
        return found;
    }
    all = std::move(small_pages);  // it has places to go on from
    return {};
  }

  finding check_now(place const& where, reading& nothing) {
    if (auto found = read(where, from_now, nothing); !found) return found;
    if (!nothing.items.empty())
      return finding{now_law, name_of_range(where.range), " has ", nothing.items.size(), " items"};
    for (auto const& end : some_of(nothing.ends, 2))
      if (auto found = expect(now_law, where, end.next, nothing, {}); !found) return found;
    return {};
  }

  finding check_moments(place const& where, reading const& all) {
    struct moment {
      std::string_view law;
      wall_time at;
      picked items;
    };
    for (auto const& [law, at, items] :
         {moment{first_moment_law, (wall_time::min)(), picked_of(all, where.range)},
          moment{last_moment_law, (wall_time::max)(), {}}}) {
      continuation const start{from_time{at}};
      auto const answer = sync_wait(source_.read(where.range, start, request_of(where)));
      if (!answer && answer.error().code == errc::unsupported) continue;
      if (auto found = expect(law, where, start, all, items); !found) return found;
    }
    return {};
  }

  finding check_keys(partition_type const& owner, reading const& all) {
    using key_type = key_of_item<KeyOf, Source>;
    if constexpr (!std::same_as<key_type, token_type> &&
                  (key_like<key_type> || key_input<key_type>)) {
      std::size_t const count = all.items.size();
      auto const parts = parts_of(owner.range, all);
      for (std::size_t const i : {std::size_t{0}, count / 2, count - 1}) {
        if (i >= count) break;
        partition_key const key{std::invoke(key_of_, all.items[i])};
        if (auto found = check_key(owner, all, i, key, parts); !found) return found;
      }
    }
    return {};
  }
  finding check_key(partition_type const& owner, reading const& all, std::size_t item,
                    partition_key const& key, std::vector<range_type> const& parts) {
    token_type const& token = all.tokens[item];
    auto const own_from = [&](std::size_t first) {
      auto own = picked_of(all, owner.range, first);
      std::erase_if(own, [&](std::size_t i) {
        return !(all.tokens[i] == token) || !same_key(all.items[item], all.items[i]);
      });
      return own;
    };
    auto const own = own_from(0);
    // A key of many items is not read one by one.
    for (std::uint32_t const page_size :
         {std::uint32_t{0}, page_size_for(own.size(), 32), page_size_for(own.size(), 2)}) {
      place const where{owner.range, &owner, page_size, &key};
      if (auto found = expect(key_law, where, from_beginning, all, own); !found) return found;
    }
    for (range_type const& part : parts) {
      if (!part.contains(token)) continue;
      if (auto found = expect(key_law, {part, &owner, 0, &key}, from_beginning, all, own); !found)
        return found;
    }
    for (auto const& end : some_of(all.ends, 5))
      if (auto found =
              expect(key_law, {owner.range, &owner, 0, &key}, end.next, all, own_from(end.items));
          !found)
        return found;
    return {};
  }

  // ---- all ranges ------------------------------------------------------------------------------

  finding check_all_items() {
    std::size_t count = 0;
    for (reading const& one : readings_) {
      count += one.items.size();
      if (auto found = check_once(one); !found) return found;
    }
    if (options_.items && *options_.items != count)
      return finding{"every item is read", "there are ", *options_.items, ", and ", count,
                     " are read"};
    return {};
  }

  // Equal items have one token, so they are in one range.
  finding check_once(reading const& all) const {
    picked order = picked_of(all, all.range);
    sort_by_token(all, order);
    for (std::size_t first = 0, last = 0; first < order.size(); first = last) {
      token_type const& token = all.tokens[order[first]];
      while (last < order.size() && all.tokens[order[last]] == token) ++last;
      auto const begin = order.begin() + static_cast<std::ptrdiff_t>(first);
      auto const end = order.begin() + static_cast<std::ptrdiff_t>(last);
      auto const equal = [&](std::size_t a, std::size_t b) {
        return same_item(all.items[a], all.items[b]);
      };
      bool is_twice = false;
      if constexpr (std::totally_ordered<id_of_item<IdOf, Source>>) {
        std::sort(begin, end, [&](std::size_t a, std::size_t b) {
          return static_cast<bool>(std::invoke(id_of_, all.items[a]) <
                                   std::invoke(id_of_, all.items[b]));
        });
        is_twice = std::adjacent_find(begin, end, equal) != end;
      } else {
        for (auto at = begin; at != end && !is_twice; ++at)
          is_twice = std::any_of(at + 1, end, [&](std::size_t other) { return equal(*at, other); });
      }
      if (is_twice)
        return finding{"no item comes twice", name_of_range(all.range), " has one twice at token ",
                       text_of_token(token)};
    }
    return {};
  }

  finding check_gone() {
    for (std::size_t i = 0; i < readings_.size(); ++i) {
      reading const& all = readings_[i];
      partition_type const& owner = known_->partitions()[i];
      place const whole{owner.range, &owner};
      if (i + 1 < readings_.size())
        if (auto found = expect_gone(gone_law, {join(owner.range, readings_[i + 1].range), &owner});
            !found)
          return found;

      stop_source stopped;
      stopped.request_stop();
      read_request request = request_of(whole);
      request.stop = stopped.token();
      continuation const start{from_beginning};
      auto const answer = sync_wait(source_.read(owner.range, start, request));
      if (!answer && answer.error().code != errc::stopped)
        return finding{"a read that is stopped says so", name_of_range(owner.range),
                       " fails: ", answer.error().to_text()};

      page_end const end = all.ends[all.ends.size() / 2];
      if (auto found = expect(error_law, whole, from_beginning, all, picked_of(all, owner.range));
          !found)
        return found;
      if (auto found =
              expect(error_law, whole, end.next, all, picked_of(all, owner.range, end.items));
          !found)
        return found;
    }
    return {};
  }
  finding expect_gone(std::string_view law, place const& where,
                      continuation const& from = from_beginning) {
    read_request const request = request_of(where);
    auto const answer = sync_wait(source_.read(where.range, from, request));
    if (answer)
      return finding{law, name_of_range(where.range), " has a page of ",
                     std::ranges::size(answer->items), " items"};
    if (answer.error().code != errc::range_gone)
      return finding{law, name_of_range(where.range), " fails: ", answer.error().to_text()};
    return {};
  }

  // ---- after a split or a merge ----------------------------------------------------------------

  finding check_change() {
    routing_pointer newer;
    routing_pointer listed;
    if (auto found = refresh(routing_refresh{known_, limits()}, newer); !found) return found;
    if (auto found = refresh(routing_refresh{source_.scheme(), limits()}, listed); !found)
      return found;
    if (!std::ranges::equal(newer->partitions(), listed->partitions()))
      return finding{replaced_law, "what is new since version ", known_->version(),
                     " does not make the whole list"};
    if (std::ranges::equal(newer->partitions(), known_->partitions()))
      return finding{replaced_law, "nothing is new since version ", known_->version()};

    reading before{whole_space(scheme_type{source_.scheme()})};
    for (reading const& all : readings_) {
      before.items.insert(before.items.end(), all.items.begin(), all.items.end());
      before.tokens.insert(before.tokens.end(), all.tokens.begin(), all.tokens.end());
    }
    for (partition_type const& owner : newer->partitions())
      if (auto found = expect(survival_law, {owner.range, &owner}, from_beginning, before,
                              picked_of(before, owner.range));
          !found)
        return found;
    for (std::size_t i = 0; i < readings_.size(); ++i)
      if (auto found = check_outlived(*newer, i); !found) return found;
    for (partition_type const& owner : newer->partitions())
      if (auto found = check_new(owner, before); !found) return found;
    return {};
  }

  // What is known of one of the partitions that there were, read of those that there are.
  finding check_outlived(routing<scheme_type> const& newer, std::size_t i) {
    reading const& all = readings_[i];
    auto const owners = newer.overlapping(all.range);
    if (owners.size() > 1)
      if (auto found = expect_gone(gone_law, {all.range, &owners.front()}); !found) return found;
    if (auto found = check_replaced(newer, i); !found) return found;
    for (partition_type const& owner : owners) {
      range_type const part = *intersection(owner.range, all.range);
      for (auto const& end : some_of(all.ends, 9))
        if (auto found = expect(survival_law, {part, &owner}, end.next, all,
                                picked_of(all, part, end.items));
            !found)
          return found;
      reading const& nothing = readings_from_now_[i];
      for (auto const& end : some_of(nothing.ends, 2))
        if (auto found = expect(now_law, {part, &owner}, end.next, nothing, {}); !found)
          return found;
    }
    return {};
  }

  // Whoever still names a partition that is gone is told so, even where one other owns the range.
  finding check_replaced(routing<scheme_type> const& newer, std::size_t i) {
    reading const& all = readings_[i];
    partition_type const& old = known_->partitions()[i];
    if (std::ranges::find(newer.partitions(), old.id, &partition_type::id) !=
        newer.partitions().end())
      return {};
    std::vector<range_type> ranges{all.range};
    auto const owners = newer.overlapping(all.range);
    if (owners.size() > 1)
      for (partition_type const& owner : owners)
        ranges.push_back(*intersection(owner.range, all.range));
    for (range_type const& range : ranges)
      for (continuation const& from : {continuation{from_beginning}, all.ends.front().next})
        if (auto found = expect_gone(replaced_partition_law, {range, &old}, from); !found)
          return found;
    return {};
  }

  finding check_new(partition_type const& owner, reading const& before) {
    auto const inside = picked_of(before, owner.range);
    place const in_pages{owner.range, &owner, page_size_for(inside.size(), 3)};
    reading small_pages{owner.range};
    if (auto found = read(in_pages, from_beginning, small_pages); !found) return found;
    if (auto found = same(size_law, in_pages, from_beginning, before, inside, small_pages,
                          picked_of(small_pages, owner.range));
        !found)
      return found;
    reading nothing{owner.range};
    if (auto found = check_now({owner.range, &owner}, nothing); !found) return found;
    return check_keys(owner, small_pages);
  }

  Source& source_;
  KeyOf const& key_of_;
  IdOf const& id_of_;
  law::page_source_options options_;
  routing_pointer known_{};
  std::vector<reading> readings_{};  // of the partitions known, in token order
  std::vector<reading> readings_from_now_{};
};

}  // namespace detail

namespace law {

/// Whether `source` keeps the laws of `page_source`. It has items, which nobody adds to meanwhile.
///
/// `key_of` gives the key of an item, of whatever kind `token_of` takes, or its token; what is of
/// the token's type is taken for one. `id_of` gives what no two items have in common; the item
/// itself unless said otherwise. `split_something` is called once in between; it splits or merges
/// partitions, and what was read before is held against what is read then.
///
/// Waits for the source where that is not ready, as `sync_wait` does. Keeps all items in memory,
/// and reads them some forty times; those of three keys of each partition a dozen times more, and
/// of each new one again.
template <page_source Source, class KeyOf, class IdOf = std::identity,
          class Split = detail::nothing_is_split>
  requires detail::gives_key_or_token_of_item<KeyOf, Source> &&
           detail::tells_items_apart<IdOf, Source> && std::invocable<Split&>
finding check_page_source(Source& source, KeyOf const& key_of, IdOf const& id_of = {},
                          page_source_options options = {}, Split split_something = {}) {
  return detail::page_source_check<Source, KeyOf, IdOf>{source, key_of, id_of, options}.run(
      split_something);
}

}  // namespace law

}  // namespace keyspan
