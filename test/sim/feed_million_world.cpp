// test/sim/feed_million_world.cpp — a million changes in 64 partitions are read while 40 of them
// split and 10 times two of them merge.
//
// Half of the changes are there before the reading begins, the others are written meanwhile. Who
// owns what changes at random moments of the read: whenever something is asked, time passes first.
// Nothing is lost, nothing comes twice, and the changes of a key come in the order they were made.
#include <sim/player.hpp>
#include <sim/world.hpp>

#include <keyspan/feed/feed.hpp>
#include <keyspan/feed/scripted_source.hpp>
#include <keyspan/hash/cosmos_v2.hpp>
#include <keyspan/key/partition_key.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace {

using namespace std::chrono_literals;

constexpr std::uint64_t all_changes = 1'000'000;
constexpr int all_splits = 40;
constexpr int all_merges = 10;
constexpr std::uint64_t written_at_once = 1'000;
constexpr sim::duration end_of_changes = 1s;

struct change {
  std::uint32_t key;
  std::uint32_t sequence;  // how many changes of the key came before
};

class million {
 public:
  explicit million(sim::world& in) : w_{in}, numbers_{in.stream("container")} {
    keys_.reserve(20'000);
    for (std::uint32_t i = 0; i < 20'000; ++i) keys_.emplace_back(i);
    written_.resize(keys_.size());
    read_.resize(keys_.size());
    source_.page_size(1'000);
    for (std::uint64_t i = 0; i < all_changes / 2; ++i) write();
    for (std::uint64_t i = all_changes / 2; i < all_changes; i += written_at_once)
      w_.schedule(moment(), "changes are written", [this] {
        for (std::uint64_t j = 0; j < written_at_once; ++j) write();
      });
    for (int i = 0; i < all_splits; ++i)
      w_.schedule(moment(), "a partition splits", [this] { split(); });
    for (int i = 0; i < all_merges; ++i)
      w_.schedule(moment(), "two partitions merge", [this] { merge(); });
    source_.before_read([this](std::size_t) { pass_time(); });
    source_.before_topology([this](std::size_t) { pass_time(); });
  }

  void read_all() {
    keyspan::feed feed{source_};
    while (!w_.is_idle() || seen_ < all_changes) {
      std::uint64_t const before = seen_;
      for (change const& one : feed) take(one);
      w_.note("seen ", seen_);
      w_.demand(seen_ > before || !w_.is_idle(), "only ", seen_, " changes of ", all_changes);
    }
    w_.demand(seen_ == all_changes, seen_, " changes of ", all_changes);
    w_.demand(written_ == read_, "a key was not read to its end");
    w_.demand(splits_ == all_splits && merges_ == all_merges, "not all happened meanwhile");
    w_.demand(feed.charge() <= static_cast<double>(source_.reads().size()) &&
                  feed.charge() > static_cast<double>(all_changes / 1'000),
              "the charge is ", feed.charge());
    // Two parts of which one has become do so again where they stand at the same place alone.
    auto const parts = feed.cursor().parts.size();
    auto const partitions = source_.partitions().size();
    w_.demand(parts >= partitions && parts <= partitions + all_merges, partitions,
              " partitions are read in ", parts, " parts");
  }

 private:
  sim::duration moment() {
    return sim::duration{numbers_.below(static_cast<std::uint64_t>(end_of_changes.count()))};
  }
  void pass_time() { w_.run_until(w_.now() + 1ms); }

  void write() {
    auto const key = static_cast<std::uint32_t>(numbers_.below(keys_.size()));
    source_.write(keys_[key], change{key, written_[key]++});
  }
  void split() {
    source_.split(std::string{numbers_.pick(source_.partitions()).id});
    ++splits_;
  }
  void merge() {
    auto const& all = source_.partitions();
    auto const left = static_cast<std::size_t>(numbers_.below(all.size() - 1));
    source_.merge(std::string{all[left].id}, std::string{all[left + 1].id});
    ++merges_;
  }
  void take(change const& one) {
    if (one.sequence != read_[one.key])
      w_.demand(false, "change ", one.sequence, " of key ", one.key, " came, and ", read_[one.key],
                " is the next");
    ++read_[one.key];
    ++seen_;
  }

  sim::world& w_;
  test::random numbers_;
  std::vector<keyspan::partition_key> keys_{};
  std::vector<std::uint32_t> written_{};
  std::vector<std::uint32_t> read_{};
  keyspan::scripted_source<change, keyspan::cosmos_v2_scheme> source_{keyspan::cosmos_v2, 64};
  std::uint64_t seen_ = 0;
  int splits_ = 0;
  int merges_ = 0;
};

sim::registered const millions{
    "feed_million", "a million changes, read while partitions split and merge", [](sim::world& w) {
      million all{w};
      all.read_all();
    }};

}  // namespace
