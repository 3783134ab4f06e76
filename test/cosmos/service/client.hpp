// test/cosmos/service/client.hpp — a program that talks to a service over a wire: an account, a
// database of its own, and the containers in it.
#pragma once

#include "judged_service.hpp"
#include "wire.hpp"

#include <keyspan/async/task.hpp>
#include <keyspan/async/when_all.hpp>
#include <keyspan/core/error.hpp>
#include <keyspan/core/result.hpp>
#include <keyspan/cosmos/cosmos_account.hpp>
#include <keyspan/cosmos/cosmos_container.hpp>
#include <keyspan/cosmos/service_request.hpp>
#include <keyspan/feed/feed.hpp>
#include <keyspan/transport/endpoint.hpp>
#include <keyspan/transport/message.hpp>

#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace test {

using keyspan::result;
using keyspan::task;
using reviews = keyspan::cosmos::cosmos_container<review>;

/// What a result holds, or the end of the test with the error's words.
template <class T>
T good(result<T> got) {
  if (!got) FAIL(got.error().to_text().view());
  return *std::move(got);
}
inline void good(result<void> const& got) {
  if (!got) FAIL(got.error().to_text().view());
}
template <class T>
keyspan::errc code_of(result<T> const& got) {
  REQUIRE_FALSE(got);
  INFO(got.error().to_text().view());
  return got.error().code;
}

/// A transport, a clock and an account: what one program has.
struct client {
  explicit client(judged_service const& of, keyspan::cosmos::account_options options = {})
      : client{of.endpoint(), of.key(), std::move(options)} {}
  client(std::string_view endpoint, std::string_view key,
         keyspan::cosmos::account_options options = {},
         std::chrono::milliseconds answer_timeout = std::chrono::seconds{20})
      : over{good(keyspan::service_endpoint::parse(endpoint)), answer_timeout},
        in{over.transport(), over.clock(), good(keyspan::cosmos::master_key::from(key)),
           std::move(options)} {}

  template <class T>
  T run(task<T> work) {
    return over.run(std::move(work));
  }
  /// Sends it, and requires that it went well.
  keyspan::response done(keyspan::cosmos::service_request what) {
    auto answer = good(run(in.send(std::move(what))));
    INFO(answer.body);
    REQUIRE(answer.status < 300);
    return answer;
  }
  template <class T = review>
  keyspan::cosmos::cosmos_container<T> open(std::string database, std::string container,
                                            keyspan::cosmos::container_options options = {}) {
    return good(run(in.open<T>(std::move(database), std::move(container), options)));
  }

  wire over;
  keyspan::cosmos::cosmos_account<wire::transport_type, wire::clock_type> in;
};

/// A database of a random name in a service, gone with all that is in it when the test ends.
struct world {
  explicit world(std::string_view capability, std::size_t partitions = 4)
      : service{partitions}, name{random_name()} {
    service.wants(capability);
    by.emplace(service);
    by->done(keyspan::cosmos::create_database(name));
    is_made = true;
  }
  world(world const&) = delete;
  world& operator=(world const&) = delete;
  ~world() {
    if (!is_made) return;
    auto const gone = by->run(by->in.send(keyspan::cosmos::remove_database(name)));
    CHECK((gone && gone->status == 204));
  }

  keyspan::cosmos::container_address address(std::string_view container = "reviews") const {
    return good(keyspan::cosmos::container_address::from(name, container));
  }
  void make(std::string_view container = "reviews",
            std::vector<std::string_view> paths = {"/article"},
            keyspan::cosmos::container_settings how = {}) {
    auto const parsed = good(keyspan::key_paths::parse(paths));
    by->done(keyspan::cosmos::create_container(address(container), parsed, how));
  }
  template <class T = review>
  keyspan::cosmos::cosmos_container<T> open(std::string container = "reviews") {
    return by->open<T>(name, std::move(container));
  }
  /// A container, and it open.
  reviews made(std::string const& container = "reviews") {
    make(container);
    return open(container);
  }
  template <class T>
  T run(task<T> work) {
    return by->run(std::move(work));
  }
  /// Splits or merges: "split/0", "merge/1/2".
  task<result<void>> control(std::string what, std::string container = "reviews") {
    keyspan::request const asked{
        .method = "POST", .target = "/_control/dbs/" + name + "/colls/" + container + '/' + what};
    auto sending = by->over.transport().send(asked);
    result<keyspan::response> const answer = co_await std::move(sending);
    if (!answer) co_return keyspan::unexpected{answer.error()};
    if (answer->status >= 300)
      co_return keyspan::fail(keyspan::errc::bad_request, what, ": ",
                              keyspan::inline_text<100>{std::string_view{answer->body}});
    co_return result<void>{};
  }

  judged_service service;
  std::string name;
  std::optional<client> by{};
  bool is_made = false;

 private:
  static std::string random_name() {
    std::random_device random;
    return "keyspan-" + std::to_string(random()) + "-" + std::to_string(random());
  }
};

/// A review of an article that is one of `articles`.
inline review numbered(int i, int articles = 1'000'000) {
  return {"r-" + std::to_string(i), "a-" + std::to_string(i % articles), i};
}

/// Writes the reviews of these numbers, some at a time.
inline task<result<void>> write_some(reviews& to, int from, int until, int step, int articles) {
  for (int i = from; i < until; i += step) {
    auto writing = to.create(numbered(i, articles));
    auto const written = co_await std::move(writing);
    if (!written) co_return keyspan::unexpected{written.error()};
  }
  co_return result<void>{};
}
inline task<result<void>> write(reviews& to, int from, int until, int articles = 1'000'000) {
  std::vector<task<result<void>>> writers;
  for (int i = 0; i < 8; ++i) writers.push_back(write_some(to, from + i, until, 8, articles));
  auto writing = keyspan::when_all(std::move(writers));
  auto const all = co_await std::move(writing);
  for (auto const& one : all)
    if (!one) co_return one;
  co_return result<void>{};
}

/// What a feed gives until nothing is new.
template <class Feed>
task<result<std::vector<typename Feed::item_type>>> drained(Feed& feed) {
  std::vector<typename Feed::item_type> seen;
  auto reading = feed.stream();
  for (;;) {
    auto next = reading.next_page();
    auto const* const page = co_await std::move(next);
    if (page == nullptr) co_return seen;
    if (!*page) co_return keyspan::unexpected{page->error()};
    seen.insert(seen.end(), (*page)->items.begin(), (*page)->items.end());
  }
}

/// The numbers of reviews that were told, in order; each is told once.
template <class Items>
std::vector<int> ratings_in(Items const& items) {
  std::vector<int> made;
  for (auto const& one : items) made.push_back(one->rating);
  std::sort(made.begin(), made.end());
  CHECK(std::adjacent_find(made.begin(), made.end()) == made.end());
  return made;
}
inline std::vector<int> from_to(int from, int until) {
  std::vector<int> made;
  for (int i = from; i < until; ++i) made.push_back(i);
  return made;
}

}  // namespace test
