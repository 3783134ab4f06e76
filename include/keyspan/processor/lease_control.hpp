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
#include <keyspan/lease/lease_facts.hpp>
#include <keyspan/lease/lease_ids.hpp>
#include <keyspan/lease/lease_record.hpp>
#include <keyspan/lease/lease_store.hpp>
#include <keyspan/range/token_range.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <ranges>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace keyspan {

/// How far behind one lease is.
template <token Token>
struct lease_lag {
  lease_record<Token> lease;
  /// How many changes of its range are not handled; none where the source does not number them.
  /// Right from the first moment on, also before anything was handled and behind a split; behind a
  /// merge it counts the changes of all of the partition.
  std::optional<std::uint64_t> changes{};
};

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

}  // namespace detail

/// All leases under one prefix, for who watches and steers: it owns none of them. Source and store
/// outlive it. Requires that one of its tasks runs at a time; make another control for another.
template <page_source Source, lease_store Store>
class lease_control {
 public:
  using token_type = token_of_source<Source>;
  using record_type = lease_record<token_type>;
  using range_type = token_range<token_type>;

  /// Requires `is_lease_prefix(prefix)`.
  lease_control(Source& source, Store& store, std::string prefix = {})
      : source_{source}, store_{store}, ids_{std::move(prefix)} {}

  /// The leases there are, in token order. Ended ones are left out, but for `with_ended`.
  /// Errors: those of the store; those of records that cannot be read.
  task<result<std::vector<record_type>>> list(bool with_ended = false) {
    std::string const leases = ids_.leases();
    auto const found = co_await store_.list(leases, store_request{});
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
    co_return all;
  }
  /// The hosts that there are.
  task<result<std::vector<member_record>>> members() {
    std::string const prefix = ids_.members();
    auto const found = co_await store_.list(prefix, store_request{});
    if (!found) co_return unexpected{found.error()};
    std::vector<member_record> all;
    for (auto const& one : *found) {
      if (ids_.kind_of(one.id) != record_kind::member) continue;
      auto record = member_record::from_text(one.body);
      if (!record) co_return unexpected{record.error()};
      all.push_back(*std::move(record));
    }
    co_return all;
  }

  /// How far behind each lease is: asks the source once for each partition of it.
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
  /// are. Errors: those of the store; `invalid_options` for no reason.
  task<result<std::size_t>> pause(range_type range, std::string why) {
    if (why.empty())
      co_return fail(errc::invalid_options, "say why it is paused: whoever finds it will ask");
    auto editing = edit(range, [&why](record_type& record) {
      record.paused = why;
      return true;
    });
    co_return co_await std::move(editing);
  }
  /// They are handled again, from where they stand, and what was tried too often is tried anew.
  task<result<std::size_t>> resume(range_type range) {
    auto editing = edit(range, [](record_type& record) {
      record.paused.clear();
      record.attempts = {};
      return true;
    });
    co_return co_await std::move(editing);
  }
  /// They are handled from another position on, in the next epoch: what was handled behind it comes
  /// again, what lies before it does not. A cursor has to cover them.
  /// Errors: those of the store, and of a feed that is opened there.
  task<result<std::size_t>> reset(range_type range, feed_start<token_type> start) {
    // Leases that are split or merged meanwhile are looked for once more.
    std::vector<range_type> done;
    for (int tries = 0; tries < most_tries; ++tries) {
      auto listing = list();
      auto const leases = co_await std::move(listing);
      if (!leases) co_return unexpected{leases.error()};
      bool is_new = false;
      for (auto const& lease : *leases) {
        bool const is_done = std::find(done.begin(), done.end(), lease.range) != done.end();
        if (is_done || !overlaps(lease.range, range)) continue;
        is_new = true;
        auto resetting = reset_one(lease, start);
        auto const edited = co_await std::move(resetting);
        if (!edited) co_return edited;
        if (*edited != 0) done.push_back(lease.range);
      }
      if (!is_new) break;
    }
    co_return done.size();
  }

 private:
  task<result<std::size_t>> reset_one(record_type const& lease, feed_start<token_type> start) {
    feed_request<token_type> asked;
    asked.start = std::move(start);
    asked.mode = lease.position.mode;
    asked.scope = lease.range;
    feed<Source> part{source_, std::move(asked)};
    auto opening = part.open_async();
    result<void> const opened = co_await std::move(opening);
    if (!opened) co_return unexpected{opened.error()};
    auto position = part.cursor();
    std::sort(position.parts.begin(), position.parts.end(),
              [](auto const& a, auto const& b) { return a.range < b.range; });
    auto editing = edit(lease.range, [&](record_type& record) {
      if (record.range == lease.range) record.reset = position;
      return record.range == lease.range;
    });
    co_return co_await std::move(editing);
  }

  // Changes records where nobody else has meanwhile. Their stamps stay: it says nothing of whether
  // their owners live.
  template <class Change>
  task<result<std::size_t>> edit(range_type range, Change change) {
    std::string const leases = ids_.leases();
    auto const found = co_await store_.list(leases, store_request{});
    if (!found) co_return unexpected{found.error()};
    std::size_t count = 0;
    for (auto const& listed : *found) {
      if (ids_.kind_of(listed.id) != record_kind::lease) continue;
      for (int tries = 0;; ++tries) {
        auto const stored = co_await store_.read(listed.id, store_request{});
        if (!stored && stored.error().code == errc::not_found) break;
        if (!stored) co_return unexpected{stored.error()};
        auto record = record_type::from_text(source_.scheme(), stored->body);
        if (!record) co_return unexpected{record.error()};
        if (record->facts.phase != lease_phase::open || !overlaps(record->range, range)) break;
        auto const before = *record;
        if (!change(*record)) break;
        if (*record == before) {  // also where an answer was lost
          ++count;
          break;
        }
        std::string const body = record->to_text();
        auto const done =
            co_await store_.replace(listed.id, body, stored->version, store_request{});
        if (done) {
          ++count;
          break;
        }
        bool const is_worth_it = done.error().code == errc::precondition_failed ||
                                 done.error().code == errc::outcome_unknown;
        if (!is_worth_it || tries == most_tries) co_return unexpected{done.error()};
      }
    }
    auto bumping = bump();
    result<void> const bumped = co_await std::move(bumping);
    if (!bumped) co_return unexpected{bumped.error()};
    co_return count;
  }
  // Lets the owners look.
  task<result<void>> bump() {
    std::string const id = ids_.layout();
    for (int tries = 0;; ++tries) {
      auto const stored = co_await store_.read(id, store_request{});
      if (!stored && stored.error().code == errc::not_found) co_return result<void>{};
      if (!stored) co_return unexpected{stored.error()};
      auto layout = layout_record::from_text(stored->body);
      if (!layout) co_return unexpected{layout.error()};
      ++layout->number;
      std::string const body = layout->to_text();
      auto const done = co_await store_.replace(id, body, stored->version, store_request{});
      if (done || done.error().code == errc::outcome_unknown) co_return result<void>{};
      if (done.error().code != errc::precondition_failed || tries == most_tries)
        co_return unexpected{done.error()};
    }
  }

  task<result<std::optional<std::uint64_t>>> changes_behind(record_type const& lease) {
    using count_type = std::optional<std::uint64_t>;
    feed_request<token_type> asked;
    asked.start = lease.position;
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

  Source& source_;
  Store& store_;
  lease_ids ids_;
};

}  // namespace keyspan
