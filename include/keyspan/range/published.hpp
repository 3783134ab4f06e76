// keyspan/range/published.hpp — the one place where readers find the current snapshot and writers
// put the next one.
//
//   readers  pin() --> [snapshot 7]            a pin owns its snapshot: look-ups through it touch
//   writer   update(change) --> [snapshot 8]   nothing shared, and the last one out frees it
#pragma once

#include <keyspan/core/contract.hpp>
#include <keyspan/core/result.hpp>

#include <atomic>
#include <concepts>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <type_traits>
#include <utility>

namespace keyspan {

namespace detail {

template <class Change, class Snapshot>
concept gives_next_snapshot =
    std::invocable<Change, Snapshot const&> && (returns<Snapshot, Change, Snapshot const&> ||
                                                returns<result<Snapshot>, Change, Snapshot const&>);

// What is written seldom and read often stands apart from what every pin writes to.
inline constexpr std::size_t line_of_cache = 64;

}  // namespace detail

/// The current snapshot of something that changes as a whole: a `routing`, a `range_map`. There is
/// always one, and it never changes; it is replaced. All members may be called from any thread at
/// any time, and none waits for a change that is being made but those that write.
///
/// The place itself is neither copied nor moved. Who destroys it sees to it that no other thread is
/// in a call or will begin one; pins live on and need it no more.
///
/// A snapshot is destroyed by whoever lets go of it last, a reader or a writer, and never while a
/// lock is held: its destructor may call the members here, but for the one that is still current
/// when the place itself is destroyed.
template <class Snapshot>
class published {
  static_assert(std::is_object_v<Snapshot> && std::same_as<Snapshot, std::remove_cv_t<Snapshot>>,
                "what is published is an object type without const: every snapshot is constant");

 public:
  using snapshot_type = Snapshot;
  /// Keeps a snapshot alive.
  using pinned = std::shared_ptr<Snapshot const>;

  explicit published(Snapshot first) : published{made(std::move(first))} {}
  /// The same of a snapshot that is made already, as `routing_refresh` gives it. Requires one.
  explicit published(pinned first) : current_{std::move(first)}, current_address_{current_.get()} {
    expects(current_ != nullptr, "there is always a snapshot");
  }

  published(published const&) = delete;
  published& operator=(published const&) = delete;

  /// The current snapshot. One short turn at a mutex, in which a count goes up: take a pin for a
  /// batch of look-ups, not for each. Allocates nothing.
  [[nodiscard]] pinned pin() const noexcept {
    std::lock_guard const lock{readers_};
    return current_;
  }

  /// Whether `seen`, a pin from here, is still the current snapshot. One atomic load and no lock;
  /// where the answer is no, `pin` gives a later one.
  [[nodiscard]] bool is_current(pinned const& seen) const noexcept {
    // No order is asked of the load: nothing is read through it, and `pin` has a lock. No address
    // is used again while a pin holds the snapshot that has it.
    return seen.get() == current_address_.load(std::memory_order_relaxed);
  }

  /// Makes `next` the current snapshot, whatever was there, and returns it pinned.
  pinned publish(Snapshot next) { return publish(made(std::move(next))); }
  /// The same of a snapshot that is made already. Requires one.
  pinned publish(pinned next) {
    expects(next != nullptr, "there is always a snapshot");
    writing const lock{*this};
    return exchanged(next);
  }

  /// Makes `change(current)` the current snapshot and returns it pinned. `change` is called once,
  /// while other writers wait and readers go on with the snapshot before; it gives a `Snapshot`, or
  /// a `result` of one, whose error is returned and publishes nothing. What it throws passes
  /// through, and nothing is published either. Requires that it does not itself write here.
  template <detail::gives_next_snapshot<Snapshot> Change>
    requires detail::returns<Snapshot, Change, Snapshot const&>
  pinned update(Change&& change) {
    pinned given;  // to be let go of after the lock
    writing lock{*this};
    given = made(lock.call(std::forward<Change>(change)));
    return exchanged(given);
  }
  template <detail::gives_next_snapshot<Snapshot> Change>
    requires detail::returns<result<Snapshot>, Change, Snapshot const&>
  result<pinned> update(Change&& change) {
    pinned given;
    writing lock{*this};
    result<Snapshot> next = lock.call(std::forward<Change>(change));
    if (!next) return unexpected{next.error()};
    given = made(*std::move(next));
    return exchanged(given);
  }

  /// Makes `next` the current snapshot if `seen` still is, and returns it pinned; nothing where
  /// somebody else has published meanwhile. So of those who find one snapshot wanting, one replaces
  /// it and the others pin what it put there.
  [[nodiscard]] pinned replace(pinned const& seen, Snapshot next) {
    return replace(seen, made(std::move(next)));
  }
  /// The same of a snapshot that is made already, as `routing_refresh` gives it. Requires one.
  [[nodiscard]] pinned replace(pinned const& seen, pinned next) {
    expects(next != nullptr, "there is always a snapshot");
    writing const lock{*this};
    if (seen != current_) return nullptr;
    return exchanged(next);
  }

 private:
  // The writers' turn. It is theirs alone to read `current_` without the readers' lock.
  class writing {
   public:
    explicit writing(published& place) : place_{place}, lock_{place.writers_} {
      expects(!place.is_changing_, "a change gives the next snapshot and does not write itself");
    }

    template <class Change>
    decltype(auto) call(Change&& change) {
      changing const mark{place_.is_changing_};
      return std::invoke(std::forward<Change>(change), *place_.current_);
    }

   private:
    struct changing {
      explicit changing(bool& mark) : is_changing{mark} { is_changing = true; }
      ~changing() { is_changing = false; }
      changing(changing const&) = delete;
      changing& operator=(changing const&) = delete;
      bool& is_changing;
    };

    published& place_;
    std::lock_guard<std::recursive_mutex> lock_;
  };

  template <class From>
  static pinned made(From&& from) {
    return std::make_shared<Snapshot const>(std::forward<From>(from));
  }

  // Leaves the snapshot before in `next`, for the caller to let go of after all locks.
  pinned exchanged(pinned& next) noexcept {
    pinned now = next;
    std::lock_guard const lock{readers_};
    current_.swap(next);
    current_address_.store(now.get(), std::memory_order_relaxed);
    return now;
  }

  alignas(detail::line_of_cache) mutable std::mutex readers_{};
  pinned current_;
  alignas(detail::line_of_cache) std::atomic<Snapshot const*> current_address_;
  // Recursive, so that a change that writes is told so and does not wait for itself for ever.
  alignas(detail::line_of_cache) std::recursive_mutex writers_{};
  bool is_changing_ = false;
};

template <class Snapshot>
published(std::shared_ptr<Snapshot>) -> published<Snapshot>;
template <class Snapshot>
published(std::shared_ptr<Snapshot const>) -> published<Snapshot>;

}  // namespace keyspan
