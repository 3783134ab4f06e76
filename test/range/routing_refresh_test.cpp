// test/range/routing_refresh_test.cpp — one reading of a list, answer by answer, and what comes of
// it when answers are odd, are lost, or do not end.
#include <keyspan/core/error.hpp>
#include <keyspan/core/result.hpp>
#include <keyspan/core/text.hpp>
#include <keyspan/hash/any_scheme.hpp>
#include <keyspan/hash/cosmos_multihash.hpp>
#include <keyspan/hash/cosmos_v1.hpp>
#include <keyspan/hash/cosmos_v2.hpp>
#include <keyspan/hash/hash_scheme.hpp>
#include <keyspan/hash/redis_cluster.hpp>
#include <keyspan/hash/token128.hpp>
#include <keyspan/range/partition.hpp>
#include <keyspan/range/published.hpp>
#include <keyspan/range/routing.hpp>
#include <keyspan/range/routing_refresh.hpp>
#include <keyspan/range/token_range.hpp>

#include "partition_history.hpp"

#include <support/allocations.hpp>
#include <support/check.hpp>
#include <support/contracts.hpp>
#include <support/random.hpp>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <ranges>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace {

using keyspan::cosmos_v2;
using keyspan::errc;
using keyspan::partition;
using keyspan::redis_cluster;
using keyspan::routing_of;
using keyspan::routing_refresh;
using keyspan::space_end;
using keyspan::token128;
using test::check;
using test::partition_history;

using slot = std::uint16_t;
using slot_page = keyspan::partition_page<slot>;
using slot_routing = keyspan::routing<keyspan::redis_cluster_scheme>;
using slot_refresh = keyspan::routing_refresh<keyspan::redis_cluster_scheme>;
using pinned_slots = std::shared_ptr<slot_routing const>;

partition<slot> slots(std::string id, int first, int last, std::vector<std::string> parents = {}) {
  auto const lower = static_cast<slot>(first);
  if (last == 16'384) return {std::move(id), {lower, space_end}, std::move(parents)};
  return {std::move(id), {lower, static_cast<slot>(last)}, std::move(parents)};
}

// 1 was split into 2 and 3.
pinned_slots two_partitions(std::string version = "7") {
  return std::make_shared<slot_routing const>(*routing_of(
      redis_cluster, {slots("2", 0, 9, {"1"}), slots("3", 9, 16'384, {"1"})}, std::move(version)));
}

// [region: example]
using routing = keyspan::routing<keyspan::cosmos_v2_scheme>;

// The newest snapshot there is; the one known stays as good as it was, whatever happens.
template <class Fetch>
keyspan::result<std::shared_ptr<routing const>> newest(std::shared_ptr<routing const> known,
                                                       Fetch fetch) {
  auto refresh =
      known ? keyspan::routing_refresh{known} : keyspan::routing_refresh{keyspan::cosmos_v2};
  while (refresh.wants_page()) {
    auto page = fetch(refresh.version());  // If-None-Match; the whole list where it is empty
    if (!page) return keyspan::unexpected{page.error()};
    refresh.take(*std::move(page));
  }
  return refresh.outcome();
}
// [end: example]

TEST_CASE("the example of routing_refresh reads as it should") {
  using page = keyspan::partition_page<token128>;
  auto const half = *cosmos_v2.from_hex("20");
  bool is_split = false;
  bool is_there = true;
  auto const fetch = [&](std::string const& version) -> keyspan::result<page> {
    if (!is_there) return keyspan::fail(errc::not_connected, "no route");
    if (version.empty()) return page{{{"1", keyspan::whole_space(cosmos_v2), {}}}, "a"};
    if (version == "a" && is_split)
      return page{{{"2", {cosmos_v2.minimum(), half}, {"1"}}, {"3", {half, space_end}, {"1"}}},
                  "b"};
    return page{.not_modified = true};
  };
  // [region: publish]
  keyspan::published<routing> current{**newest(nullptr, fetch)};
  auto const seen = current.pin();
  check(newest(seen, fetch) == seen);  // nothing is new: it is the same object

  is_split = true;
  if (auto const newer = newest(seen, fetch))
    check(current.replace(seen, *newer) != nullptr);  // unless somebody else was faster
  check(current.pin()->size() == 2 && seen->size() == 1);
  // [end: publish]
  CHECK(current.replace(seen, *newest(seen, fetch)) == nullptr);
  is_there = false;
  CHECK(newest(current.pin(), fetch).error().code == errc::not_connected);
}

TEST_CASE("a first reading asks for the whole list, and then for what follows") {
  keyspan::routing_refresh refresh{redis_cluster};
  CHECK(refresh.wants_page());
  CHECK(refresh.version().empty());
  CHECK(refresh.reads_in_full());
  refresh.take({{slots("3", 9, 16'384, {"1"})}, "5"});
  CHECK(refresh.wants_page());
  CHECK(refresh.version() == "5");
  refresh.take({{slots("2", 0, 9, {"1"})}, "7"});
  CHECK(refresh.version() == "7");
  refresh.take({.not_modified = true});
  CHECK_FALSE(refresh.wants_page());
  REQUIRE(refresh.outcome().has_value());
  CHECK(**refresh.outcome() == *two_partitions());
}

TEST_CASE("a later reading asks for what is new since the version known") {
  auto const known = two_partitions();
  keyspan::routing_refresh refresh{known};
  CHECK(refresh.version() == "7");
  CHECK_FALSE(refresh.reads_in_full());
  refresh.take({{slots("4", 0, 4, {"1", "2"})}, "8"});
  refresh.take({{slots("5", 4, 9, {"1", "2"})}, "9"});
  refresh.take({.not_modified = true});
  auto const newer = *refresh.outcome();
  CHECK(newer->size() == 3);
  CHECK(newer->version() == "9");
  CHECK(newer->is_gone("2"));
  CHECK(*known == *two_partitions());
}

TEST_CASE("where nothing is new the outcome is the snapshot known itself") {
  auto const known = two_partitions();
  keyspan::routing_refresh refresh{known};
  refresh.take({.not_modified = true});
  CHECK(*refresh.outcome() == known);
  keyspan::routing_refresh again{known};
  again.take({.version = "7", .not_modified = true});
  CHECK(*again.outcome() == known);
}

TEST_CASE("the last answer's version replaces the one before, too") {
  auto const known = two_partitions();
  keyspan::routing_refresh refresh{known};
  refresh.take({.version = "8", .not_modified = true});
  auto const newer = *refresh.outcome();
  CHECK(newer != known);
  CHECK(newer->version() == "8");
  CHECK(*newer == *two_partitions("8"));

  keyspan::routing_refresh first{redis_cluster};
  first.take({{slots("1", 0, 16'384)}, "1"});
  first.take({.version = "2", .not_modified = true});
  CHECK((*first.outcome())->version() == "2");
}

TEST_CASE("a page without a version keeps the one before") {
  keyspan::routing_refresh refresh{two_partitions()};
  refresh.take({{slots("4", 0, 4, {"1", "2"})}, ""});
  CHECK(refresh.version() == "7");
  refresh.take({{slots("4", 0, 4, {"1", "2"}), slots("5", 4, 9, {"1", "2"})}, "9"});
  refresh.take({{slots("5", 4, 9, {"1", "2"})}, ""});
  CHECK(refresh.version() == "9");
  refresh.take({.not_modified = true});
  CHECK((*refresh.outcome())->version() == "9");
}

TEST_CASE("not modified ends the list, whatever partitions come with it") {
  auto const known = two_partitions();
  keyspan::routing_refresh refresh{known};
  refresh.take({{slots("9", 0, 16'384, {"2", "3"})}, "", true});
  CHECK_FALSE(refresh.wants_page());
  CHECK(*refresh.outcome() == known);
}

TEST_CASE("nothing but not modified ends the list") {
  keyspan::routing_refresh refresh{redis_cluster};
  refresh.take({{slots("1", 0, 16'384)}, "1"});
  for (int i = 0; i < 20; ++i) refresh.take({{}, "1"});
  CHECK(refresh.wants_page());
  refresh.take({.not_modified = true});
  CHECK((*refresh.outcome())->size() == 1);
}

TEST_CASE("what is incomplete after an update is read in full, and nothing of it is kept") {
  auto const known = two_partitions();
  for (auto const& change :
       {slots("4", 0, 4, {"1", "2"}), slots("2", 0, 8, {"1"}), slots("4", 4, 9)}) {
    keyspan::routing_refresh refresh{known};
    refresh.take({{change}, "9"});
    refresh.take({.not_modified = true});
    CHECK(refresh.wants_page());
    CHECK(refresh.reads_in_full());
    CHECK(refresh.version().empty());
    refresh.take({{slots("9", 0, 16'384, {"1", "2", "3"})}, "10"});
    refresh.take({.not_modified = true});
    REQUIRE(refresh.outcome().has_value());
    CHECK((*refresh.outcome())->size() == 1);
    CHECK((*refresh.outcome())->version() == "10");
    CHECK(*known == *two_partitions());
  }
}

TEST_CASE("a list that is incomplete when read in full is an error, and no second full reading") {
  auto const known = two_partitions();
  keyspan::routing_refresh refresh{known};
  refresh.take({{slots("4", 0, 4, {"1", "2"})}, "9"});
  refresh.take({.not_modified = true});
  refresh.take({{slots("4", 0, 4, {"1", "2"}), slots("3", 9, 16'384)}, "10"});
  refresh.take({.not_modified = true});
  CHECK_FALSE(refresh.wants_page());
  CHECK(refresh.outcome().error().to_text() ==
        "gap: between partitions 4 and 3 nobody owns 4 to 9");
  CHECK(*known == *two_partitions());

  keyspan::routing_refresh first{redis_cluster};
  first.take({.not_modified = true});
  CHECK(first.outcome().error().code == errc::gap);
}

TEST_CASE("a snapshot without a version is read anew in full") {
  keyspan::routing_refresh refresh{two_partitions("")};
  CHECK(refresh.reads_in_full());
  refresh.take({{slots("9", 0, 16'384)}, "1"});
  refresh.take({.not_modified = true});
  CHECK((*refresh.outcome())->size() == 1);
}

TEST_CASE("a list without a version cannot be followed") {
  keyspan::routing_refresh refresh{redis_cluster};
  refresh.take({{slots("1", 0, 16'384)}, ""});
  CHECK_FALSE(refresh.wants_page());
  CHECK(refresh.outcome().error().code == errc::bad_response);
}

TEST_CASE("a list that does not end is given up") {
  keyspan::routing_refresh refresh{two_partitions(), {.most_pages = 3}};
  for (int i = 0; i < 3; ++i) refresh.take({{slots("4", 0, 4, {"1", "2"})}, "8"});
  refresh.take({.not_modified = true});
  CHECK(refresh.reads_in_full());
  for (int i = 0; i < 3; ++i) {  // the full reading counts anew
    CHECK(refresh.wants_page());
    refresh.take({{slots("2", 0, 9)}, "8"});
  }
  CHECK(refresh.wants_page());
  refresh.take({{slots("2", 0, 9)}, "8"});
  CHECK_FALSE(refresh.wants_page());
  CHECK(refresh.outcome().error().to_text() ==
        "too_large: the list of partitions goes on after 3 pages; raise most_pages if it is so "
        "long");
}

TEST_CASE("a service that never says that nothing is newer is told of, not asked for ever") {
  for (std::string const& version : {std::string{"8"}, std::string{}}) {
    keyspan::routing_refresh refresh{redis_cluster, {.most_standstills = 15}};
    refresh.take({{slots("1", 0, 16'384)}, "8"});
    for (int i = 0; i < 15; ++i) refresh.take({{slots("1", 0, 16'384)}, version});
    REQUIRE(refresh.wants_page());
    auto goes_on = refresh;
    refresh.take({{slots("1", 0, 16'384)}, version});
    REQUIRE_FALSE(refresh.wants_page());
    CHECK(refresh.outcome().error().to_text() ==
          "bad_response: page after page of the list of partitions ends at the version it was "
          "asked with, and none says not_modified");
    // A page that leads on counts them anew, and so does reading in full after an increment.
    goes_on.take({{slots("1", 0, 16'384)}, "9"});
    for (int i = 0; i < 15; ++i) goes_on.take({{slots("1", 0, 16'384)}, version});
    REQUIRE(goes_on.wants_page());
    goes_on.take({.not_modified = true});
    CHECK(goes_on.outcome().has_value());
  }
  keyspan::routing_refresh anew{two_partitions(), {.most_standstills = 15}};
  for (int i = 0; i < 15; ++i) anew.take({{slots("4", 0, 4, {"1", "2"})}, anew.version()});
  anew.take({.not_modified = true});
  REQUIRE(anew.reads_in_full());
  anew.take({{slots("1", 0, 16'384)}, "9"});
  for (int i = 0; i < 15; ++i) anew.take({{slots("1", 0, 16'384)}, "9"});
  CHECK(anew.wants_page());
}

TEST_CASE("a refresh that is copied goes on twice") {
  slot_refresh one{redis_cluster};
  one.take({{slots("2", 0, 9)}, "1"});
  slot_refresh other = one;
  one.take({{slots("3", 9, 16'384)}, "2"});
  one.take({.not_modified = true});
  CHECK(one.outcome().has_value());
  CHECK(other.version() == "1");
  other.take({.not_modified = true});
  CHECK_FALSE(other.outcome().has_value());
}

TEST_CASE("a refresh is asked for what it has and given what it wants") {
  slot_refresh refresh{redis_cluster};
  CHECK(test::promise_broken_by([&] { return refresh.outcome().has_value(); }) ==
        "a refresh has an outcome when it wants no more pages");
  refresh.take({.not_modified = true});
  CHECK(test::promise_broken_by([&] {
          refresh.take({.not_modified = true});
          return 0;
        }) == "a refresh that is done takes no more pages");
  CHECK(test::promise_broken_by([] { return slot_refresh{pinned_slots{}}.wants_page(); }) ==
        "a refresh is given the snapshot known, or the scheme alone");
}

// Answers as the service does: what was made since the version, in pages of any size, some entries
// again, in any order; and, where it is unreliable, now and then with a part left out.
template <class Scheme>
class list_service {
 public:
  using page = keyspan::partition_page<keyspan::token_of_scheme<Scheme>>;

  list_service(partition_history<Scheme> const& history, test::random draw, unsigned lost_percent)
      : history_{&history}, draw_{draw}, lost_percent_{lost_percent} {}

  page fetch(std::string const& version) {
    auto const& log = history_->log();
    std::size_t from = 0;
    if (!version.empty()) std::from_chars(version.data(), version.data() + version.size(), from);
    page answer;
    if (from == log.size() && !version.empty()) {
      answer.not_modified = true;
      if (draw_.chance(30)) answer.version = std::to_string(from) + "!";
      if (draw_.chance(30)) answer.partitions.push_back(draw_.pick(log));
      return answer;
    }
    std::size_t to = from + static_cast<std::size_t>(draw_.below(log.size() - from)) + 1;
    answer.version = std::to_string(to);
    if (draw_.chance(lost_percent_)) {
      has_lost_ = true;
    } else {
      for (std::size_t i = from; i < to; ++i)
        answer.partitions.push_back(history_->listed(log[i], draw_));
    }
    for (auto again = draw_.below(3); again > 0; --again)
      if (from > 0)
        answer.partitions.push_back(
            history_->listed(log[static_cast<std::size_t>(draw_.below(from))], draw_));
    draw_.shuffle(answer.partitions);
    if (!version.empty() && draw_.chance(20)) answer.version.clear();
    return answer;
  }

  bool has_lost() const { return has_lost_; }
  void forget_losses() { has_lost_ = false; }

 private:
  partition_history<Scheme> const* history_;
  test::random draw_;
  unsigned lost_percent_;
  bool has_lost_ = false;
};

template <class Scheme>
bool owns_every_token_once(keyspan::routing<Scheme> const& map) {
  auto const all = map.partitions();
  bool good = all.front().range.lower() == map.scheme().minimum() &&
              all.back().range.upper().is_space_end();
  for (std::size_t i = 1; i < all.size(); ++i)
    good = good && keyspan::adjacent(all[i - 1].range, all[i].range);
  return good;
}

struct tally {
  int right = 0;
  int in_full = 0;
  int failed = 0;
};

template <class Scheme>
void refreshes(Scheme const& scheme, std::uint64_t seed, unsigned lost_percent, tally& count) {
  using routing_type = keyspan::routing<Scheme>;
  test::random draw{seed};
  partition_history<Scheme> history{scheme};
  list_service<Scheme> service{history, draw.fork(), lost_percent};
  std::shared_ptr<routing_type const> known;
  bool is_right = true;  // nothing that was lost is missing in what is known
  for (int round = 0; round < 15; ++round) {
    for (auto changes = draw.below(6); changes > 0; --changes) history.change(draw);
    auto refresh = known && !draw.chance(5) ? keyspan::routing_refresh<Scheme>{known}
                                            : keyspan::routing_refresh<Scheme>{scheme};
    auto const before = known ? *known : *routing_of(scheme, history.log());
    service.forget_losses();
    bool was_full = refresh.reads_in_full();
    is_right = is_right || was_full;
    while (refresh.wants_page()) {
      refresh.take(service.fetch(refresh.version()));
      if (refresh.reads_in_full() && !was_full) {
        was_full = true;
        is_right = true;
        service.forget_losses();
        ++count.in_full;
      }
    }
    if (known) CHECK(*known == before);
    if (!refresh.outcome()) {
      ++count.failed;
      CHECK(lost_percent > 0);
      CHECK(was_full);
      CHECK(service.has_lost());
      is_right = false;
      continue;
    }
    known = *refresh.outcome();
    CHECK(owns_every_token_once(*known));
    is_right = is_right && !service.has_lost();
    if (lost_percent == 0) CHECK(is_right);
    if (!is_right) continue;
    ++count.right;
    CHECK(std::ranges::equal(known->partitions(), history.live()));
    for (auto const& id : history.gone()) CHECK(known->is_gone(id));
  }
}

TEST_CASE("whatever pages the list comes in, the outcome is what the service has") {
  tally count;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    CAPTURE(seed);
    refreshes(cosmos_v2, seed, 0, count);
    refreshes(keyspan::cosmos_multihash, seed, 0, count);
    refreshes(keyspan::cosmos_v1, seed, 0, count);
    refreshes(keyspan::any_scheme{keyspan::cosmos_multihash}, seed, 0, count);
    refreshes(redis_cluster, seed, 0, count);
  }
  CHECK(count.right == 20 * 5 * 15);
  CHECK(count.in_full == 0);
}

TEST_CASE("whatever answers are lost, no snapshot is partial and a full list heals it") {
  tally count;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    CAPTURE(seed);
    refreshes(cosmos_v2, seed, 15, count);
    refreshes(keyspan::cosmos_multihash, seed, 15, count);
    refreshes(redis_cluster, seed, 40, count);
  }
  CHECK(count.right > 300);
  CHECK(count.in_full > 100);
  CHECK(count.failed > 100);
}

TEST_CASE("a refresh that finds nothing new allocates nothing for the snapshot") {
  auto const known = two_partitions();
  CHECK(test::allocations_in([&] {
          slot_refresh refresh{known};
          refresh.take({.not_modified = true});
          check(*refresh.outcome() == known);
        }) == 0);
}

TEST_CASE("changes that come without a version are kept, whatever version ends the list") {
  auto const known = std::make_shared<keyspan::routing<keyspan::redis_cluster_scheme> const>(
      *routing_of(redis_cluster, {{"1", {0, space_end}, {}}}, "7"));
  routing_refresh refresh{known};
  refresh.take({{{"2", {0, std::uint16_t{9}}, {"1"}}, {"3", {9, space_end}, {"1"}}}, ""});
  CHECK(refresh.version() == "7");
  refresh.take({.not_modified = true});
  CHECK(refresh.outcome().value()->size() == 2);
  CHECK(refresh.outcome().value()->version() == "7");
}

// Where memory runs out the page is asked for again: no snapshot is older than its version.
TEST_CASE("a refresh that ran out of memory goes on where it was") {
  using page = keyspan::partition_page<std::uint16_t>;
  auto const fetch = [](std::string const& version) -> page {
    if (version == "9") return {.not_modified = true};
    return {{{"2", {0, std::uint16_t{9}}, {"1"}}, {"3", {9, space_end}, {"1"}}}, "9"};
  };
  auto const known = std::make_shared<keyspan::routing<keyspan::redis_cluster_scheme> const>(
      *routing_of(redis_cluster, {{"1", {0, space_end}, {}}}, "7"));
  std::size_t failures = 0;
  for (bool const in_full : {false, true}) {
    for (std::size_t failing_page = 0; failing_page < 2; ++failing_page) {
      for (std::size_t allocation = 0;; ++allocation) {
        REQUIRE(allocation < 100);
        auto refresh = in_full ? routing_refresh{redis_cluster} : routing_refresh{known};
        bool failed = false;
        for (std::size_t taken = 0; refresh.wants_page();) {
          auto next = fetch(refresh.version());
          try {
            test::failing_allocation const fails{taken == failing_page && !failed ? allocation
                                                                                  : 1'000'000};
            refresh.take(std::move(next));
            ++taken;
          } catch (std::bad_alloc const&) {
            failed = true;
          }
        }
        REQUIRE(refresh.outcome().has_value());
        REQUIRE(refresh.outcome().value() != nullptr);
        REQUIRE(refresh.outcome().value()->size() == 2);
        REQUIRE(refresh.outcome().value()->version() == "9");
        if (!failed) break;
        ++failures;
      }
    }
  }
  CHECK(failures > 10);
}

static_assert(
    std::is_same_v<decltype(routing_refresh{
                       std::make_shared<keyspan::routing<keyspan::redis_cluster_scheme>>(
                           std::declval<keyspan::routing<keyspan::redis_cluster_scheme>>())}),
                   routing_refresh<keyspan::redis_cluster_scheme>>);

}  // namespace
