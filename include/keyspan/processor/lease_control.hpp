// keyspan/processor/lease_control.hpp — looks at the leases of a store, and changes what is to
// become of them, from anywhere: a host, a tool, a test. Their owners do as they are told.
//
//   co_await control.list()                     who owns what, how far it was read
//   co_await control.lag()                      how many changes are not handled
//   co_await control.pause(range, "why")        resume(range), reset(range, from_beginning)
#pragma once

#include <keyspan/async/task.hpp>
#include <keyspan/core/error.hpp>
#include <keyspan/core/result.hpp>
#include <keyspan/feed/cursor.hpp>
#include <keyspan/feed/feed.hpp>
#include <keyspan/feed/feed_progress.hpp>
#include <keyspan/feed/feed_request.hpp>
#include <keyspan/feed/page_source.hpp>
#include <keyspan/lease/lease_changes.hpp>
#include <keyspan/lease/lease_facts.hpp>
#include <keyspan/lease/lease_ids.hpp>
#include <keyspan/lease/lease_record.hpp>
#include <keyspan/lease/lease_store.hpp>
#include <keyspan/range/cover.hpp>
#include <keyspan/range/token_range.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <ranges>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace keyspan {

/// How far behind one lease is.
template <token Token>
struct lease_lag {
  lease_record<Token> lease;
  /// How many changes are not handled: 0 where there is none, and nothing where there are some and
  /// the source does not number them. It is counted in the numbers of each partition, from the
  /// first change that is not handled to the last one: so it is right before anything was handled,
  /// too, but counts what others of one partition have where a lease has only a part of it, or its
  /// changes are from before a split.
  std::optional<std::uint64_t> changes{};
};

/// All of them together; nothing where one of them is not known.
template <token Token>
[[nodiscard]] std::optional<std::uint64_t> total_lag(std::vector<lease_lag<Token>> const& leases) {
  std::uint64_t sum = 0;
  for (auto const& one : leases) {
    if (!one.changes) return std::nullopt;
    sum += *one.changes;
  }
  return sum;
}

namespace detail {

template <class Item>
constexpr std::optional<std::uint64_t> lsn_of(Item const& item) {
  if constexpr (requires {
                  { item.lsn() } -> std::convertible_to<std::uint64_t>;
                }) {
    return item.lsn();
  } else if constexpr (requires {
                         { item.lsn } -> std::convertible_to<std::uint64_t>;
                       }) {
    return item.lsn;
  } else {
    return std::nullopt;
  }
}

// Where a feed begins that is opened now: its parts in token order, *now* fixed in each.
template <page_source Source>
task<result<composite_cursor<token_of_source<Source>>>> position_of_start(
    Source& source, feed_request<token_of_source<Source>> request) {
  feed<Source> whole{source, std::move(request)};
  auto opening = whole.open_async();
  result<void> const opened = co_await std::move(opening);
  if (!opened) co_return unexpected{opened.error()};
  auto position = whole.cursor();
  std::sort(position.parts.begin(), position.parts.end(),
            [](auto const& a, auto const& b) { return a.range < b.range; });
  co_return position;
}

}  // namespace detail

/// All leases under one prefix, for who watches and steers: it owns none of them. Source and store
/// outlive it. Requires that one of its tasks runs at a time; make another control for another.
template <page_source Source, lease_store Store>
class lease_control {
 public:
  using token_type = token_of_source<Source>;
  using record_type = lease_record<token_type>;
  using range_type = token_range<token_type>;

  /// Asks the store with this request: until when, for all of what is done, and until who asks says
  /// stop. Requires `is_lease_prefix(prefix)`.
  lease_control(Source& source, Store& store, std::string prefix = {}, store_request request = {})
      : lease_control{source, store, std::move(prefix),
                      [asked = std::move(request)] { return asked; }} {}
  /// The same with a request of its own for each question, as `ask` makes it.
  lease_control(Source& source, Store& store, std::string prefix,
                std::function<store_request()> ask)
      : source_{source}, store_{store}, ids_{std::move(prefix)}, ask_{std::move(ask)} {}

  /// The leases there are, in token order. Ended ones are left out, but for `with_ended`.
  /// Errors: those of the store; those of records that cannot be read.
  task<result<std::vector<record_type>>> list(bool with_ended = false) {
    std::string const leases = ids_.leases();
    auto const found = co_await store_.list(leases, ask_());
    if (!found) co_return unexpected{found.error()};
    std::vector<record_type> all;
    for (auto const& one : *found) {
      if (ids_.kind_of(one.id) != record_kind::lease) continue;
      auto record = record_type::from_text(source_.scheme(), one.body);
      if (!record) co_return unexpected{record.error()};
      bool const is_open = record->facts.phase == lease_phase::open;
      if (is_open || with_ended) all.push_back(*std::move(record));
    }
    std::sort(all.begin(), all.end(),
              [](auto const& a, auto const& b) { return a.range < b.range; });
    // A list may show one twice.
    all.erase(std::unique(all.begin(), all.end(),
                          [](auto const& a, auto const& b) { return a.range == b.range; }),
              all.end());
    co_return all;
  }
  /// The hosts that there are, in the order of their sessions.
  task<result<std::vector<member_record>>> members() {
    std::string const prefix = ids_.members();
    auto const found = co_await store_.list(prefix, ask_());
    if (!found) co_return unexpected{found.error()};
    std::vector<member_record> all;
    for (auto const& one : *found) {
      if (ids_.kind_of(one.id) != record_kind::member) continue;
      auto record = member_record::from_text(one.body);
      if (!record) co_return unexpected{record.error()};
      all.push_back(*std::move(record));
    }
    std::sort(all.begin(), all.end(),
              [](auto const& a, auto const& b) { return a.session < b.session; });
    all.erase(std::unique(all.begin(), all.end(),
                          [](auto const& a, auto const& b) { return a.session == b.session; }),
              all.end());
    co_return all;
  }

  /// How far behind each lease is: asks the source for one page of each partition of it.
  /// Errors: those of store and source.
  task<result<std::vector<lease_lag<token_type>>>> lag() {
    auto listing = list();
    auto leases = co_await std::move(listing);
    if (!leases) co_return unexpected{leases.error()};
    std::vector<lease_lag<token_type>> all;
    for (auto& lease : *leases) {
      auto counting = changes_behind(lease);
      auto const changes = co_await std::move(counting);
      if (!changes) co_return unexpected{changes.error()};
      all.push_back({std::move(lease), *changes});
    }
    co_return all;
  }

  /// The leases that cover a part of the range are handled no more, until they are resumed: their
  /// owners finish the batch in hand, keep them, and say why in the record. Returns how many they
  /// are. Errors: those of the store; `invalid_options` for no reason; `contended` where what takes
  /// the place of one that has ended is not there yet, or cannot be seen: ask again, so that no
  /// part of the range is missed.
  task<result<std::size_t>> pause(range_type range, std::string why) {
    if (why.empty())
      co_return fail(errc::invalid_options, "say why it is paused: whoever finds it will ask");
    auto editing = edit(range, [&why](record_type& record) { record.paused = why; });
    co_return co_await std::move(editing);
  }
  /// They are handled again, from where they stand, and what was tried too often is tried anew.
  /// Errors: those of the store; `contended` as above.
  task<result<std::size_t>> resume(range_type range) {
    auto editing = edit(range, [](record_type& record) {
      record.paused.clear();
      record.attempts = {};
    });
    co_return co_await std::move(editing);
  }
  /// They are handled from another position on, in the next epoch: what was handled behind it comes
  /// again, what lies before it does not. A cursor has to cover each of them, in their mode.
  /// Errors: those of the store, and of a feed that is opened there; `gap`, `invalid_range`,
  /// `invalid_options` and `key_mismatch` for a cursor that does not fit them; `contended` where
  /// what takes the place of one that has ended is not there yet: ask again.
  task<result<std::size_t>> reset(range_type range, feed_start<token_type> start) {
    // Leases that are split or merged meanwhile are looked for once more.
    std::vector<range_type> done;
    for (int tries = 0; tries < most_tries; ++tries) {
      auto listing = list(true);
      auto const leases = co_await std::move(listing);
      if (!leases) co_return unexpected{leases.error()};
      if (is_between(*leases, range)) break;
      // Nothing is written before all positions are known to fit.
      std::vector<std::pair<range_type, composite_cursor<token_type>>> positions;
      for (auto const& lease : *leases) {
        bool const is_done = std::find(done.begin(), done.end(), lease.range) != done.end();
        bool const is_open = lease.facts.phase == lease_phase::open;
        if (is_done || !is_open || !overlaps(lease.range, range)) continue;
        auto asking = position_of(lease, start);
        auto position = co_await std::move(asking);
        if (!position) co_return unexpected{position.error()};
        positions.emplace_back(lease.range, *std::move(position));
      }
      if (positions.empty()) co_return done.size();
      for (auto const& [whole, position] : positions) {
        auto const change = [&whole, &position](record_type& record) {
          bool const is_meant = record.range == whole && record.facts.phase == lease_phase::open;
          if (is_meant) record.reset = position;
        };
        std::vector<range_type> children;
        auto editing = edit_one(id_of(whole), whole, change, children);
        auto const told = co_await std::move(editing);
        if (!told) co_return unexpected{told.error()};
        if (*told == edited::open) done.push_back(whole);
      }
      auto bumping = bump();
      result<void> const bumped = co_await std::move(bumping);
      if (!bumped) co_return unexpected{bumped.error()};
    }
    co_return fail(errc::contended, being_changed);
  }
  /// The leases of the range, in token order, each as its record is now and not as a list may show
  /// it, once all of them are somebody's and have gone where they were set back to. Behind a reset
  /// nothing is at work any more for who held them before, in order at least, and their epochs are
  /// those in which they are handled from there on: whoever empties a sink does so then, and has it
  /// refuse what comes of an epoch before.
  /// Errors: those of the store; `contended` where that is not so yet: ask again.
  task<result<std::vector<record_type>>> settled(range_type range) {
    auto listing = list();
    auto const listed = co_await std::move(listing);
    if (!listed) co_return unexpected{listed.error()};
    std::vector<record_type> all;
    for (auto const& one : *listed) {
      if (!overlaps(one.range, range)) continue;
      std::string const id = id_of(one.range);
      auto const stored = co_await store_.read(id, ask_());
      if (!stored && stored.error().code != errc::not_found) co_return unexpected{stored.error()};
      if (!stored) co_return fail(errc::contended, being_changed);
      auto record = record_type::from_text(source_.scheme(), stored->body);
      if (!record) co_return unexpected{record.error()};
      if (record->facts.phase != lease_phase::open) co_return fail(errc::contended, being_changed);
      if (!record->facts.owner || record->reset)
        co_return fail(errc::contended, "a lease is nobody's, or is to be set back: ask again");
      all.push_back(*std::move(record));
    }
    co_return all;
  }

 private:
  std::string id_of(range_type const& range) const {
    return ids_.lease(source_.scheme().name(), range);
  }
  // Whether a lease has ended, and what takes its place is not all there.
  static bool is_between(std::vector<record_type> const& sorted, range_type const& range) {
    return std::any_of(sorted.begin(), sorted.end(), [&](record_type const& ended) {
      auto const whole = intersection(ended.range, range);
      if (ended.facts.phase == lease_phase::open || !whole) return false;
      std::vector<range_type> others;
      for (auto const& one : sorted)
        if (auto const shared = intersection(one.range, *whole);
            shared && one.facts.phase == lease_phase::open)
          others.push_back(*shared);
      std::sort(others.begin(), others.end());
      auto const covered = covers_exactly(others, *whole);
      return !covered && covered.error().code == errc::gap;
    });
  }

  // Where the source is, at this start, for all of a lease.
  task<result<composite_cursor<token_type>>> position_of(record_type const& lease,
                                                         feed_start<token_type> start) {
    feed_request<token_type> asked;
    asked.start = std::move(start);
    asked.mode = lease.position.mode;
    asked.scope = lease.range;
    auto opening = detail::position_of_start(source_, std::move(asked));
    auto const opened = co_await std::move(opening);
    if (!opened) co_return unexpected{opened.error()};
    auto const& position = *opened;
    if (position.key)
      co_return fail(errc::key_mismatch, "a lease is of all keys of its range, not of one");
    if (position.mode != lease.position.mode)
      co_return fail(errc::invalid_options, "the cursor is of mode ", name_of(position.mode),
                     ", the lease of mode ", name_of(lease.position.mode));
    auto const covered = covers_exactly(
        position.parts, lease.range,
        [](cursor<token_type> const& one) -> range_type const& { return one.range; });
    if (!covered)
      co_return fail(covered.error().code,
                     "the cursor does not cover a lease: ", covered.error().text);
    co_return position;
  }

  // What became of one record that was to be changed.
  enum class edited : std::uint8_t { gone, elsewhere, ended, open };
  // Changes one record as `change` says, where nobody else has meanwhile. Its stamp stays: that
  // says nothing of whether its owner lives. `children` are those of one that has ended.
  template <class Change>
  task<result<edited>> edit_one(std::string id, range_type range, Change& change,
                                std::vector<range_type>& children) {
    for (int tries = 0;; ++tries) {
      auto const stored = co_await store_.read(id, ask_());
      if (!stored && stored.error().code == errc::not_found) co_return edited::gone;
      if (!stored) co_return unexpected{stored.error()};
      auto record = record_type::from_text(source_.scheme(), stored->body);
      if (!record) co_return unexpected{record.error()};
      if (is_void(*record) || !overlaps(record->range, range)) co_return edited::elsewhere;
      bool const is_open = record->facts.phase == lease_phase::open;
      children = record->children;
      auto const before = *record;
      change(*record);
      // It may be so already, also where an answer was lost.
      if (*record == before) co_return is_open ? edited::open : edited::ended;
      std::string const body = record->to_text();
      auto const done = co_await store_.replace(id, body, stored->version, ask_());
      if (done) co_return is_open ? edited::open : edited::ended;
      if (done.error().code == errc::not_found) co_return edited::gone;
      bool const is_worth_it = done.error().code == errc::precondition_failed ||
                               done.error().code == errc::outcome_unknown;
      if (!is_worth_it || tries == most_tries) co_return unexpected{done.error()};
    }
  }
  // Changes all records of a range, and counts those that are open. Ended ones are changed, too,
  // for what comes of them. A list may be old, so what came of those that it shows is looked for.
  template <class Change>
  task<result<std::size_t>> edit(range_type range, Change change) {
    std::size_t count = 0;
    std::set<std::string> seen;
    std::set<std::string> awaited;  // what others are to make of those that have ended
    bool is_all = false;
    for (int tries = 0; tries < most_lists && !is_all; ++tries) {
      auto listing = list(true);
      auto const listed = co_await std::move(listing);
      if (!listed) co_return unexpected{listed.error()};
      is_all = true;
      std::vector<std::string> left{awaited.begin(), awaited.end()};
      for (auto const& record : *listed)
        if (!is_void(record) && overlaps(record.range, range)) left.push_back(id_of(record.range));
      while (!left.empty()) {
        std::string id = std::move(left.back());
        left.pop_back();
        if (seen.contains(id)) continue;
        std::vector<range_type> children;
        auto editing = edit_one(id, range, change, children);
        auto const done = co_await std::move(editing);
        if (!done) co_return unexpected{done.error()};
        if (*done == edited::gone) {
          is_all = false;
          continue;
        }
        seen.insert(std::move(id));
        if (*done == edited::open) ++count;
        for (auto const& child : children) {
          if (!overlaps(child, range)) continue;
          left.push_back(id_of(child));
          awaited.insert(left.back());
        }
      }
    }
    auto bumping = bump();
    result<void> const bumped = co_await std::move(bumping);
    if (!bumped) co_return unexpected{bumped.error()};
    if (!is_all) co_return fail(errc::contended, being_changed);
    co_return count;
  }
  // Lets the owners look.
  task<result<void>> bump() {
    std::string const id = ids_.layout();
    for (int tries = 0;; ++tries) {
      auto const stored = co_await store_.read(id, ask_());
      if (!stored && stored.error().code == errc::not_found) co_return result<void>{};
      if (!stored) co_return unexpected{stored.error()};
      auto layout = layout_record::from_text(stored->body);
      if (!layout) co_return unexpected{layout.error()};
      ++layout->number;
      std::string const body = layout->to_text();
      auto const done = co_await store_.replace(id, body, stored->version, ask_());
      if (done || done.error().code == errc::outcome_unknown ||
          done.error().code == errc::not_found)
        co_return result<void>{};
      if (done.error().code != errc::precondition_failed || tries == most_tries)
        co_return unexpected{done.error()};
    }
  }

  task<result<std::optional<std::uint64_t>>> changes_behind(record_type const& lease) {
    using count_type = std::optional<std::uint64_t>;
    feed_request<token_type> asked;
    asked.start = lease.reset ? *lease.reset : lease.position;
    asked.scope = lease.range;
    asked.page_size = 1;
    feed_progress<typename Source::scheme_type> progress{source_.scheme(), source_.container(),
                                                         std::move(asked)};
    if (!progress.sound()) co_return unexpected{progress.sound().error()};
    count_type changes = 0;
    for (auto question = progress.next(std::nullopt); question != feed_question::none;
         question = progress.next(std::nullopt)) {
      if (question == feed_question::topology) {
        auto answer = co_await source_.topology(progress.version());
        if (!answer) co_return unexpected{answer.error()};
        auto const taken = progress.take(*std::move(answer));
        if (!taken) co_return unexpected{taken.error()};
        continue;
      }
      auto answer = co_await source_.read(progress.range(), progress.from(), progress.request());
      if (!answer) {
        if (progress.absorb(answer.error())) continue;
        co_return unexpected{answer.error()};
      }
      auto const accepted = progress.accept(*answer);
      if (!accepted) co_return unexpected{accepted.error()};
      if (!std::ranges::empty(answer->items)) {
        auto const first = detail::lsn_of(*std::ranges::begin(answer->items));
        if (first && answer->lsn >= *first && changes) {
          *changes += answer->lsn - *first + 1;
        } else {
          changes.reset();
        }
      }
      // One page of each is enough.
      bool const is_known = !std::ranges::empty(answer->items) || answer->nothing_new;
      progress.pass(answer->continuation, is_known, instant{});
    }
    co_return changes;
  }

  static constexpr int most_tries = 32;
  static constexpr int most_lists = 4;
  static constexpr std::string_view being_changed = "leases are being split or merged: ask again";

  Source& source_;
  Store& store_;
  lease_ids ids_;
  std::function<store_request()> ask_;
};

}  // namespace keyspan
