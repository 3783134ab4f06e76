// test/sim/region_world.cpp — three regions, each with an account of its own that is written there
// and copied to the two others: requests and copies are late, regions are cut off and come back,
// accounts move their writes to another region, partitions split.
//
// In each region somebody writes to the account that is at home there, and everybody reads all
// three. Whatever was acknowledged is read in every region once all is healed, and what a region
// wrote itself always; a union has no document twice, and never shows an older version than it has
// shown; who follows all accounts is told each document's versions in their order, none twice.
#include <sim/player.hpp>
#include <sim/world.hpp>

#include <example/cosmos_service.hpp>

#include <keyspan/async/clock.hpp>
#include <keyspan/async/manual_clock.hpp>
#include <keyspan/async/run_loop.hpp>
#include <keyspan/async/stop_token.hpp>
#include <keyspan/async/task.hpp>
#include <keyspan/async/when_all.hpp>
#include <keyspan/core/error.hpp>
#include <keyspan/core/result.hpp>
#include <keyspan/cosmos/address.hpp>
#include <keyspan/cosmos/cosmos_container.hpp>
#include <keyspan/cosmos/credential.hpp>
#include <keyspan/cosmos/regional_account.hpp>
#include <keyspan/cosmos/service_request.hpp>
#include <keyspan/feed/feed_request.hpp>
#include <keyspan/feed/feed_scope.hpp>
#include <keyspan/feed/wall_time.hpp>
#include <keyspan/hash/cosmos_v2.hpp>
#include <keyspan/hash/token128.hpp>
#include <keyspan/key/container_definition.hpp>
#include <keyspan/key/partition_key.hpp>
#include <keyspan/merge/following_within.hpp>
#include <keyspan/merge/merge_async.hpp>
#include <keyspan/merge/other_orders.hpp>
#include <keyspan/merge/sort_order.hpp>
#include <keyspan/region/region_order.hpp>
#include <keyspan/region/regional_layout.hpp>
#include <keyspan/region/united_regions.hpp>
#include <keyspan/transport/endpoint.hpp>
#include <keyspan/transport/message.hpp>
#include <keyspan/transport/stored.hpp>
#include <keyspan/transport/transport.hpp>

#include <boost/hana/adapt_struct.hpp>

#include <algorithm>
#include <array>
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
#include <string_view>
#include <utility>
#include <vector>

struct sim_review {
  std::string id, article;
  int version = 0;
};
BOOST_HANA_ADAPT_STRUCT(sim_review, id, article, version);

namespace {

using namespace std::chrono_literals;
using keyspan::errc;
using keyspan::instant;
using keyspan::response;
using keyspan::result;
using keyspan::task;

constexpr std::size_t regions = 3;
constexpr std::string_view key_text =
    "dGhlIGtleSBvZiBhbiBhY2NvdW50IHRoYXQgaXMgbm90IG9uZSwgNjQgYnl0ZXMgaW4gYWxsIQ==";
keyspan::cosmos::master_key key() { return *keyspan::cosmos::master_key::from(key_text); }
keyspan::regional_layout layout() {
  return *keyspan::regional_layout::from({"West US", "North Europe", "Japan East"});
}

// ---- an account with a copy in each region

class geo_account {
 public:
  geo_account(std::size_t number, std::size_t partitions) : number_{number}, writer_{number} {
    for (std::size_t i = 0; i < regions; ++i) {
      auto& one = copies_.emplace_back();
      one.service.emplace(cosmos_server::cosmos_service_options{
          .key = key(), .partitions = partitions, .seed = number, .now = [&one] {
            return one.time;
          }});
    }
  }

  std::size_t writer() const { return writer_; }
  bool is_moving() const { return moves_to_.has_value(); }
  // Takes no writes from now on, until the other region has all that were taken.
  void move_to(std::size_t region) { moves_to_ = region; }

  response answer(std::size_t region, keyspan::request const& asked, keyspan::wall_time now) {
    if (asked.target == "/") return described();
    copy& at = copies_[region];
    if (asked.method == "GET") return at.service->answer(asked);
    if (region != writer_ || is_moving()) {
      response refused;
      refused.status = 403;
      refused.headers.add("x-ms-substatus", "3");
      return refused;
    }
    at.time = std::max(at.time, now);
    auto answer = at.service->answer(asked);
    if (answer.status < 300) {
      log_.push_back({asked, at.time});
      at.done = log_.size();
    }
    return answer;
  }
  // The next change comes to a region. False where there is none.
  bool copy_to(std::size_t region) {
    copy& to = copies_[region];
    if (to.done == log_.size()) return false;
    auto const& [asked, at] = log_[to.done++];
    to.time = at;
    static_cast<void>(to.service->answer_again(asked));
    return true;
  }
  // Whether the move has come to its end with this.
  bool ends_move() {
    if (!moves_to_ || copies_[*moves_to_].done != log_.size()) return false;
    writer_ = *moves_to_;
    moves_to_.reset();
    return true;
  }
  bool is_copied() const {
    return std::all_of(copies_.begin(), copies_.end(),
                       [&](copy const& one) { return one.done == log_.size(); });
  }

 private:
  struct copy {
    std::optional<cosmos_server::cosmos_service> service{};
    keyspan::wall_time time{std::chrono::milliseconds{1'000}};
    std::size_t done = 0;
  };
  struct entry {
    keyspan::request what;
    keyspan::wall_time at;
  };

  response described() const {
    auto const list = [&](std::vector<std::size_t> const& all) {
      std::string text{"["};
      for (std::size_t const i : all)
        text += sim::line(text.size() == 1 ? "" : ",", "{\"name\":\"", layout().regions()[i],
                          "\",\"databaseAccountEndpoint\":\"http://r", i, ".a", number_,
                          ".example.com:80/\"}");
      return text + "]";
    };
    std::vector<std::size_t> all{writer_};
    for (std::size_t i = 0; i < regions; ++i)
      if (i != writer_) all.push_back(i);
    response made;
    made.body =
        sim::line("{\"id\":\"a", number_, "\",\"writableLocations\":", list({writer_}),
                  ",\"readableLocations\":", list(all), ",\"enableMultipleWriteLocations\":false}");
    return made;
  }

  std::size_t number_;
  std::size_t writer_;
  std::optional<std::size_t> moves_to_{};
  std::deque<copy> copies_{};
  std::deque<entry> log_{};
};

// ---- the earth they are on

class earth {
 public:
  explicit earth(sim::world& in)
      : w{in},
        numbers{in.stream("earth")},
        delays{in.declare_fault("delays", 60)},
        losses{in.declare_fault("lost requests and answers", 6)},
        cuts{in.declare_fault("cuts", 70)},
        moves{in.declare_fault("moves of writes", 60)},
        splits{in.declare_fault("splits", 60)} {
    for (std::size_t i = 0; i < regions; ++i)
      accounts.push_back(std::make_unique<geo_account>(i, 1 + numbers.below(2)));
  }

  keyspan::wall_time wall() const {
    return keyspan::wall_time{std::chrono::duration_cast<std::chrono::milliseconds>(
        clock.now().time_since_epoch() + 1'000s)};
  }
  bool are_joined(std::size_t a, std::size_t b) const {
    return a == b || (!is_cut[a] && !is_cut[b]);
  }
  // Ends everything where something was wrong.
  task<> pass(instant::duration time) {
    if (complaint) throw sim::violated{*complaint};
    auto waiting = keyspan::wait_for(clock, time);
    static_cast<void>(co_await std::move(waiting));
  }

  sim::world& w;
  test::random numbers;
  sim::fault& delays;
  sim::fault& losses;
  sim::fault& cuts;
  sim::fault& moves;
  sim::fault& splits;
  keyspan::manual_clock clock{};
  keyspan::run_loop loop{};
  std::vector<std::unique_ptr<geo_account>> accounts{};
  std::array<bool, regions> is_cut{};
  int writers = 0;
  int watchers = 0;
  std::optional<std::string> complaint{};
  keyspan::stop_source ended{};
  bool has_begun = false;  // a world begins well
  bool is_healed = false;
  // Of each document what was acknowledged, and what was tried.
  std::map<std::string, int> acknowledged{};
  std::map<std::string, int> tried{};
};

// From a program in one region to an account in another one.
class wire {
 public:
  wire(earth& on, std::size_t from, keyspan::service_endpoint const& to)
      : on_{on}, from_{from}, numbers_{on.w.stream(sim::line("wire ", from, " ", to.host))} {
    // "r1.a0.example.com", or "a0.example.com" for wherever it is written.
    bool const is_regional = to.host.front() == 'r';
    account_ = static_cast<std::size_t>(to.host[to.host.find('a') + 1] - '0');
    if (is_regional) region_ = static_cast<std::size_t>(to.host[1] - '0');
  }

  task<result<response>> send(keyspan::request what) {
    if (auto const why = keyspan::refusal_of(what, on_.clock.now()))
      co_return keyspan::unexpected{*why};
    geo_account& account = *on_.accounts[account_];
    std::size_t const region = region_.value_or(account.writer());
    bool const writes = what.method != "GET";
    if (!on_.are_joined(from_, region)) {
      // Refused at once, or no word.
      if (numbers_.chance(50)) co_return keyspan::fail(errc::not_connected, "cut off");
      auto waiting = late(what, 800ms);
      if (auto const waited = co_await std::move(waiting); !waited)
        co_return keyspan::unexpected{waited.error()};
      co_return keyspan::fail(errc::not_connected, "nobody answers");
    }
    auto going = late(what, delay());
    if (auto const gone = co_await std::move(going); !gone)
      co_return keyspan::unexpected{gone.error()};
    bool const is_lost = on_.has_begun && on_.losses.strikes();
    if (is_lost && numbers_.chance(40)) co_return lost(writes);
    response answer = account.answer(region, what, on_.wall());
    auto coming = late(what, delay());
    if (auto const come = co_await std::move(coming); !come)
      co_return keyspan::unexpected{come.error()};
    if (is_lost || !on_.are_joined(from_, region)) co_return lost(writes);
    co_return answer;
  }

 private:
  static result<response> lost(bool writes) {
    return keyspan::fail(writes ? errc::outcome_unknown : errc::not_connected, "lost");
  }
  instant::duration delay() {
    instant::duration const usual = region_ == from_ ? 1ms : 40ms;
    return on_.has_begun && on_.delays.strikes()
               ? usual + std::chrono::milliseconds{numbers_.below(400)}
               : usual;
  }
  // By the deadline at the latest.
  task<result<void>> late(keyspan::request const& what, instant::duration by) {
    instant const due = keyspan::instant_after(on_.clock.now(), by);
    bool const is_too_late = what.deadline && *what.deadline <= due;
    auto waiting = on_.clock.wait_until(is_too_late ? *what.deadline : due, what.stop);
    auto waited = co_await std::move(waiting);
    if (waited && is_too_late) co_return keyspan::fail(errc::timed_out, "the deadline passed");
    co_return waited;
  }

  earth& on_;
  std::size_t from_;
  test::random numbers_;
  std::size_t account_ = 0;
  std::optional<std::size_t> region_{};
};

struct dialling {
  std::unique_ptr<wire> operator()(keyspan::service_endpoint const& to) const {
    return std::make_unique<wire>(*on, from, to);
  }
  earth* on;
  std::size_t from;
};
using account_type = keyspan::cosmos::regional_account<dialling, keyspan::manual_clock>;
using container = keyspan::cosmos::cosmos_container<sim_review, keyspan::cosmos_v2_scheme>;
using united = keyspan::united_regions<container, keyspan::manual_clock>;
using change = keyspan::change<sim_review>;

constexpr auto by_id = [](change const& one) { return one->id; };

// ---- a program in a region

class program {
 public:
  program(earth& on, std::size_t here)
      : on_{on}, here_{here}, name_{layout().regions()[here]}, numbers_{on.w.stream(name_)} {
    for (std::size_t i = 0; i < regions; ++i) {
      keyspan::cosmos::regional_options how;
      how.like = layout().preferences_in(here);
      how.policy = {.mark_lasts = 3s, .refresh_every = 5s, .refresh_away_every = 1s, .budget = 4s};
      how.policy.not_writable_wait = 200ms;
      how.policy.answer_within = how.policy.look_within = 1s;
      how.account.now = [this] { return on_.wall(); };
      auto const at = *keyspan::service_endpoint::parse(sim::line("http://a", i, ".example.com"));
      accounts_.push_back(
          std::make_unique<account_type>(dialling{&on, here}, on.clock, at, key(), std::move(how)));
    }
  }

  // While all is well.
  task<> make_own_account() {
    auto& own = *accounts_[here_];
    auto making = own.ask(keyspan::cosmos::create_database("shop"));
    on_.w.demand((co_await std::move(making)).has_value(), "a database is made");
    auto const address = *keyspan::cosmos::container_address::from("shop", "reviews");
    auto const paths = *keyspan::key_paths::parse(std::vector<std::string_view>{"/article"});
    auto creating = own.ask(keyspan::cosmos::create_container(address, paths));
    on_.w.demand((co_await std::move(creating)).has_value(), "a container is made");
  }
  task<> open() {
    std::vector<container*> each;
    for (auto& account : accounts_) {
      auto opening = account->open<sim_review, keyspan::cosmos_v2_scheme>("shop", "reviews");
      auto opened = co_await std::move(opening);
      on_.w.demand(opened.has_value(), "a container is opened");
      containers_.push_back(std::make_unique<container>(*std::move(opened)));
      each.push_back(containers_.back().get());
    }
    keyspan::union_options const patience{.patience = 1500ms, .mark_lasts = 1s};
    all_.emplace(layout(), here_, std::move(each), on_.clock, patience);
  }

  // New reviews, and newer versions of old ones.
  task<> write() {
    for (int step = 0; step < 14; ++step) {
      auto pausing = on_.pass(std::chrono::milliseconds{numbers_.below(700)});
      co_await std::move(pausing);
      sim_review one;
      if (own_.empty() || numbers_.chance(50)) {
        one = {sim::line(name_, " ", step), sim::line("article ", numbers_.below(5)), 0};
        own_.push_back(one);
      } else {
        one = numbers_.pick(own_);
      }
      auto const mine = [&](sim_review const& other) { return other.id == one.id; };
      sim_review& kept = *std::find_if(own_.begin(), own_.end(), mine);
      one.version = ++kept.version;
      on_.tried[one.id] = one.version;
      auto const began = on_.clock.now();
      for (;;) {
        auto writing = all_->local().upsert(one);
        auto const answer = co_await std::move(writing);
        if (answer) break;
        on_.w.note(name_, " could not write ", one.id, ": ", name_of(answer.error().code));
        on_.w.demand(on_.clock.now() - began < 120s, name_, " cannot write for two minutes");
        auto waiting = on_.pass(100ms);
        co_await std::move(waiting);
      }
      on_.acknowledged[one.id] = one.version;
      on_.w.note(name_, " has written ", one.id, " at version ", one.version);
    }
    --on_.writers;
  }

  task<> read() {
    while (on_.writers > 0) {
      auto pausing = on_.pass(std::chrono::milliseconds{numbers_.below(1'000)});
      co_await std::move(pausing);
      auto const own = on_.acknowledged;
      keyspan::feed_scope<keyspan::token128> scope{keyspan::whole_container};
      bool const is_all = numbers_.chance(50);
      auto const article = sim::line("article ", numbers_.below(5));
      if (!is_all) scope = keyspan::partition_key{article};
      auto reading = all_->read(scope, keyspan::ascending(by_id));
      auto const answer = co_await std::move(reading);
      if (!answer) {
        on_.w.note(name_, " could read nothing: ", name_of(answer.error().code));
        continue;
      }
      see(*answer, is_all ? std::string{} : article, own);
    }
  }
  // Behind all that goes wrong: a union that is whole.
  task<> read_all_in_the_end() {
    all_->forget_outages();
    for (int tries = 0;; ++tries) {
      auto reading = all_->read(keyspan::whole_container, keyspan::ascending(by_id));
      auto const answer = co_await std::move(reading);
      if (answer && answer->is_whole()) {
        std::map<std::string, int> found;
        for (change const& one : answer->items) found[one->id] = one->version;
        on_.w.demand(found == on_.acknowledged, name_, " reads ", found.size(), " of ",
                     on_.acknowledged.size(), " reviews, or old ones");
        co_return;
      }
      on_.w.demand(
          tries < 50, name_, " reads no whole union although all is healed: ",
          answer ? answer->outages.front().why.to_text().view() : answer.error().to_text().view());
      auto waiting = on_.pass(500ms);
      co_await std::move(waiting);
    }
  }

  // All that changes, from all accounts, in the order of its time.
  task<> follow() {
    keyspan::feed_request<keyspan::token128> request;
    request.stop = on_.ended.token();
    auto feeds = all_->feeds(request);
    auto const in_time = keyspan::by_time([](change const& one) { return one.at; });
    auto reader = keyspan::merge_async(
        feeds, in_time,
        keyspan::following_within{on_.clock, 100ms, 2s, [this] { return on_.wall(); }},
        {.failure = keyspan::on_failure::go_on});
    while (!has_seen_all()) {
      auto next = reader.next();
      auto const one = co_await std::move(next);
      on_.w.demand(static_cast<bool>(one) && one.has_value(), name_, " stops following");
      // A write whose answer was lost was done again, and is a change of its own.
      auto& [version, lsn] = told_[(*one)->id];
      on_.w.demand(version <= (*one)->version && lsn < one->lsn, name_, " was told of ", (*one)->id,
                   " at version ", (*one)->version, " behind ", version);
      version = (*one)->version;
      lsn = one->lsn;
      // All reviews of an article that one region has written are one key of one account.
      std::string const& id = (*one)->id;
      auto& newest = newest_of_key_[{id.substr(0, id.rfind(' ')), (*one)->article}];
      on_.w.demand(newest < one->lsn, name_, " was told of ", id,
                   " behind a later change of its key");
      newest = one->lsn;
    }
    auto closing = reader.close();
    co_await std::move(closing);
    --on_.watchers;
  }

 private:
  bool has_seen_all() const {
    if (on_.writers > 0) return false;
    on_.w.demand(on_.clock.now() - instant{} < 600s, name_, " is not told of all");
    return std::all_of(on_.acknowledged.begin(), on_.acknowledged.end(), [&](auto const& one) {
      auto const found = told_.find(one.first);
      return found != told_.end() && found->second.first >= one.second;
    });
  }
  void see(keyspan::united_items<change> const& answer, std::string const& article,
           std::map<std::string, int> const& own) {
    std::set<std::string> found;
    for (change const& one : answer.items) {
      on_.w.demand(found.insert(one->id).second, name_, " was given ", one->id, " twice");
      on_.w.demand(article.empty() || one->article == article, one->id, " is of another article");
      auto const tried = on_.tried.find(one->id);
      on_.w.demand(tried != on_.tried.end() && one->version <= tried->second, one->id,
                   " was never written at version ", one->version);
      int& last = seen_[one->id];
      on_.w.demand(last <= one->version, name_, " was shown ", one->id, " at version ",
                   one->version, " behind ", last);
      last = one->version;
    }
    bool const has_own = std::none_of(answer.outages.begin(), answer.outages.end(),
                                      [&](auto const& one) { return one.account == here_; });
    // What was written here is shown here, as soon as it was acknowledged.
    for (sim_review const& one : own_) {
      if (!has_own || (!article.empty() && one.article != article)) continue;
      auto const written = own.find(one.id);
      if (written == own.end()) continue;
      on_.w.demand(seen_[one.id] >= written->second && found.contains(one.id), name_,
                   " does not read its own ", one.id, " at version ", written->second);
    }
    on_.w.note(name_, " reads ", answer.items.size(), " without ", answer.outages.size(),
               " accounts");
  }

  earth& on_;
  std::size_t here_;
  std::string name_;
  test::random numbers_;
  std::vector<std::unique_ptr<account_type>> accounts_{};
  std::vector<std::unique_ptr<container>> containers_{};
  std::optional<united> all_{};
  std::deque<sim_review> own_{};
  std::map<std::string, int> seen_{};
  std::map<std::pair<std::string, std::string>, std::uint64_t> newest_of_key_{};
  std::map<std::string, std::pair<int, std::uint64_t>> told_{};  // version, position
};

// What one of them does until it has done so, or something was wrong.
task<> lived(earth& on, task<> life) {
  try {
    co_await std::move(life);
  } catch (sim::violated const& broken) {
    if (!on.complaint) on.complaint = broken.what();
    on.ended.request_stop();
  }
}

// ---- what happens to them

task<> copy(earth& on, std::size_t account, std::size_t to) {
  auto numbers = on.w.stream(sim::line("copies of ", account, " to ", to));
  auto& of = *on.accounts[account];
  while (!on.is_healed || on.watchers > 0 || !of.is_copied()) {
    bool const slow = !on.is_healed && numbers.chance(5);
    auto waiting = on.pass(std::chrono::milliseconds{slow ? numbers.below(2'000) : 20});
    co_await std::move(waiting);
    on.w.demand(on.clock.now() - instant{} < 900s, "account ", account, " is not copied to region ",
                to, ", and ", on.watchers, " still follow");
    if (!on.are_joined(of.writer(), to)) continue;
    while (of.copy_to(to) && !numbers.chance(20)) {
    }
    if (of.ends_move()) on.w.note("account ", account, " is written in region ", of.writer());
  }
}
task<> cut(earth& on) {
  auto numbers = on.w.stream("cuts");
  while (on.writers > 0 && !on.is_healed) {
    auto waiting = on.pass(std::chrono::milliseconds{500 + numbers.below(2'000)});
    co_await std::move(waiting);
    if (!on.cuts.strikes()) continue;
    auto const region = static_cast<std::size_t>(numbers.below(regions));
    on.w.note("region ", region, " is cut off");
    on.is_cut[region] = true;
    auto lasting = on.pass(std::chrono::milliseconds{200 + numbers.below(4'000)});
    co_await std::move(lasting);
    on.w.note("region ", region, " is back");
    on.is_cut[region] = false;
  }
}
task<> move_and_split(earth& on) {
  auto numbers = on.w.stream("moves and splits");
  while (on.writers > 0 && !on.is_healed) {
    auto waiting = on.pass(std::chrono::milliseconds{1'000 + numbers.below(3'000)});
    co_await std::move(waiting);
    auto const number = static_cast<std::size_t>(numbers.below(regions));
    auto& account = *on.accounts[number];
    if (on.moves.strikes() && !account.is_moving()) {
      auto const to = static_cast<std::size_t>(numbers.below(regions));
      on.w.note("account ", number, " moves its writes to region ", to);
      account.move_to(to);
      static_cast<void>(account.ends_move());
    }
    if (on.splits.strikes() && !account.is_moving()) {
      keyspan::request asked;
      asked.method = "POST";
      asked.target = sim::line("/_control/dbs/shop/colls/reviews/split/", numbers.below(3));
      auto const answer = account.answer(account.writer(), asked, on.wall());
      on.w.note("account ", number, " splits: ", answer.status);
    }
  }
}
task<> heal_in_time(earth& on) {
  auto waiting = on.pass(25s);
  co_await std::move(waiting);
  on.w.heal();
  on.is_healed = true;
  for (int seconds = 0; on.watchers > 0; ++seconds) {
    on.w.demand(seconds < 300, on.watchers, " still follow, and have not been told of all");
    auto resting = on.pass(1s);
    co_await std::move(resting);
  }
}

void play(sim::world& w) {
  earth on{w};
  std::vector<std::unique_ptr<program>> programs;
  for (std::size_t i = 0; i < regions; ++i) programs.push_back(std::make_unique<program>(on, i));
  auto const all_of = [&](std::vector<task<>> lives) {
    auto all = keyspan::when_all(std::move(lives));
    on.loop.complete(std::move(all), on.clock);
    if (on.complaint) throw sim::violated{*on.complaint};
  };
  auto const together = [&](auto const& doing) {
    std::vector<task<>> lives;
    for (auto& one : programs) lives.push_back(lived(on, doing(*one)));
    all_of(std::move(lives));
  };
  together([](program& one) { return one.make_own_account(); });
  for (auto& one : on.accounts)
    for (std::size_t i = 0; i < regions; ++i)
      while (one->copy_to(i)) {
      }
  together([](program& one) { return one.open(); });
  on.has_begun = true;

  std::vector<task<>> lives;
  auto const live = [&](task<> life) { lives.push_back(lived(on, std::move(life))); };
  on.writers = on.watchers = static_cast<int>(regions);
  for (auto& one : programs) {
    live(one->write());
    live(one->read());
    live(one->follow());
  }
  for (std::size_t account = 0; account < regions; ++account)
    for (std::size_t to = 0; to < regions; ++to) live(copy(on, account, to));
  live(cut(on));
  live(move_and_split(on));
  live(heal_in_time(on));
  all_of(std::move(lives));

  together([](program& one) { return one.read_all_in_the_end(); });
  w.note("in the end there are ", on.acknowledged.size(), " reviews");
}

sim::registered const region{
    "region", "three accounts written in three regions and read in all, cut off and moved", play};

}  // namespace
