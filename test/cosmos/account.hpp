// test/cosmos/account.hpp — an account in this process: the service of the example behind a door
// that can be asked to answer otherwise, and a clock whose waits take no time.
#pragma once

#include <example/cosmos_service.hpp>

#include <keyspan/async/clock.hpp>
#include <keyspan/async/ready.hpp>
#include <keyspan/async/stop_token.hpp>
#include <keyspan/async/sync_wait.hpp>
#include <keyspan/core/result.hpp>
#include <keyspan/cosmos/cosmos_account.hpp>
#include <keyspan/cosmos/service_request.hpp>
#include <keyspan/transport/message.hpp>

#include <boost/hana/adapt_struct.hpp>
#include <catch2/catch_test_macros.hpp>

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace test {

struct review {
  std::string id, article;
  int rating = 0;

  friend bool operator==(review const&, review const&) = default;
};

/// Whoever waits for a moment makes it come.
struct jumping_clock {
  keyspan::instant now() const noexcept { return at; }
  keyspan::ready<keyspan::result<void>> wait_until(keyspan::instant due,
                                                   keyspan::stop_token stop = {}) {
    if (stop.stop_requested()) return {keyspan::detail::wait_stopped()};
    waits.push_back(due - at);
    if (due > at) at = due;
    return {keyspan::result<void>{}};
  }

  keyspan::instant at{};
  std::vector<keyspan::instant::duration> waits{};
};

inline constexpr std::string_view account_key =
    "dGhlIGtleSBvZiBhbiBhY2NvdW50IHRoYXQgaXMgbm90IG9uZSwgNjQgYnl0ZXMgaW4gYWxsIQ==";

/// A transport in front of a service: what is put into `instead` is answered to the next requests,
/// and `before` is asked first.
struct door {
  keyspan::ready<keyspan::result<keyspan::response>> send(keyspan::request const& what) {
    asked.push_back(what);
    if (before)
      if (auto other = before(what)) return {*std::move(other)};
    if (!instead.empty()) {
      auto other = std::move(instead.front());
      instead.pop_front();
      if (other) return {*std::move(other)};
    }
    return service.send(what);
  }
  /// An error of the service with nothing but its status; an empty optional lets one through.
  static std::optional<keyspan::result<keyspan::response>> status(std::uint16_t status,
                                                                  std::uint16_t sub = 0) {
    keyspan::response made;
    made.status = status;
    if (sub != 0) made.headers.add("x-ms-substatus", std::to_string(sub));
    return keyspan::result<keyspan::response>{std::move(made)};
  }
  keyspan::request const& last() const { return asked.back(); }

  cosmos_server::cosmos_service service;
  std::vector<keyspan::request> asked{};
  std::deque<std::optional<keyspan::result<keyspan::response>>> instead{};
  std::function<std::optional<keyspan::result<keyspan::response>>(keyspan::request const&)>
      before{};
};

/// An account with a database "shop".
struct account {
  explicit account(std::size_t partitions = 1)
      : to{.service = cosmos_server::cosmos_service{
               {.key = *keyspan::cosmos::master_key::from(account_key),
                .partitions = partitions}}} {
    done(keyspan::cosmos::create_database("shop"));
  }

  /// Sends it, and requires that it went well.
  keyspan::response done(keyspan::cosmos::service_request what) {
    auto answer = keyspan::sync_wait(in.send(std::move(what)));
    REQUIRE(answer);
    INFO(answer->body);
    REQUIRE(answer->status < 300);
    return *std::move(answer);
  }
  /// A container at these paths.
  void make(std::string_view name, std::vector<std::string_view> paths = {"/article"},
            keyspan::cosmos::container_settings how = {}) {
    auto const where = keyspan::cosmos::container_address::from("shop", name);
    auto const parsed = keyspan::key_paths::parse(paths);
    done(keyspan::cosmos::create_container(*where, *parsed, how));
  }
  template <class T = review, class Scheme = keyspan::any_scheme>
  keyspan::cosmos::cosmos_container<T, Scheme> open(
      std::string name = "reviews", keyspan::cosmos::container_options options = {}) {
    auto opened = keyspan::sync_wait(in.open<T, Scheme>("shop", std::move(name), options));
    if (!opened) FAIL(opened.error().to_text().view());
    return *std::move(opened);
  }
  /// Splits or merges: "split/0", "merge/1/2".
  void control(std::string_view what, std::string_view container = "reviews") {
    keyspan::request asked{
        .method = "POST",
        .target = "/_control/dbs/shop/colls/" + std::string{container} + '/' + std::string{what}};
    auto const answer = to.service.answer(asked);
    INFO(answer.body);
    REQUIRE(answer.status < 300);
  }

  door to;
  jumping_clock clock{};
  keyspan::cosmos::cosmos_account<door, jumping_clock> in{
      to, clock, *keyspan::cosmos::master_key::from(account_key)};
};

}  // namespace test

BOOST_HANA_ADAPT_STRUCT(test::review, id, article, rating);
