// docs/example/content_platform_story.hpp — what happens on the content platform: people in every
// region follow, publish, read and review, a region is cut off and comes back, and in the end it is
// looked whether everything that was acknowledged is everywhere.
#pragma once

#include "content_platform.hpp"

#include <keyspan/async/clock.hpp>
#include <keyspan/async/instant.hpp>
#include <keyspan/async/stop_token.hpp>
#include <keyspan/async/task.hpp>
#include <keyspan/async/when_all.hpp>
#include <keyspan/core/error.hpp>
#include <keyspan/core/result.hpp>
#include <keyspan/core/text.hpp>
#include <keyspan/feed/continuation.hpp>
#include <keyspan/feed/feed.hpp>
#include <keyspan/lease/lease_store.hpp>
#include <keyspan/lease/session_id.hpp>
#include <keyspan/processor/lease_control.hpp>
#include <keyspan/processor/processor.hpp>
#include <keyspan/region/regional_layout.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace content {

struct story_options {
  std::size_t rounds = 30;
  std::size_t readers = 12;  ///< in each region
  std::size_t authors = 2;   ///< in each region
  std::size_t hosts = 2;     ///< in each region, that tell subscribers
  /// Who is cut off, from a third of the rounds on until two thirds.
  std::optional<std::size_t> cut{};
  /// What ids of this run begin with, so that they are new in accounts that are used again.
  std::string run{};
  keyspan::instant::duration round = std::chrono::milliseconds{250};
  /// How long it may take at the end until everything is everywhere.
  keyspan::instant::duration patience = std::chrono::minutes{1};
};

/// What one lease of a region's articles looks like.
struct lease_figures {
  std::string range, owner;
  std::uint64_t epoch = 0;
};
/// What a region looks like at a moment.
struct region_figures {
  std::string name;
  bool is_cut = false;
  std::size_t articles = 0, reviews = 0, notified = 0;  ///< written here, and acknowledged
  std::size_t failed = 0;                               ///< writes that are to be repeated
  std::size_t owed = 0;                                 ///< articles that are not all told of
  /// Of each account: how many reviews can be read here, and how many changes are on their way.
  std::vector<std::optional<std::size_t>> held{};
  std::vector<std::size_t> behind{};
  std::vector<lease_figures> leases{};
};

/// Tells it once, in a world of regions in memory or of real accounts.
template <class World>
class story {
 public:
  /// `tell` is given a line for everything that happens; `look` is called after every round.
  story(World& world, story_options options, std::function<void(std::string const&)> tell,
        std::function<void()> look = {})
      : world_{world},
        options_{std::move(options)},
        tell_{std::move(tell)},
        look_{std::move(look)} {
    for (auto const& name : world_.layout().regions()) {
      station made;
      made.figures.name = name;
      regions_.push_back(std::move(made));
    }
  }
  story(story const&) = delete;
  story& operator=(story const&) = delete;

  /// Returns whether everything is as it should be; what is not was told.
  bool run() {
    std::vector<keyspan::task<>> all;
    all.push_back(copy());
    for (std::size_t region = 0; region < regions_.size(); ++region)
      for (std::size_t i = 1; i <= options_.hosts; ++i) all.push_back(host(region, i));
    all.push_back(happen());
    auto together = keyspan::when_all(std::move(all));
    static_cast<void>(world_.complete(std::move(together)));
    return is_right_;
  }

  std::vector<region_figures> figures() const {
    std::vector<region_figures> all;
    for (station const& one : regions_) all.push_back(one.figures);
    return all;
  }
  std::size_t articles() const noexcept { return articles_.size(); }
  std::size_t reviews() const noexcept { return count_reviews(); }
  std::size_t notifications() const noexcept { return told_.size(); }
  std::size_t round() const noexcept { return round_; }

 private:
  using access = typename World::access;
  using handler_type = notifier<access>;
  struct station {
    region_figures figures{};
    std::deque<std::shared_ptr<handler_type>> handlers{};
    std::set<std::size_t> down{};  // accounts that do not answer here
  };
  // What somebody wants to be written, in a region.
  struct deed {
    std::size_t region;
    std::size_t stage;
    std::variant<subscription, article, review> what;
  };

  // ---- what runs in the regions ----------------------------------------------------------------

  keyspan::task<> copy() {
    auto copying = world_.replicate(stop_.token());
    auto const done = co_await std::move(copying);
    if (!done) complain("copying has ended: ", done.error().to_text().view());
  }

  // [region: host]
  // One of the hosts of a region: its share of the articles that are published there.
  keyspan::task<> host(std::size_t region, std::size_t number) {
    auto& here = world_.in(region);
    std::string const name = regions_[region].figures.name + ' ' + std::to_string(number);
    auto const handler = std::make_shared<handler_type>(here);
    regions_[region].handlers.push_back(handler);
    auto leases = world_.leases(region, name);
    using token = typename std::remove_cvref_t<decltype(here.local_articles())>::token_type;
    keyspan::processor_options<token> with = intervals<token>();
    with.host_name = name;
    with.lease_prefix = options_.run;
    with.start = keyspan::from_beginning;
    with.checkpointing = keyspan::checkpointing::manual;
    if constexpr (World::can_be_cut) with.session = keyspan::session_id{region * 100 + number};
    with.most_attempts = 1'000'000;  // whoever does not answer now may answer tomorrow
    keyspan::processor sharing{here.local_articles(), leases, world_.clock(), with};
    auto both = keyspan::when_all(sharing.run(*handler, stop_.token()), settle(*handler));
    auto const [done, nothing] = co_await std::move(both);
    static_cast<void>(nothing);
    if (!done) complain(name, ": ", done.error().to_text().view());
  }
  // [end: host]

  keyspan::task<> settle(handler_type& handler) {
    for (;;) {
      auto waiting = keyspan::wait_for(world_.clock(), options_.round * 2, stop_.token());
      if (auto const waited = co_await std::move(waiting); !waited) co_return;
      auto settling = handler.settle();
      co_await std::move(settling);
    }
  }
  template <class Token>
  static keyspan::processor_options<Token> intervals() {
    using namespace std::chrono_literals;
    keyspan::processor_options<Token> made;
    made.lease_renew_interval = 500ms;
    made.lease_acquire_interval = 500ms;
    made.lease_expiration_interval = World::can_be_cut ? 1500ms : 4s;
    made.feed_poll_delay = 100ms;
    made.layout_poll_interval = 250ms;
    made.settle_window = 200ms;
    made.drain_limit = 500ms;
    made.store_timeout = 600ms;
    made.leaving_notice = 100ms;
    made.retry_delay = 100ms;
    made.longest_retry_delay = 1s;
    return made;
  }

  // ---- what happens ----------------------------------------------------------------------------

  keyspan::task<> happen() {
    auto following = follow_all();
    co_await std::move(following);
    for (stage_ = 1; round_ < options_.rounds; ++round_) {
      bool const is_cut = options_.cut && world_.is_cut(*options_.cut);
      if (options_.cut && round_ == options_.rounds / 3) cut();
      if (is_cut && round_ == 2 * options_.rounds / 3) {
        auto counting = tell_what_is_missing();
        co_await std::move(counting);
        join();
      }
      auto going_on = go_on();
      co_await std::move(going_on);
      if (round_ % 10 == 9)
        say("round ", std::to_string(round_ + 1), ": ", std::to_string(articles_.size()),
            " articles, ", std::to_string(reviews()), " reviews");
    }
    // Whoever follows by now is to be told of these.
    auto const until = from_now_on(options_.patience);
    auto in_step = finish(until);
    co_await std::move(in_step);
    stage_ = 2;
    for (std::size_t i = 0; i < regions_.size(); ++i) want(i, new_article(i));
    auto ending = finish(until);
    co_await std::move(ending);
    auto checking = check(until);
    co_await std::move(checking);
    stop_.request_stop();
  }

  keyspan::task<> follow_all() {
    for (std::size_t i = 0; i < regions_.size(); ++i) {
      for (std::size_t n = 0; n < options_.readers; ++n) {
        want(i, follow(reader(i, n), author_filter(author(n % regions_.size(), n / 2))));
        if (n % 2 == 0) want(i, follow(reader(i, n), category_filter(category(n))));
      }
    }
    auto in_step = finish(from_now_on(options_.patience));
    co_await std::move(in_step);
    say(std::to_string(follows_.size()), " subscriptions of ",
        std::to_string(options_.readers * regions_.size()), " readers");
  }

  // A round: some write, what could not be written is tried again, everybody waits a little.
  keyspan::task<> go_on() {
    for (std::size_t i = 0; i < regions_.size(); ++i) {
      if ((round_ + i) % 2 == 0) want(i, new_article(i));
      if (round_ % 7 == 3)
        want(i, follow("late-" + reader(i, round_), author_filter(author(i + 1, round_))));
    }
    auto reviewing = review_some();
    co_await std::move(reviewing);
    if (round_ == options_.rounds / 2) world_.split(round_ % regions_.size());
    auto doing = do_all();
    co_await std::move(doing);
    auto passing = pass();
    co_await std::move(passing);
  }

  // In each region two readers look for an article of anybody, read it, and say what they think.
  keyspan::task<> review_some() {
    for (std::size_t i = 0; i < regions_.size(); ++i) {
      for (std::size_t n = 0; n < 2 && !articles_.empty(); ++n) {
        auto const& [one, region, stage] = articles_[pick(articles_.size())];
        std::string const id = one.id;
        std::string const who = reader(i, pick(options_.readers));
        auto reading = world_.in(i).read_article(id);
        auto const found = co_await std::move(reading);
        if (found) note(i, found->outages);
        if (!found || reviews_[id].contains(id + '.' + who)) continue;
        int const rating = static_cast<int>(1 + pick(5));
        review made;
        made.article_id = id;
        made.reviewer_id = who;
        made.text = "as " + found->item->author + " would have it";
        made.rating = rating;
        want(i, made);
      }
    }
  }

  keyspan::task<> pass() {
    auto waiting = keyspan::wait_for(world_.clock(), options_.round);
    static_cast<void>(co_await std::move(waiting));
    auto looking = look();
    co_await std::move(looking);
    if (look_) look_();
  }

  // With a region one host of another region loses its leases: what it does meanwhile it cannot
  // write down, so somebody else does it again.
  void cut() {
    world_.cut(*options_.cut);
    say(regions_[*options_.cut].figures.name, " is cut off");
    if constexpr (World::can_be_cut) {
      lonely_host().cut_off();
      say(lonely_name(), " cannot reach its leases");
    }
  }
  void join() {
    world_.join(*options_.cut);
    say(regions_[*options_.cut].figures.name, " is back");
    if constexpr (World::can_be_cut) lonely_host().heal();
  }
  std::size_t lonely_region() const { return (*options_.cut + 1) % regions_.size(); }
  std::string lonely_name() const { return regions_[lonely_region()].figures.name + " 1"; }
  auto lonely_host() { return world_.leases(lonely_region(), lonely_name()); }

  keyspan::instant from_now_on(keyspan::instant::duration time) const {
    return keyspan::instant_after(world_.clock().now(), time);
  }

  // Until everything that was wanted is written, and all copies are in step.
  keyspan::task<> finish(keyspan::instant until) {
    for (;;) {
      auto doing = do_all();
      co_await std::move(doing);
      auto passing = pass();
      co_await std::move(passing);
      if (wanted_.empty() && is_in_step()) co_return;
      if (world_.clock().now() > until) {
        tell_what_is_left();
        co_return;
      }
      if (!wanted_.empty() && !std::exchange(is_waited_for_, true))
        say("waiting for those that do not take their writes: ", regions_that_wait());
    }
  }
  void tell_what_is_left() {
    if (std::exchange(is_late_, true)) return;
    if (wanted_.empty()) {
      complain("not everything could be copied in time");
    } else {
      complain(std::to_string(wanted_.size()), " writes could not be done in time, in ",
               regions_that_wait());
    }
  }
  std::string regions_that_wait() const {
    std::string all;
    for (station const& one : regions_)
      if (one.figures.failed != 0) all += (all.empty() ? "" : ", ") + one.figures.name;
    return all;
  }
  bool is_in_step() const {
    for (std::size_t from = 0; from < regions_.size(); ++from)
      for (std::size_t to = 0; to < regions_.size(); ++to)
        if (world_.behind(from, to) != 0) return false;
    return true;
  }

  // ---- people ----------------------------------------------------------------------------------

  std::string id(std::string made) const { return options_.run + made; }
  std::string reader(std::size_t region, std::size_t n) const {
    return id(regions_[region % regions_.size()].figures.name + "-reader-" + std::to_string(n));
  }
  std::string author(std::size_t region, std::size_t n) const {
    return id(regions_[region % regions_.size()].figures.name + "-author-" +
              std::to_string(n % options_.authors));
  }
  std::string category(std::size_t n) const {
    static constexpr char const* names[]{"sea", "sky", "soil"};
    return id(names[n % 3]);
  }
  article new_article(std::size_t region) {
    std::size_t const n = ++published_;
    article made;
    made.id = id(regions_[region].figures.name + "-" + std::to_string(n));
    made.author = author(region, n / 2);
    made.category = category(n);
    made.title = "On the " + std::to_string(n) + "th wave";
    made.tags = {"waves", std::to_string(n)};
    return made;
  }
  static subscription follow(std::string user, std::string filter) {
    subscription made;
    made.filter = std::move(filter);
    made.user_id = std::move(user);
    return made;
  }
  // The same ones everywhere.
  std::size_t pick(std::size_t bound) {
    std::uint64_t z = (dice_ += 0x9E3779B97F4A7C15);
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9;
    z = (z ^ z >> 27) * 0x94D049BB133111EB;
    return static_cast<std::size_t>((z ^ z >> 31) % bound);
  }

  // ---- what they write -------------------------------------------------------------------------

  void want(std::size_t region, std::variant<subscription, article, review> what) {
    wanted_.push_back({region, stage_, std::move(what)});
  }
  keyspan::task<> do_all() {
    auto const all = std::exchange(wanted_, {});
    std::vector<keyspan::task<>> doing;
    for (std::size_t i = 0; i < regions_.size(); ++i) doing.push_back(do_in(i, all));
    auto together = keyspan::when_all(std::move(doing));
    static_cast<void>(co_await std::move(together));
  }
  // Those of one region, one after another; behind the first that fails nobody tries for now.
  keyspan::task<> do_in(std::size_t region, std::vector<deed> const& all) {
    bool is_there = true;
    std::size_t left = 0;
    for (deed const& one : all) {
      if (one.region != region) continue;
      if (is_there) {
        auto doing = perform(one);
        is_there = co_await std::move(doing);
        if (is_there) continue;
      }
      wanted_.push_back(one);
      ++left;
    }
    regions_[region].figures.failed = left;
  }
  // Done and acknowledged, or not.
  keyspan::task<bool> perform(deed const& one) {
    auto& here = world_.in(one.region);
    if (auto const* const wish = std::get_if<subscription>(&one.what)) {
      auto writing = here.create_subscription(wish->user_id, wish->filter);
      auto const done = co_await std::move(writing);
      if (!done) co_return false;
      follows_.push_back({*done, one.region, stage_});
    } else if (auto const* const text = std::get_if<article>(&one.what)) {
      auto writing = here.publish_article(*text);
      auto const done = co_await std::move(writing);
      if (!done) co_return false;
      articles_.push_back({*done, one.region, one.stage});
      ++regions_[one.region].figures.articles;
    } else {
      auto const& said = std::get<review>(one.what);
      auto writing = here.write_review(said.article_id, said.reviewer_id, said.text, said.rating);
      auto const done = co_await std::move(writing);
      if (!done) co_return false;
      reviews_[done->article_id][done->id] = done->rating;
      ++regions_[one.region].figures.reviews;
    }
    co_return true;
  }

  // ---- what is seen of it ----------------------------------------------------------------------

  // An account that does not answer, or answers again, is told of once.
  void note(std::size_t region, std::vector<keyspan::region_outage> const& outages) {
    std::set<std::size_t> down;
    for (auto const& one : outages) {
      down.insert(one.account);
      if (!regions_[region].down.contains(one.account))
        say("in ", regions_[region].figures.name, ": the account of ", one.region,
            " does not answer (", name_of(one.why.code), ")");
    }
    for (std::size_t const before : regions_[region].down)
      if (!down.contains(before))
        say("in ", regions_[region].figures.name, ": the account of ",
            regions_[before].figures.name, " answers again");
    regions_[region].down = std::move(down);
  }

  keyspan::task<> look() {
    for (std::size_t i = 0; i < regions_.size(); ++i) {
      region_figures& seen = regions_[i].figures;
      seen.is_cut = world_.is_cut(i);
      seen.held.clear();
      seen.behind.clear();
      for (std::size_t from = 0; from < regions_.size(); ++from) {
        seen.held.push_back(world_.reviews_held(from, i));
        seen.behind.push_back(world_.behind(from, i));
      }
      seen.owed = 0;
      for (auto const& one : regions_[i].handlers) seen.owed += one->owes();
      seen.notified = world_.in(i).notified();
      auto leases = world_.leases(i, regions_[i].figures.name + " looks on");
      keyspan::store_request soon;
      soon.deadline = keyspan::instant_after(world_.clock().now(), options_.round * 2);
      keyspan::lease_control control{world_.in(i).local_articles(), leases, options_.run, soon};
      auto listing = control.list();
      auto const all = co_await std::move(listing);
      if (!all) continue;
      auto const before = std::exchange(seen.leases, {});
      for (auto const& one : *all)
        seen.leases.push_back({std::string{one.range.to_text()},
                               one.facts.owner ? one.owner_name : "-", one.facts.epoch});
      tell_who_lost(before, seen.leases);
    }
  }
  void tell_who_lost(std::vector<lease_figures> const& before,
                     std::vector<lease_figures> const& now) {
    std::set<std::string> gone;
    for (auto const& one : before) gone.insert(one.owner);
    for (auto const& one : now) gone.erase(one.owner);
    gone.erase("-");
    for (std::string const& one : gone) say(one, " has lost its leases");
  }

  // How many articles and reviews that others have written cannot be read in each region.
  keyspan::task<> tell_what_is_missing() {
    std::size_t sum = 0;
    for (std::size_t i = 0; i < regions_.size(); ++i) {
      std::size_t missing_articles = 0, missing_reviews = 0;
      for (auto const& [one, home, stage] : articles_) {
        std::string const id = one.id;
        auto reading = world_.in(i).read_article(id);
        auto const found = co_await std::move(reading);
        missing_articles += !found.has_value();
        auto counting = reviews_missing(i, id);
        missing_reviews += co_await std::move(counting);
      }
      say("in ", regions_[i].figures.name, " ", std::to_string(missing_articles), " articles and ",
          std::to_string(missing_reviews), " reviews cannot be read yet");
      sum += missing_articles + missing_reviews;
    }
    if (sum == 0) complain("who is cut off misses something, and here nobody does");
  }
  keyspan::task<std::size_t> reviews_missing(std::size_t region, std::string article) {
    std::map<std::string, int> left = reviews_[article];
    auto reading = world_.in(region).read_reviews(article);
    auto const found = co_await std::move(reading);
    if (!found) co_return left.size();
    note(region, found->outages);
    for (auto const& one : found->items) {
      auto const known = left.find(one->id);
      if (known != left.end() && known->second == one->rating) left.erase(known);
    }
    co_return left.size();
  }

  // ---- whether it is right ---------------------------------------------------------------------

  // Tries until all is as it should be, or time is up: notifications take their time.
  keyspan::task<> check(keyspan::instant until) {
    for (;;) {
      std::vector<std::string> wrong;
      auto looking = look_for_faults(wrong, until);
      co_await std::move(looking);
      if (wrong.empty()) break;
      if (world_.clock().now() > until) {
        tell_faults(wrong);
        break;
      }
      auto passing = pass();
      co_await std::move(passing);
    }
    auto passing = pass();
    co_await std::move(passing);
  }
  void tell_faults(std::vector<std::string> const& wrong) {
    static constexpr std::size_t most = 10;
    std::set<std::size_t> silent;
    for (station const& one : regions_) silent.insert(one.down.begin(), one.down.end());
    for (std::size_t const one : silent)
      complain(regions_[one].figures.name, " does not answer: what is there cannot be checked");
    for (std::size_t i = 0; i < wrong.size() && i < most; ++i) complain(wrong[i]);
    if (wrong.size() > most) complain(std::to_string(wrong.size() - most), " more like these");
  }

  // Region by region, until there are faults. Where it takes too long only what was seen is told.
  keyspan::task<> look_for_faults(std::vector<std::string>& wrong, keyspan::instant until) {
    auto counting = count_notifications(wrong);
    co_await std::move(counting);
    for (std::size_t i = 0; i < regions_.size(); ++i) {
      std::string const& name = regions_[i].figures.name;
      for (auto const& [one, home, stage] : articles_) {
        if (!wrong.empty() && world_.clock().now() > until) co_return;
        std::string const id = one.id;
        auto reading = world_.in(i).read_article(id);
        auto const found = co_await std::move(reading);
        if (!found || found->item->title != one.title)
          wrong.push_back("in " + name + " article " + id + " cannot be read");
        auto listing = world_.in(i).read_reviews(id);
        auto const reviews = co_await std::move(listing);
        if (reviews) note(i, reviews->outages);
        if (!reviews || !reviews->is_whole() || !are_all(reviews->items, reviews_[id]))
          wrong.push_back("in " + name + " not just the reviews of " + id + " are read");
      }
      auto feeds = look_at_feeds(i, wrong, until);
      co_await std::move(feeds);
      if (!wrong.empty()) co_return;
    }
  }
  // All of them, in their order, and no others.
  template <class Items>
  static bool are_all(Items const& read, std::map<std::string, int> const& written) {
    if (read.size() != written.size()) return false;
    for (std::size_t i = 0; i < read.size(); ++i) {
      auto const known = written.find(read[i]->id);
      if (known == written.end() || known->second != read[i]->rating) return false;
      if (i > 0 &&
          std::pair{read[i]->at, read[i]->id} < std::pair{read[i - 1]->at, read[i - 1]->id})
        return false;
    }
    return true;
  }

  // Every subscriber has been told of every article that came after the subscription was known
  // everywhere, of no others than those that are followed, and of none twice.
  keyspan::task<> look_at_feeds(std::size_t region, std::vector<std::string>& wrong,
                                keyspan::instant until) {
    std::map<std::string, std::set<std::string>> must, may;  // articles by user
    for (auto const& [wish, where, since] : follows_) {
      for (auto const& [one, home, stage] : articles_) {
        if (wish.filter != author_filter(one.author) &&
            wish.filter != category_filter(one.category))
          continue;
        may[wish.user_id].insert(one.id);
        if (since < stage) must[wish.user_id].insert(one.id);
      }
    }
    for (auto const& [user, allowed] : may) {
      if (!wrong.empty() && world_.clock().now() > until) co_return;
      auto reading = world_.in(region).read_notification_feed(user);
      auto const feed = co_await std::move(reading);
      std::set<std::string> left = must[user];
      bool is_right = feed && feed->is_whole();
      if (feed) note(region, feed->outages);
      if (is_right) {
        for (auto const& one : feed->items) {
          is_right = is_right && allowed.contains(one->article_id);
          left.erase(one->article_id);
        }
      }
      if (!is_right || !left.empty())
        wrong.push_back("in " + regions_[region].figures.name + " " + user + " is not told of " +
                        std::to_string(left.size()) + " articles, or of too many");
    }
  }

  // In all accounts together there is one of each article for each subscriber.
  keyspan::task<> count_notifications(std::vector<std::string>& wrong) {
    told_.clear();
    auto const& accounts = world_.seen_from(0);
    for (std::size_t i = 0; i < accounts.size(); ++i) {
      keyspan::feed changes{*accounts[i].notifications};
      auto all = changes.stream();
      while (auto const one = co_await all.next()) {
        if (!one.has_value()) {
          wrong.push_back("the notifications of " + regions_[i].figures.name + " cannot be read");
          break;
        }
        notification const& each = **one;
        if (!each.id.starts_with(options_.run)) continue;  // of another run
        if (!told_.insert({each.user_id, each.article_id}).second)
          wrong.push_back(each.user_id + " is told twice of " + each.article_id);
      }
      co_await all.close();
    }
  }

  std::size_t count_reviews() const {
    std::size_t count = 0;
    for (auto const& [article, all] : reviews_) count += all.size();
    return count;
  }

  template <class... Pieces>
  void say(Pieces const&... pieces) {
    std::string line;
    (line.append(std::string_view{pieces}), ...);
    tell_(line);
  }
  template <class... Pieces>
  void complain(Pieces const&... pieces) {
    is_right_ = false;
    say("WRONG: ", pieces...);
  }

  template <class T>
  struct acknowledged {
    T what;
    std::size_t region, stage;
  };

  World& world_;
  story_options options_;
  std::function<void(std::string const&)> tell_;
  std::function<void()> look_;
  std::vector<station> regions_{};
  keyspan::stop_source stop_{};
  std::vector<deed> wanted_{};
  std::vector<acknowledged<subscription>> follows_{};
  std::vector<acknowledged<article>> articles_{};
  std::map<std::string, std::map<std::string, int>> reviews_{};  // ratings, by article and id
  std::set<std::pair<std::string, std::string>> told_{};         // who of what
  std::size_t stage_ = 0, round_ = 0, published_ = 0;
  std::uint64_t dice_ = 7;
  bool is_right_ = true, is_waited_for_ = false, is_late_ = false;
};

}  // namespace content
