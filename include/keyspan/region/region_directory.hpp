// keyspan/region/region_directory.hpp — what is known of an account's regions, for all who ask it:
// which there are, which of them were out of order, and when to look again.
#pragma once

#include <keyspan/async/instant.hpp>
#include <keyspan/core/contract.hpp>
#include <keyspan/region/account_regions.hpp>
#include <keyspan/region/region_marks.hpp>
#include <keyspan/region/region_order.hpp>
#include <keyspan/region/region_retry.hpp>
#include <keyspan/transport/endpoint.hpp>

#include <algorithm>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace keyspan {

/// The regions of an account as they are at one moment.
struct region_view {
  /// Those to ask, the first one first; never empty.
  std::vector<service_region> order{};
  /// Where databases, containers and, unless many regions take them, documents are written.
  service_region writer{};
  /// Whether that was found out of order for reads.
  bool is_writer_marked = false;
  /// Whether writes of documents go to the nearest region.
  bool writes_in_many = false;
};

/// What a program knows of the regions of one account. Until the account was asked it knows the
/// address that it was given.
///
/// It asks nobody: who sends a request takes the `turn` where it is due, asks the account, and
/// hands over what that said. All members may be called from any thread.
class region_directory {
 public:
  explicit region_directory(service_endpoint given, region_preferences like = {},
                            region_policy policy = {})
      : given_{std::move(given)}, like_{std::move(like)}, policy_{policy} {}
  region_directory(region_directory const&) = delete;
  region_directory& operator=(region_directory const&) = delete;

  service_endpoint const& given() const noexcept { return given_; }
  region_preferences const& preferences() const noexcept { return like_; }
  region_policy const& policy() const noexcept { return policy_; }
  /// What the account said last; empty where it was not asked yet.
  account_regions known() const {
    std::lock_guard const lock{mutex_};
    return known_;
  }

  /// The regions to ask, the first one first: `regions_for` of what is known.
  [[nodiscard]] std::vector<service_region> order(region_use use, instant now) const {
    std::lock_guard const lock{mutex_};
    return regions_for(known_, like_, marks_, use, now, given_);
  }
  /// The same, and where writes go.
  [[nodiscard]] region_view view(region_use use, instant now) const {
    std::lock_guard const lock{mutex_};
    region_view made{.order = regions_for(known_, like_, marks_, use, now, given_),
                     .writes_in_many = writes_in_many(known_, like_)};
    made.writer = regions_for(known_, like_, marks_, region_use::administer, now, given_).front();
    made.is_writer_marked = marks_.is_marked(made.writer.endpoint, region_use::read, now);
    return made;
  }

  /// Remembers what a step says about an endpoint that failed.
  void take(region_step const& step, service_endpoint const& failed, instant now) {
    std::lock_guard const lock{mutex_};
    marks_.expire(now);
    instant const until = instant_after(now, policy_.mark_lasts);
    if (step.marks_reads) marks_.mark(failed, region_use::read, until);
    if (step.marks_writes) marks_.mark(failed, region_use::write, until);
    if (step.refreshes) due_ = (std::min)(due_, instant_after(asked_, policy_.least_refresh_wait));
  }
  /// The turn to ask the account, for one at a time: where it was not asked yet, what is known is
  /// old, a step wants it, or the region that is preferred is not the one that is asked. Who gets
  /// it ends it by `finish`.
  [[nodiscard]] bool turn(instant now) {
    std::lock_guard const lock{mutex_};
    if (is_asking_ || now < next_look(now)) return false;
    is_asking_ = true;
    asked_ = now;
    return true;
  }
  /// What the account has said, or nothing where it could not be asked.
  void finish(std::optional<account_regions> said, instant now) {
    std::lock_guard const lock{mutex_};
    expects(is_asking_, "who has the turn to ask ends it");
    is_asking_ = false;
    if (said) known_ = *std::move(said);
    due_ = instant_after(now, said ? policy_.refresh_every : policy_.least_refresh_wait);
  }

  /// Ends a turn in which the account was not asked to the end: whoever comes next looks.
  void give_up() {
    std::lock_guard const lock{mutex_};
    expects(is_asking_, "who has the turn to ask ends it");
    is_asking_ = false;
  }

  /// Where the account may be asked for its regions: at its own address, then at those of its
  /// regions, and of the preferred ones.
  [[nodiscard]] std::vector<service_endpoint> where_to_ask() const {
    std::lock_guard const lock{mutex_};
    std::vector<service_endpoint> made{given_};
    auto const add = [&](service_endpoint const& one) {
      if (std::find(made.begin(), made.end(), one) == made.end()) made.push_back(one);
    };
    for (auto const& one : known_.writable) add(one.endpoint);
    for (auto const& one : known_.readable) add(one.endpoint);
    for (std::string const& name : like_.preferred)
      if (auto const one = endpoint_in_region(given_, name)) add(*one);
    return made;
  }

 private:
  // Away from the preferred region one looks more often.
  instant next_look(instant now) const {
    bool const is_known = !known_.readable.empty() || !known_.writable.empty();
    if (!is_known || like_.preferred.empty()) return due_;
    auto const order = regions_for(known_, like_, marks_, region_use::read, now, given_);
    if (is_same_region(order.front().name, like_.preferred.front())) return due_;
    return (std::min)(due_, instant_after(asked_, policy_.refresh_away_every));
  }

  service_endpoint given_;
  region_preferences like_;
  region_policy policy_;
  mutable std::mutex mutex_{};
  account_regions known_{};
  region_marks marks_{};
  bool is_asking_ = false;
  instant asked_ = (instant::min)();
  instant due_ = (instant::min)();
};

}  // namespace keyspan
