// test/feed/journal.hpp — a log of entries in partitions that split and merge, told by the simplest
// code there is: what feeds are read from in these tests, and what is asked of it.
#pragma once

#include <keyspan/async/ready.hpp>
#include <keyspan/async/stop_token.hpp>
#include <keyspan/core/contract.hpp>
#include <keyspan/core/error.hpp>
#include <keyspan/core/result.hpp>
#include <keyspan/feed/continuation.hpp>
#include <keyspan/feed/cursor.hpp>
#include <keyspan/feed/page.hpp>
#include <keyspan/feed/page_source.hpp>
#include <keyspan/feed/read_request.hpp>
#include <keyspan/hash/cosmos_v2.hpp>
#include <keyspan/hash/hash_scheme.hpp>
#include <keyspan/key/partition_key.hpp>
#include <keyspan/range/partition.hpp>
#include <keyspan/range/range_map.hpp>
#include <keyspan/range/routing_refresh.hpp>
#include <keyspan/range/token_range.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace test {

struct entry {
  std::string key;
  int number = 0;

  friend bool operator==(entry const&, entry const&) = default;
};

/// What a read was told.
template <class Token>
struct read_seen {
  keyspan::token_range<Token> range;
  keyspan::continuation from;
  std::string partition;
  bool is_whole_partition;
  keyspan::feed_mode mode;
  std::uint32_t page_size;
  std::optional<keyspan::partition_key> key;
  std::string session_token;
  std::optional<keyspan::instant> deadline;
  keyspan::stop_token stop;
};

template <keyspan::hash_scheme Scheme>
class journal {
 public:
  using scheme_type = Scheme;
  using page_type = keyspan::page<entry>;
  using token_type = keyspan::token_of_scheme<Scheme>;
  using range_type = keyspan::token_range<token_type>;
  using partition_type = keyspan::partition<token_type>;

  // What a test looks at, and how it makes the source answer.
  std::vector<read_seen<token_type>> reads{};
  std::vector<std::string> topologies{};         // the versions asked with
  std::function<void()> before_read{};           // behind `reads`, ahead of the answer
  std::deque<keyspan::error> read_errors{};      // the answers to the next reads
  std::deque<keyspan::error> topology_errors{};  //
  std::deque<page_type> pages{};                 // after those, ahead of the log's own
  bool hides_changes = false;                    // of the topology
  bool tells_end_with_items = false;             // the last page says so itself
  std::string container_id = "reviews";

  /// Partitions between the cuts, "0", "1", …
  explicit journal(Scheme scheme, std::vector<token_type> const& cuts = {})
      : scheme_{std::move(scheme)} {
    for (range_type const& part : split(keyspan::whole_space(scheme_), cuts)) add(part, {});
  }

  std::string_view container() const { return container_id; }
  Scheme scheme() const { return scheme_; }

  /// The entry gets the next number.
  int write(std::string_view key) { return write(keyspan::partition_key{key}, key); }
  int write(keyspan::partition_key key, std::string_view name) {
    auto token = keyspan::token_of(scheme_, key);
    int const number = static_cast<int>(log_.size());
    if constexpr (requires { token.has_value(); }) {
      log_.push_back({*token, std::move(key), entry{std::string{name}, number}});
    } else {
      log_.push_back({token, std::move(key), entry{std::string{name}, number}});
    }
    return number;
  }
  void write_many(int count) {
    for (int i = 0; i < count; ++i) write("key " + std::to_string(log_.size() % 17));
  }
  /// An entry is written each millisecond.
  static keyspan::wall_time time_of(int number) {
    return keyspan::wall_time{std::chrono::milliseconds{number}};
  }

  std::size_t size() const { return log_.size(); }
  /// The entries of a range from a number on, as they were written.
  std::vector<int> numbers_in(range_type const& range, int from = 0) const {
    std::vector<int> numbers;
    for (auto const& one : log_)
      if (range.contains(one.token) && one.what.number >= from) numbers.push_back(one.what.number);
    return numbers;
  }
  entry const& at(int number) const { return log_[static_cast<std::size_t>(number)].what; }
  token_type const& token_at(int number) const {
    return log_[static_cast<std::size_t>(number)].token;
  }

  std::vector<partition_type> const& live() const { return live_; }
  partition_type const& live(std::string_view id) const {
    auto const found = std::find_if(live_.begin(), live_.end(),
                                    [&](partition_type const& one) { return one.id == id; });
    keyspan::expects(found != live_.end(), "there is a partition of this id");
    return *found;
  }
  void split_at(std::string_view id, std::vector<token_type> const& cuts) {
    partition_type const parent = live(id);
    auto parents = parent.parents;
    parents.push_back(parent.id);
    remove(parent.id);
    for (range_type const& part : split(parent.range, cuts)) add(part, parents);
  }
  void split_in_half(std::string_view id) {
    auto const& range = live(id).range;
    split_at(id, {*scheme_.midpoint(range.lower(), range.upper())});
  }
  void merge(std::string_view left, std::string_view right) {
    partition_type const a = live(left);
    partition_type const b = live(right);
    std::vector<std::string> parents = a.parents;
    for (auto const& parent : b.parents)
      if (std::find(parents.begin(), parents.end(), parent) == parents.end())
        parents.push_back(parent);
    parents.push_back(a.id);
    parents.push_back(b.id);
    remove(a.id);
    remove(b.id);
    add(join(a.range, b.range), parents);
  }

  keyspan::ready<keyspan::result<page_type>> read(range_type const& range,
                                                  keyspan::continuation const& from,
                                                  keyspan::read_request const& request) {
    reads.push_back({range, from, std::string{request.partition}, request.is_whole_partition,
                     request.mode, request.page_size,
                     request.key ? std::optional{*request.key} : std::nullopt,
                     std::string{request.session_token}, request.deadline, request.stop});
    if (before_read) {
      auto const hook = before_read;  // it may put another in its place
      hook();
    }
    return {answer(range, from, request)};
  }

  keyspan::ready<keyspan::result<keyspan::partition_page<token_type>>> topology(
      std::string const& known) {
    topologies.push_back(known);
    using page = keyspan::partition_page<token_type>;
    if (!topology_errors.empty()) {
      auto const why = topology_errors.front();
      topology_errors.pop_front();
      return {keyspan::result<page>{keyspan::unexpected{why}}};
    }
    page made{};
    std::size_t const from = known.empty() ? 0 : std::stoul(known);
    if ((from == made_.size() || hides_changes) && !known.empty()) {
      made.not_modified = true;
      return {keyspan::result<page>{std::move(made)}};
    }
    using distance = std::ptrdiff_t;
    made.partitions.assign(made_.begin() + static_cast<distance>(from), made_.end());
    made.version = std::to_string(made_.size());
    return {keyspan::result<page>{std::move(made)}};
  }

 private:
  struct record {
    token_type token;
    keyspan::partition_key key;
    entry what;
  };

  keyspan::result<page_type> answer(range_type const& range, keyspan::continuation const& from,
                                    keyspan::read_request const& request) {
    if (!read_errors.empty()) {
      auto const why = read_errors.front();
      read_errors.pop_front();
      return keyspan::unexpected{why};
    }
    if (!pages.empty()) {
      page_type made = std::move(pages.front());
      pages.pop_front();
      return made;
    }
    auto const owner = std::find_if(live_.begin(), live_.end(), [&](partition_type const& one) {
      return one.id == request.partition;
    });
    if (owner == live_.end() || !owner->range.contains(range)) {
      keyspan::error gone{keyspan::errc::range_gone, "partition ", request.partition, " is gone"};
      gone.wire.charge = 0.25;
      return keyspan::unexpected{gone};
    }
    page_type made{};
    made.charge = 1;
    std::size_t at = first_of(from);
    std::size_t const most = request.page_size == 0 ? 3 : request.page_size;
    for (; at < log_.size() && made.items.size() < most; ++at)
      if (range.contains(log_[at].token) && (!request.key || *request.key == log_[at].key))
        made.items.push_back(log_[at].what);
    made.continuation = std::to_string(at);
    made.nothing_new = made.items.empty() || (tells_end_with_items && at == log_.size());
    return made;
  }
  std::size_t first_of(keyspan::continuation const& from) const {
    if (!from.is_start()) return std::stoul(from.text());
    if (from.start() == keyspan::start_kind::now) return log_.size();
    if (from.start() == keyspan::start_kind::beginning) return 0;
    std::size_t at = 0;
    while (at < log_.size() && time_of(log_[at].what.number) < from.time()) ++at;
    return at;
  }

  void add(range_type range, std::vector<std::string> parents) {
    made_.push_back({std::to_string(made_.size()), std::move(range), std::move(parents)});
    auto const behind = std::find_if(live_.begin(), live_.end(), [&](partition_type const& one) {
      return made_.back().range < one.range;
    });
    live_.insert(behind, made_.back());
  }
  void remove(std::string const& id) {
    std::erase_if(live_, [&](partition_type const& one) { return one.id == id; });
  }

  Scheme scheme_;
  std::vector<record> log_{};
  std::vector<partition_type> live_{};
  std::vector<partition_type> made_{};
};

/// Of `count` partitions as wide as each other.
template <keyspan::splittable_scheme Scheme>
journal<Scheme> evenly_divided_journal(Scheme const& scheme, std::size_t count) {
  std::vector<keyspan::token_of_scheme<Scheme>> cuts;
  for (std::size_t i = 1; i < count; ++i) cuts.push_back(scheme.boundary(i, count));
  return journal<Scheme>{scheme, cuts};
}

using reviews_journal = journal<keyspan::cosmos_v2_scheme>;
static_assert(keyspan::page_source<reviews_journal>);

/// The journal of most tests: so many partitions of cosmos_v2, and so many entries of 17 keys.
inline reviews_journal reviews_in(std::size_t partitions, int entries) {
  auto made = evenly_divided_journal(keyspan::cosmos_v2, partitions);
  made.write_many(entries);
  return made;
}

/// The numbers of all that a range gives, in its order.
template <class Range>
std::vector<int> numbers_of(Range&& range) {
  std::vector<int> numbers;
  for (entry const& one : range) numbers.push_back(one.number);
  return numbers;
}
inline std::vector<int> sorted(std::vector<int> numbers) {
  std::sort(numbers.begin(), numbers.end());
  return numbers;
}
/// first, first + 1, …, last - 1.
inline std::vector<int> counted(int first, int last) {
  std::vector<int> numbers;
  for (int i = first; i < last; ++i) numbers.push_back(i);
  return numbers;
}

/// Whether the entries of each key stand in the order they were written in.
template <class Journal>
bool keeps_order_of_keys(Journal const& of, std::vector<int> const& numbers) {
  for (std::size_t i = 0; i < numbers.size(); ++i)
    for (std::size_t j = i + 1; j < numbers.size(); ++j)
      if (of.at(numbers[i]).key == of.at(numbers[j]).key && numbers[i] > numbers[j]) return false;
  return true;
}

}  // namespace test
