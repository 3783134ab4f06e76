// keyspan/transport/faulty.hpp — a container as the world lets it be seen: late, out of order, and
// sometimes not at all.
//
//   delay_next(20ms)   fail_next(errc::throttled)   lose_next()        by a script
//   {.unavailable = 5, .delayed = 50, .seed = 7}                       by chance, from a seed
//   cut_off()   join()                                                 down, and up again
#pragma once

#include <keyspan/async/clock.hpp>
#include <keyspan/async/stop_token.hpp>
#include <keyspan/async/task.hpp>
#include <keyspan/core/contract.hpp>
#include <keyspan/core/error.hpp>
#include <keyspan/core/result.hpp>
#include <keyspan/feed/continuation.hpp>
#include <keyspan/feed/page_source.hpp>
#include <keyspan/feed/read_request.hpp>
#include <keyspan/key/key_value.hpp>
#include <keyspan/key/partition_key.hpp>
#include <keyspan/range/routing_refresh.hpp>
#include <keyspan/range/token_range.hpp>
#include <keyspan/transport/item_batch.hpp>
#include <keyspan/transport/memory_container.hpp>
#include <keyspan/transport/retry_policy.hpp>
#include <keyspan/transport/stored.hpp>

#include <algorithm>
#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

namespace keyspan {

/// How often what goes wrong, in percent of all operations: 5 is one in twenty.
struct fault_chances {
  /// With 1 to 50 ms to wait. One operation is throttled, unavailable or lost: these three are no
  /// more than 100 together.
  unsigned throttled = 0;
  unsigned unavailable = 0;
  /// Done, but nobody hears of it: `outcome_unknown` for a write, `not_connected` for a read.
  unsigned lost = 0;
  /// Whatever else it meets: up to `longest_delay`, partly before it is done and partly after.
  unsigned delayed = 0;
  instant::duration longest_delay = std::chrono::milliseconds{100};
  std::uint64_t seed = 0;

  friend bool operator==(fault_chances const&, fault_chances const&) = default;
};

namespace detail {

// How a service says each of its errors; 0 for what happens on the way to it.
constexpr std::pair<std::uint16_t, std::uint16_t> status_of(errc code) {
  using both = std::pair<std::uint16_t, std::uint16_t>;
  switch (code) {
    case errc::bad_request:
    case errc::key_mismatch:
      return both{400, 0};
    case errc::container_changed:
      return both{400, 1024};
    case errc::unauthorized:
      return both{401, 0};
    case errc::forbidden:
      return both{403, 0};
    case errc::region_not_writable:
      return both{403, 3};
    case errc::not_found:
      return both{404, 0};
    case errc::session_not_available:
      return both{404, 1002};
    case errc::already_exists:
      return both{409, 0};
    case errc::range_gone:
      return both{410, 1002};
    case errc::precondition_failed:
      return both{412, 0};
    case errc::too_large:
      return both{413, 0};
    case errc::throttled:
      return both{429, 0};
    case errc::contended:
      return both{449, 0};
    case errc::service_failed:
      return both{500, 0};
    case errc::unavailable:
      return both{503, 0};
    default:
      return both{0, 0};
  }
}

}  // namespace detail

/// A container that models the same and is asked the same, through which everything can go wrong on
/// demand. What is delayed waits by the clock, so operations that were begun together are done, and
/// answered, in another order. Container and clock outlive it. As safe to use from several threads
/// as they are.
///
/// What a script says strikes first: the next operations, whatever they are, each taking one fault
/// of each kind. Then chance strikes where it is asked to, drawn from its seed: the same for the
/// same operations in the same order.
///
/// Destruction: that of a task which waits by the clock.
template <class Container, clock Clock>
class faulty {
 public:
  using scheme_type = typename Container::scheme_type;
  using token_type = typename Container::token_type;
  using range_type = token_range<token_type>;
  using document_type = typename Container::document_type;
  using item_type = typename Container::item_type;
  using page_type = typename Container::page_type;
  using answer_type = typename Container::answer_type;
  template <class Answer>
  using answering = task<result<Answer>>;

  /// Requires chances of at most 100, those of the faults together and that of a delay.
  faulty(Container& of, Clock& by, fault_chances chances = {})
      : of_{&of}, clock_{&by}, chances_{chances} {
    std::uint64_t const faults =
        std::uint64_t{chances.throttled} + chances.unavailable + chances.lost;
    expects(faults <= 100 && chances.delayed <= 100,
            "of 100 operations 100 meet a fault at most, and 100 are late");
  }

  scheme_type const& scheme() const noexcept { return of_->scheme(); }
  std::string const& container() const noexcept { return of_->container(); }

  // ---- the script ------------------------------------------------------------------------------

  /// The next operations are not done, and fail with this error; with the status that a service
  /// gives it, and 20 ms to wait where it is throttled, where only its kind is said.
  void fail_next(error const& why, std::size_t times = 1) {
    std::lock_guard const lock{mutex_};
    failures_.insert(failures_.end(), times, why);
  }
  void fail_next(errc why, std::size_t times = 1) { fail_next(told(why), times); }
  /// The next operations are done, and their answers are lost: `outcome_unknown` for a write,
  /// `not_connected` for a read.
  void lose_next(std::size_t times = 1) {
    std::lock_guard const lock{mutex_};
    losses_.insert(losses_.end(), times, true);
  }
  /// The next operations are done at once and answered so much later.
  void delay_next(instant::duration by, std::size_t times = 1) {
    std::lock_guard const lock{mutex_};
    delays_.insert(delays_.end(), times, by);
  }
  /// Calls `f` when the next operation is done and before it is answered: what is split there is
  /// split under a page that is on its way.
  void during_next(std::function<void()> f) {
    std::lock_guard const lock{mutex_};
    meanwhile_.push_back(std::move(f));
  }
  /// So many operations, behind all that the script has something for by now, meet nothing of it:
  /// what is said next strikes behind them.
  void pass_next(std::size_t times = 1) {
    std::lock_guard const lock{mutex_};
    std::size_t const behind =
        times + (std::max)({failures_.size(), losses_.size(), delays_.size(), meanwhile_.size()});
    failures_.resize(behind);
    losses_.resize(behind);
    delays_.resize(behind);
    meanwhile_.resize(behind);
  }
  /// No chance strikes any more. What the script has something for is struck all the same.
  void heal() {
    std::lock_guard const lock{mutex_};
    chances_ = {};
  }
  /// Until it is joined again nothing is done, and every operation that is begun fails at once with
  /// `not_connected`. Script and chances wait meanwhile.
  void cut_off() {
    std::lock_guard const lock{mutex_};
    is_cut_off_ = true;
  }
  void join() {
    std::lock_guard const lock{mutex_};
    is_cut_off_ = false;
  }
  /// How many operations have met a fault.
  std::size_t struck() const {
    std::lock_guard const lock{mutex_};
    return struck_;
  }

  // ---- what the container does -----------------------------------------------------------------

  answering<answer_type> create(document_type document) {
    return perform<answer_type>(
        true, {}, [document = std::move(document)](Container& on) { return on.create(document); });
  }
  answering<answer_type> upsert(document_type document, write_options options = {}) {
    return perform<answer_type>(true, {}, [document = std::move(document), options](Container& on) {
      return on.upsert(document, options);
    });
  }
  answering<answer_type> replace(document_type document, write_options options = {}) {
    return perform<answer_type>(true, {}, [document = std::move(document), options](Container& on) {
      return on.replace(document, options);
    });
  }
  template <detail::views_as_key Key, key_input Id>
  answering<answer_type> remove(Key const& key, Id const& id, write_options options = {}) {
    return perform<answer_type>(
        true, {},
        [key = partition_key{detail::view_of_key(key)}, id = partition_key{id},
         options](Container& on) { return on.remove(key, id[0], options); });
  }
  template <detail::views_as_key Key, key_input Id, patch_of<document_type> F>
  answering<answer_type> patch(Key const& key, Id const& id, F f, write_options options = {}) {
    return perform<answer_type>(
        true, {},
        [key = partition_key{detail::view_of_key(key)}, id = partition_key{id}, f = std::move(f),
         options](Container& on) { return on.patch(key, id[0], f, options); });
  }
  template <detail::views_as_key Key, key_input Id, patch_of<document_type> F>
  answering<answer_type> remove_softly(Key const& key, Id const& id, F mark,
                                       std::chrono::milliseconds after,
                                       write_options options = {}) {
    return perform<answer_type>(
        true, {},
        [key = partition_key{detail::view_of_key(key)}, id = partition_key{id},
         mark = std::move(mark), after,
         options](Container& on) { return on.remove_softly(key, id[0], mark, after, options); });
  }
  template <detail::views_as_key Key, key_input Id>
  answering<answer_type> read_item(Key const& key, Id const& id, read_options options = {}) {
    return perform<answer_type>(
        false, {options.stop, options.deadline},
        [key = partition_key{detail::view_of_key(key)}, id = partition_key{id},
         session = std::string{options.session_token.view()}](Container& on) {
          return on.read_item(key, id[0], {.session_token = session});
        });
  }
  answering<batch_answer<document_type>> execute(item_batch<document_type> work) {
    return perform<batch_answer<document_type>>(
        true, {}, [work = std::move(work)](Container& on) { return on.execute(work); });
  }
  answering<items_answer<document_type>> read_many(std::span<item_id const> ids) {
    return perform<items_answer<document_type>>(
        false, {}, [ids = std::vector<item_id>(ids.begin(), ids.end())](Container& on) {
          return on.read_many(ids);
        });
  }

  // ---- a page_source ---------------------------------------------------------------------------

  /// Errors, beside those of the container and of the faults: `timed_out` where the answer would
  /// come behind the deadline; `stopped`.
  answering<page_type> read(range_type const& range, continuation const& from,
                            read_request const& request) {
    struct owned_request {
      range_type range;
      continuation from;
      read_request told;
      std::string partition;
      std::string session_token;
      std::optional<partition_key> key;
    };
    owned_request asked{range,
                        from,
                        request,
                        std::string{request.partition},
                        std::string{request.session_token},
                        request.key ? std::optional{*request.key} : std::nullopt};
    return perform<page_type>(false, {request.stop, request.deadline},
                              [asked = std::move(asked)](Container& on) {
                                read_request told = asked.told;
                                told.partition = asked.partition;
                                told.session_token = asked.session_token;
                                told.key = asked.key ? &*asked.key : nullptr;
                                return on.read(asked.range, asked.from, told);
                              });
  }
  answering<partition_page<token_type>> topology(std::string const& known) {
    return perform<partition_page<token_type>>(
        false, {}, [known](Container& on) { return on.topology(known); });
  }
  /// The same, by the deadline and the stop token of a request. Errors: as of `read`.
  answering<partition_page<token_type>> topology(std::string const& known,
                                                 read_request const& request) {
    return perform<partition_page<token_type>>(
        false, {request.stop, request.deadline},
        [known](Container& on) { return on.topology(known); });
  }

 private:
  struct limits {
    stop_token stop{};
    std::optional<instant> deadline{};
  };
  // What one operation meets.
  struct trouble {
    instant::duration before{};
    std::optional<error> failure{};
    bool is_lost = false;
    std::function<void()> meanwhile{};
    instant::duration after{};
  };

  template <class... Pieces>
  error told(errc code, Pieces const&... why) const {
    error made{code, why...};
    std::tie(made.wire.status, made.wire.substatus) = detail::status_of(code);
    made.wire.attempts = 1;
    if (code == errc::throttled) made.wire.retry_after_ms = 20;
    made.wire.endpoint = inline_text<80>{std::string_view{of_->container()}};
    return made;
  }
  template <class What>
  static What taken(std::deque<What>& from) {
    if (from.empty()) return What{};
    What first = std::move(from.front());
    from.pop_front();
    return first;
  }
  std::uint64_t draw() { return detail::mixed(chances_.seed ^ detail::mixed(++drawn_)); }
  instant::duration part_of(instant::duration longest) {
    double const share = static_cast<double>(draw() >> 11) * 0x1p-53;
    return instant::duration{
        static_cast<instant::rep>(static_cast<double>(longest.count()) * share / 2)};
  }

  trouble next() {
    std::lock_guard const lock{mutex_};
    trouble met;
    if (is_cut_off_) {
      met.failure = told(errc::not_connected, "the container is cut off");
      ++struck_;
      return met;
    }
    met.failure = taken(failures_);
    met.is_lost = taken(losses_);
    met.meanwhile = taken(meanwhile_);
    met.after = taken(delays_);
    if (!met.failure && !met.is_lost) strike(met);
    if (chances_.delayed != 0 && draw() % 100 < chances_.delayed) {
      met.before = part_of(chances_.longest_delay);
      met.after += part_of(chances_.longest_delay);
    }
    if (met.failure || met.is_lost || met.meanwhile || met.before + met.after > met.before.zero())
      ++struck_;
    return met;
  }

  // One draw decides between the faults, so that each is as frequent as it was asked to be.
  void strike(trouble& met) {
    unsigned const unavailable = chances_.throttled + chances_.unavailable;
    unsigned const lost = unavailable + chances_.lost;
    if (lost == 0) return;
    std::uint64_t const drawn = draw() % 100;
    if (drawn < chances_.throttled) {
      met.failure = told(errc::throttled, "throttled by chance");
      met.failure->wire.retry_after_ms = static_cast<std::uint32_t>(1 + draw() % 50);
    } else if (drawn < unavailable) {
      met.failure = told(errc::unavailable, "unavailable by chance");
    } else {
      met.is_lost = drawn < lost;
    }
  }

  // Waits, if anything. Nothing where the time has come, else why not.
  task<result<void>> wait(instant::duration delay, limits const& within) {
    if (delay <= delay.zero()) co_return result<void>{};
    instant const due = instant_after(clock_->now(), delay);
    bool const is_too_late = within.deadline && due > *within.deadline;
    result<void> const waited =
        co_await clock_->wait_until(is_too_late ? *within.deadline : due, within.stop);
    if (!waited || !is_too_late) co_return waited;
    co_return late();
  }
  static unexpected late() {
    return fail(errc::timed_out, "the answer would have come behind the deadline");
  }

  template <class Answer, class F>
  task<result<Answer>> perform(bool writes, limits within, F f) {
    if (within.stop.stop_requested()) co_return fail(errc::stopped, "the operation was stopped");
    if (within.deadline && clock_->now() > *within.deadline) co_return late();
    trouble const met = next();
    if (met.before > met.before.zero()) {
      result<void> const waited = co_await wait(met.before, within);
      if (!waited) co_return unexpected{waited.error()};
    }
    result<Answer> answer{unexpected{error{errc::unavailable}}};
    if (met.failure) {
      answer = unexpected{*met.failure};
    } else {
      auto&& asked = f(*of_);
      answer = co_await std::forward<decltype(asked)>(asked);
    }
    if (met.meanwhile) met.meanwhile();
    if (met.is_lost && !met.failure)
      answer = unexpected{
          told(writes ? errc::outcome_unknown : errc::not_connected, "the answer was lost")};
    if (met.after > met.after.zero()) {
      result<void> const waited = co_await wait(met.after, within);
      if (!waited) co_return unexpected{waited.error()};
    }
    co_return answer;
  }

  Container* of_;
  Clock* clock_;
  mutable std::mutex mutex_{};
  fault_chances chances_;
  std::uint64_t drawn_ = 0;
  std::size_t struck_ = 0;
  bool is_cut_off_ = false;
  std::deque<std::optional<error>> failures_{};
  std::deque<bool> losses_{};
  std::deque<instant::duration> delays_{};
  std::deque<std::function<void()>> meanwhile_{};
};

}  // namespace keyspan
