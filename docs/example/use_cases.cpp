// Developing against a container in memory, and what its feed of changes is good for, as
// docs/guide/developing_in_memory.md tells it. Each part checks itself: the program ends with 1
// where something is not as it says.
// [region: includes]
#include <keyspan/keyspan.hpp>

#include <boost/hana/adapt_struct.hpp>

#include <chrono>
#include <cstddef>
#include <functional>
#include <iostream>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

using keyspan::cosmos_v2;
using keyspan::errc;
using keyspan::feed_mode;
using keyspan::sync_wait;
using namespace std::chrono_literals;
// [end: includes]

// [region: set_up]
struct review {
  std::string id, article;
  int rating = 0;
};
BOOST_HANA_ADAPT_STRUCT(review, id, article, rating);

using reviews = keyspan::memory_container<review, keyspan::cosmos_v2_scheme>;
constexpr auto by_article = keyspan::documents_container<"/article">();
// [end: set_up]

namespace {

bool writes_with_etags() {
  // [region: writes]
  reviews container{cosmos_v2, by_article, {.partitions = 4}};
  auto const made = sync_wait(container.create(review{"r-1", "redmond", 5}));
  std::cout << made->status << " in partition " << made->partition << ", " << made->charge
            << " request units\n";

  auto const seen = sync_wait(container.read_item("redmond", "r-1"));
  auto const etag = seen->item.etag();
  review changed = *seen->item;
  changed.rating = 4;
  auto const first = sync_wait(container.replace(changed, {.if_match = etag}));
  auto const second = sync_wait(container.replace(changed, {.if_match = etag}));
  std::cout << first->status << ", then " << second.error().code << '\n';

  auto const better =
      sync_wait(container.patch("redmond", "r-1", [](review& one) { ++one.rating; }));
  // [end: writes]
  return first && !second && better->item->rating == 5;
}

bool reads_many() {
  reviews container{cosmos_v2, by_article, {.partitions = 4}};
  static_cast<void>(sync_wait(container.create(review{"r-1", "redmond", 5})));
  static_cast<void>(sync_wait(container.create(review{"r-1", "seattle", 3})));
  // [region: read_many]
  std::vector<keyspan::item_id> const ids{{keyspan::partition_key{"redmond"}, "r-1"},
                                          {keyspan::partition_key{"seattle"}, "r-1"},
                                          {keyspan::partition_key{"seattle"}, "r-2"}};
  auto const found = sync_wait(container.read_many(ids));
  if (!found) return false;
  for (auto const& item : found->items)
    std::cout << (item ? item->article + " has " + std::to_string(item->rating) : "nobody") << '\n';
  // [end: read_many]
  return found->items[1]->rating == 3 && !found->items[2];
}

// [region: awaited]
// In a coroutine: the operation first, by its name, and then what comes of it.
keyspan::task<keyspan::result<int>> praise(reviews& in, std::string article) {
  auto asked = in.upsert(review{"r-1", article, 4});
  auto const written = co_await std::move(asked);
  if (!written) co_return keyspan::unexpected{written.error()};
  auto patching = in.patch(article, "r-1", [](review& one) { ++one.rating; });
  auto const praised = co_await std::move(patching);
  if (!praised) co_return keyspan::unexpected{praised.error()};
  co_return praised->item->rating;
}
// [end: awaited]

bool awaits() {
  reviews container{cosmos_v2, by_article};
  auto const stars = sync_wait(praise(container, "redmond"));
  return stars.has_value() && *stars == 5;
}

bool writes_all_or_nothing() {
  reviews container{cosmos_v2, by_article};
  // [region: batch]
  keyspan::item_batch<review> work{"redmond"};
  work.create({"r-1", "redmond", 5}).create({"r-2", "redmond", 3}).remove("r-3");
  auto const done = sync_wait(container.execute(work));
  for (auto const& one : done->operations)
    if (!one) std::cout << one.error().code << ": " << one.error().text << '\n';
  // [end: batch]
  return !done->is_done() && container.size() == 0;
}

bool reads_through_a_split() {
  reviews container{cosmos_v2, by_article, {.partitions = 2}};
  for (int i = 0; i < 100; ++i)
    static_cast<void>(
        sync_wait(container.create(review{"r-1", "article-" + std::to_string(i), i})));
  // [region: split]
  keyspan::feed changes{container, {.page_size = 10}};
  std::size_t seen = 0;
  for (auto const& change : changes) {
    seen += change.kind == keyspan::change_kind::created;
    if (seen == 25) static_cast<void>(container.split("0"));
    if (seen == 60) static_cast<void>(container.merge("1", "3"));
  }
  std::cout << seen << " changes, " << container.partitions().size() << " partitions\n";
  // [end: split]
  return seen == 100 && container.partitions().size() == 2;
}

bool is_throttled() {
  // [region: throttled]
  keyspan::wall_time now{};
  reviews container{cosmos_v2, by_article, {.now = [&] { return now; }, .request_units = 100}};
  int written = 0;
  auto const write = [&] { return sync_wait(container.upsert(review{"r-1", "redmond", written})); };
  auto answer = write();
  for (; answer; answer = write()) ++written;
  std::cout << written << " writes, then " << answer.error().code << " for "
            << answer.error().wire.retry_after_ms << " ms\n";

  now += std::chrono::milliseconds{answer.error().wire.retry_after_ms};
  answer = write();
  // [end: throttled]
  return written == 20 && answer.has_value();
}

// [region: under_test]
// What is under test: saves a review, as patiently as a policy says. It takes the container itself
// in a program, and one with faults in a test.
template <class Container, keyspan::clock Clock>
keyspan::task<keyspan::result<int>> save(Container& to, Clock& by, review one) {
  auto const began = by.now();
  for (int attempts = 1;; ++attempts) {
    auto asked = to.upsert(one);
    auto const answer = co_await std::move(asked);
    if (answer) co_return attempts;
    keyspan::failed_attempt const failed{.attempts = attempts,
                                         .why = answer.error(),
                                         .elapsed = by.now() - began,
                                         .kind = keyspan::request_kind::repeatable_write};
    auto const wait = keyspan::wait_before_retry(keyspan::retry_policy{}, failed);
    if (!wait) co_return keyspan::unexpected{answer.error()};
    auto waiting = keyspan::wait_for(by, *wait);
    auto const waited = co_await std::move(waiting);
    if (!waited) co_return keyspan::unexpected{waited.error()};
  }
}
// [end: under_test]

bool goes_wrong_on_demand() {
  // [region: faults]
  reviews container{cosmos_v2, by_article};
  keyspan::manual_clock clock;
  keyspan::run_loop loop;
  keyspan::faulty world{container, clock, {.delayed = 50, .longest_delay = 2s, .seed = 7}};
  world.fail_next(errc::throttled, 2);
  world.lose_next(3);
  auto const saved = loop.complete(save(world, clock, {"r-1", "redmond", 5}), clock);
  auto const refused = [&] {
    world.fail_next(errc::unauthorized);
    return loop.complete(save(world, clock, {"r-2", "redmond", 1}), clock);
  }();
  std::cout << "saved by attempt " << *saved << ", then " << refused.error().code << '\n';
  // [end: faults]
  return *saved == 4 && container.size() == 1 && clock.now() > keyspan::instant{} + 1s;
}

// ---- what a feed is good for -------------------------------------------------------------------

// [region: cache]
// Answers from memory. What is asked for the first time is read; what is there is kept in step.
class review_cache {
 public:
  explicit review_cache(reviews& of)
      : of_{of},
        changes_{of, {.start = keyspan::from_now, .mode = feed_mode::all_versions_and_deletes}} {}

  keyspan::result<void> open() { return changes_.open(); }

  void catch_up() {
    for (auto const& change : changes_) {
      auto const found = cached_.find({change->article, change->id});
      if (found == cached_.end() || change.lsn < found->second.lsn()) continue;
      if (change.kind == keyspan::change_kind::created ||
          change.kind == keyspan::change_kind::replaced)
        found->second = change.item;  // a handle: the document is shared, not copied
      else
        cached_.erase(found);
    }
  }

  keyspan::stored<review> find(std::string const& article, std::string const& id) {
    auto const found = cached_.find({article, id});
    if (found != cached_.end()) return found->second;
    auto const read = sync_wait(of_.read_item(article, id));
    if (!read) return {};
    return cached_[{article, id}] = read->item;
  }

 private:
  reviews& of_;
  keyspan::feed<reviews> changes_;
  std::map<std::pair<std::string, std::string>, keyspan::stored<review>> cached_{};
};
// [end: cache]

bool keeps_a_cache_in_step() {
  reviews container{cosmos_v2, by_article, {.partitions = 2, .keeps_versions = 1h}};
  static_cast<void>(sync_wait(container.create(review{"r-1", "redmond", 5})));
  static_cast<void>(sync_wait(container.create(review{"r-2", "redmond", 4})));
  // [region: cached]
  review_cache cache{container};
  if (!cache.open()) return false;
  auto const before = cache.find("redmond", "r-1");
  static_cast<void>(sync_wait(container.upsert(review{"r-1", "redmond", 2})));
  static_cast<void>(sync_wait(container.remove("redmond", "r-2")));
  auto const behind = cache.find("redmond", "r-1");  // what it was
  cache.catch_up();
  auto const now = cache.find("redmond", "r-1");
  std::cout << "cached: " << before->rating << ", " << behind->rating << ", " << now->rating
            << '\n';
  // [end: cached]
  return behind == before && now->rating == 2 && !cache.find("redmond", "r-2");
}

// [region: notifications]
// Tells of each bad review, and goes on from the text that it left when it ran last.
keyspan::result<void> notify(reviews& from, std::string& kept, std::vector<std::string>& told) {
  auto const cursor = keyspan::cursor_of(from, kept);
  if (!cursor) return keyspan::unexpected{cursor.error()};
  keyspan::feed changes{from, {.start = *cursor}};
  for (auto const& page : changes.pages()) {
    if (!page) return keyspan::unexpected{page.error()};
    for (auto const& change : page->items)
      if (change->rating <= 2) told.push_back(change->id + " of " + change->article);
    kept = changes.cursor().to_text();  // behind the page, now that all of it was told
  }
  return {};
}
// [end: notifications]

bool notifies() {
  reviews container{cosmos_v2, by_article, {.partitions = 2}};
  static_cast<void>(sync_wait(container.create(review{"r-0", "redmond", 1})));
  // [region: notified]
  keyspan::feed beginning{container, {.start = keyspan::from_now}};
  if (!beginning.open()) return false;
  std::string kept = beginning.cursor().to_text();  // of what is old nobody is told
  std::vector<std::string> told;

  static_cast<void>(sync_wait(container.create(review{"r-1", "redmond", 5})));
  static_cast<void>(sync_wait(container.create(review{"r-2", "redmond", 2})));
  if (!notify(container, kept, told)) return false;
  static_cast<void>(container.split("1"));
  static_cast<void>(sync_wait(container.create(review{"r-3", "seattle", 1})));
  if (!notify(container, kept, told)) return false;
  for (auto const& one : told) std::cout << "notified of " << one << '\n';
  // [end: notified]
  return told == std::vector<std::string>{"r-2 of redmond", "r-3 of seattle"};
}

bool moves_what_is_old_to_cold_storage() {
  // [region: tiering]
  keyspan::wall_time now{};
  reviews hot{cosmos_v2,
              by_article,
              {.now = [&] { return now; }, .time_to_live = 30 * 24h, .keeps_versions = 7 * 24h}};
  keyspan::feed changes{hot,
                        {.start = keyspan::from_now, .mode = feed_mode::all_versions_and_deletes}};
  if (!changes.open()) return false;

  std::vector<review> cold;
  for (int day = 0; day < 40; ++day, now += 24h) {
    if (day < 4) {
      review const one{"r-" + std::to_string(day), "redmond", 5};
      static_cast<void>(sync_wait(hot.create(one)));
    }
    if (day == 20)  // written again, it stays for another thirty days
      static_cast<void>(sync_wait(hot.upsert(review{"r-1", "redmond", 4})));
    for (auto const& change : changes)
      if (change.kind == keyspan::change_kind::expired) cold.push_back(*change);
  }
  std::cout << hot.size() << " hot, " << cold.size() << " cold\n";
  // [end: tiering]
  return hot.size() == 1 && cold.size() == 3 && cold.front().id == "r-0";
}

// [region: leaders]
// Which articles have the most points. A change says what it was before, so nothing is counted
// twice and nothing has to be read again.
class leader_board {
 public:
  void take(keyspan::change<review> const& change) {
    int& points = points_[change->article];
    switch (change.kind) {
      case keyspan::change_kind::created:
      case keyspan::change_kind::replaced:
        points += change->rating - (change.before ? change.before->rating : 0);
        break;
      case keyspan::change_kind::removed:
      case keyspan::change_kind::expired:
        points -= change->rating;
        break;
    }
  }
  std::multimap<int, std::string, std::greater<>> ranking() const {
    std::multimap<int, std::string, std::greater<>> all;
    for (auto const& [article, points] : points_) all.emplace(points, article);
    return all;
  }

 private:
  std::map<std::string, int> points_{};
};
// [end: leaders]

bool keeps_a_leader_board() {
  reviews container{cosmos_v2, by_article, {.partitions = 2, .keeps_versions = 1h}};
  // [region: board]
  leader_board board;
  keyspan::feed changes{container,
                        {.start = keyspan::from_now, .mode = feed_mode::all_versions_and_deletes}};
  if (!changes.open()) return false;
  for (review const& one : {review{"r-1", "redmond", 5},
                            {"r-2", "redmond", 4},
                            {"r-3", "seattle", 3},
                            {"r-4", "seattle", 2},
                            {"r-2", "redmond", 1}})
    static_cast<void>(sync_wait(container.upsert(one)));
  for (auto const& change : changes) board.take(change);
  static_cast<void>(sync_wait(container.remove("seattle", "r-4")));
  for (auto const& change : changes) board.take(change);
  for (auto const& [points, article] : board.ranking())
    std::cout << article << " has " << points << " points\n";
  // [end: board]
  return board.ranking() ==
         std::multimap<int, std::string, std::greater<>>{{6, "redmond"}, {3, "seattle"}};
}

}  // namespace

int main() {
  struct part {
    std::string_view name;
    bool (*is_so)();
  };
  int status = 0;
  for (part const& one : {part{"writes", writes_with_etags},
                          {"reading many", reads_many},
                          {"awaiting", awaits},
                          {"batches", writes_all_or_nothing},
                          {"splits", reads_through_a_split},
                          {"throttling", is_throttled},
                          {"faults", goes_wrong_on_demand},
                          {"the cache", keeps_a_cache_in_step},
                          {"notifications", notifies},
                          {"tiering", moves_what_is_old_to_cold_storage},
                          {"the leader board", keeps_a_leader_board}}) {
    if (one.is_so()) continue;
    std::cerr << one.name << ": not as it should be\n";
    status = 1;
  }
  return status;
}
