// keyspan/transport/memory_container.hpp — a partitioned container of documents in memory, which
// behaves as a service does: for developing and testing whatever talks to one.
//
//   create upsert replace remove patch execute     writes, with etags
//   read_item  read_many  read (a page_source)     point reads and change feeds
//   split  merge  provision                        partitions that come and go under its users
#pragma once

#include <keyspan/async/ready.hpp>
#include <keyspan/core/contract.hpp>
#include <keyspan/core/error.hpp>
#include <keyspan/core/result.hpp>
#include <keyspan/core/text.hpp>
#include <keyspan/feed/continuation.hpp>
#include <keyspan/feed/feed_mode.hpp>
#include <keyspan/feed/page.hpp>
#include <keyspan/feed/page_source.hpp>
#include <keyspan/feed/read_request.hpp>
#include <keyspan/feed/wall_time.hpp>
#include <keyspan/hash/any_scheme.hpp>
#include <keyspan/hash/hash_scheme.hpp>
#include <keyspan/hash/token.hpp>
#include <keyspan/key/key_value.hpp>
#include <keyspan/key/partition_key.hpp>
#include <keyspan/range/partition.hpp>
#include <keyspan/range/provisioning.hpp>
#include <keyspan/range/published.hpp>
#include <keyspan/range/range_map.hpp>
#include <keyspan/range/routing_refresh.hpp>
#include <keyspan/range/token_range.hpp>
#include <keyspan/transport/event.hpp>
#include <keyspan/transport/item_batch.hpp>
#include <keyspan/transport/item_id.hpp>
#include <keyspan/transport/memory_options.hpp>
#include <keyspan/transport/memory_partition.hpp>
#include <keyspan/transport/retry_policy.hpp>
#include <keyspan/transport/stored.hpp>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <ranges>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace keyspan {

/// The sentence that a compiler shows for what does not say where documents of this type have their
/// keys: a `container_definition` does, as `documents_container` makes it.
template <class D, class T>
concept defines_keys_of = requires(D const& definition, T const& document) {
  { definition.path_count() } -> std::convertible_to<std::size_t>;
  definition.key(document);
  definition.row_key(document);
};

namespace detail {

// What a request costs, in request units: a kilobyte read is one.
inline constexpr double units_of_read = 1;
inline constexpr double units_of_write = 5;

constexpr double units_for(std::uint64_t bytes, double each) {
  return each *
         static_cast<double>((std::max)(std::uint64_t{1}, bytes / 1024 + (bytes % 1024 != 0)));
}

// What a definition gives as a row key: a value, or a key of one that owns its text.
constexpr key_value const& id_in(key_value const& value) { return value; }
constexpr key_value const& id_in(partition_key const& key) { return key[0]; }

}  // namespace detail

/// Documents of type `T`, by partition key and id, in partitions that own ranges of tokens. Every
/// operation answers at once: `co_await` never suspends, and `sync_wait` never blocks for longer
/// than another operation in the same partition takes. What a service would say it says as well:
/// statuses, etags, positions, session tokens, charges, throttling.
///
///   memory_container<review, cosmos_v2_scheme> reviews{cosmos_v2,
///       documents_container<"/article_id">(), {.partitions = 4}};
///   co_await reviews.create(review{"r-1", "redmond", 5});
///   for (auto const& change : feed{reviews}) use(*change);
///
/// All members may be called from any thread at any time. What is done to one document is done in
/// one order, which all see; a batch is seen whole or not at all; the pages of a feed are read
/// without holding writers up for longer than a page takes. An error, and an exception of `T` or of
/// a function that was given, changes nothing; but the hook is told when it is done.
///
/// Errors of all that have a key: `key_mismatch` for one with another number of values than the
/// definition has paths; `throttled`, with the time to wait, where the partition's request units
/// are used up.
template <std::copyable T, hash_scheme Scheme = any_scheme>
class memory_container {
 public:
  using scheme_type = Scheme;
  using token_type = token_of_scheme<Scheme>;
  using range_type = token_range<token_type>;
  using partition_type = partition<token_type>;
  using document_type = T;
  using item_type = change<T>;
  using page_type = page<change<T>>;
  using answer_type = item_answer<T>;
  template <class Answer>
  using answering = ready<result<Answer>>;

  /// An empty container. Its documents have their keys where the definition says.
  template <defines_keys_of<T> Definition>
  memory_container(Scheme scheme, Definition definition, memory_options<T> options = {})
      : scheme_{std::move(scheme)},
        options_{std::move(options)},
        paths_{definition.path_count()},
        request_units_{options_.request_units},
        owners_{first_owners(scheme_, options_.partitions)} {
    expects(options_.page_size > 0, "a page has room for an item");
    container_ = options_.name;
    container_.push_back('-');
    auto const id = detail::etag_text(detail::mixed(options_.seed));
    container_.append(id.view().substr(1, 16));
    place_of_ = [this, keys = std::move(definition)](T const& document) {
      return place_by(keys, document);
    };
  }
  memory_container(memory_container const&) = delete;
  memory_container& operator=(memory_container const&) = delete;

  Scheme const& scheme() const noexcept { return scheme_; }
  /// Its id: the name and what the seed makes.
  std::string const& container() const noexcept { return container_; }

  // ---- one document ----------------------------------------------------------------------------

  /// Writes a document that is new. Errors: `already_exists`; `too_large`; those of the definition.
  answering<answer_type> create(T document) {
    return {write(what::create, std::move(document), {})};
  }
  /// Writes a document, new or not. Errors: `precondition_failed`; `too_large`; those of the
  /// definition.
  answering<answer_type> upsert(T document, write_options options = {}) {
    return {write(what::upsert, std::move(document), options)};
  }
  /// Writes a document that is there. Errors: those of `upsert`; `not_found`.
  answering<answer_type> replace(T document, write_options options = {}) {
    return {write(what::replace, std::move(document), options)};
  }
  /// Takes a document away. Errors: `not_found`; `precondition_failed`.
  template <detail::views_as_key Key, key_input Id>
  answering<answer_type> remove(Key const& key, Id const& id, write_options options = {}) {
    return {removed(detail::view_of_key(key), key_value(id), options)};
  }
  /// Changes a document by a function of it, which may return a `result<void>` whose error is
  /// returned. It is called on a copy, and again where somebody else has written the document
  /// meanwhile. Errors: those of `replace`; `key_mismatch` where it changes the key or the id.
  template <detail::views_as_key Key, key_input Id, patch_of<T> F>
  answering<answer_type> patch(Key const& key, Id const& id, F f, write_options options = {}) {
    return {patched(detail::view_of_key(key), key_value(id), f, options)};
  }
  /// A soft delete: marks a document by a function of it, so that feeds tell of it, and takes it
  /// away after a while. Errors: those of `patch`.
  template <detail::views_as_key Key, key_input Id, patch_of<T> F>
  answering<answer_type> remove_softly(Key const& key, Id const& id, F mark,
                                       std::chrono::milliseconds after,
                                       write_options options = {}) {
    return {patched(detail::view_of_key(key), key_value(id), mark, options, after)};
  }
  /// The document. Errors: `not_found`; `session_not_available`; `bad_request` for a session token
  /// that is none.
  template <detail::views_as_key Key, key_input Id>
  answering<answer_type> read_item(Key const& key, Id const& id, read_options options = {}) {
    return {read_one(detail::view_of_key(key), key_value(id), options)};
  }

  // ---- many documents --------------------------------------------------------------------------

  /// Does all of a batch or nothing. Errors of the whole: `too_large` for more operations or bytes
  /// than a batch may have; `invalid_options` for none; those of the key. What a document or an
  /// operation says alone, another key among it, is the error of that operation.
  answering<batch_answer<T>> execute(item_batch<T> const& work) { return {executed(work)}; }

  /// The documents of these ids, each partition asked once. Each is as it was at a moment, not all
  /// at the same. Errors: those of `token_of`.
  answering<items_answer<T>> read_many(std::span<item_id const> ids) { return {read_all(ids)}; }

  // ---- a page_source ---------------------------------------------------------------------------

  /// The changes of a range, from a position on. Feeds of all versions begin from now or where one
  /// was left. Errors: `range_gone`, status 410/1002; `malformed` for a continuation that this
  /// container never gave; `position_lost` for one further back than versions are kept;
  /// `unsupported`; `session_not_available`; `stopped`. Deadlines are not looked at: an answer
  /// takes no time.
  answering<page_type> read(range_type const& range, continuation const& from,
                            read_request const& request) {
    return {page_for(range, from, request)};
  }
  /// The partitions that were made since the version known and are still there. Errors: `malformed`
  /// for a version that this container never gave.
  answering<partition_page<token_type>> topology(std::string const& known) {
    return {partitions_since(known)};
  }

  // ---- partitions ------------------------------------------------------------------------------

  /// Those there are now, in token order.
  std::vector<partition_type> partitions() const {
    auto const now = owners_.pin();
    std::vector<partition_type> all;
    all.reserve(now->map.size());
    for (auto const& one : now->map.values()) all.push_back(one->who);
    return all;
  }
  /// How many documents there are. One whose time has come counts until its partition is asked for
  /// something.
  std::size_t size() const {
    std::size_t count = 0;
    each_partition([&](own_partition& one) { count += one.size(); });
    return count;
  }
  /// How many bytes they count as.
  std::uint64_t bytes() const {
    std::uint64_t sum = 0;
    each_partition([&](own_partition& one) { sum += one.bytes(); });
    return sum;
  }

  /// Splits a partition so that each part has half of its documents; in the middle where it has too
  /// few to tell. Returns the ids of the parts, in token order. Errors: `unknown_range`;
  /// `invalid_range` where there is no room for two.
  result<std::vector<std::string>> split(std::string_view id)
    requires splittable_scheme<Scheme>
  {
    return divided(id, [&](own_partition& one) { return cuts_of(one, 2, false); });
  }
  /// The same before a token. Errors: `unknown_range`; `invalid_range` for a token that is not
  /// inside.
  result<std::vector<std::string>> split(std::string_view id, token_type const& at) {
    return divided(id, [&](own_partition& one) -> result<std::vector<token_type>> {
      range_type const& range = one.who.range;
      if (range.contains(at) && range.lower() < at) return std::vector<token_type>{at};
      return unexpected{refusal(errc::invalid_range, 400, "partition ", inline_text<24>{id},
                                " cannot be cut at ", detail::text_of_token(at),
                                ", which is not inside of it")};
    });
  }
  /// Merges two partitions that are neighbours, in any order. Returns the id of the one that has
  /// all of it. Errors: `unknown_range`; `invalid_range` for others than neighbours.
  result<std::string> merge(std::string_view one, std::string_view other) {
    return united(one, other);
  }
  /// Provides so many request units a second, 0 for no limit, and splits what has to be split for
  /// that. Returns how many partitions there are then. Errors: those of `split`.
  result<std::size_t> provision(std::uint64_t request_units)
    requires splittable_scheme<Scheme>
  {
    request_units_.store(request_units, std::memory_order_relaxed);
    return split_where_needed();
  }
  /// Splits the partitions that are full, and as many others as the request units need. A full one
  /// whose documents are all of one key, or of keys with one token, stays as it is. Returns how
  /// many partitions there are then. Errors: those of `split`.
  result<std::size_t> split_where_needed()
    requires splittable_scheme<Scheme>
  {
    std::vector<std::pair<std::string, std::size_t>> splits;
    auto const split_all = [&]() -> result<std::size_t> {
      std::lock_guard const lock{structure_};
      auto const now = owners_.pin();
      std::vector<std::uint64_t> held;
      held.reserve(now->map.size());
      for (auto const& one : now->map.values()) {
        std::lock_guard const own{one->mutex};
        held.push_back(one->bytes());
      }
      auto const units = request_units_.load(std::memory_order_relaxed);
      for (planned_split const& needed : splits_needed(held, units, options_.limits)) {
        auto const& one = now->map.values()[needed.index];
        bool const is_full = held[needed.index] >= options_.limits.partition_bytes;
        auto const parts = divide_locked(
            *one, [&](own_partition& each) { return cuts_of(each, needed.parts, is_full); });
        if (!parts && !is_full) return unexpected{parts.error()};
        if (parts) splits.emplace_back(one->who.id, parts->size());
      }
      return owners_.pin()->map.size();
    };
    auto const count = split_all();
    for (auto const& [id, parts] : splits) tell_topology(event_kind::split, id, parts);
    return count;
  }

 private:
  using what = detail::item_operation;
  using own_partition = detail::memory_partition<T, token_type>;
  using version = typename own_partition::version;
  using pointer = typename own_partition::pointer;
  using planned_write = typename own_partition::write;
  using own_pointer = std::shared_ptr<own_partition>;
  struct owners {
    range_map<token_type, own_pointer> map;
    std::uint64_t made;  // how many partitions there ever were
  };
  // Where a document belongs, and what it is called there.
  struct item_place {
    token_type token;
    std::string name;
  };

  static owners first_owners(Scheme const& scheme, std::size_t partitions) {
    expects(partitions > 0, "a container has one partition at least");
    expects(partitions == 1 || splittable_scheme<Scheme>,
            "only a scheme that shares its space out has several partitions from the beginning");
    range_type const whole = whole_space(scheme);
    std::vector<range_type> ranges{whole};
    if constexpr (splittable_scheme<Scheme>) {
      std::vector<token_type> cuts;
      for (std::size_t i = 1; i < partitions; ++i) cuts.push_back(scheme.boundary(i, partitions));
      ranges = keyspan::split(whole, std::span<token_type const>{cuts});
    }
    std::vector<owned_range<token_type, own_pointer>> owned;
    for (range_type const& range : ranges)
      owned.push_back({range, made_partition({std::to_string(owned.size()), range}, owned.size())});
    auto map = range_map<token_type, own_pointer>::from_ranges(std::move(owned), whole);
    return {*std::move(map), partitions};
  }
  static own_pointer made_partition(partition_type who, std::uint64_t number) {
    return std::make_shared<own_partition>(std::move(who), number);
  }

  wall_time now() const {
    if (options_.now) return options_.now();
    return std::chrono::floor<std::chrono::milliseconds>(std::chrono::system_clock::now());
  }

  // ---- errors and events -----------------------------------------------------------------------

  template <class... Pieces>
  error refusal(own_partition& own, errc code, std::uint16_t status, Pieces const&... why) const {
    error made{code, why...};
    made.wire.status = status;
    made.wire.attempts = 1;
    made.wire.activity_id = activity(own);
    made.wire.endpoint = inline_text<80>{std::string_view{options_.name}};
    return made;
  }
  template <class... Pieces>
  error refusal(errc code, std::uint16_t status, Pieces const&... why) const {
    error made{code, why...};
    made.wire.status = status;
    made.wire.attempts = 1;
    made.wire.endpoint = inline_text<80>{std::string_view{options_.name}};
    return made;
  }
  // What a definition or a scheme says, told as a service tells it.
  error asked_wrongly(error why) const {
    why.wire = refusal(why.code, 400).wire;
    return why;
  }
  static inline_text<36> activity(own_partition& own) {
    return {std::string_view{own.who.id}, "-", own.operation()};
  }

  // What an operation did, told when nothing is locked any more.
  struct told {
    std::string_view operation;
    instant began{};  // where there is somebody to be told
    inline_text<24> partition{};
    std::uint64_t number = 0;  // of the operation in its partition
    std::size_t items = 0;
    std::size_t expired = 0;
    bool is_full = false;
  };
  told begin(std::string_view operation) const {
    told about{operation};
    if (options_.on_event) about.began = moment();
    return about;
  }
  // Times that are given for a test are all there are.
  instant moment() const {
    return options_.now ? instant{options_.now().time_since_epoch()}
                        : std::chrono::steady_clock::now();
  }
  template <class Answer>
  void tell(told const& about, result<Answer> const& answer) {
    if (!options_.on_event) return;
    if (about.expired != 0)
      options_.on_event({.kind = event_kind::expired,
                         .partition = about.partition,
                         .endpoint = options_.name,
                         .items = about.expired});
    event happened{.kind = event_kind::answered,
                   .operation = about.operation,
                   .partition = about.partition,
                   .endpoint = options_.name,
                   .items = about.items,
                   .elapsed = moment() - about.began};
    inline_text<36> activity;
    if (!about.partition.empty()) activity = {about.partition, "-", about.number};
    happened.activity_id = activity;
    if (answer) {
      happened.charge = answer->charge;
      happened.status = 200;
      if constexpr (requires { answer->status; }) happened.status = answer->status;
      if constexpr (requires { answer->operations; })
        for (auto const& one : answer->operations)
          if (!one && one.error().code != errc::not_attempted) tell_failure(happened, one.error());
    } else {
      happened.charge = answer.error().wire.charge;
      tell_failure(happened, answer.error());
    }
    options_.on_event(happened);
  }
  static void tell_failure(event& happened, error const& why) {
    happened.kind = event_kind::failed;
    happened.status = why.wire.status;
    happened.code = why.code;
    happened.substatus = why.wire.substatus;
    if (!why.wire.activity_id.empty()) happened.activity_id = why.wire.activity_id;
  }
  void tell_topology(event_kind kind, std::string_view id, std::size_t parts) {
    if (options_.on_event)
      options_.on_event({.kind = kind, .partition = id, .endpoint = options_.name, .items = parts});
  }

  // ---- where things are ------------------------------------------------------------------------

  template <class Definition>
  result<item_place> place_by(Definition const& definition, T const& document) const {
    auto const key = definition.key(document);
    if (!key) return unexpected{asked_wrongly(key.error())};
    auto const row = definition.row_key(document);
    if (!row) return unexpected{asked_wrongly(row.error())};
    return place(detail::view_of_key(*key), detail::id_in(*row));
  }
  result<item_place> place(partition_key_view const& key, key_value const& id) const {
    detail::item_name const name{key, id};
    auto token = token_in(key);
    if (!token) return unexpected{token.error()};
    return item_place{*std::move(token), std::string{name.view()}};
  }
  result<token_type> token_in(partition_key_view const& key) const {
    if (key.size() != paths_) [[unlikely]]
      return unexpected{refusal(errc::key_mismatch, 400, "too ",
                                key.size() < paths_ ? "few" : "many", " values: the key has ",
                                key.size(), ", the container has ", paths_,
                                paths_ == 1 ? " path" : " paths")};
    result<token_type> const token = token_of(scheme_, key);
    if (!token) return unexpected{asked_wrongly(token.error())};
    return token;
  }

  // Calls `f` with the partition that owns a token, locked, and its time up to now.
  template <class F>
  auto at_owner(token_type const& token, told& about, F const& f) {
    wall_time const time = now();
    for (;;) {
      auto const seen = owners_.pin();
      own_partition& own = *seen->map.at(token);
      std::lock_guard const lock{own.mutex};
      if (own.is_gone) continue;
      about.partition = inline_text<24>{std::string_view{own.who.id}};
      about.number = own.begin_operation();
      about.expired += own.live_until(time, options_.keeps_versions);
      return f(own, seen->map.size());
    }
  }
  template <class F>
  void each_partition(F const& f) const {
    std::unique_lock structure{structure_};
    auto const all = owners_.pin();
    for (auto const& one : all->map.values()) {
      std::lock_guard const lock{one->mutex};
      f(*one);
    }
  }

  static double share_of(std::uint64_t units, std::size_t partitions) {
    return static_cast<double>(units) / static_cast<double>(partitions);
  }
  // Whether the partition has units left; of as many as there are it has its share.
  std::optional<error> throttled(own_partition& own, std::size_t partitions) const {
    auto const units = request_units_.load(std::memory_order_relaxed);
    if (units == 0) {
      own.forget_charges();
      return std::nullopt;
    }
    auto const wait = own.refill(share_of(units, partitions));
    if (wait.count() == 0) return std::nullopt;
    error why = refusal(own, errc::throttled, 429, "partition ", std::string_view{own.who.id},
                        " has used its share of ", units, " request units a second");
    why.wire.substatus = 3200;
    why.wire.retry_after_ms = static_cast<std::uint32_t>((std::min)(
        std::int64_t{wait.count()}, std::int64_t{(std::numeric_limits<std::uint32_t>::max)()}));
    return why;
  }

  // ---- session tokens: "3:17", or several of them with commas between ---------------------------

  static std::string session_token(own_partition const& own) {
    return std::string{inline_text<48>{std::string_view{own.who.id}, ":", own.lsn()}.view()};
  }
  // That this partition has seen what the token tells of it and of those that it came from.
  std::optional<error> behind_session(own_partition& own, std::string_view token) const {
    while (!token.empty()) {
      std::string_view const one = token.substr(0, token.find(','));
      token.remove_prefix((std::min)(token.size(), one.size() + 1));
      std::size_t const colon = one.find(':');
      std::uint64_t lsn = 0;
      char const* const end = one.data() + one.size();
      bool const is_one = colon != one.npos && colon != 0;
      auto const read = is_one ? std::from_chars(one.data() + colon + 1, end, lsn)
                               : std::from_chars_result{end, std::errc::invalid_argument};
      if (read.ec != std::errc{} || read.ptr != end)
        return refusal(own, errc::bad_request, 400, "a session token is such as 3:17, not \"",
                       one.substr(0, 40), "\"");
      std::string_view const id = one.substr(0, colon);
      bool const is_about_it =
          id == own.who.id ||
          std::find(own.who.parents.begin(), own.who.parents.end(), id) != own.who.parents.end();
      if (!is_about_it || lsn <= own.lsn()) continue;
      error why =
          refusal(own, errc::session_not_available, 404, "partition ", std::string_view{own.who.id},
                  " has come to ", own.lsn(), ", the session to ", lsn);
      why.wire.substatus = 1002;
      return why;
    }
    return std::nullopt;
  }

  // ---- writing ---------------------------------------------------------------------------------

  // What will be written when all of it turns out to be possible.
  struct plan {
    std::vector<planned_write> writes{};

    pointer find(own_partition const& own, std::string_view name) const {
      for (auto at = writes.rbegin(); at != writes.rend(); ++at) {
        if (at->now && at->now->name == name) return at->now;
        if (!at->now && at->before->name == name) return nullptr;
      }
      return own.find(name);
    }
  };

  // A version that is yet to be written, made while nothing is locked.
  result<pointer> prepare(T document,
                          std::optional<std::chrono::milliseconds> time_to_live = {}) const {
    auto const found = place_of_(document);
    if (!found) return unexpected{found.error()};
    std::size_t const bytes = options_.size_of ? options_.size_of(document) : 1024;
    if (bytes > options_.largest_document)
      return unexpected{refusal(errc::too_large, 413, id_text(found->name), " has ", bytes,
                                " bytes, ", options_.largest_document, " are the most")};
    if (!time_to_live && options_.time_to_live_of)
      time_to_live = options_.time_to_live_of(document);
    if (!time_to_live) time_to_live = options_.time_to_live;
    return std::make_shared<version>(std::move(document), found->name, found->token, bytes,
                                     time_to_live);
  }

  // Of a write at this position, the so many'th of its batch.
  std::uint64_t etag_at(std::uint64_t lsn, std::size_t number) const noexcept {
    return detail::mixed(detail::mixed(options_.seed) ^ (lsn << 16 | (number & 0xFFFF)));
  }

  // One write, as far as it depends on what is there. Answers with what it is about.
  result<answer_type> planned(own_partition& own, plan& to, what kind, std::string_view name,
                              pointer now, std::string_view if_match) const {
    pointer before = to.find(own, name);
    if (before && kind == what::create)
      return unexpected{refusal(own, errc::already_exists, 409, id_text(name), " exists already")};
    if (!before && kind != what::create && kind != what::upsert)
      return unexpected{no_item(own, name)};
    if (!if_match.empty() && (!before || detail::etag_text(before->etag) != if_match))
      return unexpected{refusal(own, errc::precondition_failed, 412, id_text(name),
                                before ? " was changed meanwhile: its etag is " : " is not there",
                                before ? detail::etag_text(before->etag) : inline_text<24>{})};
    answer_type answer;
    answer.partition = inline_text<24>{std::string_view{own.who.id}};
    if (!now) {
      answer.item = stored<T>{before};
      answer.status = 204;
      answer.charge = detail::units_for(before->bytes, detail::units_of_write);
      to.writes.push_back({change_kind::removed, nullptr, std::move(before)});
      return answer;
    }
    now->etag = etag_at(own.next_lsn(), to.writes.size());
    answer.item = stored<T>{now};
    answer.status = before ? 200 : 201;
    answer.charge = detail::units_for(now->bytes, detail::units_of_write);
    auto const happened = before ? change_kind::replaced : change_kind::created;
    to.writes.push_back({happened, std::move(now), std::move(before)});
    return answer;
  }
  static inline_text<72> id_text(std::string_view name) {
    key_value const id = detail::named_item{name}.id;
    if (!id.is_string()) return inline_text<72>{std::string_view{"this item"}};
    return {"item \"", id.string().substr(0, 60), "\""};
  }
  static inline_text<48> key_text(std::string_view name) {
    return inline_text<48>{detail::named_item{name}.key.to_text()};
  }
  error no_item(own_partition& own, std::string_view name) const {
    return refusal(own, errc::not_found, 404, "there is no ", id_text(name), " under the key ",
                   key_text(name));
  }

  // Looking whether something can be done costs as much as a read.
  static unexpected paid(own_partition& own, error why) {
    own.charge(detail::units_of_read);
    why.wire.charge = detail::units_of_read;
    return unexpected{why};
  }

  // Makes what was planned, and answers for all of it.
  void carry_out(own_partition& own, plan const& planned, double charge, told& about) const {
    own.commit(planned.writes, options_.keeps_versions.has_value());
    own.charge(charge);
    about.is_full =
        options_.splits_when_full && own.has_become_full(options_.limits.partition_bytes);
  }

  template <class Prepare>
  result<answer_type> write_at(token_type const& token, told& about, Prepare const& prepare_in) {
    auto answer =
        at_owner(token, about, [&](own_partition& own, std::size_t count) -> result<answer_type> {
          if (auto const why = throttled(own, count)) return unexpected{*why};
          plan all;
          result<answer_type> made = prepare_in(own, all);
          if (!made) return paid(own, made.error());
          carry_out(own, all, made->charge, about);
          made->session_token = session_token(own);
          about.items = 1;
          return made;
        });
    finish(about, answer);
    return answer;
  }
  template <class Answer>
  void finish(told const& about, result<Answer> const& answer) {
    tell(about, answer);
    if constexpr (splittable_scheme<Scheme>) {
      // What cannot be split stays as it is: the write is done.
      if (about.is_full) static_cast<void>(split_where_needed());
    }
  }

  result<answer_type> write(what kind, T document, write_options options) {
    told about = begin(name_of(kind));
    auto prepared = prepare(std::move(document));
    if (!prepared) return refused(about, prepared.error());
    pointer const& now = *prepared;
    return write_at(now->token, about, [&](own_partition& own, plan& all) {
      return planned(own, all, kind, now->name, now, options.if_match);
    });
  }
  result<answer_type> removed(partition_key_view const& key, key_value const& id,
                              write_options options) {
    told about = begin(name_of(what::remove));
    auto const found = place(key, id);
    if (!found) return refused(about, found.error());
    return write_at(found->token, about, [&](own_partition& own, plan& all) {
      return planned(own, all, what::remove, found->name, nullptr, options.if_match);
    });
  }
  template <class F>
  result<answer_type> patched(partition_key_view const& key, key_value const& id, F& f,
                              write_options options,
                              std::optional<std::chrono::milliseconds> time_to_live = {}) {
    told about = begin(name_of(what::patch));
    auto const found = place(key, id);
    if (!found) return refused(about, found.error());
    for (;;) {
      auto seen = at_owner(
          found->token, about, [&](own_partition& own, std::size_t count) -> result<pointer> {
            if (auto const why = throttled(own, count)) return unexpected{*why};
            pointer there = own.find(found->name);
            if (there &&
                (options.if_match.empty() || detail::etag_text(there->etag) == options.if_match))
              return there;
            plan none;
            auto const why =
                planned(own, none, what::patch, found->name, nullptr, options.if_match);
            return paid(own, why.error());
          });
      if (!seen) return refused(about, seen.error());
      T changed = (*seen)->document;
      if (auto const done = detail::patched(changed, f); !done) return refused(about, done.error());
      auto prepared = prepare(std::move(changed), time_to_live);
      if (!prepared) return refused(about, prepared.error());
      if ((*prepared)->name != found->name) return refused(about, moved(found->name));
      bool is_overtaken = false;
      auto const etag = detail::etag_text((*seen)->etag);
      auto answer = at_owner(
          found->token, about, [&](own_partition& own, std::size_t count) -> result<answer_type> {
            if (auto const why = throttled(own, count)) return unexpected{*why};
            plan all;
            auto made = planned(own, all, what::patch, found->name, *prepared, etag);
            is_overtaken = !made && options.if_match.empty();
            if (is_overtaken) return made;
            if (!made) return paid(own, made.error());
            carry_out(own, all, made->charge, about);
            made->session_token = session_token(own);
            about.items = 1;
            return made;
          });
      if (is_overtaken) continue;
      finish(about, answer);
      return answer;
    }
  }
  error moved(std::string_view name) const {
    return refusal(errc::key_mismatch, 400, "a patch changed the partition key or the id of ",
                   id_text(name), ": remove it and create it anew");
  }
  unexpected refused(told const& about, error const& why) {
    tell(about, result<answer_type>{unexpected{why}});
    return unexpected{why};
  }

  // ---- batches ---------------------------------------------------------------------------------

  result<batch_answer<T>> executed(item_batch<T> const& work) {
    told about = begin("execute");
    auto answer = executed(work, about);
    if (answer && answer->is_done()) about.items = work.size();
    finish(about, answer);
    return answer;
  }
  result<batch_answer<T>> executed(item_batch<T> const& work, told& about) {
    if (work.empty())
      return unexpected{refusal(errc::invalid_options, 400, "a batch has an operation at least")};
    if (work.size() > options_.most_operations)
      return unexpected{refusal(errc::too_large, 413, "a batch has ", options_.most_operations,
                                " operations at most, this one ", work.size())};
    partition_key_view const key{work.key()};
    auto const token = token_in(key);
    if (!token) return unexpected{token.error()};
    detail::item_name const prefix{key};
    // What needs no lock first: the documents as they will be stored.
    std::vector<result<pointer>> prepared;
    prepared.reserve(work.size());
    std::uint64_t bytes = 0;
    for (auto const& one : work.operations()) {
      prepared.push_back(pointer{});
      if (!one.document) continue;
      prepared.back() = prepare(*one.document);
      if (!prepared.back()) continue;
      bytes += (*prepared.back())->bytes;
      std::string_view const name = (*prepared.back())->name;
      if (!name.starts_with(prefix.view()))
        prepared.back() = unexpected{
            refusal(errc::key_mismatch, 400, id_text(name), " has the key ", key_text(name),
                    " and the batch another one: put it into a batch of its own key")};
    }
    if (bytes > options_.largest_batch)
      return unexpected{refusal(errc::too_large, 413, "a batch has ", options_.largest_batch,
                                " bytes at most, this one ", bytes)};
    return at_owner(*token, about,
                    [&](own_partition& own, std::size_t count) -> result<batch_answer<T>> {
                      if (auto const why = throttled(own, count)) return unexpected{*why};
                      return done_together(own, work, prepared, about);
                    });
  }
  result<batch_answer<T>> done_together(own_partition& own, item_batch<T> const& work,
                                        std::vector<result<pointer>> const& prepared, told& about) {
    batch_answer<T> answer;
    answer.operations.reserve(work.size());
    plan all;
    for (std::size_t i = 0; i < work.size(); ++i) {
      auto one = planned_in_batch(own, all, work, i, prepared[i]);
      if (!one) {
        error why = one.error();
        why.text = inline_text<160>{"operation ", i, ": ", why.text};
        auto const others = unexpected{refusal(errc::not_attempted, 424, "operation ", i,
                                               " of the same batch failed: ", name_of(why.code))};
        answer.operations.assign(work.size(), others);
        answer.operations[i] = unexpected{why};
        answer.charge = detail::units_of_read;
        own.charge(answer.charge);
        return answer;
      }
      answer.charge += one->charge;
      answer.operations.push_back(*std::move(one));
    }
    carry_out(own, all, answer.charge, about);
    for (auto& one : answer.operations) one->session_token = session_token(own);
    return answer;
  }
  result<answer_type> planned_in_batch(own_partition& own, plan& all, item_batch<T> const& work,
                                       std::size_t number, result<pointer> const& prepared) {
    if (!prepared) return unexpected{prepared.error()};
    auto const& one = work.operations()[number];
    if (*prepared) return planned(own, all, one.what, (*prepared)->name, *prepared, one.if_match);
    detail::item_name const name{partition_key_view{work.key()}, one.id[0]};
    if (one.what == what::remove)
      return planned(own, all, one.what, name.view(), nullptr, one.if_match);
    pointer const seen = all.find(own, name.view());
    if (!seen) return unexpected{no_item(own, name.view())};
    if (one.what == what::read) {
      answer_type answer;
      answer.item = stored<T>{seen};
      answer.partition = inline_text<24>{std::string_view{own.who.id}};
      answer.charge = detail::units_for(seen->bytes, detail::units_of_read);
      return answer;
    }
    T changed = seen->document;
    if (auto const done = one.patch(changed); !done) return unexpected{done.error()};
    auto made = prepare(std::move(changed));
    if (!made) return unexpected{made.error()};
    if ((*made)->name != name.view()) return unexpected{moved(name.view())};
    return planned(own, all, what::patch, name.view(), *made, one.if_match);
  }

  // ---- reading ---------------------------------------------------------------------------------

  result<answer_type> read_one(partition_key_view const& key, key_value const& id,
                               read_options options) {
    told about = begin(name_of(what::read));
    auto const token = token_in(key);
    if (!token) return refused(about, token.error());
    detail::item_name const name{key, id};
    auto answer =
        at_owner(*token, about, [&](own_partition& own, std::size_t count) -> result<answer_type> {
          if (auto const why = throttled(own, count)) return unexpected{*why};
          if (!options.session_token.view().empty())
            if (auto const why = behind_session(own, options.session_token.view()))
              return unexpected{*why};
          pointer found = own.find(name.view());
          if (!found) return paid(own, no_item(own, name.view()));
          answer_type made;
          made.charge = detail::units_for(found->bytes, detail::units_of_read);
          made.item = stored<T>{std::move(found)};
          made.partition = about.partition;
          made.session_token = session_token(own);
          own.charge(made.charge);
          return made;
        });
    about.items = answer ? 1 : 0;
    finish(about, answer);
    return answer;
  }

  result<items_answer<T>> read_all(std::span<item_id const> ids) {
    told about = begin("read_many");
    auto answer = read_all(ids, about);
    if (answer)
      for (auto const& item : answer->items) about.items += item ? 1u : 0u;
    finish(about, answer);
    return answer;
  }
  result<items_answer<T>> read_all(std::span<item_id const> ids, told& about) {
    items_answer<T> answer;
    answer.items.resize(ids.size());
    std::vector<std::pair<token_type, std::size_t>> wanted;
    wanted.reserve(ids.size());
    for (std::size_t i = 0; i < ids.size(); ++i) {
      auto token = token_in(partition_key_view{ids[i].key});
      if (!token) {
        error why = token.error();
        why.text = inline_text<160>{"item ", i, ": ", why.text};
        return unexpected{why};
      }
      wanted.emplace_back(*std::move(token), i);
    }
    std::sort(wanted.begin(), wanted.end(), [](auto const& a, auto const& b) {
      return a.first < b.first || (!(b.first < a.first) && a.second < b.second);
    });
    for (std::size_t next = 0; next < wanted.size();) {
      auto const read = at_owner(
          wanted[next].first, about, [&](own_partition& own, std::size_t count) -> result<void> {
            if (auto const why = throttled(own, count)) return unexpected{*why};
            double charge = 0;
            for (; next < wanted.size() && own.who.range.contains(wanted[next].first); ++next) {
              std::size_t const i = wanted[next].second;
              key_value const id{ids[i].id};
              detail::item_name const name{partition_key_view{ids[i].key}, id};
              pointer found = own.find(name.view());
              charge += detail::units_for(found ? found->bytes : 0, detail::units_of_read);
              if (found) answer.items[i] = stored<T>{std::move(found)};
            }
            own.charge(charge);
            answer.charge += charge;
            return {};
          });
      if (!read) {
        error why = read.error();
        why.wire.charge = answer.charge;  // of the partitions before
        return unexpected{why};
      }
    }
    about.partition = {};
    return answer;
  }

  // ---- feeds -----------------------------------------------------------------------------------

  // A position in quotes, as a service's: "17".
  static std::string position_text(std::uint64_t lsn) {
    std::string text{"\""};
    return text.append(std::to_string(lsn)).append("\"");
  }
  static std::optional<std::uint64_t> position_of(std::string_view text) {
    if (text.size() < 3 || text.front() != '"' || text.back() != '"') return std::nullopt;
    std::uint64_t lsn = 0;
    char const* const end = text.data() + text.size() - 1;
    auto const read = std::from_chars(text.data() + 1, end, lsn);
    if (read.ec != std::errc{} || read.ptr != end || position_text(lsn) != text)
      return std::nullopt;
    return lsn;
  }

  result<page_type> page_for(range_type const& range, continuation const& from,
                             read_request const& request) {
    told about = begin("feed");
    result<page_type> answer = page_in(range, from, request, about);
    if (answer) about.items = answer->items.size();
    finish(about, answer);
    return answer;
  }
  result<page_type> page_in(range_type const& range, continuation const& from,
                            read_request const& request, told& about) {
    if (request.stop.stop_requested()) return fail(errc::stopped, "the read was stopped");
    expects(detail::is_own_token(scheme_, range.lower()) && range.lower() >= scheme_.minimum(),
            "a source is asked for ranges of its scheme");
    if (request.key)
      if (auto const token = token_in(partition_key_view{*request.key}); !token)
        return unexpected{token.error()};
    return at_owner(range.lower(), about,
                    [&](own_partition& own, std::size_t count) -> result<page_type> {
                      if (auto const why = gone_for(own, range, request)) return unexpected{*why};
                      if (auto const why = throttled(own, count)) return unexpected{*why};
                      if (!request.session_token.empty())
                        if (auto const why = behind_session(own, request.session_token))
                          return unexpected{*why};
                      return page_of(own, range, from, request);
                    });
  }
  std::optional<error> gone_for(own_partition& own, range_type const& range,
                                read_request const& request) const {
    error why{errc::range_gone};
    if (!own.who.range.contains(range)) {
      why = refusal(own, errc::range_gone, 410, "the range from ",
                    detail::text_of_token(range.lower()), " to ",
                    detail::text_of_token(range.upper()), " is not inside of one partition");
    } else if (!request.partition.empty() && request.partition != own.who.id) {
      why = refusal(own, errc::range_gone, 410, "partition ", request.partition.substr(0, 24),
                    " does not own the range, partition ", std::string_view{own.who.id}, " does");
    } else {
      return std::nullopt;
    }
    why.wire.substatus = 1002;
    return why;
  }
  result<page_type> page_of(own_partition& own, range_type const& range, continuation const& from,
                            read_request const& request) const {
    bool const is_history = request.mode == feed_mode::all_versions_and_deletes;
    if (is_history && !options_.keeps_versions)
      return unexpected{refusal(own, errc::unsupported, 400,
                                "this container keeps no versions: set keeps_versions, or read the "
                                "latest ones")};
    if (is_history && from.is_start() && from.start() != start_kind::now)
      return unexpected{refusal(own, errc::unsupported, 400,
                                "a feed of all versions begins from now, or where one was left")};
    auto const behind = behind_of(own, from);
    if (!behind)
      return unexpected{refusal(own, errc::malformed, 400,
                                "this container never gave the continuation ",
                                std::string_view{from.text()}.substr(0, 40))};
    if (is_history && !own.remembers(range, *behind))
      return unexpected{refusal(own, errc::position_lost, 410, "versions behind ", *behind,
                                " are no longer kept: begin from now")};

    std::optional<detail::item_name> key;
    if (request.key) key.emplace(partition_key_view{*request.key});
    std::optional<wall_time> since;
    if (from.start() == start_kind::time) since = from.time();
    typename own_partition::asked const asked{
        .range = range,
        .is_whole = range == own.who.range,
        .key_prefix = key ? key->view() : std::string_view{},
        .behind = *behind,
        .since = since,
        .most = request.page_size != 0 ? request.page_size : options_.page_size};
    page_type made;
    auto const found =
        is_history ? own.read_history(asked, made.items) : own.read_latest(asked, made.items);
    made.continuation = position_text(found.reached);
    made.nothing_new = found.nothing_new;
    made.charge = detail::units_for(found.bytes, detail::units_of_read);
    made.lsn = own.lsn();
    made.activity_id = activity(own);
    made.endpoint = inline_text<80>{std::string_view{options_.name}};
    made.session_token = session_token(own);
    own.charge(made.charge);
    return made;
  }
  static std::optional<std::uint64_t> behind_of(own_partition const& own,
                                                continuation const& from) {
    if (from.is_start()) return from.start() == start_kind::now ? own.lsn() : 0;
    auto const position = position_of(from.text());
    return position && *position <= own.lsn() ? position : std::nullopt;
  }

  result<partition_page<token_type>> partitions_since(std::string const& known) const {
    auto const since = known.empty() ? std::optional<std::uint64_t>{0} : position_of(known);
    auto const all = owners_.pin();
    if (!since || *since > all->made)
      return unexpected{refusal(errc::malformed, 400, "this container never gave the version ",
                                std::string_view{known}.substr(0, 40))};
    partition_page<token_type> list;
    list.not_modified = *since == all->made;
    for (auto const& one : all->map.values())
      if (one->made >= *since) list.partitions.push_back(one->who);
    list.version = position_text(all->made);
    return list;
  }

  // ---- splits and merges -----------------------------------------------------------------------

  result<own_pointer> partition_of(std::string_view id) const {
    auto const all = owners_.pin();
    for (auto const& one : all->map.values())
      if (one->who.id == id) return one;
    return unexpected{
        refusal(errc::unknown_range, 404, "there is no partition ", inline_text<40>{id}, " now")};
  }
  // By what is there; where that is too little to tell, by the space, unless it is in the way.
  result<std::vector<token_type>> cuts_of(own_partition& one, std::size_t parts,
                                          bool by_documents_alone) const {
    auto const sample = one.tokens();
    auto cuts = split_points(one.who.range, parts, std::span<token_type const>{sample});
    // A cut at the first token of the range would leave nothing before it.
    bool const is_good = cuts && one.who.range.lower() < cuts->front();
    if (is_good || by_documents_alone) {
      if (!is_good && cuts) return fail(errc::invalid_range, "all documents are of one key");
      return cuts;
    }
    return split_points(scheme_, one.who.range, parts);
  }
  template <class Cuts>
  result<std::vector<std::string>> divided(std::string_view id, Cuts const& cuts) {
    auto const ids = [&]() -> result<std::vector<std::string>> {
      std::lock_guard const lock{structure_};
      auto const one = partition_of(id);
      if (!one) return unexpected{one.error()};
      return divide_locked(**one, cuts);
    }();
    if (ids) tell_topology(event_kind::split, id, ids->size());
    return ids;
  }
  template <class Cuts>
  result<std::vector<std::string>> divide_locked(own_partition& one, Cuts const& cuts) {
    std::lock_guard const lock{one.mutex};
    auto const where = cuts(one);
    if (!where) return unexpected{where.error()};
    auto const all = owners_.pin();
    std::uint64_t made = all->made;
    std::vector<std::string> parents = one.who.parents;
    parents.push_back(one.who.id);
    std::vector<std::string> ids;
    std::vector<own_pointer> parts;
    std::vector<owned_range<token_type, own_pointer>> owned;
    for (range_type const& range :
         keyspan::split(one.who.range, std::span<token_type const>{*where})) {
      parts.push_back(made_partition({std::to_string(made), range, parents}, made));
      ids.push_back(parts.back()->who.id);
      owned.push_back({range, parts.back()});
      ++made;
    }
    one.hand_over(parts);
    owners next{all->map, made};
    next.map.replace(one.who.range, owned);
    owners_.publish(std::move(next));
    one.is_gone = true;
    return ids;
  }
  result<std::string> united(std::string_view first, std::string_view second) {
    auto const id = unite_locked(first, second);
    if (id) tell_topology(event_kind::merged, *id, 2);
    return id;
  }
  result<std::string> unite_locked(std::string_view first, std::string_view second) {
    std::lock_guard const structure{structure_};
    auto one = partition_of(first);
    if (!one) return unexpected{one.error()};
    auto other = partition_of(second);
    if (!other) return unexpected{other.error()};
    if ((*other)->who.range < (*one)->who.range) std::swap(*one, *other);
    own_partition& left = **one;
    own_partition& right = **other;
    if (!adjacent(left.who.range, right.who.range))
      return unexpected{refusal(errc::invalid_range, 400, "partitions ",
                                std::string_view{left.who.id}, " and ",
                                std::string_view{right.who.id}, " are no neighbours")};
    std::lock_guard const left_lock{left.mutex};
    std::lock_guard const right_lock{right.mutex};
    auto const all = owners_.pin();
    std::string id = std::to_string(all->made);
    auto const range = join(left.who.range, right.who.range);
    auto const child = made_partition({id, range, parents_of(left, right)}, all->made);
    child->unite(left, right,
                 share_of(request_units_.load(std::memory_order_relaxed), all->map.size()));
    owners next{all->map, all->made + 1};
    next.map.join(range, child);
    owners_.publish(std::move(next));
    left.is_gone = right.is_gone = true;
    return id;
  }
  // All ancestors of both, the oldest first: ids are numbers.
  static std::vector<std::string> parents_of(own_partition const& left,
                                             own_partition const& right) {
    auto parents = left.who.parents;
    parents.insert(parents.end(), right.who.parents.begin(), right.who.parents.end());
    parents.push_back(left.who.id);
    parents.push_back(right.who.id);
    std::sort(parents.begin(), parents.end(), [](std::string const& a, std::string const& b) {
      return a.size() != b.size() ? a.size() < b.size() : a < b;
    });
    parents.erase(std::unique(parents.begin(), parents.end()), parents.end());
    return parents;
  }

  Scheme scheme_;
  memory_options<T> options_;
  std::size_t paths_;
  std::string container_{};
  std::function<result<item_place>(T const&)> place_of_{};
  std::atomic<std::uint64_t> request_units_;
  mutable std::mutex structure_{};  // before the lock of any partition
  published<owners> owners_;
};

}  // namespace keyspan
