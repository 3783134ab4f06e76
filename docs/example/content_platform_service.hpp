// docs/example/content_platform_service.hpp — the regions of the content platform in accounts of
// Azure Cosmos DB, one for each, over libcurl. What runs in a region asks every account there, if
// the account has it, and writes to the one that is written there.
#pragma once

#include "content_platform.hpp"

#include <keyspan/adapter/curl.hpp>
#include <keyspan/async/instant.hpp>
#include <keyspan/async/stop_token.hpp>
#include <keyspan/async/task.hpp>
#include <keyspan/core/error.hpp>
#include <keyspan/core/result.hpp>
#include <keyspan/cosmos/address.hpp>
#include <keyspan/cosmos/cosmos_container.hpp>
#include <keyspan/cosmos/cosmos_lease_store.hpp>
#include <keyspan/cosmos/credential.hpp>
#include <keyspan/cosmos/regional_account.hpp>
#include <keyspan/cosmos/service_request.hpp>
#include <keyspan/key/container_definition.hpp>
#include <keyspan/region/regional_layout.hpp>
#include <keyspan/transport/endpoint.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace content {

template <class T>
using service_container = keyspan::cosmos::cosmos_container<T>;

/// Where an account is, and who may use it.
struct service_place {
  std::string region{};
  keyspan::service_endpoint endpoint{};
  keyspan::cosmos::credential who;
};

class service_world {
 public:
  using access = data_access<service_container, keyspan::curl_loop>;
  using clock_type = keyspan::curl_loop;
  using store_type = keyspan::cosmos::cosmos_lease_store;
  static constexpr bool can_be_cut = false;

  /// An account in each region of the layout, in its order.
  service_world(keyspan::regional_layout layout, std::vector<service_place> places,
                std::string database)
      : layout_{std::move(layout)}, database_{std::move(database)} {
    for (std::size_t here = 0; here < layout_.size(); ++here)
      for (service_place const& one : places)
        accounts_.emplace_back(connecting{&loop_}, loop_, one.endpoint, one.who, nearest(here));
  }
  service_world(service_world const&) = delete;
  service_world& operator=(service_world const&) = delete;

  /// Makes the containers that are not there, and opens all in each region. Errors: those of the
  /// accounts; all of them have to answer once.
  keyspan::result<void> open() { return loop_.complete(opened()); }

  keyspan::regional_layout const& layout() const noexcept { return layout_; }
  clock_type& clock() noexcept { return loop_; }
  std::int64_t now() const {
    return std::chrono::floor<std::chrono::milliseconds>(
               std::chrono::system_clock::now().time_since_epoch())
        .count();
  }
  access& in(std::size_t region) { return deployed_.at(region); }
  std::vector<account_view<service_container>> const& seen_from(std::size_t region) const {
    return views_.at(region);
  }
  /// Beside what is processed: a container of the account that is written in the region.
  store_type leases(std::size_t region, std::string const&) { return leases_.at(region); }

  // The service copies, splits and fails by itself.
  void cut(std::size_t) {}
  void join(std::size_t) {}
  void split(std::size_t) {}
  bool is_cut(std::size_t) const { return false; }
  std::size_t behind(std::size_t, std::size_t) const { return 0; }
  std::optional<std::size_t> reviews_held(std::size_t, std::size_t) const { return std::nullopt; }
  keyspan::task<keyspan::result<void>> replicate(keyspan::stop_token) {
    co_return keyspan::result<void>{};
  }

  template <class Task>
  auto complete(Task&& work) {
    return loop_.complete(std::forward<Task>(work));
  }

 private:
  // [region: account]
  struct connecting {
    std::unique_ptr<keyspan::curl_transport> operator()(keyspan::service_endpoint const& to) const {
      keyspan::curl_options const how{.connect_timeout = std::chrono::seconds{1}};
      return std::make_unique<keyspan::curl_transport>(*loop, to, how);
    }
    keyspan::curl_loop* loop;
  };
  using regional_account = keyspan::cosmos::regional_account<connecting, clock_type>;

  // Reads go to the region where the program is. Somebody waits, so it gives up soon.
  keyspan::cosmos::regional_options nearest(std::size_t here) const {
    keyspan::cosmos::regional_options made;
    made.like = layout_.preferences_in(here);
    made.policy.budget = std::chrono::seconds{2};
    made.policy.most_unavailable = 4;
    made.policy.look_within = std::chrono::seconds{1};
    return made;
  }
  // [end: account]
  regional_account& account_in(std::size_t here, std::size_t number) {
    return accounts_.at(here * layout_.size() + number);
  }

  // The containers of one account, as one region has opened them.
  struct opened_account {
    service_container<subscription> subscriptions;
    service_container<article> articles;
    service_container<review> reviews;
    service_container<notification> notifications;
  };

  keyspan::task<keyspan::result<void>> opened() {
    for (std::size_t i = 0; i < layout_.size(); ++i) {
      auto making = make_all(account_in(i, i));
      auto const made = co_await std::move(making);
      if (!made) co_return made;
    }
    for (std::size_t here = 0; here < layout_.size(); ++here) {
      views_.emplace_back();
      for (std::size_t i = 0; i < layout_.size(); ++i) {
        auto opening = open_in(account_in(here, i));
        auto const done = co_await std::move(opening);
        if (!done) co_return done;
        opened_account& all = opened_.back();
        views_.back().push_back(
            {&all.subscriptions, &all.articles, &all.reviews, &all.notifications});
      }
      keyspan::union_options const how{.patience = std::chrono::seconds{2},
                                       .mark_lasts = std::chrono::seconds{1}};
      deployed_.emplace_back(layout_, here, views_.back(), loop_, [this] { return now(); }, how);
      keyspan::cosmos::lease_store_options const readable{
          .scheme = deployed_.back().local_articles().scheme()};
      auto opening =
          store_type::open(account_in(here, here), database_, std::string{"leases"}, readable);
      auto const leases = co_await std::move(opening);
      if (!leases) co_return keyspan::unexpected{leases.error()};
      leases_.push_back(*leases);
    }
    co_return keyspan::result<void>{};
  }

  keyspan::task<keyspan::result<void>> make_all(regional_account& account) {
    auto asking = account.ask(keyspan::cosmos::create_database(database_));
    auto const made = co_await std::move(asking);
    if (!made && made.error().code != keyspan::errc::already_exists)
      co_return keyspan::unexpected{made.error()};
    std::vector<std::pair<std::string, keyspan::key_paths>> const wanted{
        {"subscriptions", by_filter.paths()},
        {"articles", by_id.paths()},
        {"reviews", by_article.paths()},
        {"notifications", by_user.paths()},
        {"leases", by_id.paths()}};
    for (auto const& [name, paths] : wanted) {
      auto const where = keyspan::cosmos::container_address::from(database_, name);
      if (!where) co_return keyspan::unexpected{where.error()};
      auto creating = account.ask(keyspan::cosmos::create_container(*where, paths));
      auto const done = co_await std::move(creating);
      if (!done && done.error().code != keyspan::errc::already_exists)
        co_return keyspan::unexpected{done.error()};
    }
    co_return keyspan::result<void>{};
  }

  keyspan::task<keyspan::result<void>> open_in(regional_account& account) {
    auto subscriptions = account.open<subscription>(database_, std::string{"subscriptions"});
    auto const first = co_await std::move(subscriptions);
    if (!first) co_return keyspan::unexpected{first.error()};
    auto articles = account.open<article>(database_, std::string{"articles"});
    auto const second = co_await std::move(articles);
    if (!second) co_return keyspan::unexpected{second.error()};
    auto reviews = account.open<review>(database_, std::string{"reviews"});
    auto const third = co_await std::move(reviews);
    if (!third) co_return keyspan::unexpected{third.error()};
    auto notifications = account.open<notification>(database_, std::string{"notifications"});
    auto const fourth = co_await std::move(notifications);
    if (!fourth) co_return keyspan::unexpected{fourth.error()};
    opened_.push_back({*first, *second, *third, *fourth});
    co_return keyspan::result<void>{};
  }

  keyspan::curl_loop loop_{};
  keyspan::regional_layout layout_;
  std::string database_;
  std::deque<regional_account> accounts_{};  // of the first region, of the second …
  std::deque<opened_account> opened_{};
  std::deque<std::vector<account_view<service_container>>> views_{};
  std::deque<access> deployed_{};
  std::vector<store_type> leases_{};
};

}  // namespace content
