// docs/example/replicated_account.hpp — containers in memory that are written in one region and
// read in every one: what is written goes on to the others later, and waits where it cannot.
//
//   region_links links{3};
//   replicated_container<review, keyspan::cosmos_v2_scheme> reviews{keyspan::cosmos_v2, definition,
//                                                                    3, home, {}};
//   reviews.home().create(…)   reviews.in(2).read_item(…)   links.cut(2)   links.join(2)
#pragma once

#include <keyspan/async/clock.hpp>
#include <keyspan/async/instant.hpp>
#include <keyspan/async/stop_token.hpp>
#include <keyspan/async/sync_wait.hpp>
#include <keyspan/async/task.hpp>
#include <keyspan/core/contract.hpp>
#include <keyspan/core/error.hpp>
#include <keyspan/core/result.hpp>
#include <keyspan/feed/cursor.hpp>
#include <keyspan/feed/feed.hpp>
#include <keyspan/feed/feed_mode.hpp>
#include <keyspan/feed/feed_request.hpp>
#include <keyspan/hash/hash_scheme.hpp>
#include <keyspan/transport/memory_container.hpp>
#include <keyspan/transport/memory_options.hpp>
#include <keyspan/transport/stored.hpp>

#include <chrono>
#include <cstddef>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace example {

/// Which regions can reach each other: all can, but those that are cut off.
class region_links {
 public:
  explicit region_links(std::size_t regions) : is_cut_(regions, false) {}

  std::size_t size() const noexcept { return is_cut_.size(); }
  void cut(std::size_t region) { is_cut_.at(region) = true; }
  void join(std::size_t region) { is_cut_.at(region) = false; }
  bool is_cut(std::size_t region) const { return is_cut_.at(region); }
  bool are_joined(std::size_t one, std::size_t other) const {
    return one == other || (!is_cut(one) && !is_cut(other));
  }

 private:
  std::vector<bool> is_cut_;
};

/// How what is written travels.
struct replication {
  /// How long a change is on its way to another region, at least.
  keyspan::instant::duration delay = std::chrono::milliseconds{80};
  /// How often it is looked for what is new.
  keyspan::instant::duration tick = std::chrono::milliseconds{20};
};

/// A container in memory in one region, its home, and a copy of it in every other one. A copy has
/// the documents of its home, later; its partitions, positions and etags are its own. Whatever is
/// done to one document comes in the order in which it was done, removals as well, once each.
///
/// It is used by one thread. Only the home is written to: nothing stops who writes to a copy.
template <class T, keyspan::hash_scheme Scheme>
class replicated_container {
 public:
  using container_type = keyspan::memory_container<T, Scheme>;

  /// Empty, with as many copies as there are other regions. Requires that the home is one of them.
  template <class Definition>
  replicated_container(Scheme scheme, Definition definition, std::size_t regions, std::size_t home,
                       keyspan::memory_options<T> options = {})
      : home_{home} {
    keyspan::expects(home < regions, "the home of a container is one of its regions");
    // Removals are told in the feed of all versions only.
    auto with_versions = options;
    with_versions.keeps_versions = std::chrono::hours{24};
    for (std::size_t i = 0; i < regions; ++i) {
      auto const& own = i == home ? with_versions : options;
      containers_.push_back(std::make_unique<container_type>(scheme, definition, own));
    }
    keyspan::feed_request<token_type> const from_here_on{
        .start = keyspan::from_now, .mode = keyspan::feed_mode::all_versions_and_deletes};
    changes_.emplace(*containers_[home], from_here_on);
    keyspan::expects(changes_->open().has_value(), "a container in memory says what changes");
    for (std::size_t i = 0; i < regions; ++i) under_way_.emplace_back();
  }

  std::size_t home_region() const noexcept { return home_; }
  container_type& home() const { return in(home_); }
  container_type& in(std::size_t region) const { return *containers_.at(region); }

  /// How many changes have not come to a region yet.
  std::size_t behind(std::size_t region) const { return under_way_.at(region).size(); }

  /// Copies until it is stopped. What is on its way to a region that cannot be reached waits there.
  /// Errors: those of the containers, but `stopped`.
  template <keyspan::clock Clock>
  keyspan::task<keyspan::result<void>> replicate(region_links const& links, Clock& clock,
                                                 replication how, keyspan::stop_token stop) {
    for (;;) {
      if (auto const sent = send(clock.now() + how.delay); !sent) co_return sent;
      for (std::size_t to = 0; to < containers_.size(); ++to)
        if (links.are_joined(home_, to))
          if (auto const done = deliver(to, clock.now()); !done) co_return done;
      auto waiting = keyspan::wait_for(clock, how.tick, stop);
      if (auto const waited = co_await std::move(waiting); !waited)
        co_return keyspan::result<void>{};
    }
  }

 private:
  using token_type = typename container_type::token_type;
  struct letter {
    keyspan::instant due;
    keyspan::change<T> what;
  };

  keyspan::result<void> send(keyspan::instant due) {
    for (auto const& page : changes_->pages()) {
      if (!page) return keyspan::unexpected{page.error()};
      for (auto const& change : page->items)
        for (std::size_t to = 0; to < containers_.size(); ++to)
          if (to != home_) under_way_[to].push_back({due, change});
    }
    return {};
  }

  keyspan::result<void> deliver(std::size_t to, keyspan::instant now) {
    for (auto& letters = under_way_[to]; !letters.empty(); letters.pop_front()) {
      letter const& first = letters.front();
      if (first.due > now) break;
      if (auto const done = apply(*containers_[to], first.what); !done) return done;
    }
    return {};
  }

  static keyspan::result<void> apply(container_type& to, keyspan::change<T> const& what) {
    bool const is_there =
        what.kind == keyspan::change_kind::created || what.kind == keyspan::change_kind::replaced;
    auto const done = is_there ? keyspan::sync_wait(to.upsert(*what))
                               : keyspan::sync_wait(to.remove(what.item.key(), what.item.id()));
    if (done || (!is_there && done.error().code == keyspan::errc::not_found)) return {};
    return keyspan::unexpected{done.error()};
  }

  std::size_t home_;
  std::vector<std::unique_ptr<container_type>> containers_{};
  std::optional<keyspan::feed<container_type>> changes_{};
  std::vector<std::deque<letter>> under_way_{};
};

}  // namespace example
