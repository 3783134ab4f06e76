// keyspan/processor/host_context.hpp — what all parts of one host share: its options, its time, who
// is inside, and who is told.
#pragma once

#include <keyspan/async/clock.hpp>
#include <keyspan/async/instant.hpp>
#include <keyspan/async/stop_token.hpp>
#include <keyspan/async/task.hpp>
#include <keyspan/core/error.hpp>
#include <keyspan/hash/token.hpp>
#include <keyspan/lease/lease_facts.hpp>
#include <keyspan/lease/lease_ids.hpp>
#include <keyspan/lease/lease_record.hpp>
#include <keyspan/lease/lease_store.hpp>
#include <keyspan/lease/lease_terms.hpp>
#include <keyspan/lease/session_id.hpp>
#include <keyspan/processor/processor_event.hpp>
#include <keyspan/processor/processor_options.hpp>
#include <keyspan/processor/strand.hpp>
#include <keyspan/range/token_range.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <utility>

namespace keyspan {

namespace detail {

// A number that nobody else draws.
inline std::uint64_t drawn_number() {
  std::random_device device;
  std::uint64_t const high = device();
  return (high << 32 ^ device()) | 1;
}

template <token Token, clock Clock>
struct host_context {
  host_context(Clock& of, processor_options<Token> chosen)
      : clock{of},
        options{std::move(chosen)},
        // Of a prefix that is none, `sound(options)` tells before anything is done with it.
        ids{is_lease_prefix(options.lease_prefix) ? options.lease_prefix : std::string{}} {
    terms.hold = options.lease_expiration_interval;
    terms.rate_bound_ppm = options.clock_rate_bound_ppm;
    terms.liveness = options.liveness;
    terms.session = options.session ? options.session : session_id{drawn_number()};
    numbers = terms.session.value;
  }
  host_context(host_context const&) = delete;
  host_context& operator=(host_context const&) = delete;

  instant now() const { return clock.now(); }
  instant in(instant::duration time) const { return instant_after(now(), time); }

  std::uint64_t draw() {
    numbers += 0x9E37'79B9'7F4A'7C15;
    std::uint64_t mixed = numbers;
    mixed = (mixed ^ mixed >> 30) * 0xBF58'476D'1CE4'E5B9;
    mixed = (mixed ^ mixed >> 27) * 0x94D0'49BB'1331'11EB;
    return mixed ^ mixed >> 31;
  }
  // A little less or more, so that hosts do not all come at once.
  instant::duration jittered(instant::duration time) {
    return time - time / 10 +
           instant::duration{static_cast<instant::rep>(
               draw() % static_cast<std::uint64_t>(time.count() / 5 + 1))};
  }
  // How long to wait behind so many failures: as long as was asked for, or twice as long each time.
  instant::duration delay_behind(std::uint32_t failures, instant::duration first,
                                 instant::duration longest, error const* why = nullptr) {
    if (why != nullptr && why->wire.retry_after_ms != 0)
      return jittered(std::chrono::milliseconds{why->wire.retry_after_ms});
    std::int64_t const times = std::int64_t{1} << (std::min)(failures - 1, 20U);
    return jittered(first > longest / times ? longest : first * times);
  }

  // Waits by the clock; ends early where everything ends.
  task<> pause_for(instant::duration time, stop_token stop) {
    static_cast<void>(co_await clock.wait_until(in(time), std::move(stop)));
    co_await inside.enter();
  }
  // Behind so many failures of the store.
  task<> back_off(std::uint32_t failures, error const& why) {
    auto const time = delay_behind(failures, std::chrono::milliseconds{50},
                                   std::chrono::milliseconds{3'200}, &why);
    auto waiting = pause_for(time, asking.token());
    co_await std::move(waiting);
  }

  store_request request() const { return {in(options.store_timeout), asking.token()}; }
  // As long as somebody else waits for what this host holds.
  instant::duration own_wait() const {
    return wait_before_taking(terms.hold, terms.rate_bound_ppm);
  }

  void tell(processor_event event) const {
    if (!options.on_event) return;
    // What was asked to stop has not failed.
    if (event.why != nullptr && event.why->code == errc::stopped) return;
    event.host = terms.session;
    options.on_event(event);
  }
  void tell(processor_event_kind kind, error const* why = nullptr, session_id other = {}) const {
    tell(processor_event{.kind = kind, .other = other, .why = why});
  }
  void tell(processor_event_kind kind, std::string_view id, token_range<Token> const& range,
            lease_facts const& facts, error const* why = nullptr, session_id other = {}) const {
    if (!options.on_event) return;
    auto const text = range.to_text();
    tell(processor_event{.kind = kind,
                         .lease = id,
                         .range = text.view(),
                         .epoch = facts.epoch,
                         .sequence = facts.sequence,
                         .other = other,
                         .why = why});
  }

  Clock& clock;
  processor_options<Token> options;
  lease_ids ids;
  lease_terms terms{};
  std::uint64_t numbers = 0;
  strand inside{};
  task_group group{inside};
  stop_source asking{};  // of what is asked of the store
  processor_counters counters{};
  bool is_stopping = false;
  bool is_over = false;  // nothing is begun or waited for any more
};

}  // namespace detail
}  // namespace keyspan
