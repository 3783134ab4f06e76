// keyspan/feed/scripted_source.hpp — a source in memory that does what a script says, for tests of
// whatever reads one.
//
//   write("a", 1)   split("0")   write("b", 2)      one log, whoever owns which part of it
//   fail_next(…)    before_read(…)    reads()       what goes wrong, and when; what was asked
#pragma once

#include <keyspan/async/clock.hpp>
#include <keyspan/async/ready.hpp>
#include <keyspan/async/stop_token.hpp>
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
#include <keyspan/hash/fast64.hpp>
#include <keyspan/hash/hash_scheme.hpp>
#include <keyspan/hash/token.hpp>
#include <keyspan/key/key_value.hpp>
#include <keyspan/key/partition_key.hpp>
#include <keyspan/range/partition.hpp>
#include <keyspan/range/routing.hpp>
#include <keyspan/range/routing_refresh.hpp>
#include <keyspan/range/token_range.hpp>

#include <algorithm>
#include <charconv>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <iterator>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <unordered_map>
#include <utility>
#include <vector>

namespace keyspan {

/// What one read of a `scripted_source` asked: a copy of all that it was told.
template <token Token>
struct scripted_read {
  token_range<Token> range;
  continuation from{};
  std::string partition{};
  bool is_whole_partition = false;
  feed_mode mode = feed_mode::latest_version;
  std::uint32_t page_size = 0;
  std::optional<partition_key> key{};
  std::string session_token{};
  std::optional<instant> deadline{};
  stop_token stop{};

  friend bool operator==(scripted_read const&, scripted_read const&) = default;
};

namespace detail {

// A key as it is kept, of whatever `token_of` takes.
template <class Key>
partition_key owned_key(Key const& key) {
  if constexpr (is_result<Key>) {
    expects(key.has_value(), "what is written has a key");
    return owned_key(*key);
  } else if constexpr (std::same_as<Key, partition_key>) {
    return key;
  } else if constexpr (std::convertible_to<Key const&, std::span<key_value const>>) {
    return partition_key{partition_key_view{std::span<key_value const>{key}}};
  } else {
    return partition_key{key};
  }
}

// A number, or a number and how many empty pages came behind it, in quotes: "17", "0+2".
struct scripted_position {
  std::uint64_t number = 0;
  std::uint64_t empty_pages = 0;

  std::string to_text() const {
    std::string text = "\"" + std::to_string(number);
    if (empty_pages > 0) text.append("+").append(std::to_string(empty_pages));
    return text.append("\"");
  }
  // None where the text is not what `to_text` writes.
  static std::optional<scripted_position> from_text(std::string_view text) {
    if (text.size() < 3 || text.front() != '"' || text.back() != '"') return std::nullopt;
    scripted_position read;
    char const* const end = text.data() + text.size() - 1;
    auto parsed = std::from_chars(text.data() + 1, end, read.number);
    if (parsed.ec == std::errc{} && parsed.ptr != end && *parsed.ptr == '+')
      parsed = std::from_chars(parsed.ptr + 1, end, read.empty_pages);
    if (parsed.ec != std::errc{} || parsed.ptr != end || read.to_text() != text)
      return std::nullopt;
    return read;
  }
};

}  // namespace detail

/// A partitioned container in memory, read as any `page_source` is: always ready, so that plain
/// loops and coroutines get the same. It has no thread and no clock: deadlines are written down and
/// never pass. One thread at a time uses it. Its address is what feeds remember.
///
///   scripted_source<int, fast64_scheme> source{fast64, 4};
///   source.write("redmond", 1);
///   source.before_read([&](std::size_t n) { if (n == 2) source.split("1"); });
///
/// What is written goes to the end of one log, and gets the next number. A continuation is such a
/// number in quotes, so it is good for every part of every range, whatever was split and merged
/// since. Both feed modes tell the log as it is: every item that was ever written, in that order.
///
/// Errors of `read`: the script's own; `range_gone`, status 410/1002, for a range that is not
/// inside of one partition, and where the request names a partition that is gone; `malformed` for a
/// continuation that this source never gave; `stopped` where the request is.
///
/// Complexity: a page costs its items, and a binary search in the partition; where not all of the
/// partition is asked for, also the items that are left out.
template <std::copyable Item, hash_scheme Scheme>
class scripted_source {
 public:
  using scheme_type = Scheme;
  using item_type = Item;
  using token_type = token_of_scheme<Scheme>;
  using range_type = token_range<token_type>;
  using partition_type = partition<token_type>;
  using page_type = page<Item>;
  using read_type = scripted_read<token_type>;

  /// A container of so many partitions of equal size, with the ids "0", "1" and so on. Requires one
  /// at least, and not more than one where the scheme does not share its space out.
  explicit scripted_source(Scheme scheme, std::size_t partitions = 1,
                           std::string container = "scripted")
      : scheme_{std::move(scheme)}, container_{std::move(container)} {
    expects(partitions > 0, "a container has one partition at least");
    expects(partitions == 1 || splittable_scheme<Scheme>,
            "only a scheme that shares its space out has several partitions from the beginning");
    if constexpr (splittable_scheme<Scheme>) {
      for (std::size_t i = 1; i < partitions; ++i)
        add(i - 1, {scheme_.boundary(i - 1, partitions), scheme_.boundary(i, partitions)}, {}, {});
      add(partitions - 1, {scheme_.boundary(partitions - 1, partitions), space_end}, {}, {});
    } else {
      add(0, whole_space(scheme_), {}, {});
    }
  }

  scripted_source(scripted_source&&) noexcept = default;
  scripted_source& operator=(scripted_source&&) noexcept = default;

  Scheme const& scheme() const noexcept { return scheme_; }
  std::string const& container() const noexcept { return container_; }

  // ---- what it holds -------------------------------------------------------------------------

  /// Adds one item of a key, which is whatever `token_of` takes. Requires a key that has a token.
  template <routable_by<Scheme> Key>
  void write(Key const& key, Item item) {
    known_key const& owner = know(key);
    ++last_;
    append(owner, std::move(item));
  }
  /// Adds items of one key in one transaction: they come in one page, even where that is then
  /// larger than was asked for. Requires one item at least.
  template <routable_by<Scheme> Key>
  void write_together(Key const& key, std::vector<Item> items) {
    expects(!items.empty(), "a transaction writes one item at least");
    known_key const& owner = know(key);
    ++last_;
    for (Item& item : items) append(owner, std::move(item));
  }
  /// The moment at which all that follows is written. Requires that time goes on.
  void set_time(wall_time at) {
    expects(at >= time_, "time goes on, and not back");
    time_ = at;
  }

  /// How many items were written.
  std::size_t size() const noexcept { return entries_.size(); }

  // ---- who owns what -------------------------------------------------------------------------

  /// The partitions there are now, in token order; until one is split or merged.
  std::vector<partition_type> const& partitions() const noexcept { return partitions_; }
  /// The one that owns a key.
  template <routable_by<Scheme> Key>
  partition_type const& owner_of(Key const& key) const {
    return partitions_[owner_of_token(token_of_key(key))];
  }

  /// Splits a partition at the scheme's midpoint. Returns the ids of its children, the left one
  /// first. Requires a partition of this id, and room for two.
  std::pair<std::string, std::string> split(std::string_view id)
    requires splittable_scheme<Scheme>
  {
    range_type const& range = partitions_[index_of(id)].range;
    auto const middle = scheme_.midpoint(range.lower(), range.upper());
    expects(middle.has_value(), "a partition that is split has room for two");
    return split(id, *middle);
  }
  /// Splits a partition before this token. Requires that the token is inside of it.
  std::pair<std::string, std::string> split(std::string_view id, token_type const& at) {
    std::size_t const i = index_of(id);
    auto const [left, right] = keyspan::split(partitions_[i].range, at);
    auto parents = std::move(partitions_[i].parents);
    parents.push_back(std::move(partitions_[i].id));
    auto const log = std::move(logs_[i]);
    remove(i);
    numbers left_log;
    numbers right_log;
    for (std::uint32_t const number : log.items)
      (left.contains(entries_[number].key->second) ? left_log : right_log).push_back(number);
    add(i, left, parents, std::move(left_log));
    add(i + 1, right, std::move(parents), std::move(right_log));
    return {partitions_[i].id, partitions_[i + 1].id};
  }
  /// Merges two partitions that are neighbours. Returns the id of the child.
  std::string merge(std::string_view left, std::string_view right) {
    std::size_t const i = index_of(left);
    expects(index_of(right) == i + 1,
            "partitions that are merged are neighbours, the left one first");
    auto const range = join(partitions_[i].range, partitions_[i + 1].range);
    auto parents = std::move(partitions_[i].parents);
    for (std::string& more : partitions_[i + 1].parents) parents.push_back(std::move(more));
    parents.push_back(std::move(partitions_[i].id));
    parents.push_back(std::move(partitions_[i + 1].id));
    // Ids are numbers: the oldest first.
    std::sort(parents.begin(), parents.end(), [](std::string const& a, std::string const& b) {
      return a.size() != b.size() ? a.size() < b.size() : a < b;
    });
    parents.erase(std::unique(parents.begin(), parents.end()), parents.end());
    numbers both;
    both.reserve(logs_[i].items.size() + logs_[i + 1].items.size());
    std::merge(logs_[i].items.begin(), logs_[i].items.end(), logs_[i + 1].items.begin(),
               logs_[i + 1].items.end(), std::back_inserter(both));
    remove(i);
    remove(i);
    add(i, range, std::move(parents), std::move(both));
    return partitions_[i].id;
  }

  // ---- the script ----------------------------------------------------------------------------

  /// The next reads fail with this error, just as it is.
  void fail_next(error const& why, std::size_t times = 1) {
    failures_.insert(failures_.end(), times, why);
  }
  /// The read of this number fails, counted from 0 as in `reads()`.
  void fail_read(std::size_t number, error const& why) {
    failing_reads_.insert_or_assign(number, why);
  }
  /// The next questions for the partitions fail.
  void fail_topology(error const& why, std::size_t times = 1) {
    failing_topologies_.insert(failing_topologies_.end(), times, why);
  }
  /// Calls `f` when a read has begun, with its number; what `f` does with the source has happened
  /// before the read. `{}` takes it back.
  void before_read(std::function<void(std::size_t number)> f) { before_read_ = std::move(f); }
  /// The same for questions for the partitions.
  void before_topology(std::function<void(std::size_t number)> f) {
    before_topology_ = std::move(f);
  }
  /// How many items a page has at most where the request leaves it to the source; 100 at first.
  void page_size(std::size_t most) {
    expects(most > 0, "a page has room for an item");
    page_size_ = most;
  }
  /// How many partitions a page of the list has at most; all of them at first, which is 0.
  void list_page_size(std::size_t most) { list_page_size_ = most; }
  /// So many empty pages, which do not say that nothing is new, come first where a reading begins.
  void empty_pages(std::size_t count) { empty_pages_ = count; }
  /// Whether the page with the last items says at once that nothing is new behind it; at first the
  /// next page does, which is empty, as a service's is.
  void ends_with_items(bool does = true) { ends_with_items_ = does; }
  /// What each page costs, in request units; 1 at first.
  void charge_per_page(double charge) { charge_per_page_ = charge; }

  /// What was asked so far; each entry stays where it is.
  std::deque<read_type> const& reads() const noexcept { return reads_; }
  /// The versions that `topology` was asked with so far.
  std::vector<std::string> const& topologies() const noexcept { return topologies_; }

  // ---- a page_source -------------------------------------------------------------------------

  /// Requires a range of the scheme; where `is_whole_partition` says so, all that the named one
  /// owns.
  ready<result<page_type>> read(range_type const& range, continuation const& from,
                                read_request const& request) {
    // What the arguments refer to may be changed from here on, by what is called before the read.
    read_type const asked{range,
                          from,
                          std::string{request.partition},
                          request.is_whole_partition,
                          request.mode,
                          request.page_size,
                          request.key ? std::optional{*request.key} : std::nullopt,
                          std::string{request.session_token},
                          request.deadline,
                          request.stop};
    std::size_t const number = reads_.size();
    reads_.push_back(asked);
    if (auto const before = before_read_) before(number);
    return {page_for(asked, number)};
  }

  /// The partitions that were made since the version known and are still there, the oldest first.
  /// Errors: those of the script; `malformed` for a version that this source never gave.
  ready<result<partition_page<token_type>>> topology(std::string const& known) {
    std::string const version = known;
    std::size_t const number = topologies_.size();
    topologies_.push_back(version);
    if (auto const before = before_topology_) before(number);
    return {list_since(version)};
  }

 private:
  using known_key = std::pair<partition_key const, token_type>;
  using numbers = std::vector<std::uint32_t>;

  struct entry {
    Item item;
    known_key const* key;
    std::uint64_t number;  // that of its transaction
    wall_time at;
  };
  // What one partition holds: which entries, in their order, and how many were made before it.
  struct partition_log {
    std::uint64_t made = 0;
    numbers items{};
  };

  template <class Key>
  token_type token_of_key(Key const& key) const {
    result<token_type> const token = token_of(scheme_, key);
    expects(token.has_value(), "the key has a token");
    return *token;
  }
  template <class Key>
  known_key const& know(Key const& key) {
    auto owned = detail::owned_key(key);
    if (auto const found = keys_.find(owned); found != keys_.end()) return *found;
    return *keys_.emplace(std::move(owned), token_of_key(key)).first;
  }
  void append(known_key const& key, Item item) {
    expects(entries_.size() < 0xFFFF'FFFF, "less than 2^32 items are written");
    logs_[owner_of_token(key.second)].items.push_back(static_cast<std::uint32_t>(entries_.size()));
    entries_.push_back(entry{std::move(item), &key, last_, time_});
  }

  std::size_t owner_of_token(token_type const& token) const {
    auto const behind = std::upper_bound(
        partitions_.begin(), partitions_.end(), token,
        [](token_type const& t, partition_type const& one) { return t < one.range.lower(); });
    expects(behind != partitions_.begin(), "a token is one of the scheme's");
    return static_cast<std::size_t>(behind - partitions_.begin()) - 1;
  }
  std::size_t index_of(std::string_view id) const {
    auto const found = std::find_if(partitions_.begin(), partitions_.end(),
                                    [&](partition_type const& one) { return one.id == id; });
    expects(found != partitions_.end(), "there is a partition of this id now");
    return static_cast<std::size_t>(found - partitions_.begin());
  }
  void add(std::size_t at, range_type const& range, std::vector<std::string> parents,
           numbers items) {
    auto const place = static_cast<std::ptrdiff_t>(at);
    partitions_.insert(partitions_.begin() + place,
                       partition_type{std::to_string(made_), range, std::move(parents)});
    logs_.insert(logs_.begin() + place, partition_log{made_, std::move(items)});
    ++made_;
  }
  void remove(std::size_t at) {
    partitions_.erase(partitions_.begin() + static_cast<std::ptrdiff_t>(at));
    logs_.erase(logs_.begin() + static_cast<std::ptrdiff_t>(at));
  }

  result<page_type> page_for(read_type const& asked, std::size_t number) {
    if (asked.stop.stop_requested()) return fail(errc::stopped, "the read was stopped");
    if (auto const planned = failing_reads_.find(number); planned != failing_reads_.end())
      return unexpected{planned->second};
    if (!failures_.empty()) return unexpected{take_first(failures_)};

    expects(
        detail::has_own_tokens(scheme_, asked.range) && asked.range.lower() >= scheme_.minimum(),
        "a source is asked for ranges of its scheme");
    std::size_t const i = owner_of_token(asked.range.lower());
    partition_type const& owner = partitions_[i];
    if (!owner.range.contains(asked.range))
      return gone(number, "the range from ", detail::text_of_token(asked.range.lower()), " to ",
                  detail::text_of_token(asked.range.upper()), " is not inside of one partition");
    if (!asked.partition.empty() && asked.partition != owner.id)
      return gone(number, "partition ", detail::text_of_id(asked.partition),
                  " does not own the range, partition ", owner.id, " does");
    bool const is_whole = asked.range == owner.range;
    expects(is_whole || !asked.is_whole_partition || asked.partition.empty(),
            "a range that is said to be a whole partition is one");

    auto position = position_of(asked.from);
    if (!position)
      return fail(errc::malformed, "this source never gave the continuation ",
                  std::string_view{asked.from.text()}.substr(0, 40));
    page_type made;
    made.attempts = 1;
    made.charge = charge_per_page_;
    made.lsn = logs_[i].items.empty() ? 0 : entries_[logs_[i].items.back()].number;
    made.activity_id = {"read-", number};
    made.session_token = owner.id + ":" + std::to_string(made.lsn);
    bool const is_from_now = asked.from.is_start() && asked.from.start() == start_kind::now;
    bool const has_begun = !asked.from.is_start() && position->empty_pages == 0;
    if (!is_from_now && !has_begun && position->empty_pages < empty_pages_) {
      ++position->empty_pages;
    } else {
      position = {put_items(made, asked, logs_[i].items, position->number, is_whole), 0};
    }
    made.continuation = position->to_text();
    return made;
  }

  // Adds the items of a page that begins behind a number, and returns where it ends.
  std::uint64_t put_items(page_type& page, read_type const& asked, numbers const& log,
                          std::uint64_t behind, bool is_whole) const {
    known_key const* key = nullptr;
    if (asked.key) {
      auto const known = keys_.find(*asked.key);
      if (known == keys_.end()) return page.nothing_new = true, last_;
      key = &*known;
    }
    bool const is_timed = asked.from.start() == start_kind::time;
    auto const is_wanted = [&](entry const& one) {
      return (is_whole || asked.range.contains(one.key->second)) && (!key || one.key == key) &&
             (!is_timed || one.at >= asked.from.time());
    };
    std::size_t const most = asked.page_size != 0 ? asked.page_size : page_size_;
    auto at = std::partition_point(log.begin(), log.end(),
                                   [&](std::uint32_t i) { return entries_[i].number <= behind; });
    page.items.reserve((std::min)(most, static_cast<std::size_t>(log.end() - at)));
    std::uint64_t taken = behind;
    for (; at != log.end(); ++at) {
      entry const& one = entries_[*at];
      if (!is_wanted(one)) continue;
      if (page.items.size() >= most && one.number != taken) return one.number - 1;
      page.items.push_back(one.item);
      taken = one.number;
    }
    page.nothing_new = page.items.empty() || ends_with_items_;
    return last_;
  }

  std::optional<detail::scripted_position> position_of(continuation const& from) const {
    if (!from.is_start()) {
      auto const read = detail::scripted_position::from_text(from.text());
      return read && read->number <= last_ ? read : std::nullopt;
    }
    if (from.start() == start_kind::beginning) return detail::scripted_position{};
    if (from.start() == start_kind::now) return detail::scripted_position{last_, 0};
    auto const first = std::partition_point(entries_.begin(), entries_.end(),
                                            [&](entry const& one) { return one.at < from.time(); });
    return detail::scripted_position{first == entries_.end() ? last_ : first->number - 1, 0};
  }

  result<partition_page<token_type>> list_since(std::string const& known) {
    if (!failing_topologies_.empty()) return unexpected{take_first(failing_topologies_)};
    auto const since = known.empty() ? std::optional{detail::scripted_position{}}
                                     : detail::scripted_position::from_text(known);
    if (!since || since->number > made_ || since->empty_pages != 0)
      return fail(errc::malformed, "this source never gave the version ",
                  std::string_view{known}.substr(0, 40));
    partition_page<token_type> list;
    list.not_modified = since->number == made_;
    std::vector<std::size_t> fresh;
    for (std::size_t i = 0; i < logs_.size(); ++i)
      if (logs_[i].made >= since->number) fresh.push_back(i);
    std::sort(fresh.begin(), fresh.end(),
              [&](std::size_t a, std::size_t b) { return logs_[a].made < logs_[b].made; });
    std::uint64_t reached = made_;
    if (list_page_size_ != 0 && fresh.size() > list_page_size_) {
      reached = logs_[fresh[list_page_size_]].made;
      fresh.resize(list_page_size_);
    }
    for (std::size_t const i : fresh) list.partitions.push_back(partitions_[i]);
    list.version = detail::scripted_position{reached, 0}.to_text();
    return list;
  }

  template <class... Pieces>
  static unexpected gone(std::size_t number, Pieces const&... why) {
    error made{errc::range_gone, why...};
    made.wire.status = 410;
    made.wire.substatus = 1002;
    made.wire.attempts = 1;
    made.wire.activity_id = {"read-", number};
    return unexpected{made};
  }
  static error take_first(std::vector<error>& planned) {
    error const first = planned.front();
    planned.erase(planned.begin());
    return first;
  }

  Scheme scheme_;
  std::string container_;
  std::unordered_map<partition_key, token_type> keys_{};
  std::vector<entry> entries_{};
  std::uint64_t last_ = 0;  // the number of the newest transaction
  wall_time time_{};
  std::vector<partition_type> partitions_{};  // in token order
  std::vector<partition_log> logs_{};         // theirs
  std::uint64_t made_ = 0;                    // how many partitions there ever were

  std::vector<error> failures_{};
  std::map<std::size_t, error> failing_reads_{};
  std::vector<error> failing_topologies_{};
  std::function<void(std::size_t)> before_read_{};
  std::function<void(std::size_t)> before_topology_{};
  std::size_t page_size_ = 100;
  std::size_t list_page_size_ = 0;
  std::size_t empty_pages_ = 0;
  bool ends_with_items_ = false;
  double charge_per_page_ = 1;

  std::deque<read_type> reads_{};
  std::vector<std::string> topologies_{};
};

static_assert(page_source<scripted_source<int, fast64_scheme>>);

}  // namespace keyspan
