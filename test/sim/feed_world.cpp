// test/sim/feed_world.cpp — a container is read by feeds while it is written, split and merged, and
// while much goes wrong.
//
// Everything happens on the way of a question to the source and of its answer back: writers write,
// partitions split and merge, answers are lost, late, empty or wrong. Readers read by items and by
// pages, in plain loops and awaited, leave loops and go on, keep cursors and go on from them
// elsewhere, and share what they read out among several. Whatever a feed asks, it asks of a model
// of what is right; every change reaches exactly one reader, once, in the order of its key; what
// was read after a cursor was kept comes once more, and nothing else.
#include <sim/feed_model.hpp>
#include <sim/player.hpp>
#include <sim/world.hpp>

#include <keyspan/async/manual_clock.hpp>
#include <keyspan/async/ready.hpp>
#include <keyspan/async/run_loop.hpp>
#include <keyspan/async/stop_token.hpp>
#include <keyspan/async/task.hpp>
#include <keyspan/async/when_all.hpp>
#include <keyspan/core/error.hpp>
#include <keyspan/core/result.hpp>
#include <keyspan/feed/divide.hpp>
#include <keyspan/feed/feed.hpp>
#include <keyspan/feed/feed_stream.hpp>
#include <keyspan/feed/scripted_source.hpp>
#include <keyspan/hash/cosmos_multihash.hpp>
#include <keyspan/key/partition_key.hpp>
#include <keyspan/range/routing_refresh.hpp>
#include <keyspan/range/token_range.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace {

using namespace std::chrono_literals;
using keyspan::errc;
using keyspan::instant;
using sim::feed_change;
using sim::feed_manner;

using multihash = keyspan::cosmos_multihash_scheme;
using token = multihash::token_type;
using range = keyspan::token_range<token>;
using page = keyspan::page<feed_change>;
using cursor = keyspan::composite_cursor<token>;
using model = sim::feed_model<token>;
using list_page = keyspan::partition_page<token>;

constexpr sim::duration end_of_changes = 400ms;

// ---- the container, and what happens to it

struct written_key {
  keyspan::partition_key key;
  token at;
  std::vector<keyspan::wall_time> changed{};  // when each of its changes was written
};

class busy_container {
 public:
  explicit busy_container(sim::world& in)
      : w{in},
        numbers{in.stream("container")},
        source{multihash{}, 1 + numbers.below(5)},
        splitting{in.declare_fault("splits", 8)},
        merging{in.declare_fault("merges", 6)},
        failing{in.declare_fault("errors", 6)},
        losing{in.declare_fault("lost answers", 4)},
        vanishing{in.declare_fault("range gone, and it is not", 5)},
        vanished{in.declare_fault("range gone, again and again", 1)},
        forgetting{in.declare_fault("no continuation", 2)},
        emptying{in.declare_fault("empty pages", 10)},
        hurrying{in.declare_fault("items from now", 10)},
        refusing{in.declare_fault("no list", 8)},
        lagging{in.declare_fault("an old list", 15)},
        dallying{in.declare_fault("long ways", 10)} {
    auto const tenants = 1 + numbers.below(5);
    for (auto count = numbers.between(1, 24); count > 0; --count) {
      keyspan::partition_key key{sim::line("tenant ", numbers.below(tenants)),
                                 sim::line("user ", count)};
      token const at = multihash::token_of(key.values());
      keys.push_back({std::move(key), at});
    }
    source.page_size(1 + numbers.below(12));
    source.list_page_size(numbers.below(4));
    source.empty_pages(numbers.chance(30) ? numbers.below(3) : 0);
    source.ends_with_items(numbers.chance(30));
    source.charge_per_page(0.25 * static_cast<double>(numbers.between(0, 8)));
    for (auto writers = numbers.between(1, 4); writers > 0; --writers) {
      auto const name = sim::line("writer ", writers);
      schedule_write(name, std::make_shared<test::random>(w.stream(name)));
    }
    schedule_change_of_owners();
  }

  sim::instant time() const {
    return sim::instant{std::chrono::duration_cast<sim::duration>(clock.now().time_since_epoch())};
  }
  keyspan::wall_time wall() const {
    return keyspan::wall_time{
        std::chrono::duration_cast<std::chrono::milliseconds>(clock.now().time_since_epoch())};
  }
  // What happens in the world until the clock's time has happened.
  void catch_up() { w.run_until(std::max(time(), w.now())); }
  // For who waits with the whole world.
  void pass_time(instant::duration by) {
    clock.advance(by);
    catch_up();
  }
  instant::duration way() {
    auto const microseconds = numbers.between(0, dallying.strikes() ? 20'000 : 600);
    return std::chrono::microseconds{microseconds};
  }
  std::vector<std::uint32_t> written() const {
    std::vector<std::uint32_t> counts;
    for (auto const& one : keys) counts.push_back(static_cast<std::uint32_t>(one.changed.size()));
    return counts;
  }
  bool changes_end() const { return time() >= sim::instant{end_of_changes}; }

  void split() {
    auto const& key = numbers.pick(keys);
    auto const& owner = source.owner_of(key.key);
    if (owner.range.lower() < key.at && numbers.chance(70)) {
      w.note("split ", owner.id, " before a key");
      source.split(std::string{owner.id}, key.at);
    } else if (multihash::midpoint(owner.range.lower(), owner.range.upper())) {
      w.note("split ", owner.id);
      source.split(std::string{owner.id});
    }
  }
  void merge() {
    auto const& all = source.partitions();
    if (all.size() < 2) return;
    auto const left = numbers.below(all.size() - 1);
    auto const ids = std::pair{all[left].id, all[left + 1].id};
    w.note("merge ", ids.first, " and ", ids.second);
    source.merge(ids.first, ids.second);
  }
  void change_owners() {
    while (splitting.strikes()) split();
    while (merging.strikes()) merge();
  }

  sim::world& w;
  test::random numbers;
  keyspan::manual_clock clock{};
  keyspan::run_loop loop{};
  std::vector<written_key> keys{};
  keyspan::scripted_source<feed_change, multihash> source;
  sim::fault& splitting;
  sim::fault& merging;
  sim::fault& failing;
  sim::fault& losing;
  sim::fault& vanishing;
  sim::fault& vanished;
  sim::fault& forgetting;
  sim::fault& emptying;
  sim::fault& hurrying;
  sim::fault& refusing;
  sim::fault& lagging;
  sim::fault& dallying;

 private:
  void schedule_write(std::string const& name, std::shared_ptr<test::random> own) {
    auto const wait = std::chrono::microseconds{
        static_cast<std::int64_t>(own->exponential(own->chance(80) ? 1'000 : 20'000))};
    if (w.now() + wait >= sim::instant{end_of_changes}) return;
    w.schedule(wait, name + " writes", [this, name, own] {
      auto& key = own->pick(keys);
      source.set_time(std::max(wall(), last_write_));
      last_write_ = std::max(wall(), last_write_);
      std::vector<feed_change> changes;
      auto const number = static_cast<std::uint32_t>(&key - keys.data());
      for (auto count = own->chance(20) ? own->between(2, 6) : 1; count > 0; --count) {
        changes.push_back({number, static_cast<std::uint32_t>(key.changed.size())});
        key.changed.push_back(last_write_);
      }
      if (changes.size() == 1) {
        source.write(key.key, changes.front());
      } else {
        source.write_together(key.key, std::move(changes));
      }
      schedule_write(name, own);
    });
  }
  void schedule_change_of_owners() {
    auto const wait =
        std::chrono::microseconds{static_cast<std::int64_t>(numbers.exponential(15'000))};
    if (w.now() + wait >= sim::instant{end_of_changes}) return;
    w.schedule(wait, "who owns what may change", [this] {
      if (splitting.is_on() && numbers.chance(60)) split();
      if (merging.is_on() && numbers.chance(40)) merge();
      schedule_change_of_owners();
    });
  }

  keyspan::wall_time last_write_{};
};

// ---- one reader's way to the container

struct reading_options {
  range within;
  std::optional<keyspan::partition_key> key{};
  keyspan::feed_mode mode = keyspan::feed_mode::latest_version;
  std::uint32_t page_size = 0;
  std::string session_token{};
  std::optional<instant> deadline{};
};

// The source that a feed sees. Answers come at once where a plain loop asks, and late where a
// coroutine does.
class way_to_source {
 public:
  using scheme_type = multihash;
  using page_type = page;

  way_to_source(busy_container& to, reading_options options, model expected)
      : to_{to}, options_{std::move(options)}, model_{std::move(expected)} {}
  way_to_source(way_to_source const&) = delete;
  way_to_source& operator=(way_to_source const&) = delete;

  std::string const& container() const { return to_.source.container(); }
  scheme_type scheme() const { return {}; }

  // What the arguments refer to lives until the answer is there.
  keyspan::task<keyspan::result<page>> read(range const& asked, keyspan::continuation const& from,
                                            keyspan::read_request const& request) {
    begin_question();
    complain(model_.ask(asked, from, to_.clock.now()));
    check_request(request);
    auto there = on_the_way(request.stop);
    bool const is_there = co_await std::move(there);
    if (!is_there) co_return stopped();
    auto answer = answer_to(asked, from, request);
    auto back = on_the_way(request.stop);
    bool const is_back = co_await std::move(back);
    if (!is_back) co_return stopped();
    deliver(asked, answer);
    co_return answer;
  }

  keyspan::task<keyspan::result<list_page>> topology(std::string const& known) {
    begin_question();
    asked_for_list_ = true;
    auto there = on_the_way({});
    co_await std::move(there);
    if (to_.refusing.strikes()) {
      last_error_ = random_error();
      charge_ += last_error_->wire.charge;
      is_owed_ = true;
      co_return keyspan::unexpected{*last_error_};
    }
    auto answer = std::move(to_.source.topology(known).value);
    if (!known.empty() && answer->version != known && to_.lagging.strikes()) {
      *answer = list_page{{}, known, true};
    }
    auto back = on_the_way({});
    co_await std::move(back);
    to_.change_owners();
    co_return answer;
  }

  sim::feed_model<token>& expected() { return model_; }
  reading_options const& options() const { return options_; }
  double charge() const { return charge_; }
  // What the last question was answered with, where that was an error.
  std::optional<keyspan::error> const& last_error() const { return last_error_; }
  // Whether the feed may not deal with it alone.
  bool is_owed() const { return is_owed_; }
  void was_told() { is_owed_ = false; }
  bool asked_for_list() const { return asked_for_list_; }
  bool forgot_continuation() const { return forgot_continuation_; }

  void settle() { model_.settle(to_.clock.now()); }
  void complain(std::string const& complaint) const { to_.w.demand(complaint.empty(), complaint); }

  // Whether answers come late.
  bool is_awaited = false;
  std::optional<keyspan::stop_token> own_stop{};

 private:
  void begin_question() {
    settle();
    to_.w.demand(!is_owed_, "the source has failed, and the reader was not told: ",
                 last_error_ ? last_error_->to_text().view() : "");
    last_error_.reset();
    asked_for_list_ = false;
    forgot_continuation_ = false;
    to_.w.demand(++questions_ < 20'000, "the feed asks and asks");
  }
  void check_request(keyspan::read_request const& request) const {
    to_.w.demand(request.page_size == options_.page_size, "the page size was changed");
    to_.w.demand(request.mode == options_.mode, "the mode was changed");
    to_.w.demand(request.session_token == options_.session_token, "the session was changed");
    to_.w.demand(request.deadline == options_.deadline, "the deadline was changed");
    to_.w.demand((request.key != nullptr) == options_.key.has_value() &&
                     (!request.key || *request.key == *options_.key),
                 "the key was changed");
  }

  keyspan::task<bool> on_the_way(keyspan::stop_token stop) {
    auto const time = to_.way();
    if (!is_awaited) {
      to_.pass_time(time);
      co_return true;
    }
    if (to_.numbers.chance(50)) stop = {};  // a source need not heed it
    auto wait = to_.clock.wait_until(to_.clock.now() + time, std::move(stop));
    auto const waited = co_await std::move(wait);
    if (to_.numbers.chance(50)) co_await to_.loop.schedule();
    to_.catch_up();
    co_return waited.has_value();
  }
  keyspan::result<page> stopped() {
    last_error_ = keyspan::error{errc::stopped, "nobody wants it any more"};
    is_owed_ = true;
    gone_in_a_row_ = 0;
    return keyspan::unexpected{*last_error_};
  }

  keyspan::error random_error() {
    errc code = errc::range_gone;
    while (code == errc::range_gone) code = to_.numbers.pick(keyspan::all_errc);
    keyspan::error why{code, "number ", to_.numbers.below(1'000'000)};
    why.wire.charge = 0.25 * static_cast<double>(to_.numbers.below(4));
    return why;
  }

  keyspan::result<page> answer_to(range const& asked, keyspan::continuation const& from,
                                  keyspan::read_request const& request) {
    to_.change_owners();
    if (to_.vanished.strikes()) gone_for_ = to_.numbers.between(10, 40);
    if (gone_for_ > 0 || to_.vanishing.strikes()) {
      --gone_for_;
      return keyspan::fail(errc::range_gone, "so it seems");
    }
    if (to_.failing.strikes()) return keyspan::unexpected{random_error()};
    auto answer = std::move(to_.source.read(asked, from, request).value);
    if (!answer) return answer;
    if (to_.losing.strikes()) return keyspan::unexpected{random_error()};
    if (to_.emptying.strikes() && !from.is_start()) {
      answer->items.clear();
      answer->continuation = from.text();
      answer->nothing_new = false;
    }
    if (to_.forgetting.strikes()) answer->continuation.clear();
    if (model::is_unfixed(from) && to_.hurrying.strikes()) answer->items.push_back({});
    return answer;
  }

  void deliver(range const& asked, keyspan::result<page> const& answer) {
    if (!answer) {
      charge_ += answer.error().wire.charge;
      last_error_ = answer.error();
      gone_in_a_row_ = answer.error().code == errc::range_gone ? gone_in_a_row_ + 1 : 0;
      is_owed_ = gone_in_a_row_ == 0 || gone_in_a_row_ > 16;
      if (is_owed_) gone_in_a_row_ = 0;
      return;
    }
    gone_in_a_row_ = 0;
    charge_ += answer->charge;
    forgot_continuation_ = answer->continuation.empty() ||
                           (!answer->items.empty() && answer->items.front() == feed_change{} &&
                            answer->nothing_new && !model_.is_open());
    if (forgot_continuation_) return;
    complain(model_.deliver(
        {asked, answer->continuation, answer->nothing_new, answer->items, ++pages_}));
    if (answer->items.empty()) settle();
  }

  busy_container& to_;
  reading_options options_;
  model model_;
  double charge_ = 0;
  std::optional<keyspan::error> last_error_{};
  bool is_owed_ = false;
  bool asked_for_list_ = false;
  bool forgot_continuation_ = false;
  std::int64_t gone_for_ = 0;
  int gone_in_a_row_ = 0;
  int questions_ = 0;
  std::uint64_t pages_ = 0;
};

// Counts who waits without asking, and lets the world go on meanwhile.
class watch {
 public:
  explicit watch(busy_container& of, way_to_source& by) : of_{&of}, by_{&by} {}

  instant now() const { return of_->clock.now(); }
  keyspan::task<keyspan::result<void>> wait_until(instant due, keyspan::stop_token stop) {
    by_->settle();
    of_->w.demand(by_->expected().is_all_idle(), "a range is waited for, and others could be read");
    of_->w.demand(due > now(), "a range is due, and is not asked");
    of_->w.demand(due == by_->expected().due(), "the wait is not for the first range that is due");
    if (by_->is_awaited) {
      auto wait = of_->clock.wait_until(due, stop);
      auto const waited = co_await std::move(wait);
      of_->catch_up();
      co_return waited;
    }
    of_->pass_time(due - now());
    if (stop.stop_requested()) co_return keyspan::fail(errc::stopped, "the watch was stopped");
    co_return keyspan::result<void>{};
  }

 private:
  busy_container* of_;
  way_to_source* by_;
};

// ---- a reader

// Where a reader stood, and what it had seen then.
struct kept_place {
  std::string text{};
  cursor at{};
  sim::feed_ledger ledger{};
  bool is_open = false;
};

class reader {
 public:
  using feed_type = keyspan::feed<way_to_source>;

  reader(busy_container& of, keyspan::feed_request<token> request, reading_options options,
         sim::feed_ledger ledger, model expected, bool is_open)
      : of_{of},
        w_{of.w},
        numbers_{of.numbers.fork()},
        ledger_{std::move(ledger)},
        way_{std::make_unique<way_to_source>(of, std::move(options), std::move(expected))},
        feed_{*way_, with_stop(std::move(request))},
        is_open_{is_open},
        delay_{std::chrono::milliseconds{numbers_.between(1, 20)}} {}

  // A reader that begins somewhere, and reads all or a part.
  static std::unique_ptr<reader> begin(busy_container& of) {
    auto& numbers = of.numbers;
    keyspan::feed_request<token> request;
    range within = whole_space(multihash{});
    std::optional<keyspan::partition_key> one_key;
    auto const& key = numbers.pick(of.keys);
    switch (numbers.below(5)) {
      case 0: {
        auto const& other = numbers.pick(of.keys);
        if (key.at == other.at) break;
        within = {std::min(key.at, other.at), std::max(key.at, other.at)};
        request.scope = within;
        break;
      }
      case 1:
        one_key = key.key;
        within = range{*multihash::prefix_bounds(key.key.values(), 2)};
        request.scope = key.key;
        break;
      case 2: {
        keyspan::partition_key const tenant{key.key.values()[0]};
        within = range{*multihash::prefix_bounds(tenant.values(), 2)};
        request.scope = keyspan::key_prefix{tenant, 2};
        break;
      }
      default:
        break;
    }
    auto const written = of.written();
    std::vector<sim::feed_ledger::next_change> next(written.size());
    keyspan::continuation from;
    bool is_open = true;
    switch (numbers.below(4)) {
      case 0:
        request.start = keyspan::from_now;
        from = keyspan::from_now;
        is_open = false;
        for (std::size_t i = 0; i < next.size(); ++i)
          next[i] = {written[i], std::numeric_limits<std::uint32_t>::max()};
        break;
      case 1: {
        auto const moment = of.wall() - std::chrono::milliseconds{numbers.below(100)};
        request.start = keyspan::from_time{moment};
        from = keyspan::from_time{moment};
        for (std::size_t i = 0; i < next.size(); ++i) {
          auto const& changed = of.keys[i].changed;
          auto const first = std::ranges::lower_bound(changed, moment) - changed.begin();
          next[i] = {static_cast<std::uint32_t>(first), static_cast<std::uint32_t>(first)};
        }
        break;
      }
      default:
        break;
    }
    request.page_size = static_cast<std::uint32_t>(numbers.chance(50) ? numbers.below(6) : 0);
    if (numbers.chance(30)) request.mode = keyspan::feed_mode::all_versions_and_deletes;
    if (numbers.chance(30)) request.session_token = "as of yesterday";
    if (numbers.chance(30)) request.deadline = instant{1h};
    reading_options options{
        within, one_key, request.mode, request.page_size, request.session_token, request.deadline};
    return std::make_unique<reader>(of, std::move(request), std::move(options),
                                    sim::feed_ledger{std::move(next)}, model{within, from},
                                    is_open);
  }

  // One thing that a reader may do.
  void step() {
    auto const limit = numbers_.chance(50) ? numbers_.below(8) : 1'000;
    switch (numbers_.below(11)) {
      case 10:
        await_two_streams();
        break;
      case 0:
        open();
        break;
      case 1:
        read_items(feed_.items(), feed_manner::draining, limit);
        break;
      case 2:
        read_items(feed_, feed_manner::draining, limit);
        break;
      case 3:
        read_pages(feed_.pages(), feed_manner::draining, limit);
        break;
      case 4:
        await_items(feed_.stream(), feed_manner::draining, limit);
        break;
      case 5:
        await_pages(feed_.stream(), feed_manner::draining, limit);
        break;
      default:
        follow(limit);
    }
    feed_type moved{std::move(feed_)};
    feed_ = std::move(moved);
    check();
  }
  bool can_go_on() const { return !stop_->stop_requested(); }

  // Until nothing is new, whatever goes wrong on the way; all is there then.
  void finish() {
    for (int tries = 0;; ++tries) {
      w_.demand(tries < 100, "reading to the end always fails");
      if (numbers_.chance(50)) {
        read_items(feed_, feed_manner::draining, 1'000'000);
      } else {
        read_pages(feed_.pages(), feed_manner::draining, 1'000'000);
      }
      if (has_ended_) break;
    }
    check_complete(of_.written());
  }

  kept_place keep() {
    auto place = kept_place{{}, feed_.cursor(), ledger_, is_open_};
    if (is_standing_) place.ledger.take_back_page();
    place.text = place.at.to_text();
    return place;
  }
  // Another reader, in place of this one, from where this one stood, perhaps in a part.
  std::unique_ptr<reader> resumed(kept_place place, std::optional<range> part = {}) const {
    if (numbers_.chance(50)) {
      auto const read = cursor::from_text(multihash{}, place.text);
      w_.demand(read.has_value() && *read == place.at, "a cursor's text is another cursor");
      place.at = *read;
    }
    auto options = way_->options();
    keyspan::feed_request<token> request;
    request.page_size = options.page_size;
    request.session_token = options.session_token;
    request.deadline = options.deadline;
    cursor within = place.at;
    if (part) {
      request.scope = *part;
      options.within = *part;
      std::erase_if(within.parts, [&](auto const& one) { return !overlaps(one.range, *part); });
      for (auto& one : within.parts) one.range = *intersection(one.range, *part);
    }
    request.start = std::move(place.at);
    return std::make_unique<reader>(of_, std::move(request), std::move(options),
                                    std::move(place.ledger), model{within}, place.is_open);
  }
  // Several readers in place of this one; none where it cannot be shared out.
  std::vector<std::unique_ptr<reader>> shared_out(std::size_t readers) {
    std::vector<std::unique_ptr<reader>> made;
    open();
    if (!has_ended_) return made;
    auto const place = keep();
    auto shares = divide(feed_, readers);
    if (!shares) {
      w_.demand(shares.error().code == errc::invalid_range && readers > 1,
                "sharing out: ", shares.error().to_text());
      return made;
    }
    w_.demand(shares->size() == readers, "there are more or fewer shares than readers");
    auto all = model{place.at};
    cursor together = place.at;
    together.parts.clear();
    for (auto& share : *shares) {
      w_.demand(!share.parts.empty(), "a reader has nothing to read");
      together.parts.insert(together.parts.end(), share.parts.begin(), share.parts.end());
      auto options = way_->options();
      keyspan::feed_request<token> request;
      request.page_size = options.page_size;
      request.session_token = options.session_token;
      request.deadline = options.deadline;
      request.start = share;
      made.push_back(std::make_unique<reader>(of_, std::move(request), std::move(options),
                                              place.ledger, model{share}, is_open_));
    }
    way_->complain(all.compare(together));
    return made;
  }
  range const& within() const { return way_->options().within; }

 private:
  keyspan::feed_request<token> with_stop(keyspan::feed_request<token> request) const {
    request.stop = stop_->token();
    return request;
  }

  void note_open() {
    if (is_open_ || !way_->expected().is_open()) return;
    is_open_ = true;
    ledger_.is_open(of_.written());
  }
  void check() {
    w_.demand(feed_.charge() == way_->charge(), "the feed has charged ", feed_.charge(),
              ", the source ", way_->charge());
    way_->complain(way_->expected().compare(feed_.cursor()));
  }
  bool is_read(std::size_t key) const {
    auto const& options = way_->options();
    if (options.key && of_.keys[key].key != *options.key) return false;
    auto const ranges = feed_.cursor().parts;
    return std::ranges::any_of(
        ranges, [&](auto const& one) { return one.range.contains(of_.keys[key].at); });
  }
  void check_complete(std::vector<std::uint32_t> const& written) const {
    for (std::size_t i = 0; i < written.size(); ++i)
      if (is_read(i))
        w_.demand(ledger_.next(i).least >= written[i] || ledger_.next(i).most >= written[i],
                  "change ", ledger_.next(i).least, " of key ", i, " never came");
  }

  // ---- what every way of reading has in common

  void begin(feed_manner manner, bool by_items) {
    w_.note(by_items ? "reads items" : "reads pages", " in manner ", static_cast<int>(manner));
    written_before_ = of_.written();
    was_open_ = is_open_;
    has_ended_ = false;
    if (manner != feed_manner::opening && is_standing_) {
      if (by_items) {
        ledger_.take_back_last();
      } else {
        ledger_.take_back_page();
        is_standing_ = false;
      }
    }
    way_->was_told();  // or an awaiting reader has gone before
    way_->expected().begin(manner, delay_, feed_.cursor());
    way_->is_awaited = false;
  }
  void take(feed_change const& one) {
    note_open();
    w_.demand(is_read(one.key), "a change that was not asked for came");
    way_->complain(ledger_.take(one));
  }
  void see_item(feed_change const& one) {
    note_open();
    auto const& pending = way_->expected().pending();
    w_.demand(pending.has_value(), "an item came from nowhere");
    if (is_standing_ && pending->number == page_) {
      if (!is_first_) ++index_;
    } else {
      page_ = pending->number;
      index_ = 0;
      ledger_.begin_page();
    }
    is_first_ = false;
    is_standing_ = true;
    w_.demand(index_ < pending->items.size() && pending->items[index_] == one,
              "an item is not the one of the page");
    w_.demand(feed_.range() == pending->range, "the range of the page is another one");
    take(one);
    if (numbers_.chance(10)) check();
  }
  void see_page(page const& seen) {
    note_open();
    auto const& pending = way_->expected().pending();
    w_.demand(pending.has_value() && pending->items == seen.items, "a page is another one");
    w_.demand(feed_.range() == pending->range, "the range of the page is another one");
    ledger_.begin_page();
    for (auto const& one : seen.items) take(one);
    way_->settle();
    check();
  }
  void see_end(feed_manner manner) {
    way_->settle();
    is_standing_ = false;
    has_ended_ = true;
    note_open();
    if (manner == feed_manner::opening) {
      w_.demand(way_->expected().is_open(), "an open feed does not know where now is");
      return;
    }
    w_.demand(manner == feed_manner::draining, "who follows has come to an end");
    w_.demand(way_->expected().is_all_idle(), "a range did not say that nothing is new");
    if (was_open_) check_complete(written_before_);
    check();
  }
  void see_error(keyspan::error const& why) {
    way_->settle();
    is_standing_ = false;
    w_.note("fails: ", why.to_text());
    if (why.code == errc::stopped && !can_go_on()) {
      way_->was_told();
      return check();
    }
    auto const& last = way_->last_error();
    if (way_->forgot_continuation()) {
      w_.demand(why.code == errc::bad_response, "a bad page was called ", why.to_text());
    } else if (last) {
      w_.demand(way_->is_owed(), "the feed deals with this alone: ", why.to_text());
      way_->was_told();
      w_.demand(why == *last, "the source has said ", last->to_text(), ", the reader is told ",
                why.to_text());
    } else {
      w_.demand(way_->asked_for_list() && (why.code == errc::gap || why.code == errc::overlap ||
                                           why.code == errc::conflicting_ranges),
                "an error came from nowhere: ", why.to_text());
    }
    check();
    of_.pass_time(of_.way());
  }

  // ---- plain loops

  void open() {
    if (way_->expected().pending()) {  // a feed in the middle of a page is open
      has_ended_ = feed_.open().has_value();
      w_.demand(has_ended_, "a feed that is read cannot be opened");
      return;
    }
    begin(feed_manner::opening, true);
    auto const opened = feed_.open();
    if (opened) {
      see_end(feed_manner::opening);
    } else {
      see_error(opened.error());
    }
  }
  template <class Items>
  void read_items(Items&& items, feed_manner manner, std::uint64_t limit) {
    begin(manner, true);
    is_first_ = true;
    try {
      std::uint64_t seen = 0;
      for (feed_change const& one : items) {
        see_item(one);
        if (++seen > limit) return;
      }
    } catch (keyspan::failed const& e) {
      return see_error(e.error());
    }
    see_end(manner);
  }
  template <class Pages>
  void read_pages(Pages&& pages, feed_manner manner, std::uint64_t limit) {
    begin(manner, false);
    std::uint64_t seen = 0;
    for (auto const& one : pages) {
      if (!one) return see_error(one.error());
      see_page(*one);
      if (++seen > limit) return;
    }
    see_end(manner);
  }

  // ---- coroutines

  template <class Stream>
  keyspan::task<void> items_of(Stream& stream, feed_manner manner, std::uint64_t limit) {
    for (std::uint64_t seen = 0; seen <= limit; ++seen) {
      auto const one = co_await stream.next();
      if (one && !one.has_value()) co_return see_error(one.error());
      if (!one) {
        if (is_closed_) {
          is_standing_ = is_standing_ && way_->expected().pending() &&
                         way_->expected().pending()->number == page_;
        } else {
          see_end(manner);
        }
        co_return;
      }
      w_.demand(!is_closed_, "a stream that was closed goes on");
      see_item(*one);
      if (numbers_.chance(20)) {
        auto pause = rest();
        co_await std::move(pause);
      }
    }
  }
  template <class Stream>
  keyspan::task<void> pages_of(Stream& stream, feed_manner manner, std::uint64_t limit) {
    for (std::uint64_t seen = 0; seen <= limit; ++seen) {
      auto* const one = co_await stream.next_page();
      is_over_ = !one || !*one;
      if (!one) {
        if (!is_closed_) see_end(manner);
        co_return;
      }
      if (!*one) co_return see_error(one->error());
      w_.demand(!is_closed_, "a stream that was closed goes on");
      see_page(**one);
      if (numbers_.chance(20)) {
        auto pause = rest();
        co_await std::move(pause);
      }
    }
  }
  keyspan::task<void> rest() {
    auto wait = of_.clock.wait_until(of_.clock.now() + of_.way());
    static_cast<void>(co_await std::move(wait));
    of_.catch_up();
  }
  template <class Stream>
  keyspan::task<void> closed_later(Stream& stream) {
    auto const after = std::chrono::microseconds{numbers_.below(5'000)};
    auto wait = of_.clock.wait_until(of_.clock.now() + after);
    static_cast<void>(co_await std::move(wait));
    of_.catch_up();
    is_closed_ = true;
    co_await stream.close();
  }

  template <class Stream>
  void await_items(Stream stream, feed_manner manner, std::uint64_t limit) {
    begin(manner, true);
    is_first_ = true;
    await(stream, items_of(stream, manner, limit));
  }
  template <class Stream>
  void await_pages(Stream stream, feed_manner manner, std::uint64_t limit) {
    begin(manner, false);
    await(stream, pages_of(stream, manner, limit));
  }
  template <class Stream>
  void await(Stream& stream, keyspan::task<void> reading) {
    way_->is_awaited = true;
    is_closed_ = false;
    if (numbers_.chance(50)) {
      of_.loop.complete(keyspan::when_all(std::move(reading), closed_later(stream)), of_.clock);
    } else {
      of_.loop.complete(std::move(reading), of_.clock);
    }
    way_->is_awaited = false;
  }

  // In turn, and both live meanwhile.
  void await_two_streams() {
    using stream_type = keyspan::feed_stream<way_to_source>;
    std::array<std::optional<stream_type>, 2> streams;
    is_closed_ = false;
    auto const read = [&](stream_type& stream) {
      way_->is_awaited = true;
      of_.loop.complete(pages_of(stream, feed_manner::draining, numbers_.below(3)), of_.clock);
      way_->is_awaited = false;
      return !is_over_;
    };
    bool first_goes_on = false;
    for (auto& stream : streams) {
      begin(feed_manner::draining, false);
      stream.emplace(feed_.stream());
      bool const goes_on = read(*stream);
      if (&stream == &streams[0]) first_goes_on = goes_on;
    }
    if (first_goes_on && numbers_.chance(50)) read(*streams[0]);
    if (numbers_.chance(50)) of_.loop.complete(streams[0]->close(), of_.clock);
    streams[numbers_.below(2)].reset();
  }

  void follow(std::uint64_t limit) {
    auto const stop = stop_;
    auto const after = std::chrono::microseconds{numbers_.between(0, 30'000)};
    w_.schedule(after, "a reader is stopped", [stop] { stop->request_stop(); });
    watch by{of_, *way_};
    auto const manner = feed_manner::following;
    switch (numbers_.below(4)) {
      case 0:
        return read_items(feed_.follow(by, delay_), manner, limit);
      case 1:
        return read_pages(feed_.follow(by, delay_).pages(), manner, limit);
      case 2:
        return await_items(feed_.follow(by, delay_).stream(), manner, limit);
      default:
        return await_pages(feed_.follow(by, delay_).stream(), manner, limit);
    }
  }

  busy_container& of_;
  sim::world& w_;
  test::random mutable numbers_;
  std::shared_ptr<keyspan::stop_source> stop_ = std::make_shared<keyspan::stop_source>();
  sim::feed_ledger ledger_;
  std::unique_ptr<way_to_source> way_;
  feed_type feed_;
  bool is_open_;
  instant::duration delay_;
  std::vector<std::uint32_t> written_before_{};
  bool was_open_ = false;
  bool has_ended_ = false;
  bool is_closed_ = false;
  bool is_over_ = false;
  bool is_standing_ = false;  // at an item, which a loop over items shows again
  bool is_first_ = false;
  std::uint64_t page_ = 0;
  std::size_t index_ = 0;
};

// ---- all of them

void play(sim::world& w) {
  busy_container of{w};
  auto& numbers = of.numbers;
  of.pass_time(std::chrono::milliseconds{numbers.below(50)});
  std::vector<std::unique_ptr<reader>> readers;
  for (auto count = numbers.between(1, 3); count > 0; --count) readers.push_back(reader::begin(of));

  for (int steps = 0; !of.changes_end() && steps < 400; ++steps) {
    auto& one = readers[numbers.below(readers.size())];
    if (!one->can_go_on()) {
      one = one->resumed(one->keep());
      continue;
    }
    switch (numbers.below(12)) {
      case 0: {  // what comes after a cursor is kept comes once more
        auto kept = one->keep();
        for (auto more = numbers.below(3); more > 0 && one->can_go_on(); --more) one->step();
        one = one->resumed(std::move(kept));
        break;
      }
      case 1:
        one = one->resumed(one->keep());
        break;
      case 2: {  // in two parts
        auto const& at = numbers.pick(of.keys).at;
        if (readers.size() > 6 || !one->within().contains(at) || one->within().lower() == at) break;
        auto const [left, right] = split(one->within(), at);
        auto const place = one->keep();
        auto const touches = [&](range const& part) {
          return std::ranges::any_of(place.at.parts,
                                     [&](auto const& has) { return overlaps(has.range, part); });
        };
        if (!touches(left) || !touches(right)) break;
        auto other = one->resumed(place, right);
        one = one->resumed(place, left);
        readers.push_back(std::move(other));
        break;
      }
      case 3: {
        if (readers.size() > 6) break;
        auto shares = one->shared_out(1 + numbers.below(4));
        if (shares.empty()) break;
        one = std::move(shares.back());
        shares.pop_back();
        for (auto& share : shares) readers.push_back(std::move(share));
        break;
      }
      default:
        one->step();
    }
  }

  w.heal();
  of.pass_time(std::max(instant{end_of_changes} + 50ms, of.clock.now() + 50ms) - of.clock.now());
  for (auto& one : readers) {
    if (!one->can_go_on()) one = one->resumed(one->keep());
    one->finish();
  }
}

sim::registered const feeds{
    "feed", "feeds over partitions that split and merge, and a source that fails", play};

}  // namespace
