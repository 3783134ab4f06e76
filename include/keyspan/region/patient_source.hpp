// keyspan/region/patient_source.hpp — a source that is given so long for each answer and no longer.
#pragma once

#include <keyspan/async/clock.hpp>
#include <keyspan/async/task.hpp>
#include <keyspan/core/contract.hpp>
#include <keyspan/core/result.hpp>
#include <keyspan/feed/continuation.hpp>
#include <keyspan/feed/page_source.hpp>
#include <keyspan/feed/read_request.hpp>
#include <keyspan/range/routing_refresh.hpp>
#include <keyspan/range/token_range.hpp>

#include <algorithm>
#include <string>
#include <utility>

namespace keyspan {

namespace detail {

template <class S>
concept has_topology_by_deadline =
    requires(S& s, std::string const& known, read_request const& request) {
      { s.topology(known, request) } -> awaitable_of<result<partition_page<token_of_source<S>>>>;
    };

}  // namespace detail

/// Asks another source, and gives each question a deadline: `errc::timed_out` where the answer is
/// not there after `patience`, so that whoever reads many sources waits for none of them. A list of
/// partitions has one where the source has a `topology` that takes it. Source and clock outlive it.
///
/// Destruction: that of a task that awaits the source.
template <page_source Source, clock Clock>
class patient_source {
 public:
  using scheme_type = typename Source::scheme_type;
  using token_type = token_of_source<Source>;
  using page_type = typename Source::page_type;

  /// Requires a patience above 0.
  patient_source(Source& of, Clock& by, instant::duration patience)
      : of_{&of}, clock_{&by}, patience_{patience} {
    expects(patience > instant::duration::zero(), "an answer takes some time");
  }

  decltype(auto) scheme() const { return std::as_const(*of_).scheme(); }
  decltype(auto) container() const { return std::as_const(*of_).container(); }
  /// Whom it asks.
  Source& source() const noexcept { return *of_; }

  /// Errors: those of the source.
  task<result<page_type>> read(token_range<token_type> const& range, continuation const& from,
                               read_request const& request) {
    read_request const limited = within_patience(request);
    auto&& asked = of_->read(range, from, limited);
    co_return co_await std::forward<decltype(asked)>(asked);
  }
  task<result<partition_page<token_type>>> topology(std::string const& known) {
    read_request const nothing;
    auto asking = topology(known, nothing);
    co_return co_await std::move(asking);
  }
  task<result<partition_page<token_type>>> topology(std::string const& known,
                                                    read_request const& request) {
    if constexpr (detail::has_topology_by_deadline<Source>) {
      read_request const limited = within_patience(request);
      auto&& asked = of_->topology(known, limited);
      co_return co_await std::forward<decltype(asked)>(asked);
    } else {
      auto&& asked = of_->topology(known);
      co_return co_await std::forward<decltype(asked)>(asked);
    }
  }

 private:
  read_request within_patience(read_request request) const {
    instant const at_last = instant_after(clock_->now(), patience_);
    request.deadline = request.deadline ? (std::min)(*request.deadline, at_last) : at_last;
    return request;
  }

  Source* of_;
  Clock* clock_;
  instant::duration patience_;
};

}  // namespace keyspan
