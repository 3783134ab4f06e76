// keyspan/processor/lease_work.hpp — the changes of one lease: read ahead, handled, acknowledged.
//
//   fetch ---> [page][page] ---> lane 0: handle, again where it fails, acknowledge --+
//                      |   ---> lane 1: …                                            v
//                      +-- full: waits                          the position goes forward
#pragma once

#include <keyspan/async/clock.hpp>
#include <keyspan/async/completion.hpp>
#include <keyspan/async/instant.hpp>
#include <keyspan/async/stop_token.hpp>
#include <keyspan/async/task.hpp>
#include <keyspan/core/error.hpp>
#include <keyspan/core/result.hpp>
#include <keyspan/feed/cursor.hpp>
#include <keyspan/feed/feed_progress.hpp>
#include <keyspan/feed/feed_request.hpp>
#include <keyspan/feed/page_source.hpp>
#include <keyspan/hash/token.hpp>
#include <keyspan/lease/lease_record.hpp>
#include <keyspan/processor/change_batch.hpp>
#include <keyspan/processor/change_handler.hpp>
#include <keyspan/processor/host_context.hpp>
#include <keyspan/processor/lease_control.hpp>
#include <keyspan/processor/lease_reading.hpp>
#include <keyspan/processor/processor_event.hpp>
#include <keyspan/processor/processor_options.hpp>
#include <keyspan/processor/strand.hpp>
#include <keyspan/range/token_range.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <ranges>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace keyspan {

namespace detail {

// How far the work on a lease has come since it was told last.
template <token Token>
struct work_progress {
  std::uint64_t sequence = 0;
  std::vector<cursor<Token>> at{};
  std::size_t items = 0;                     // handled since
  std::optional<lease_attempts> attempts{};  // of what lies behind the position
};

// Who keeps the lease that is worked on. All of it is called inside of the host's strand.
template <token Token>
class lease_keeper {
 public:
  lease_keeper() = default;
  lease_keeper(lease_keeper const&) = delete;
  lease_keeper& operator=(lease_keeper const&) = delete;
  virtual ~lease_keeper() = default;

  // Whether a batch may be begun now. Where not, the lease is lost, whatever a beat that is on its
  // way says: what is passed over would leave a gap.
  virtual bool may_go_on() = 0;
  // Until when the lease is held.
  virtual instant deadline() const = 0;
  // The position may be written.
  virtual void take(work_progress<Token> const& progress) = 0;
  // These are the parts of its range that partitions of the source have now: closes the work where
  // the lease is of no use any more.
  virtual void see_partitions(std::vector<token_range<Token>> parts) = 0;
  // It is to be paused, until somebody resumes it.
  virtual void halt(error const& why) = 0;
  virtual void tell(processor_event_kind kind, error const* why) = 0;
  // Something is due then.
  virtual void rearm(instant due) = 0;
  // Its handler was closed: nothing of it is at work any more.
  virtual void has_ended() = 0;
};

// Some items of a batch, for one lane.
template <class Batch>
struct batch_piece {
  std::shared_ptr<Batch> batch{};
  std::vector<std::uint32_t> which{};
  // Whether it was acknowledged: once, however often it was tried.
  std::shared_ptr<std::atomic<bool>> is_said = std::make_shared<std::atomic<bool>>(false);
};

// What was acknowledged by hand, from whatever thread, and nobody inside has heard of yet.
template <class Work>
class acknowledgement_inbox {
 public:
  struct entry {
    std::weak_ptr<Work> of;
    std::weak_ptr<typename Work::read_type> what;
  };

  void push(entry one) {
    std::optional<completer<void>> told;
    {
      std::lock_guard const lock{mutex_};
      if (is_over_) return;
      entries_.push_back(std::move(one));
      told.swap(waiting_);
    }
    if (told) (*told)();
  }
  void wait(completer<void> done) {
    {
      std::lock_guard const lock{mutex_};
      if (entries_.empty() && !is_over_) {
        waiting_.emplace(std::move(done));
        return;
      }
    }
    done();
  }
  std::vector<entry> take() {
    std::lock_guard const lock{mutex_};
    return std::exchange(entries_, {});
  }
  void end() {
    std::optional<completer<void>> told;
    {
      std::lock_guard const lock{mutex_};
      is_over_ = true;
      told.swap(waiting_);
    }
    if (told) (*told)();
  }

 private:
  std::mutex mutex_{};
  bool is_over_ = false;
  std::vector<entry> entries_{};
  std::optional<completer<void>> waiting_{};
};

template <page_source Source, clock Clock, class Handler>
class lease_work : public std::enable_shared_from_this<lease_work<Source, Clock, Handler>> {
 public:
  using token_type = token_of_source<Source>;
  using scheme_type = typename Source::scheme_type;
  using page_type = typename Source::page_type;
  using item_type = std::remove_reference_t<std::iter_reference_t<decltype(std::ranges::begin(
      std::declval<decltype(page_type::items)&>()))>>;
  using batch_type = change_batch<token_type, item_type>;
  using read_type = read_batch<token_type, page_type>;
  using host_type = host_context<token_type, Clock>;
  using keeper_type = lease_keeper<token_type>;
  using inbox_type = acknowledgement_inbox<lease_work>;

  // What all work of a host has in common; outlives it.
  struct setting {
    host_type& host;
    Source& source;
    Handler& handler;
    std::shared_ptr<inbox_type> inbox = std::make_shared<inbox_type>();
  };

  lease_work(setting const& in, std::shared_ptr<keeper_type> keeper, lease_info<token_type> of,
             feed_request<token_type> request, lease_attempts attempts, std::uint64_t sequence)
      : host_{in.host},
        source_{in.source},
        handler_{in.handler},
        inbox_{in.inbox},
        keeper_{std::move(keeper)},
        info_{std::move(of)},
        batches_{sequence, std::get<composite_cursor<token_type>>(request.start).parts},
        progress_{source_.scheme(), source_.container(), std::move(request)},
        lanes_(has_lanes<Handler, item_type> ? host_.options.lanes : 1),
        tried_before_{attempts.sequence == sequence ? attempts.count : 0},
        changed_{host_.inside} {}

  void begin() { host_.group.spawn(serve(this->shared_from_this())); }

  // Nothing more is begun: what is at work comes to its end, and the handler is told why. The lease
  // is kept.
  void park(close_reason why) {
    is_parked_ = true;
    close_now(why);
  }
  // The lease goes, too: what is at work is asked to stop.
  void close(close_reason why) {
    is_parked_ = false;
    stop_.request_stop();
    close_now(why);
  }
  bool is_closing() const noexcept { return is_closing_; }
  bool is_parked() const noexcept { return is_parked_; }

  std::uint64_t position() const noexcept { return batches_.position(); }
  std::vector<cursor<token_type>> const& at() const noexcept { return batches_.at(); }

  // How many changes are not handled, where that is known.
  std::optional<std::uint64_t> lag() const {
    if (is_at_end_ && batches_.open() == 0) return 0;
    if (newest_ == 0 || handled_ == 0) return std::nullopt;
    return newest_ > handled_ ? newest_ - handled_ : 0;
  }

  // How many batches were read, and are not acknowledged or behind one that is not.
  std::size_t unacknowledged() const noexcept { return batches_.open(); }

  // Shows the keeper which partitions its range belongs to, as far as it has heard.
  void look_at_partitions() {
    if (is_closing_ || !progress_.routing()) return;
    std::vector<token_range<token_type>> parts;
    for (auto const& owner : progress_.routing()->overlapping(info_.range))
      parts.push_back(owner.range);
    keeper_->see_partitions(std::move(parts));
  }

  instant next_checkpoint() const noexcept { return next_checkpoint_; }
  // Tells how far it has come, where that is news.
  void checkpoint() {
    next_checkpoint_ = never;
    if (batches_.has_news()) report();
  }

  // A piece of a batch was handled.
  void acknowledge(read_type& batch) {
    if (is_over_) return;
    auto const size = std::ranges::size(batch.page.items);
    std::optional<std::uint64_t> last;
    if (size != 0) last = lsn_of(std::ranges::data(batch.page.items)[size - 1]);
    if (!batches_.acknowledge(batch)) return;
    if (last) handled_ = (std::max)(handled_, *last);
    tried_before_ = 0;  // nobody has died of what lies behind that
    move_on();
  }
  // Whatever was acknowledged by hand, of any lease.
  static void hear(inbox_type& from) {
    for (auto const& [of, what] : from.take()) {
      auto const work = of.lock();
      auto const batch = what.lock();
      if (work && batch) work->acknowledge(*batch);
    }
  }

 private:
  using piece = batch_piece<read_type>;

  void close_now(close_reason why) {
    why_ = why;
    is_closing_ = true;
    asking_.request_stop();
    changed_.notify();
  }
  void tell(processor_event_kind kind, error const* why = nullptr) { keeper_->tell(kind, why); }
  // The handler is called outside, in its own time.
  template <class Call>
  task<result<void>> outside(Call call) {
    co_await host_.inside.leave();
    auto calling = outcome_of(std::move(call));
    result<void> const done = co_await std::move(calling);
    co_await host_.inside.enter();
    co_return done;
  }
  instant::duration delay_behind(std::uint32_t failures) {
    return host_.delay_behind(failures, host_.options.retry_delay,
                              host_.options.longest_retry_delay);
  }

  // The same for what is tried until it goes well: never without a pause.
  instant::duration pause_behind(std::uint32_t failures, instant::duration longest,
                                 error const* why = nullptr) {
    auto const first = (std::max)(host_.options.retry_delay, shortest_pause);
    return host_.delay_behind(failures, first, (std::max)(longest, first), why);
  }

  // From the handler's opening to its closing; keeps all of it for as long.
  task<> serve([[maybe_unused]] std::shared_ptr<lease_work> kept) {
    bool is_open = true;
    if constexpr (has_open<Handler, lease_info<token_type>>) {
      is_open = false;
      for (std::uint32_t tries = 1; !is_closing_; ++tries) {
        auto opening = outside([this]() -> decltype(auto) { return handler_.open(info_); });
        result<void> const opened = co_await std::move(opening);
        is_open = opened.has_value();
        if (is_open) break;
        ++host_.counters.failures;
        tell(processor_event_kind::handler_failed, &opened.error());
        if (tries >= host_.options.most_attempts) halt(opened.error());
        if (is_closing_) break;
        auto waiting = host_.pause_for(delay_behind(tries), asking_.token());
        co_await std::move(waiting);
      }
    }
    if (is_open) {
      at_work_ = 1 + lanes_.size();
      host_.group.spawn(fetch());
      for (auto& lane : lanes_) host_.group.spawn(handle(lane));
      while (at_work_ != 0) co_await changed_.wait();
      if constexpr (has_close<Handler, lease_info<token_type>>) {
        auto closing =
            outside([this, why = why_]() -> decltype(auto) { return handler_.close(info_, why); });
        result<void> const closed = co_await std::move(closing);
        if (!closed) tell(processor_event_kind::handler_failed, &closed.error());
      }
    }
    hear(*inbox_);
    is_over_ = true;
    keeper_->has_ended();
  }
  void leave_work() {
    --at_work_;
    changed_.notify();
  }

  // ---- reading

  // Ahead of what is handled.
  task<> fetch() {
    std::uint32_t failures = 0;
    bool was_stuck = false;
    if (!progress_.sound()) {
      tell(processor_event_kind::source_failed, &progress_.sound().error());
      halt(progress_.sound().error());
    }
    while (!is_closing_) {
      bool const is_stuck = batches_.open() >= host_.options.most_unacknowledged;
      if (is_stuck && !std::exchange(was_stuck, true)) tell(processor_event_kind::unacknowledged);
      if (is_stuck || queued_ >= host_.options.read_ahead * lanes_.size()) {
        co_await changed_.wait();
        continue;
      }
      was_stuck = false;
      progress_.stop_by(asking_.token());
      auto const question = progress_.next(host_.now());
      if (question == feed_question::wait) {
        forgive();
        static_cast<void>(co_await host_.clock.wait_until(progress_.due(), asking_.token()));
        co_await host_.inside.enter();
        continue;
      }
      auto asking = question == feed_question::topology ? ask_for_topology() : ask_for_page();
      result<void> const answered = co_await std::move(asking);
      if (is_closing_) break;
      if (answered) {
        failures = 0;
        continue;
      }
      tell(processor_event_kind::source_failed, &answered.error());
      auto const delay = pause_behind(++failures, host_.options.feed_poll_delay, &answered.error());
      auto waiting = host_.pause_for(delay, asking_.token());
      co_await std::move(waiting);
    }
    leave_work();
  }
  task<result<void>> ask_for_topology() {
    co_await host_.inside.leave();
    auto answer = co_await source_.topology(progress_.version());
    co_await host_.inside.enter();
    if (!answer) {
      progress_.see(answer.error());
      co_return unexpected{answer.error()};
    }
    auto const taken = progress_.take(*std::move(answer));
    if (!taken) co_return unexpected{taken.error()};
    look_at_partitions();
    co_return result<void>{};
  }
  task<result<void>> ask_for_page() {
    auto asked = progress_.request();
    asked.deadline = host_.in(host_.options.change_feed_timeout);
    if (smaller_ != 0) asked.page_size = smaller_;
    co_await host_.inside.leave();
    auto answer = co_await source_.read(progress_.range(), progress_.from(), asked);
    co_await host_.inside.enter();
    if (!answer) {
      bool const is_large = answer.error().code == errc::too_large;
      std::uint32_t const size = asked.page_size != 0 ? asked.page_size : usual_page_size;
      if (is_large && size > 1) {
        smaller_ = size / 2;
        co_return result<void>{};
      }
      if (progress_.absorb(answer.error())) co_return result<void>{};
      co_return unexpected{answer.error()};
    }
    smaller_ = 0;
    auto const accepted = progress_.accept(*answer);
    if (!accepted) co_return unexpected{accepted.error()};
    take_page(*std::move(answer));
    co_return result<void>{};
  }
  void take_page(page_type page) {
    ++host_.counters.pages;
    bool const has_moved =
        progress_.from().text() != page.continuation || !std::ranges::empty(page.items);
    newest_ = page.lsn;
    is_at_end_ = page.nothing_new;
    instant const due = host_.in(host_.jittered(host_.options.feed_poll_delay));
    progress_.pass(page.continuation, page.nothing_new, due);
    if (!has_moved) return;
    std::vector<std::vector<std::uint32_t>> shares;
    if (auto const shared = share_out(page, shares); !shared) {
      tell(processor_event_kind::handler_failed, &shared.error());
      halt(shared.error());
      return;
    }
    auto const pieces = static_cast<std::size_t>(std::count_if(
        shares.begin(), shares.end(), [](auto const& share) { return !share.empty(); }));
    auto const batch = batches_.push(std::move(page), progress_.cursor().parts, true, pieces);
    for (std::size_t lane = 0; lane < lanes_.size(); ++lane) {
      if (shares[lane].empty()) continue;
      lanes_[lane].push_back({batch, std::move(shares[lane])});
      ++queued_;
    }
    if (pieces == 0) move_on();
    changed_.notify();
  }
  // Which items of a page go which lane.
  result<void> share_out(page_type const& page, std::vector<std::vector<std::uint32_t>>& shares) {
    shares.resize(lanes_.size());
    auto const size = std::ranges::size(page.items);
#if KEYSPAN_EXCEPTIONS
    try {
#endif
      for (std::size_t i = 0; i < size; ++i) {
        std::size_t lane = 0;
        if constexpr (has_lanes<Handler, item_type>)
          lane = static_cast<std::size_t>(
              static_cast<std::uint64_t>(handler_.lane_of(std::ranges::data(page.items)[i])) %
              shares.size());
        shares[lane].push_back(static_cast<std::uint32_t>(i));
      }
#if KEYSPAN_EXCEPTIONS
    } catch (...) {
      return unexpected{thrown_by("lane_of")};
    }
#endif
    return {};
  }

  // ---- handling

  // What comes on one lane, one piece after the other.
  task<> handle(std::deque<piece>& lane) {
    while (!is_closing_) {
      if (lane.empty()) {
        co_await changed_.wait();
        continue;
      }
      piece next = std::move(lane.front());
      lane.pop_front();
      --queued_;
      changed_.notify();
      auto trying = try_piece(std::move(next));
      co_await std::move(trying);
    }
    leave_work();
  }
  task<> try_piece(piece next) {
    // Whoever held the lease before may have died of any piece of the first batch.
    bool const is_first = next.batch->sequence == batches_.position() + 1;
    std::uint32_t tries = is_first ? tried_before_ : 0;
    std::optional<error> last;  // none where nothing was tried here
    for (;;) {
      if (tries >= host_.options.most_attempts) {
        auto giving_up = give_up(std::move(next), last);
        co_await std::move(giving_up);
        co_return;
      }
      if (is_closing_ || !keeper_->may_go_on()) co_return;
      auto handling = hand_over(next, tries + 1);
      std::optional<result<void>> const outcome = co_await std::move(handling);
      if (!outcome) continue;
      result<void> const& done = *outcome;
      if (done) {
        ++host_.counters.batches;
        host_.counters.items += next.which.size();
        if (host_.options.checkpointing == checkpointing::automatic) acknowledge(*next.batch);
        co_return;
      }
      ++tries;
      ++host_.counters.failures;
      last = done.error();
      tell(processor_event_kind::handler_failed, &*last);
      if (is_closing_) co_return;
      // Kept with the position, so that it counts for who comes next, too.
      report(lease_attempts{batches_.position(), tries});
      if (tries >= host_.options.most_attempts) continue;
      auto waiting = host_.pause_for(delay_behind(tries), asking_.token());
      co_await std::move(waiting);
    }
  }
  batch_type batch_of(piece const& next, std::uint32_t attempt, acknowledgement done) {
    auto& items = next.batch->page.items;
    return {info_,         std::span<item_type>{std::ranges::data(items), std::ranges::size(items)},
            next.which,    attempt,
            stop_.token(), std::move(done)};
  }
  // None where it was too late to begin: others on this thread came first.
  task<std::optional<result<void>>> hand_over(piece const& next, std::uint32_t attempt) {
    instant const deadline = keeper_->deadline();
    batch_type batch = batch_of(next, attempt, acknowledgement_of(next));
    co_await host_.inside.leave();
    std::optional<result<void>> outcome;
    if (host_.now() < deadline) {
      auto handling = outcome_of([&]() -> decltype(auto) {
        if constexpr (has_process<Handler, batch_type>) {
          return handler_.process(batch);
        } else {
          return handler_(batch);
        }
      });
      result<void> const done = co_await std::move(handling);
      outcome.emplace(done);
    }
    co_await host_.inside.enter();
    co_return outcome;
  }

  // Tried too often: the lease is paused, or each change by itself is tried once more and put
  // aside. What hosts have died of nobody dares to try again: all of it is put aside.
  task<> give_up(piece whole, std::optional<error> failed) {
    bool const is_deadly = !failed;
    error const last =
        failed.value_or(error{errc::handler_failed, "hosts that have tried it died"});
    if constexpr (has_park<Handler, batch_type>) {
      if (host_.options.on_poison == poison_manner::park) {
        for (std::uint32_t const which : whole.which) {
          // It says nothing of the whole.
          piece single{whole.batch, {which}, std::make_shared<std::atomic<bool>>(true)};
          result<void> done = unexpected{last};
          for (bool is_tried = is_deadly || whole.which.size() == 1; !is_tried;) {
            if (is_closing_ || !keeper_->may_go_on()) co_return;
            auto handling = hand_over(single, host_.options.most_attempts + 1);
            std::optional<result<void>> const outcome = co_await std::move(handling);
            is_tried = outcome.has_value();
            if (is_tried) done = *outcome;
          }
          if (done) continue;
          if (is_closing_ || !keeper_->may_go_on()) co_return;
          auto putting = put_aside(single, done.error());
          bool const is_put = co_await std::move(putting);
          if (!is_put) co_return;
          ++host_.counters.parked;
          tell(processor_event_kind::parked, &done.error());
        }
        ++host_.counters.batches;
        host_.counters.items += whole.which.size();
        if (!whole.is_said->exchange(true)) acknowledge(*whole.batch);
        co_return;
      }
    }
    halt(error{errc::handler_failed, "a batch failed ", host_.options.most_attempts,
               " times: ", last.text.empty() ? meaning_of(last.code) : last.text.view()});
  }
  // Gives it to the handler's `park` until that has taken it; false where the lease goes before.
  task<bool> put_aside(piece const& single, error why) {
    for (std::uint32_t tries = 1;; ++tries) {
      batch_type batch = batch_of(single, host_.options.most_attempts + 1, {});
      auto parking = outside([&]() -> decltype(auto) { return handler_.park(batch, why); });
      result<void> const parked = co_await std::move(parking);
      if (parked) co_return true;
      tell(processor_event_kind::handler_failed, &parked.error());
      if (is_closing_) co_return false;
      auto const delay = pause_behind(tries, host_.options.longest_retry_delay);
      auto waiting = host_.pause_for(delay, asking_.token());
      co_await std::move(waiting);
      if (is_closing_ || !keeper_->may_go_on()) co_return false;
    }
  }
  void halt(error const& why) {
    keeper_->halt(why);
    if (!is_closing_) park(close_reason::handler_failed);
  }

  // ---- how far it has come

  acknowledgement acknowledgement_of(piece const& next) {
    if (host_.options.checkpointing == checkpointing::automatic) return {};
    return acknowledgement{std::make_shared<std::function<void()>>(
        [inbox = inbox_, work = this->weak_from_this(), batch = std::weak_ptr{next.batch},
         is_said = next.is_said] {
          if (!is_said->exchange(true)) inbox->push({work, batch});
        })};
  }
  void move_on() {
    changed_.notify();
    auto const& how = host_.options.checkpoint_frequency;
    bool const is_each = how.items == 0 && how.interval == instant::duration::zero();
    bool const is_enough = how.items != 0 && batches_.count() >= how.items;
    // A lease that has not been read before is to have a position of its own.
    bool const is_first = batches_.position() <= 1;
    if (is_each || is_enough || is_first) {
      checkpoint();
    } else if (how.interval != instant::duration::zero() && next_checkpoint_ == never) {
      next_checkpoint_ = host_.in(how.interval);
      keeper_->rearm(next_checkpoint_);
    }
  }
  void report(std::optional<lease_attempts> attempts = std::nullopt) {
    next_checkpoint_ = never;
    batches_.clear_news();
    keeper_->take({batches_.position(), batches_.at(), batches_.take_count(), attempts});
  }
  // Nothing lies behind the position, so whoever held the lease has not died of that.
  void forgive() {
    if (tried_before_ == 0 || batches_.open() != 0) return;
    tried_before_ = 0;
    report(lease_attempts{});
  }

  static constexpr instant never = (instant::max)();
  static constexpr std::uint32_t usual_page_size = 100;
  static constexpr instant::duration shortest_pause = std::chrono::milliseconds{10};

  host_type& host_;
  Source& source_;
  Handler& handler_;
  std::shared_ptr<inbox_type> inbox_;
  std::shared_ptr<keeper_type> keeper_;
  lease_info<token_type> info_;
  batches_in_order<token_type, page_type> batches_;
  feed_progress<scheme_type> progress_;
  std::vector<std::deque<piece>> lanes_;
  std::size_t queued_ = 0;   // pieces
  std::size_t at_work_ = 0;  // coroutines
  bool is_closing_ = false;  // nothing more is begun
  bool is_parked_ = false;   // and its lease is kept
  bool is_over_ = false;     // nothing of it counts any more
  close_reason why_ = close_reason::shutdown;
  stop_source stop_{};    // of what is at work
  stop_source asking_{};  // of what is asked of the source
  std::uint32_t tried_before_;
  std::uint32_t smaller_ = 0;  // pages, until one was not too large
  std::uint64_t newest_ = 0;
  std::uint64_t handled_ = 0;
  bool is_at_end_ = false;
  instant next_checkpoint_ = never;
  signal changed_;
};

}  // namespace detail
}  // namespace keyspan
