// test/transport/reviews.hpp — reviews of articles, in a container whose time a test moves.
#pragma once

#include <keyspan/async/sync_wait.hpp>
#include <keyspan/feed/wall_time.hpp>
#include <keyspan/hash/cosmos_v2.hpp>
#include <keyspan/key/container_definition.hpp>
#include <keyspan/transport/memory_container.hpp>

#include <boost/hana/adapt_struct.hpp>

#include <chrono>
#include <string>
#include <utility>

namespace test {

struct review {
  std::string id{};
  std::string article{};
  int rating = 0;

  friend bool operator==(review const&, review const&) = default;
};

using reviews = keyspan::memory_container<review, keyspan::cosmos_v2_scheme>;
using review_options = keyspan::memory_options<review>;

inline constexpr auto by_article = keyspan::documents_container<"/article">();

/// What time it is in a test.
struct test_time {
  keyspan::wall_time now{std::chrono::milliseconds{1'700'000'000'000}};

  /// The options with this for a clock.
  review_options with(review_options options = {}) {
    options.now = [this] { return now; };
    return options;
  }
};

/// What a container answers at once.
template <class Answering>
auto done(Answering&& answering) {
  return keyspan::sync_wait(std::forward<Answering>(answering));
}

}  // namespace test

BOOST_HANA_ADAPT_STRUCT(test::review, id, article, rating);
