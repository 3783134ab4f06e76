// keyspan/processor/first_leases.hpp — the leases of a store that has none: one that has ended
// before it began, whose children are the ranges of all partitions.
//
//   [ended, epoch 0                )     whoever creates it decides for all which ranges there are
//   [====)[====)[====)[====)[======)     what every host makes of it, as of any split
#pragma once

#include <keyspan/async/clock.hpp>
#include <keyspan/async/task.hpp>
#include <keyspan/core/error.hpp>
#include <keyspan/core/result.hpp>
#include <keyspan/feed/continuation.hpp>
#include <keyspan/feed/cursor.hpp>
#include <keyspan/feed/feed_request.hpp>
#include <keyspan/feed/page_source.hpp>
#include <keyspan/hash/token.hpp>
#include <keyspan/lease/lease_facts.hpp>
#include <keyspan/lease/lease_ids.hpp>
#include <keyspan/lease/lease_record.hpp>
#include <keyspan/lease/lease_store.hpp>
#include <keyspan/processor/host_context.hpp>
#include <keyspan/processor/lease_control.hpp>
#include <keyspan/processor/processor_event.hpp>
#include <keyspan/range/token_range.hpp>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace keyspan {

namespace detail {

// How many children a lease has at most, so that its record stays small.
inline constexpr std::size_t most_children = 128;

// So many neighbours at most in place of all of them.
template <token Token>
std::vector<token_range<Token>> grouped(std::vector<token_range<Token>> ranges) {
  while (ranges.size() > most_children) {
    std::vector<token_range<Token>> groups;
    std::size_t const in_each = (ranges.size() + most_children - 1) / most_children;
    for (std::size_t i = 0; i < ranges.size(); i += in_each) {
      std::size_t const last = (std::min)(i + in_each, ranges.size()) - 1;
      groups.push_back(*token_range<Token>::from(ranges[i].lower(), ranges[last].upper()));
    }
    ranges = std::move(groups);
  }
  return ranges;
}

// The record of a lease is created, where nobody has before: its version.
template <token Token, clock Clock, lease_store Store, class Scheme>
task<result<std::string>> create_record(host_context<Token, Clock>& host, Store& store,
                                        Scheme const& scheme, lease_record<Token> const& record) {
  std::string const id = host.ids.lease(scheme.name(), record.range);
  std::string const body = record.to_text();
  ++host.counters.writes;
  auto answer = co_await store.create(id, body, host.request());
  co_await host.inside.enter();
  co_return answer;
}

// Where reading begins now, according to the options, in one range or in all.
template <page_source Source, clock Clock>
task<result<composite_cursor<token_of_source<Source>>>> first_position(
    host_context<token_of_source<Source>, Clock>& host, Source& source,
    std::optional<token_range<token_of_source<Source>>> range = std::nullopt) {
  feed_request<token_of_source<Source>> asked;
  asked.start = host.options.start;
  asked.mode = host.options.mode;
  asked.session_token = host.options.session_token;
  if (range) asked.scope = *range;
  asked.stop = host.asking.token();
  co_await host.inside.leave();
  auto opening = position_of_start(source, std::move(asked));
  auto opened = co_await std::move(opening);
  co_await host.inside.enter();
  co_return opened;
}

// From here on nobody makes the first leases any more.
template <token Token, clock Clock, lease_store Store>
task<result<void>> mark_leases_made(host_context<Token, Clock>& host, Store& store) {
  std::string const id = host.ids.layout();
  std::string const body = layout_record{1}.to_text();
  ++host.counters.writes;
  auto marked = co_await store.create(id, body, host.request());
  co_await host.inside.enter();
  if (!marked && marked.error().code != errc::already_exists) co_return unexpected{marked.error()};
  co_return result<void>{};
}

// The first record of a store, where reading begins at this position.
template <token Token, clock Clock>
lease_record<Token> first_record(host_context<Token, Clock>& host,
                                 composite_cursor<Token> const& position) {
  std::vector<token_range<Token>> ranges;
  for (auto const& part : position.parts) ranges.push_back(part.range);
  auto const range = *token_range<Token>::from(ranges.front().lower(), ranges.back().upper());
  lease_record<Token> made{range};
  made.facts.stamp = {host.terms.session, host.draw()};
  made.facts.held_for = host.terms.hold;
  made.position = position;
  if (ranges.size() == 1) return made;
  made.facts.phase = lease_phase::ended;
  bool const is_large = ranges.size() > most_children;
  made.children = grouped(std::move(ranges));
  if (is_large) {
    // Too many to write down: their leases find them again, from the same start.
    continuation start = from_beginning;
    if (std::holds_alternative<from_now_type>(host.options.start)) start = from_now;
    if (auto const* moment = std::get_if<from_time>(&host.options.start)) start = *moment;
    made.position.parts = {cursor<Token>{range, start}};
  }
  return made;
}

// Makes sure that there are leases. Whether it was this host that has made them.
template <page_source Source, lease_store Store, clock Clock>
task<result<bool>> make_first_leases(host_context<token_of_source<Source>, Clock>& host,
                                     Source& source, Store& store) {
  std::string const layout = host.ids.layout();
  ++host.counters.reads;
  auto found = co_await store.read(layout, host.request());
  co_await host.inside.enter();
  if (found) co_return false;
  if (found.error().code != errc::not_found) co_return unexpected{found.error()};

  std::string const leases = host.ids.leases();
  ++host.counters.lists;
  auto listed = co_await store.list(leases, host.request());
  co_await host.inside.enter();
  if (!listed) co_return unexpected{listed.error()};
  bool is_made = false;
  if (listed->empty()) {
    auto opening = first_position(host, source, host.options.range);
    auto const position = co_await std::move(opening);
    if (!position) co_return unexpected{position.error()};
    auto const first = first_record(host, *position);
    auto creating = create_record(host, store, source.scheme(), first);
    auto const created = co_await std::move(creating);
    if (!created && created.error().code != errc::already_exists)
      co_return unexpected{created.error()};
    is_made = created.has_value();
  }
  auto marking = mark_leases_made(host, store);
  result<void> const marked = co_await std::move(marking);
  if (!marked) co_return unexpected{marked.error()};
  if (is_made) host.tell(processor_event_kind::leases_made);
  co_return is_made;
}

}  // namespace detail
}  // namespace keyspan
