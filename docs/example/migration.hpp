// docs/example/migration.hpp — copies a container into another one with another partition key, by
// its change feed, while it is being written, and compares both. docs/guide/moving_a_container.md
// tells how and why.
//
//   migration all{orders, by_shop, copies, by_city, leases, clock};
//   auto const done = co_await all.run();      done->is_same(): both have the same documents
//
// It may be killed at any moment and started again with the same leases.
#pragma once

#include <keyspan/async/clock.hpp>
#include <keyspan/async/stop_token.hpp>
#include <keyspan/async/task.hpp>
#include <keyspan/async/when_all.hpp>
#include <keyspan/core/error.hpp>
#include <keyspan/core/print.hpp>
#include <keyspan/core/result.hpp>
#include <keyspan/feed/continuation.hpp>
#include <keyspan/feed/feed.hpp>
#include <keyspan/feed/feed_mode.hpp>
#include <keyspan/feed/page_source.hpp>
#include <keyspan/hash/fast64.hpp>
#include <keyspan/key/container_definition.hpp>
#include <keyspan/key/json_documents.hpp>
#include <keyspan/key/key_json.hpp>
#include <keyspan/key/key_value.hpp>
#include <keyspan/key/partition_key.hpp>
#include <keyspan/lease/lease_store.hpp>
#include <keyspan/processor/processor.hpp>
#include <keyspan/range/routing_refresh.hpp>
#include <keyspan/transport/item_batch.hpp>
#include <keyspan/transport/stored.hpp>

#include <nlohmann/json.hpp>

#include <chrono>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace moving {

using document = nlohmann::json;
using keyspan::errc;
using keyspan::error;
using keyspan::key_paths;
using keyspan::partition_key;
using keyspan::result;
using keyspan::task;

// ---- documents ---------------------------------------------------------------------------------

// [region: plain]
/// What its owner wrote: the service's own members are those of one container, and go with it.
inline document plain(document one) {
  for (char const* const name : {"_rid", "_self", "_etag", "_attachments", "_ts", "_lsn"})
    one.erase(name);
  return one;
}
// [end: plain]

/// The same text for the same values, however a service writes them: 5 for 5.0, names in order.
inline void append_words(std::string& to, document const& one) {
  constexpr auto is_whole = [](double value) {
    return std::trunc(value) == value && std::abs(value) < 0x1p53;
  };
  if (one.is_object() || one.is_array()) {
    to.push_back(one.is_object() ? '{' : '[');
    for (auto const& [name, member] : one.items()) {
      if (one.is_object()) to.append(document(name).dump()).push_back(':');
      append_words(to, member);
      to.push_back(',');
    }
    to.push_back(one.is_object() ? '}' : ']');
  } else if (one.is_number_float() && is_whole(one.get<double>())) {
    to.append(std::to_string(static_cast<std::int64_t>(one.get<double>())));
  } else {
    to.append(one.dump());
  }
}
/// A checksum of what is in a document, the same in both containers.
inline std::uint64_t checksum(document const& one) {
  std::string words;
  append_words(words, plain(one));
  keyspan::key_value const value{std::string_view{words}};
  return keyspan::fast64.token_of(std::span{&value, 1});
}

/// Where a document is in a container: its partition key, and its id under it.
struct place {
  partition_key key{};
  std::string id{};

  std::string to_text() const { return keyspan::to_key_json(key.values()) + ' ' + id; }
  friend bool operator==(place const&, place const&) = default;
};
template <class Stored>
place place_of(Stored const& one) {
  return {one.key(), std::string{one.id().string()}};
}

// [region: new_key]
/// The key that a document has at these paths. Errors: `not_a_key` where it has none.
inline result<partition_key> key_at(key_paths const& paths, document const& one) {
  auto const key = paths(one);
  if (!key) return keyspan::unexpected{key.error()};
  for (std::size_t i = 0; i < paths.size(); ++i)
    if ((*key)[i].is_undefined())
      return keyspan::fail(errc::not_a_key, "there is nothing at ", paths[i].to_text());
  return partition_key{*key};
}
// [end: new_key]

/// Whether an error is about this one document, so that it will be the same another time.
inline bool is_its_own(error const& why) {
  switch (why.code) {
    case errc::malformed:
    case errc::invalid_utf8:
    case errc::not_representable:
    case errc::not_a_key:
    case errc::key_mismatch:
    case errc::too_large:
    case errc::bad_request:
      return true;
    default:
      return false;
  }
}

// ---- one document ------------------------------------------------------------------------------

enum class outcome : std::uint8_t { same, created, replaced, removed, collided };

/// How often which outcome was, since the program began.
struct counts {
  std::uint64_t created = 0, replaced = 0, removed = 0, same = 0, collided = 0, parked = 0;

  void count(outcome one) {
    std::uint64_t counts::* const members[]{&counts::same, &counts::created, &counts::replaced,
                                            &counts::removed, &counts::collided};
    ++(this->*members[static_cast<std::size_t>(one)]);
  }
};

/// Makes the copies of single documents what they should be. One thread at a time uses it.
///
/// Whatever it is told, it looks at what there is. So it may be told too late, twice, in any order,
/// and by several at once: what it wrote for an older version is never written over a newer one.
template <class Source, class Target>
class mover {
 public:
  using told = std::function<void(std::string_view what, place const& from, error const& why)>;

  mover(Source& from, key_paths old_key, Target& to, key_paths new_key, told report = {})
      : from_{from},
        to_{to},
        old_key_{std::move(old_key)},
        new_key_{std::move(new_key)},
        report_{std::move(report)} {}

  key_paths const& old_key() const noexcept { return old_key_; }
  key_paths const& new_key() const noexcept { return new_key_; }
  counts const& counted() const noexcept { return counts_; }

  // [region: settle]
  /// Makes what is at a place of the target what one document of the source wants there. Requires
  /// that `from` has the id of `to`.
  task<result<outcome>> settle(place to, place from) {
    for (int attempt = 0; attempt < 50; ++attempt) {
      // First the copy, with its etag, then the original: what is written below is written only
      // where nobody has written a copy since, so it is never older than what it replaces.
      auto looking = found(to_, to);
      auto const copy = co_await std::move(looking);
      if (!copy) co_return keyspan::unexpected{copy.error()};
      auto reading = found(from_, from);
      auto const original = co_await std::move(reading);
      if (!original) co_return keyspan::unexpected{original.error()};

      bool const is_own = *copy && is_copy_of(**copy, from);
      auto const wanted = *original ? key_at(new_key_, **original) : result<partition_key>{};
      result<outcome> done = outcome::same;
      if (*original && wanted && *wanted == to.key) {
        if (*copy && !is_own) {
          auto asking = is_claimed(*copy, to);
          auto const claimed = co_await std::move(asking);
          if (!claimed) co_return keyspan::unexpected{claimed.error()};
          if (*claimed) co_return outcome::collided;
        }
        if (is_own && checksum(**copy) == checksum(**original)) co_return outcome::same;
        auto writing = write(*original, *copy);
        done = co_await std::move(writing);
      } else if (is_own) {
        auto removing = remove(to, *copy);
        done = co_await std::move(removing);
      }
      if (!done && was_overtaken(done.error())) continue;
      // It has moved on: its new place is another one.
      if (done && wanted && *original && *wanted != to.key && *done == outcome::same) {
        to.key = *wanted;
        continue;
      }
      co_return done;
    }
    co_return keyspan::fail(errc::contended, "somebody else writes the same document all the time");
  }
  // [end: settle]

  /// What changed is handled, of a feed of latest versions or of one of all versions. Errors: what
  /// is not about this one document, and so passes.
  template <class Change>
  task<result<void>> handle(Change const& change, bool is_latest) {
    if (!change.item) co_return result<void>{};  // of what is gone nothing is known: see comparison
    auto moving = moved(change, is_latest);
    result<void> const done = co_await std::move(moving);
    if (done || !is_its_own(done.error())) co_return done;
    put_aside(place_of(change.item), done.error());
    co_return result<void>{};
  }

  /// Counts what was done, and reports it where somebody has to know.
  void count(outcome what, place const& from) {
    counts_.count(what);
    if (what == outcome::collided)
      tell("collided", from,
           error{errc::already_exists, "another document has its id under the new key"});
  }
  void put_aside(place const& from, error const& why) {
    ++counts_.parked;
    tell("parked", from, why);
  }

 private:
  using stored_document = keyspan::stored<document>;

  // [region: moved]
  template <class Change>
  task<result<void>> moved(Change const& change, bool is_latest) {
    place const from = place_of(change.item);
    auto const now = key_at(new_key_, *change.item);
    // A feed of all versions tells where it was before.
    auto const before = change.before ? key_at(new_key_, *change.before) : now;
    if (before && (!now || *before != *now)) {
      auto leaving = settled({*before, from.id}, from);
      auto const left = co_await std::move(leaving);
      if (!left) co_return left;
    }
    if (!now) co_return keyspan::unexpected{now.error()};
    if (is_latest) {
      // Most are new: that takes one write, and no read.
      document copy = plain(*change.item);
      auto creating = to_.create(std::move(copy));
      auto const created = co_await std::move(creating);
      if (created) {
        counts_.count(outcome::created);
        co_return result<void>{};
      }
      if (created.error().code != errc::already_exists)
        co_return keyspan::unexpected{created.error()};
    }
    auto settling = settled({*now, from.id}, from);
    auto const done = co_await std::move(settling);
    co_return done;
  }
  // [end: moved]
  task<result<void>> settled(place to, place from) {
    auto settling = settle(std::move(to), from);
    auto const done = co_await std::move(settling);
    if (!done) co_return keyspan::unexpected{done.error()};
    count(*done, from);
    co_return result<void>{};
  }

  // The document at a place, or nothing.
  template <class Container>
  static task<result<stored_document>> found(Container& in, place const& at) {
    auto reading = in.read_item(at.key, at.id);
    auto const read = co_await std::move(reading);
    if (read) co_return read->item;
    if (read.error().code == errc::not_found) co_return stored_document{};
    co_return keyspan::unexpected{read.error()};
  }
  // A copy has all that the original has, so its old key as well.
  bool is_copy_of(document const& copy, place const& from) const {
    auto const key = old_key_(copy);
    return key && partition_key{*key} == from.key;
  }
  // Whether what is there is the copy of another document, which still wants to be there.
  task<result<bool>> is_claimed(stored_document const& copy, place const& at) {
    auto const key = old_key_(*copy);
    if (!key) co_return false;
    place const owner{partition_key{*key}, at.id};
    auto reading = found(from_, owner);
    auto const original = co_await std::move(reading);
    if (!original) co_return keyspan::unexpected{original.error()};
    if (!*original) co_return false;
    auto const wanted = key_at(new_key_, **original);
    bool const is_so = wanted && *wanted == at.key;
    co_return is_so;
  }
  task<result<outcome>> write(stored_document const& original, stored_document const& copy) {
    document made = plain(*original);
    if (!copy) {
      auto creating = to_.create(std::move(made));
      auto const created = co_await std::move(creating);
      if (!created) co_return keyspan::unexpected{created.error()};
      co_return outcome::created;
    }
    keyspan::write_options const unchanged{.if_match = copy.etag()};
    auto replacing = to_.replace(std::move(made), unchanged);
    auto const replaced = co_await std::move(replacing);
    if (!replaced) co_return keyspan::unexpected{replaced.error()};
    co_return outcome::replaced;
  }
  task<result<outcome>> remove(place const& at, stored_document const& copy) {
    keyspan::write_options const unchanged{.if_match = copy.etag()};
    auto removing = to_.remove(at.key, at.id, unchanged);
    auto const removed = co_await std::move(removing);
    if (!removed) co_return keyspan::unexpected{removed.error()};
    co_return outcome::removed;
  }
  static bool was_overtaken(error const& why) {
    return why.code == errc::already_exists || why.code == errc::not_found ||
           why.code == errc::precondition_failed || why.code == errc::outcome_unknown;
  }
  void tell(std::string_view what, place const& from, error const& why) {
    if (report_) report_(what, from, why);
  }

  Source& from_;
  Target& to_;
  key_paths old_key_;
  key_paths new_key_;
  told report_;
  counts counts_{};
};

// [region: handler]
/// What a processor hands its changes to.
template <class Mover>
struct change_mover {
  Mover& all;
  bool is_latest = true;  ///< of a feed of latest versions

  /// Documents of one id in their order, others at the same time.
  std::uint64_t lane_of(auto const& change) {
    return change.item ? std::hash<std::string_view>{}(change.item.id().string()) : 0;
  }
  task<result<void>> process(auto& batch) {
    for (auto const& change : batch) {
      auto handling = all.handle(change, is_latest);
      result<void> const done = co_await std::move(handling);
      if (!done) co_return done;  // all of the batch comes again
    }
    co_return result<void>{};
  }
};
// [end: handler]

// ---- all documents -----------------------------------------------------------------------------

// [region: scan]
/// Sees all documents that were there when it began, however much is written meanwhile: each part
/// is read up to where it was when it was first asked.
template <keyspan::page_source Source, class See>
task<result<void>> scan(Source& in, See see) {
  keyspan::routing_refresh list{in.scheme()};
  while (list.wants_page()) {
    auto asking = in.topology(list.version());
    auto listed = co_await std::move(asking);
    if (!listed) co_return keyspan::unexpected{listed.error()};
    list.take(*std::move(listed));
  }
  auto const& known = list.outcome();
  if (!known) co_return keyspan::unexpected{known.error()};
  using range_type = keyspan::token_range<keyspan::token_of_source<Source>>;
  std::vector<range_type> left;
  for (auto const& one : (*known)->partitions()) left.push_back(one.range);
  while (!left.empty()) {
    keyspan::feed_request<keyspan::token_of_source<Source>> request;
    request.scope = left.back();
    left.pop_back();
    keyspan::feed part{in, std::move(request)};
    auto stream = part.stream();
    std::uint64_t goal = 0;
    while (auto* const page = co_await stream.next_page()) {
      if (!*page) co_return keyspan::unexpected{page->error()};
      for (auto const& change : (*page)->items) see(change);
      auto const now = part.cursor();
      bool const has_split = now.parts.size() > 1;
      if (has_split)  // each by itself, since each has its own end
        for (auto const& one : now.parts) left.push_back(one.range);
      if (goal == 0) goal = (*page)->lsn;
      bool const is_seen = goal != 0 && (*page)->items.back().lsn >= goal;
      if (has_split || is_seen) break;
    }
    co_await stream.close();
  }
  co_return result<void>{};
}
// [end: scan]

/// Whether a container has any document.
template <keyspan::page_source Source>
task<result<bool>> has_documents(Source& in) {
  keyspan::feed_request<keyspan::token_of_source<Source>> request;
  request.page_size = 1;
  keyspan::feed all{in, std::move(request)};
  auto stream = all.stream();
  result<bool> found = false;
  while (auto* const page = co_await stream.next_page()) {
    if (!*page) {
      found = keyspan::unexpected{page->error()};
    } else {
      found = !(*page)->items.empty();
    }
    if (!found || *found) break;
  }
  co_await stream.close();
  co_return found;
}

// [region: is_its_own]
/// Whether a migration may make a target what its source is: nobody's documents are there, or those
/// of a migration with these leases.
template <keyspan::page_source Target, keyspan::lease_store Store>
task<result<bool>> is_its_own_target(Target& to, Store& leases, std::string lease_prefix) {
  // Documents first: one that has just been started elsewhere had leases before it wrote any.
  auto looking = has_documents(to);
  auto const has_any = co_await std::move(looking);
  if (!has_any) co_return keyspan::unexpected{has_any.error()};
  if (!*has_any) co_return true;
  keyspan::store_request const patiently;
  auto listing = leases.list(lease_prefix, patiently);
  auto const known = co_await std::move(listing);
  if (!known) co_return keyspan::unexpected{known.error()};
  bool const is_so = !known->empty();
  co_return is_so;
}
// [end: is_its_own]

/// What a comparison of both containers has found.
struct verification {
  std::uint64_t documents = 0;  ///< of the source
  std::uint64_t copies = 0;     ///< in the target
  std::uint64_t repaired = 0;   ///< copies that were not as they should be, and are now
  /// What both are, whatever the order: the sums of the checksums of all documents.
  std::uint64_t source_sum = 0, target_sum = 0;
  std::map<std::string, std::string> parked{};    ///< by place in the source: why
  std::map<std::string, std::string> collided{};  ///< by place in the source: where it should be

  /// Whether each document was in the target as it is in the source, and nothing else was. Never
  /// where somebody writes while both are read.
  bool is_same() const {
    return repaired == 0 && parked.empty() && collided.empty() && documents == copies &&
           source_sum == target_sum;
  }
};

// [region: verify]
/// Compares both containers, in both directions, and repairs what is not as it should be: documents
/// that are gone, and copies under a key that their originals had before, are told by no feed of
/// latest versions.
template <class Source, class Target>
class comparison {
 public:
  comparison(Source& from, Target& to, mover<Source, Target>& by) : from_{from}, to_{to}, by_{by} {}

  task<result<verification>> run() {
    auto reading = read_source();
    result<void> done = co_await std::move(reading);
    if (!done) co_return keyspan::unexpected{done.error()};
    auto matching = read_target();
    done = co_await std::move(matching);
    if (!done) co_return keyspan::unexpected{done.error()};
    for (auto const& [where, one] : wanted_)
      if (!one.is_there) doubtful_.emplace_back(one.to, one.from);
    // Each by itself: most of them were only written meanwhile.
    for (auto const& [to, from] : doubtful_) {
      auto settling = by_.settle(to, from);
      auto const settled = co_await std::move(settling);
      if (settled) {
        by_.count(*settled, from);
        if (*settled == outcome::collided) found_.collided[from.to_text()] = to.to_text();
        if (*settled != outcome::collided && *settled != outcome::same) ++found_.repaired;
      } else if (is_its_own(settled.error())) {
        found_.parked[from.to_text()] = std::string{settled.error().text.view()};
      } else {
        co_return keyspan::unexpected{settled.error()};
      }
    }
    co_return std::move(found_);
  }
  // [end: verify]

 private:
  struct expected {
    place to, from;
    std::uint64_t sum = 0;
    bool is_there = false;
  };

  task<result<void>> read_source() {
    auto const see = [this](auto const& change) { expect(change.item); };
    auto scanning = scan(from_, see);
    result<void> const done = co_await std::move(scanning);
    found_.documents = wanted_.size() + found_.parked.size() + others_.size();
    for (auto const& [where, one] : wanted_) found_.source_sum += one.sum;
    co_return done;
  }
  // One may come twice, where it is written meanwhile.
  void expect(keyspan::stored<document> const& one) {
    place const from = place_of(one);
    auto const key = key_at(by_.new_key(), *one);
    if (!key) {
      found_.parked[from.to_text()] = std::string{key.error().text.view()};
      return;
    }
    found_.parked.erase(from.to_text());
    place const to{*key, from.id};
    auto const [at, is_new] =
        wanted_.try_emplace(to.to_text(), expected{to, from, checksum(*one), false});
    if (is_new) return;
    if (at->second.from == from) {
      at->second.sum = checksum(*one);
    } else if (others_.insert_or_assign(from.to_text(), to.to_text()).second) {
      doubtful_.emplace_back(to, from);
    }
  }
  task<result<void>> read_target() {
    auto const see = [this](auto const& change) { match(change.item); };
    auto scanning = scan(to_, see);
    result<void> const done = co_await std::move(scanning);
    found_.copies = copies_.size();
    for (auto const& [where, sum] : copies_) found_.target_sum += sum;
    co_return done;
  }
  void match(keyspan::stored<document> const& one) {
    place const to = place_of(one);
    auto const sum = checksum(*one);
    copies_[to.to_text()] = sum;
    auto const key = by_.old_key()(*one);
    if (!key) return;  // no copy of anything
    place const from{partition_key{*key}, to.id};
    auto const at = wanted_.find(to.to_text());
    bool const is_wanted = at != wanted_.end() && at->second.from == from;
    if (is_wanted) at->second.is_there = at->second.sum == sum;
    if (!is_wanted) doubtful_.emplace_back(to, from);
  }

  Source& from_;
  Target& to_;
  mover<Source, Target>& by_;
  verification found_{};
  std::unordered_map<std::string, expected> wanted_{};     // by place in the target
  std::unordered_map<std::string, std::string> others_{};  // that want the same place
  std::unordered_map<std::string, std::uint64_t> copies_{};
  std::vector<std::pair<place, place>> doubtful_{};  // to, from
};

// ---- the migration -----------------------------------------------------------------------------

enum class phase : std::uint8_t { copying, ready, finishing, comparing };

constexpr std::string_view name_of(phase what) {
  constexpr std::string_view names[]{"copying", "ready", "finishing", "comparing"};
  return names[static_cast<std::size_t>(what)];
}

/// Where a migration is.
struct progress {
  phase what = phase::copying;
  counts counted{};
  /// How many changes are not handled; nothing where that is not known yet.
  std::optional<std::uint64_t> behind{};
  /// The last comparison, where there was one.
  verification const* last = nullptr;
};

template <keyspan::token Token>
struct migration_options {
  /// How changes are shared and read; what a migration decides itself is set by it.
  keyspan::processor_options<Token> processing{};
  /// How often it looks how far it is.
  keyspan::instant::duration poll = std::chrono::seconds{1};
  /// How many changes may be not handled yet when both are compared.
  std::uint64_t small_lag = 100;
  /// Goes on when both are the same, until `finish`.
  bool goes_on = false;
  /// Reads the feed of all versions as well, from now on: what is removed or gets another key is
  /// gone from the target at once, and not only after a comparison.
  bool sees_removals = false;
  /// The source is not written any more: handles what is left, compares, and ends.
  keyspan::stop_token finish{};
  /// Leaves everything as it is, for who comes later.
  keyspan::stop_token stop{};
  std::function<void(progress const&)> on_progress{};
  /// A document that cannot be copied, and why.
  std::function<void(std::string_view what, place const& from, error const& why)> on_trouble{};
};

/// All of a migration. Everything that it is given outlives it.
template <keyspan::page_source Source, class Target, keyspan::lease_store Store,
          keyspan::clock Clock>
class migration {
 public:
  using token_type = keyspan::token_of_source<Source>;
  using options_type = migration_options<token_type>;

  migration(Source& from, key_paths old_key, Target& to, key_paths new_key, Store& leases,
            Clock& clock, options_type options = {})
      : from_{from},
        to_{to},
        leases_{leases},
        clock_{clock},
        options_{std::move(options)},
        mover_{from, std::move(old_key), to, std::move(new_key), options_.on_trouble} {}

  // [region: run]
  /// Copies, follows, compares. What it found last; `is_same()` says whether all is well.
  /// Errors: `invalid_options`; `stopped`; those of the processor; those of the containers when
  /// they are compared.
  task<result<verification>> run() {
    auto latest = options_.processing;
    if (auto const good = sound(latest); !good) co_return keyspan::unexpected{good.error()};
    latest.start = keyspan::from_beginning;
    latest.most_attempts = (std::numeric_limits<std::uint32_t>::max)();  // outages pass
    latest.on_stop = keyspan::stop_manner::release;
    auto removals = latest;
    removals.start = keyspan::from_now;
    removals.mode = keyspan::feed_mode::all_versions_and_deletes;
    removals.lease_prefix += "removals.";

    auto following = when_all(follow(std::move(latest), true),
                              follow(std::move(removals), options_.sees_removals), watch());
    auto const [followed, swept, watched] = co_await std::move(following);
    for (auto const* const one : {&followed, &swept, &watched})
      if (!*one) co_return keyspan::unexpected{one->error()};
    // Nothing is on its way any more.
    auto comparing = last_comparison();
    auto found = co_await std::move(comparing);
    co_return found;
  }
  // [end: run]

 private:
  using mover_type = mover<Source, Target>;

  task<result<void>> follow(keyspan::processor_options<token_type> options, bool is_wanted) {
    if (!is_wanted) co_return result<void>{};
    bool const is_latest = options.mode == keyspan::feed_mode::latest_version;
    change_mover<mover_type> handler{mover_, is_latest};
    keyspan::processor sharing{from_, leases_, clock_, std::move(options)};
    auto running = sharing.run(handler, over_.token());
    result<void> const done = co_await std::move(running);
    ended_.request_stop();
    co_return done;
  }

  // Until all is handled, and there will be no more.
  task<result<void>> watch() {
    auto watching = watched();
    result<void> const done = co_await std::move(watching);
    over_.request_stop();
    co_return done;
  }
  task<result<void>> watched() {
    keyspan::lease_control control{from_, leases_, options_.processing.lease_prefix};
    verification last;
    for (progress at;;) {
      auto waiting = wait_for(clock_, options_.poll, ended_.token());
      auto const waited = co_await std::move(waiting);
      if (!waited || options_.stop.stop_requested())
        co_return keyspan::fail(errc::stopped, "the migration was stopped: start it again");
      auto counting = control.lag();
      auto const lag = co_await std::move(counting);
      at.behind = lag && !lag->empty() ? total_lag(*lag) : std::nullopt;
      bool const is_last = !options_.goes_on || options_.finish.stop_requested();
      if (is_last && options_.goes_on) at.what = phase::finishing;
      tell(at);
      if (at.behind == 0U && is_last) co_return result<void>{};
      if (is_last || !at.behind || *at.behind > options_.small_lag) continue;
      if (at.what != phase::copying) continue;

      comparison both{from_, to_, mover_};
      auto comparing = both.run();
      auto found = co_await std::move(comparing);
      if (!found) continue;  // an outage passes, and the comparison is made again
      last = *std::move(found);
      at.last = &last;
      // What was not the same is by now; what is written from now on will not be much.
      if (last.parked.empty() && last.collided.empty()) at.what = phase::ready;
      tell(at);
    }
  }
  task<result<verification>> last_comparison() {
    progress at{.what = phase::comparing, .behind = 0};
    tell(at);
    for (int i = 0;; ++i) {
      comparison both{from_, to_, mover_};
      auto comparing = both.run();
      auto found = co_await std::move(comparing);
      if (found) at.last = &*found;
      tell(at);
      bool const is_repaired = found && found->repaired != 0;
      if (!is_repaired || i == most_comparisons) co_return found;
    }
  }
  void tell(progress& at) {
    at.counted = mover_.counted();
    if (options_.on_progress) options_.on_progress(at);
  }

  static constexpr int most_comparisons = 5;

  Source& from_;
  Target& to_;
  Store& leases_;
  Clock& clock_;
  options_type options_;
  mover_type mover_;
  keyspan::stop_source over_{};   // everything is done, or given up
  keyspan::stop_source ended_{};  // a processor has ended by itself
};

}  // namespace moving
