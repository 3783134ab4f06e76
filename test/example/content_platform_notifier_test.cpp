// test/example/content_platform_notifier_test.cpp — who is told of an article while an account that
// knows some of its subscribers does not answer, and when it does again.
#include <example/content_platform.hpp>

#include <keyspan/async/clock.hpp>
#include <keyspan/async/instant.hpp>
#include <keyspan/async/manual_clock.hpp>
#include <keyspan/async/run_loop.hpp>
#include <keyspan/async/stop_token.hpp>
#include <keyspan/async/task.hpp>
#include <keyspan/async/when_all.hpp>
#include <keyspan/core/error.hpp>
#include <keyspan/core/result.hpp>
#include <keyspan/feed/continuation.hpp>
#include <keyspan/feed/cursor.hpp>
#include <keyspan/feed/feed.hpp>
#include <keyspan/feed/read_request.hpp>
#include <keyspan/hash/cosmos_v2.hpp>
#include <keyspan/key/partition_key.hpp>
#include <keyspan/lease/memory_store.hpp>
#include <keyspan/processor/change_batch.hpp>
#include <keyspan/processor/processor.hpp>
#include <keyspan/region/regional_layout.hpp>
#include <keyspan/region/united_regions.hpp>
#include <keyspan/transport/faulty.hpp>
#include <keyspan/transport/memory_container.hpp>
#include <keyspan/transport/stored.hpp>

#include <catch2/catch_test_macros.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace {

using content::article;
using keyspan::cosmos_v2;
using keyspan::manual_clock;
using keyspan::partition_key;
using namespace std::chrono_literals;

template <class T>
using truth_of = keyspan::memory_container<T, keyspan::cosmos_v2_scheme>;

// A container of an account, which can be cut off as a whole, or for one key.
template <class T>
class distant : public keyspan::faulty<truth_of<T>, manual_clock> {
 public:
  using base = keyspan::faulty<truth_of<T>, manual_clock>;
  using page_answer = keyspan::task<keyspan::result<typename base::page_type>>;
  using base::base;

  // What is not answered for.
  std::optional<partition_key> silent_for{};

  page_answer read(typename base::range_type const& range, keyspan::continuation const& from,
                   keyspan::read_request const& request) {
    if (silent_for && request.key && *request.key == *silent_for) return silence();
    return base::read(range, from, request);
  }

 private:
  static page_answer silence() {
    co_return keyspan::fail(keyspan::errc::not_connected, "nobody answers for this key");
  }
};

struct account {
  explicit account(manual_clock& clock)
      : subscriptions{subscriptions_truth, clock},
        articles{articles_truth, clock},
        reviews{reviews_truth, clock},
        notifications{notifications_truth, clock} {}

  void cut_off() {
    subscriptions.cut_off();
    articles.cut_off();
    reviews.cut_off();
    notifications.cut_off();
  }
  void join() {
    subscriptions.join();
    articles.join();
    reviews.join();
    notifications.join();
  }
  content::account_view<distant> seen() {
    return {&subscriptions, &articles, &reviews, &notifications};
  }

  truth_of<content::subscription> subscriptions_truth{cosmos_v2, content::by_filter};
  truth_of<article> articles_truth{cosmos_v2, content::by_id};
  truth_of<content::review> reviews_truth{cosmos_v2, content::by_article};
  truth_of<content::notification> notifications_truth{cosmos_v2, content::by_user};
  distant<content::subscription> subscriptions;
  distant<article> articles;
  distant<content::review> reviews;
  distant<content::notification> notifications;
};

using access = content::data_access<distant, manual_clock>;
using notifier = content::notifier<access>;

// The application in the first of two regions. Ada's followers are wes, who has subscribed here,
// and eva, whose subscription only the other account has; so has that of kai, to what is of the
// sea.
struct world {
  world() {
    follow(west, "wes", content::author_filter("ada"));
    follow(europe, "eva", content::author_filter("ada"));
    follow(europe, "kai", content::category_filter("sea"));
  }
  template <class Awaited>
  auto wait(Awaited&& what) {
    return loop.complete(std::forward<Awaited>(what), clock);
  }
  // Until accounts that did not answer are asked again.
  void pass() { static_cast<void>(wait(keyspan::wait_for(clock, 2s))); }

  void follow(account& in, std::string const& user, std::string const& filter) {
    content::subscription const one{filter + '.' + user, filter, user, 1};
    REQUIRE(wait(in.subscriptions_truth.upsert(one)).has_value());
  }
  void publish(std::string const& id, std::string const& category = "sea") {
    article one;
    one.id = id;
    one.author = "ada";
    one.category = category;
    REQUIRE(wait(here.publish_article(one)).has_value());
  }
  // How often somebody is told of an article.
  std::size_t told(std::string const& user, std::string const& id) {
    std::size_t count = 0;
    auto const feed = wait(here.read_notification_feed(user));
    REQUIRE(feed.has_value());
    for (auto const& one : feed->items) count += one->article_id == id;
    return count;
  }
  std::size_t notifications() {
    std::size_t count = 0;
    for (account* const one : {&west, &europe}) {
      keyspan::feed changes{one->notifications_truth};
      for (auto const& page : changes.pages()) count += page->items.size();
    }
    return count;
  }

  // Hands the notifier all articles as one batch; returns how often that is acknowledged.
  std::shared_ptr<std::size_t> hand_over(notifier& to) {
    std::vector<keyspan::change<article>> all;
    keyspan::feed changes{west.articles_truth};
    for (auto const& page : changes.pages())
      all.insert(all.end(), page->items.begin(), page->items.end());
    std::vector<std::uint32_t> which(all.size());
    std::iota(which.begin(), which.end(), 0U);
    auto const count = std::make_shared<std::size_t>(0);
    keyspan::acknowledgement const done{
        std::make_shared<std::function<void()>>([count] { ++*count; })};
    using token = truth_of<article>::token_type;
    keyspan::lease_info<token> const lease{"0", west.articles_truth.partitions()[0].range, 1};
    keyspan::change_batch<token, keyspan::change<article>> batch{lease, all, which, 1, {}, done};
    REQUIRE(wait(to.process(batch)).has_value());
    return count;
  }

  manual_clock clock{};
  keyspan::run_loop loop{};
  account west{clock}, europe{clock};
  access here{*keyspan::regional_layout::from({"west", "europe"}),
              0,
              {west.seen(), europe.seen()},
              clock,
              [] { return 1; },
              {.mark_lasts = 1s}};
};

TEST_CASE("where every account answers all are told at once, and the articles are acknowledged") {
  world all;
  notifier telling{all.here};
  all.publish("a-1");
  auto const acknowledged = all.hand_over(telling);
  CHECK(*acknowledged == 1);
  CHECK(telling.owes() == 0);
  for (char const* const user : {"wes", "eva", "kai"}) CHECK(all.told(user, "a-1") == 1);
  all.hand_over(telling);  // at least once
  CHECK(all.notifications() == 3);
}

TEST_CASE("who is known only to an account that does not answer is told once when it does") {
  world all;
  notifier telling{all.here};
  all.publish("a-1");
  all.publish("a-2");
  all.europe.cut_off();
  auto const acknowledged = all.hand_over(telling);
  for (char const* const id : {"a-1", "a-2"}) CHECK(all.told("wes", id) == 1);
  CHECK(all.notifications() == 2);
  CHECK(telling.owes() == 2);
  CHECK(*acknowledged == 0);

  for (int i = 0; i < 2; ++i) {  // it is not forgotten, however often it is tried
    all.pass();
    all.wait(telling.settle());
    CHECK(telling.owes() == 2);
    CHECK(*acknowledged == 0);
  }

  all.europe.join();
  all.pass();
  all.wait(telling.settle());
  CHECK(telling.owes() == 0);
  CHECK(*acknowledged == 1);
  for (char const* const user : {"wes", "eva", "kai"})
    for (char const* const id : {"a-1", "a-2"}) CHECK(all.told(user, id) == 1);
  CHECK(all.notifications() == 6);
  all.wait(telling.settle());
  CHECK(*acknowledged == 1);
  CHECK(all.notifications() == 6);
}

TEST_CASE(
    "an article is kept where only the author's, or only the category's, followers are not "
    "known") {
  struct part {
    std::string silent_for, told_at_once, told_later;
  };
  for (auto const& [filter, soon, later] : {part{content::category_filter("sea"), "eva", "kai"},
                                            part{content::author_filter("ada"), "wes", "eva"}}) {
    world all;
    notifier telling{all.here};
    all.publish("a-1");
    all.europe.subscriptions.silent_for = partition_key{filter};
    auto const acknowledged = all.hand_over(telling);
    CHECK(all.told(soon, "a-1") == 1);
    CHECK(all.told(later, "a-1") == 0);
    CHECK(telling.owes() == 1);
    CHECK(*acknowledged == 0);

    all.europe.subscriptions.silent_for.reset();
    all.pass();
    all.wait(telling.settle());
    CHECK(telling.owes() == 0);
    CHECK(*acknowledged == 1);
    CHECK(all.notifications() == 3);
  }
}

// A host over the articles, for some time; then it is gone, with all that it owes.
void run_host(world& all, keyspan::memory_store<manual_clock>& leases, std::string const& name,
              std::function<void()> const& meanwhile = {}) {
  using token = truth_of<article>::token_type;
  keyspan::processor_options<token> with;
  with.host_name = name;
  with.start = keyspan::from_beginning;
  with.checkpointing = keyspan::checkpointing::manual;
  keyspan::stop_source stop;
  notifier telling{all.here};
  keyspan::processor sharing{all.west.articles, leases, all.clock, with};
  auto const going_on = [&]() -> keyspan::task<> {
    for (int i = 0; i < 60; ++i) {
      if (i == 30 && meanwhile) meanwhile();
      auto waiting = keyspan::wait_for(all.clock, 1s);
      static_cast<void>(co_await std::move(waiting));
      auto settling = telling.settle();
      co_await std::move(settling);
    }
    stop.request_stop();
  };
  auto both = keyspan::when_all(sharing.run(telling, stop.token()), going_on());
  auto const done = all.wait(std::move(both));
  REQUIRE(std::get<0>(done).has_value());
}

TEST_CASE("what a host owes when it ends another one is given, and nobody is told twice") {
  world all;
  keyspan::memory_store<manual_clock> leases{all.clock};
  all.publish("a-1");
  all.europe.cut_off();
  run_host(all, leases, "first");
  CHECK(all.told("wes", "a-1") == 1);
  CHECK(all.notifications() == 1);

  run_host(all, leases, "second", [&] { all.europe.join(); });
  for (char const* const user : {"wes", "eva", "kai"}) CHECK(all.told(user, "a-1") == 1);
  CHECK(all.notifications() == 3);

  // What is told is acknowledged: who is new to an author is not told of what is old.
  all.follow(all.west, "zoe", content::author_filter("ada"));
  run_host(all, leases, "third");
  CHECK(all.told("zoe", "a-1") == 0);
}

}  // namespace
