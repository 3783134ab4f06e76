// keyspan/merge/merge_inbox.hpp — where sources put what they have, from any thread, and where the
// merge waits for it.
//
//   sources -> push -> push -> push ->  take  -> the merge
#pragma once

#include <atomic>
#include <coroutine>
#include <utility>

namespace keyspan::detail {

// What stands in an inbox.
struct inbox_node {
  inbox_node* behind = nullptr;
};

// Many put in, one takes out. Neither waits for the other, but the one who takes may wait for
// something to be there.
class merge_inbox {
 public:
  merge_inbox() = default;
  merge_inbox(merge_inbox const&) = delete;
  merge_inbox& operator=(merge_inbox const&) = delete;

  // Returns who goes on. Behind this the node is the other's.
  [[nodiscard]] std::coroutine_handle<> push(inbox_node& one) noexcept {
    void* before = newest_.load(std::memory_order_relaxed);
    do {
      one.behind = before == this ? nullptr : static_cast<inbox_node*>(before);
    } while (!newest_.compare_exchange_weak(before, &one, std::memory_order_acq_rel,
                                            std::memory_order_relaxed));
    return before == this ? waits_ : std::noop_coroutine();
  }

  // All that are there, the first that was put in first, each `behind` the one before it.
  inbox_node* take() noexcept {
    if (newest_.load(std::memory_order_relaxed) == nullptr) return nullptr;
    auto* newest = static_cast<inbox_node*>(newest_.exchange(nullptr, std::memory_order_acquire));
    inbox_node* first = nullptr;
    while (newest != nullptr) {
      inbox_node* const one = std::exchange(newest, newest->behind);
      one->behind = std::exchange(first, one);
    }
    return first;
  }

  // Waits until something is there.
  [[nodiscard]] auto wait() noexcept { return waiting{*this}; }

 private:
  struct waiting {
    using checks_itself = void;  // whoever is in flight sees to it that nobody waits in vain

    bool await_ready() const noexcept {
      return inbox.newest_.load(std::memory_order_relaxed) != nullptr;
    }
    bool await_suspend(std::coroutine_handle<> suspended) const noexcept {
      inbox.waits_ = suspended;
      void* nothing = nullptr;
      return inbox.newest_.compare_exchange_strong(nothing, &inbox, std::memory_order_acq_rel,
                                                   std::memory_order_relaxed);
    }
    void await_resume() const noexcept {}

    merge_inbox& inbox;
  };

  // Null, the node that was put in last, or this where somebody waits.
  std::atomic<void*> newest_{nullptr};
  std::coroutine_handle<> waits_{};
};

}  // namespace keyspan::detail
