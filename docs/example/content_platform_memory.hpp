// docs/example/content_platform_memory.hpp — the regions of the content platform in memory, in
// virtual time: an account for each, copied to all others, and one can be cut off.
#pragma once

#include "content_platform.hpp"
#include "replicated_account.hpp"

#include <keyspan/async/manual_clock.hpp>
#include <keyspan/async/run_loop.hpp>
#include <keyspan/async/stop_token.hpp>
#include <keyspan/async/task.hpp>
#include <keyspan/async/when_all.hpp>
#include <keyspan/core/result.hpp>
#include <keyspan/feed/wall_time.hpp>
#include <keyspan/hash/cosmos_v2.hpp>
#include <keyspan/lease/memory_store.hpp>
#include <keyspan/region/regional_layout.hpp>
#include <keyspan/transport/memory_container.hpp>
#include <keyspan/transport/memory_options.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace content {

template <class T>
using memory_of = keyspan::memory_container<T, keyspan::cosmos_v2_scheme>;

class memory_world {
 public:
  using access = data_access<memory_of, keyspan::manual_clock>;
  using clock_type = keyspan::manual_clock;
  using store_type = keyspan::memory_view<clock_type>;
  /// Who could not be reached is told of everything later.
  static constexpr bool can_be_cut = true;

  explicit memory_world(keyspan::regional_layout layout, example::replication how = {})
      : layout_{std::move(layout)}, how_{how}, links_{layout_.size()} {
    for (std::size_t home = 0; home < layout_.size(); ++home)
      accounts_.emplace_back(layout_.size(), home, clock_);
    for (std::size_t here = 0; here < layout_.size(); ++here) {
      views_.emplace_back();
      for (copied_account& one : accounts_) views_.back().push_back(one.seen_from(here));
      deployed_.emplace_back(layout_, here, views_.back(), clock_, [this] { return now(); });
      leases_.emplace_back(clock_);
    }
  }
  memory_world(memory_world const&) = delete;
  memory_world& operator=(memory_world const&) = delete;

  keyspan::regional_layout const& layout() const noexcept { return layout_; }
  clock_type& clock() noexcept { return clock_; }
  std::int64_t now() const {
    return std::chrono::floor<std::chrono::milliseconds>(clock_.now().time_since_epoch()).count();
  }
  /// What is deployed in a region, and all accounts as they are seen from there.
  access& in(std::size_t region) { return deployed_.at(region); }
  std::vector<account_view<memory_of>> const& seen_from(std::size_t region) const {
    return views_.at(region);
  }
  /// Where the hosts of a region keep their leases, as one of them sees it.
  store_type leases(std::size_t region, std::string const& host) {
    auto const known = hosts_.find(host);
    if (known != hosts_.end()) return known->second;
    return hosts_.emplace(host, leases_.at(region).view(host)).first->second;
  }

  void cut(std::size_t region) { links_.cut(region); }
  void join(std::size_t region) { links_.join(region); }
  bool is_cut(std::size_t region) const { return links_.is_cut(region); }
  /// How many changes of an account have not come to a region.
  std::size_t behind(std::size_t account, std::size_t region) const {
    return accounts_.at(account).behind(region);
  }
  /// How many reviews of an account can be read in a region.
  std::optional<std::size_t> reviews_held(std::size_t account, std::size_t region) const {
    return accounts_.at(account).reviews.in(region).size();
  }
  /// Splits a partition of the articles of a region, as a service does when it is full.
  void split(std::size_t region) {
    auto& articles = accounts_.at(region).articles.home();
    auto const parts = articles.partitions();
    static_cast<void>(articles.split(parts.front().id));
  }

  /// Copies everything until it is stopped.
  keyspan::task<keyspan::result<void>> replicate(keyspan::stop_token stop) {
    std::vector<keyspan::task<keyspan::result<void>>> all;
    for (copied_account& one : accounts_) {
      all.push_back(one.subscriptions.replicate(links_, clock_, how_, stop));
      all.push_back(one.articles.replicate(links_, clock_, how_, stop));
      all.push_back(one.reviews.replicate(links_, clock_, how_, stop));
      all.push_back(one.notifications.replicate(links_, clock_, how_, stop));
    }
    auto copying = keyspan::when_all(std::move(all));
    auto const done = co_await std::move(copying);
    for (auto const& one : done)
      if (!one) co_return one;
    co_return keyspan::result<void>{};
  }

  template <class Task>
  auto complete(Task&& work) {
    return loop_.complete(std::forward<Task>(work), clock_);
  }

 private:
  template <class T>
  using copied = example::replicated_container<T, keyspan::cosmos_v2_scheme>;

  struct copied_account {
    copied_account(std::size_t regions, std::size_t home, keyspan::manual_clock& by)
        : subscriptions{keyspan::cosmos_v2, by_filter, regions, home, timed<subscription>(by)},
          articles{keyspan::cosmos_v2, by_id, regions, home, timed<article>(by)},
          reviews{keyspan::cosmos_v2, by_article, regions, home, timed<review>(by)},
          notifications{keyspan::cosmos_v2, by_user, regions, home, timed<notification>(by)} {}

    account_view<memory_of> seen_from(std::size_t region) const {
      return {&subscriptions.in(region), &articles.in(region), &reviews.in(region),
              &notifications.in(region)};
    }
    std::size_t behind(std::size_t region) const {
      return subscriptions.behind(region) + articles.behind(region) + reviews.behind(region) +
             notifications.behind(region);
    }

    copied<subscription> subscriptions;
    copied<article> articles;
    copied<review> reviews;
    copied<notification> notifications;
  };
  template <class T>
  static keyspan::memory_options<T> timed(keyspan::manual_clock& by) {
    return {.partitions = 2, .now = [&by] {
              return keyspan::wall_time{
                  std::chrono::floor<std::chrono::milliseconds>(by.now().time_since_epoch())};
            }};
  }

  keyspan::manual_clock clock_{};
  keyspan::run_loop loop_{};
  keyspan::regional_layout layout_;
  example::replication how_;
  example::region_links links_;
  std::deque<copied_account> accounts_{};
  std::deque<std::vector<account_view<memory_of>>> views_{};
  std::deque<access> deployed_{};
  std::deque<keyspan::memory_store<clock_type>> leases_{};
  std::map<std::string, store_type> hosts_{};  // whose names tell their region
};

}  // namespace content
