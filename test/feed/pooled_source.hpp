// test/feed/pooled_source.hpp — a source that answers on one of four threads.
#pragma once

#include <keyspan/core/error.hpp>
#include <keyspan/core/result.hpp>
#include <keyspan/feed/continuation.hpp>
#include <keyspan/feed/page_source.hpp>
#include <keyspan/feed/read_request.hpp>
#include <keyspan/hash/cosmos_v2.hpp>
#include <keyspan/range/routing_refresh.hpp>
#include <keyspan/range/token_range.hpp>

#include "journal.hpp"

#include <async/concurrent/pool.hpp>

#include <coroutine>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace test {

/// Answers on one of the threads; a stop that is requested is heard there, too.
class pooled_source {
 public:
  using scheme_type = keyspan::cosmos_v2_scheme;
  using page_type = reviews_journal::page_type;
  using token_type = keyspan::token128;

  pooled_source(reviews_journal& inner, pool& threads) : inner_{inner}, threads_{threads} {}

  std::string_view container() const { return "reviews"; }
  scheme_type scheme() const { return keyspan::cosmos_v2; }

  auto read(keyspan::token_range<token_type> const& range, keyspan::continuation const& from,
            keyspan::read_request const& request) {
    auto const ask = [this, &range, &from, request] {
      std::lock_guard const lock{mutex_};
      if (request.stop.stop_requested())
        return keyspan::result<page_type>{keyspan::fail(keyspan::errc::stopped, "asked to stop")};
      return inner_.read(range, from, request).value;
    };
    return operation<page_type, decltype(ask)>{threads_, ask};
  }
  auto topology(std::string const& known) {
    auto const ask = [this, &known] {
      std::lock_guard const lock{mutex_};
      return inner_.topology(known).value;
    };
    return operation<keyspan::partition_page<token_type>, decltype(ask)>{threads_, ask};
  }
  template <class F>
  void meanwhile(F&& f) {
    std::lock_guard const lock{mutex_};
    f(inner_);
  }

 private:
  template <class T, class Ask>
  class operation {
   public:
    operation(pool& threads, Ask ask) : threads_{threads}, ask_{std::move(ask)} {}
    bool await_ready() const noexcept { return false; }
    void await_suspend(std::coroutine_handle<> who) {
      threads_.post([this, who] {
        answer_.emplace(ask_());
        who.resume();
      });
    }
    keyspan::result<T> await_resume() { return *std::move(answer_); }

   private:
    pool& threads_;
    Ask ask_;
    std::optional<keyspan::result<T>> answer_{};
  };

  reviews_journal& inner_;
  pool& threads_;
  std::mutex mutex_{};
};
static_assert(keyspan::page_source<pooled_source>);

}  // namespace test
