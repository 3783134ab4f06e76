// docs/example/content_platform.hpp — authors, readers and reviewers all over the world: each
// writes in the region where they are, and reads there what all have written.
//
//   data_access<Container, Clock>   what the application asks of its data, in one region
//   notifier<Access>                tells subscribers of new articles, as a change processor
#pragma once

#include <keyspan/async/clock.hpp>
#include <keyspan/async/task.hpp>
#include <keyspan/async/when_all.hpp>
#include <keyspan/core/error.hpp>
#include <keyspan/core/result.hpp>
#include <keyspan/key/container_definition.hpp>
#include <keyspan/key/partition_key.hpp>
#include <keyspan/merge/sort_order.hpp>
#include <keyspan/processor/change_batch.hpp>
#include <keyspan/region/regional_layout.hpp>
#include <keyspan/region/united_regions.hpp>
#include <keyspan/transport/stored.hpp>

#include <boost/hana/adapt_struct.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace content {

// [region: entities]
// Who follows what: an author or a category.
struct subscription {
  std::string id, filter, user_id;
  std::int64_t at = 0;  // in milliseconds
};
struct article {
  std::string id, author, category, title;
  std::vector<std::string> tags;
  std::int64_t at = 0;
};
struct review {
  std::string id, article_id, reviewer_id, text;
  int rating = 0;
  std::int64_t at = 0;
};
// That an article is out, for one subscriber, and which subscription is the reason.
struct notification {
  std::string id, user_id, filter, article_id;
  std::int64_t at = 0;
};

// What is read together lives together.
inline constexpr auto by_filter = keyspan::documents_container<"/filter">();
inline constexpr auto by_id = keyspan::documents_container<"/id">();
inline constexpr auto by_article = keyspan::documents_container<"/article_id">();
inline constexpr auto by_user = keyspan::documents_container<"/user_id">();
// [end: entities]

}  // namespace content

BOOST_HANA_ADAPT_STRUCT(content::subscription, id, filter, user_id, at);
BOOST_HANA_ADAPT_STRUCT(content::article, id, author, category, title, tags, at);
BOOST_HANA_ADAPT_STRUCT(content::review, id, article_id, reviewer_id, text, rating, at);
BOOST_HANA_ADAPT_STRUCT(content::notification, id, user_id, filter, article_id, at);

namespace content {

/// What the subscriptions to an author, and to a category, are filtered by.
inline std::string author_filter(std::string const& author) { return "author:" + author; }
inline std::string category_filter(std::string const& category) { return "category:" + category; }

/// The containers of one account, as they are seen from one region.
template <template <class> class Container>
struct account_view {
  Container<subscription>* subscriptions = nullptr;
  Container<article>* articles = nullptr;
  Container<review>* reviews = nullptr;
  Container<notification>* notifications = nullptr;
};

// [region: access]
/// What the application asks of its data, as it is deployed in one region: it writes to the account
/// of this region, and reads all accounts, here, and unites what they tell.
///
/// Whatever is written has an id that follows from what it says, so that every write may be
/// repeated by who does not know whether it was done.
template <template <class> class Container, keyspan::clock Clock>
class data_access {
 public:
  template <class T>
  using united = keyspan::united_regions<Container<T>, Clock>;
  template <class T>
  using answer = keyspan::task<keyspan::result<keyspan::united_items<keyspan::change<T>>>>;
  template <class T>
  using written = keyspan::task<keyspan::result<T>>;

  /// In region `here` of the layout, whose accounts are given in its order. `now` gives the times
  /// that are written. All of it outlives this.
  data_access(keyspan::regional_layout const& layout, std::size_t here,
              std::vector<account_view<Container>> const& accounts, Clock& clock,
              std::function<std::int64_t()> now, keyspan::union_options how = {})
      : now_{std::move(now)},
        subscriptions_{layout, here, all_of(accounts, &view::subscriptions), clock, how},
        articles_{layout, here, all_of(accounts, &view::articles), clock, how},
        reviews_{layout, here, all_of(accounts, &view::reviews), clock, how},
        notifications_{layout, here, all_of(accounts, &view::notifications), clock, how} {}
  data_access(data_access const&) = delete;
  data_access& operator=(data_access const&) = delete;

  written<subscription> create_subscription(std::string user, std::string filter) {
    subscription one{filter + '.' + user, filter, user, now_()};
    return upserted(subscriptions_.local(), std::move(one));
  }
  /// The article has an id that no other one has, anywhere.
  written<article> publish_article(article one) {
    one.at = now_();
    return upserted(articles_.local(), std::move(one));
  }
  /// One review of an article by each reader; another one takes its place.
  written<review> write_review(std::string article, std::string user, std::string text,
                               int rating) {
    review one{article + '.' + user, article, user, std::move(text), rating, now_()};
    return upserted(reviews_.local(), std::move(one));
  }

  answer<notification> read_notification_feed(std::string user) {
    return notifications_.read(keyspan::partition_key{user}, in_time<notification>());
  }
  answer<review> read_reviews(std::string article) {
    return reviews_.read(keyspan::partition_key{article}, in_time<review>());
  }
  /// Errors: `not_found` only where all accounts have answered.
  auto read_article(std::string const& id) { return articles_.read_item(id, id); }
  // [end: access]

  // [region: notify]
  /// Writes a notification for each subscriber of the author or the category, in whatever region
  /// they have subscribed; returns whether all accounts have said who that is. It may be done over
  /// and over: the id of a notification is that of its article, so nobody has two of one.
  keyspan::task<keyspan::result<bool>> notify(article one) {
    keyspan::partition_key const author{author_filter(one.author)};
    keyspan::partition_key const category{category_filter(one.category)};
    auto const order = in_time<subscription>();
    auto asking =
        keyspan::when_all(subscriptions_.read(author, order), subscriptions_.read(category, order));
    auto const [of_author, of_category] = co_await std::move(asking);
    if (!of_author) co_return keyspan::unexpected{of_author.error()};
    if (!of_category) co_return keyspan::unexpected{of_category.error()};

    std::map<std::string, std::string> filters;  // by user: who has subscribed twice has one
    for (auto const* all : {&*of_author, &*of_category})
      for (auto const& each : all->items) filters.emplace(each->user_id, each->filter);

    std::vector<keyspan::task<keyspan::result<void>>> writing;
    for (auto const& [user, filter] : filters)
      writing.push_back(created({one.id, user, filter, one.id, now_()}));
    auto all_writing = keyspan::when_all(std::move(writing));
    auto const all_written = co_await std::move(all_writing);
    for (auto const& each : all_written)
      if (!each) co_return keyspan::unexpected{each.error()};
    co_return of_author->is_whole() && of_category->is_whole();
  }
  // [end: notify]

  /// What is written in this region: whose changes are processed here, and counted.
  Container<article>& local_articles() { return articles_.local(); }
  /// How many notifications were written here, each counted once.
  std::size_t notified() const noexcept { return notified_; }

 private:
  using view = account_view<Container>;

  template <class T>
  static std::vector<Container<T>*> all_of(std::vector<view> const& accounts,
                                           Container<T>* view::* one) {
    std::vector<Container<T>*> all;
    for (view const& each : accounts) all.push_back(each.*one);
    return all;
  }
  template <class T>
  static auto in_time() {
    return keyspan::ascending([](keyspan::change<T> const& one) { return one->at; })
        .then(keyspan::ascending([](keyspan::change<T> const& one) { return one->id; }));
  }
  template <class T>
  static written<T> upserted(Container<T>& to, T one) {
    auto writing = to.upsert(one);
    auto const done = co_await std::move(writing);
    if (!done) co_return keyspan::unexpected{done.error()};
    co_return one;
  }
  // Done, now or before.
  keyspan::task<keyspan::result<void>> created(notification one) {
    auto writing = notifications_.local().create(std::move(one));
    auto const done = co_await std::move(writing);
    if (done) ++notified_;
    if (done || done.error().code == keyspan::errc::already_exists)
      co_return keyspan::result<void>{};
    co_return keyspan::unexpected{done.error()};
  }

  std::function<std::int64_t()> now_;
  united<subscription> subscriptions_;
  united<article> articles_;
  united<review> reviews_;
  united<notification> notifications_;
  std::size_t notified_ = 0;
};

// [region: notifier]
/// The handler of a `processor` over the articles of one region, with checkpoints by hand: an
/// article is acknowledged when every account was asked who follows it. While one does not answer,
/// those who are known are told at once, and the article is kept and tried again later; where the
/// host ends meanwhile, another one is given it. Its functions run on one thread.
template <class Access>
class notifier {
 public:
  explicit notifier(Access& access) : access_{access} {}

  keyspan::task<keyspan::result<void>> process(auto& batch) {
    owed kept{{}, batch.acknowledger()};
    for (auto const& change : batch) {
      article const one = *change;
      auto telling = access_.notify(one);
      auto const told = co_await std::move(telling);
      if (!told) co_return keyspan::unexpected{told.error()};
      ++handled_;
      if (!*told) kept.articles.push_back(one);
    }
    if (kept.articles.empty()) {
      kept.acknowledge();
    } else {
      owed_.push_back(std::move(kept));
    }
    co_return keyspan::result<void>{};
  }

  /// Tries again what is owed: call it now and then.
  keyspan::task<> settle() {
    auto const all = std::exchange(owed_, {});
    for (owed const& one : all) {
      owed left{{}, one.acknowledge};
      for (article const& each : one.articles) {
        auto telling = access_.notify(each);
        auto const told = co_await std::move(telling);
        if (!told || !*told) left.articles.push_back(each);
      }
      if (left.articles.empty()) {
        one.acknowledge();
      } else {
        owed_.push_back(std::move(left));
      }
    }
  }

  /// How many articles wait for an account to answer.
  std::size_t owes() const {
    std::size_t count = 0;
    for (owed const& one : owed_) count += one.articles.size();
    return count;
  }
  std::size_t handled() const noexcept { return handled_; }

 private:
  struct owed {
    std::vector<article> articles;
    keyspan::acknowledgement acknowledge;
  };

  Access& access_;
  std::vector<owed> owed_{};
  std::size_t handled_ = 0;
};
// [end: notifier]

}  // namespace content
