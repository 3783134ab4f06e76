// test/range/concurrent/published_test.cpp — readers and writers of one snapshot at full speed.
#include <keyspan/core/error.hpp>
#include <keyspan/core/result.hpp>
#include <keyspan/range/published.hpp>
#include <keyspan/range/range_map.hpp>
#include <keyspan/range/token_range.hpp>

#include <support/random.hpp>

#include <catch2/catch_test_macros.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <future>
#include <latch>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

namespace {

using keyspan::published;
using keyspan::result;
using keyspan::space_end;
using keyspan::token_range;

// Counts how many there are, whoever makes and destroys them.
class counted {
 public:
  counted() { ++alive; }
  counted(counted const&) { ++alive; }
  counted(counted&&) noexcept { ++alive; }
  counted& operator=(counted const&) = default;
  counted& operator=(counted&&) = default;
  ~counted() { --alive; }

  static inline std::atomic<int> alive{0};
};

// Every range has its own bounds for a value, so that an answer put together from two snapshots
// gives itself away; so does the count of ranges, which is told twice.
using own_bounds = token_range<std::uint64_t>;
using shared_map = keyspan::range_map<std::uint64_t, own_bounds>;
inline constexpr own_bounds everything{0, space_end};

struct snapshot {
  shared_map map{everything, everything};
  std::uint64_t version = 0;
  std::size_t ranges = 1;
  counted count{};
};

// One split; of a map that has grown large, all ranges are joined.
result<snapshot> changed(snapshot const& now, std::uint64_t at) {
  auto const hit = now.map.entry_of(at);
  if (hit.range().lower() == at)
    return keyspan::fail(keyspan::errc::invalid_range, "a range begins here");
  snapshot next = now;
  ++next.version;
  if (now.ranges == 200) {
    next.map.join(everything, everything);
    next.ranges = 1;
  } else {
    auto const [left, right] = split(hit.range(), at);
    next.map.split(at, left, right);
    ++next.ranges;
  }
  return next;
}

struct reader_tally {
  std::uint64_t pins = 0;
  std::uint64_t look_ups = 0;
  std::uint64_t wrong = 0;
};

void read_until(std::atomic<bool> const& done, published<snapshot> const& place, std::uint64_t seed,
                reader_tally& mine, std::latch& start) {
  test::random random{seed};
  std::vector<published<snapshot>::pinned> kept(8);  // some are held for a while
  start.arrive_and_wait();
  auto pin = place.pin();
  for (bool last_round = false; !last_round;) {
    last_round = done.load();  // one round more, so that every reader has had one
    for (int i = 0; i < 50; ++i) {
      std::uint64_t const token = random();
      auto const hit = pin->map.entry_of(token);
      if (!hit.range().contains(token) || hit.value() != hit.range()) ++mine.wrong;
      ++mine.look_ups;
    }
    if (pin->map.size() != pin->ranges) ++mine.wrong;
    std::uint64_t const before = pin->version;
    bool const is_old = !place.is_current(pin);
    auto later = place.pin();
    // A pin that is out of date is followed by a later one, and time does not go back.
    if (later->version < before || (is_old && later->version == before)) ++mine.wrong;
    if ((later == pin) != (later->version == before)) ++mine.wrong;
    ++mine.pins;
    kept[random.below(kept.size())] = std::move(pin);
    pin = std::move(later);
  }
}

struct writer_tally {
  std::uint64_t published = 0;
  std::uint64_t refused = 0;
};

void write(published<snapshot>& place, std::uint64_t seed, int updates, writer_tally& mine,
           std::latch& start) {
  test::random random{seed};
  start.arrive_and_wait();
  for (int i = 0; i < updates; ++i) {
    // The first token of the space is where a range begins: every tenth change is refused.
    std::uint64_t const at = random.chance(10) ? 0 : random();
    auto const made = place.update([&](snapshot const& now) { return changed(now, at); });
    ++(made ? mine.published : mine.refused);
  }
}

TEST_CASE("every answer is that of a whole snapshot while writers split at full speed") {
  constexpr int updates = 3'000;
  REQUIRE(counted::alive == 0);
  {
    published place{snapshot{}};
    std::vector<reader_tally> readers(3);
    std::vector<writer_tally> writers(2);
    std::atomic<bool> done{false};
    std::latch start{static_cast<std::ptrdiff_t>(readers.size() + writers.size())};
    std::vector<std::thread> reading;
    std::vector<std::thread> writing;
    for (auto& mine : readers)
      reading.emplace_back(read_until, std::cref(done), std::cref(place), 100 + reading.size(),
                           std::ref(mine), std::ref(start));
    for (auto& mine : writers)
      writing.emplace_back(write, std::ref(place), 200 + writing.size(), updates, std::ref(mine),
                           std::ref(start));
    for (auto& thread : writing) thread.join();
    done = true;
    for (auto& thread : reading) thread.join();

    std::uint64_t versions = 0;
    for (auto const& mine : writers) {
      CHECK(mine.published + mine.refused == updates);
      CHECK(mine.refused > 0);
      versions += mine.published;
    }
    CHECK(place.pin()->version == versions);  // no update was lost to another one
    for (auto const& mine : readers) {
      CHECK(mine.wrong == 0);
      CHECK(mine.pins > 0);
      CHECK(mine.look_ups > 0);
    }
    CHECK(counted::alive == 1);  // every old snapshot is gone with its last reader
  }
  CHECK(counted::alive == 0);
}

struct numbered {
  std::uint64_t number = 0;
  counted count{};
};

TEST_CASE("of those who replace one snapshot at the same time one succeeds") {
  constexpr int attempts = 300'000;
  {
    published place{numbered{}};
    std::vector<std::uint64_t> successes(4, 0);
    std::atomic<std::uint64_t> strangers{0};
    std::latch start{4};
    std::vector<std::thread> threads;
    for (auto& mine : successes)
      threads.emplace_back([&] {
        start.arrive_and_wait();
        for (int i = 0; i < attempts; ++i) {
          auto const seen = place.pin();
          auto const put = place.replace(seen, numbered{seen->number + 1});
          if (!put) {
            if (place.is_current(seen)) ++strangers;  // refused though nobody came before
          } else {
            ++mine;
            if (put->number != seen->number + 1) ++strangers;
          }
        }
      });
    for (auto& thread : threads) thread.join();
    std::uint64_t all = 0;
    for (auto const mine : successes) all += mine;
    CHECK(place.pin()->number == all);
    CHECK(all >= attempts);  // whoever is alone at last succeeds
    CHECK(strangers == 0);
    CHECK(counted::alive == 1);
  }
  CHECK(counted::alive == 0);
}

TEST_CASE("a reader that is told that its pin is old finds a later snapshot") {
  constexpr std::uint64_t last = 300'000;
  published place{numbered{}};
  std::vector<std::uint64_t> not_later(2, 0);
  std::latch start{static_cast<std::ptrdiff_t>(not_later.size() + 1)};
  std::vector<std::thread> readers;
  for (auto& mine : not_later)
    readers.emplace_back([&] {
      start.arrive_and_wait();
      for (auto pin = place.pin(); pin->number < last;) {
        if (place.is_current(pin)) continue;
        auto later = place.pin();
        if (later->number <= pin->number) ++mine;
        pin = std::move(later);
      }
    });
  start.arrive_and_wait();
  for (std::uint64_t number = 1; number <= last; ++number) place.publish(numbered{number});
  for (auto& thread : readers) thread.join();
  for (auto const mine : not_later) CHECK(mine == 0);
}

TEST_CASE("readers do not wait for a change that is being made") {
  published place{numbered{}};
  std::latch changing{1};
  std::latch read{1};
  std::thread writer{[&] {
    place.update([&](numbered const& now) {
      changing.count_down();
      read.wait();  // for ever, if the readers had to wait for this change
      return numbered{now.number + 1};
    });
  }};
  changing.wait();
  auto const pin = place.pin();
  bool const is_current = place.is_current(pin);
  read.count_down();
  writer.join();
  CHECK(pin->number == 0);
  CHECK(is_current);
  CHECK(place.pin()->number == 1);
}

TEST_CASE("the last reader frees the snapshot, wherever it is") {
  published place{numbered{}};
  auto pin = place.pin();
  std::latch replaced{1};
  std::latch freed{1};
  int alive_with_reader = 0;
  std::thread reader{[&, mine = std::move(pin)]() mutable {
    replaced.wait();
    alive_with_reader = counted::alive;
    mine.reset();
    freed.count_down();
  }};
  place.publish(numbered{1});
  replaced.count_down();
  freed.wait();
  CHECK(counted::alive == 1);
  reader.join();
  CHECK(alive_with_reader == 2);
}

// Has something to do before it goes.
struct departing {
  std::unique_ptr<std::function<void()>> last_word{};

  departing() = default;
  explicit departing(std::function<void()> say)
      : last_word{std::make_unique<std::function<void()>>(std::move(say))} {}
  departing(departing&&) = default;
  departing& operator=(departing&&) = default;
  ~departing() {
    if (last_word) (*last_word)();
  }
};

TEST_CASE("other writers have their turn while a snapshot is destroyed") {
  published place{departing{}};
  std::vector<std::thread> others;
  int in_time = 0;
  // Waits in its destructor for a writer that it starts there.
  auto const waits_for_another = [&] {
    return departing{[&] {
      auto const published_it = std::make_shared<std::promise<void>>();
      auto const done = published_it->get_future();
      others.emplace_back([&place, published_it] {
        place.publish(departing{});
        published_it->set_value();
      });
      if (done.wait_for(std::chrono::seconds{2}) == std::future_status::ready) ++in_time;
    }};
  };
  auto const make = [](departing const&) { return departing{}; };
  auto const make_or_fail = [](departing const&) -> result<departing> { return departing{}; };

  place.publish(waits_for_another());
  place.publish(departing{});
  CHECK(in_time == 1);
  place.publish(waits_for_another());
  place.update(make);
  CHECK(in_time == 2);
  place.publish(waits_for_another());
  CHECK(place.update(make_or_fail).has_value());
  CHECK(in_time == 3);
  // Of a replacement that is refused, it is the new one that goes.
  CHECK(place.replace(nullptr, waits_for_another()) == nullptr);
  CHECK(in_time == 4);
  CHECK(place.replace(nullptr, std::make_shared<departing const>(waits_for_another())) == nullptr);
  CHECK(in_time == 5);
  auto seen = place.publish(waits_for_another());
  CHECK(place.replace(seen, departing{}) != nullptr);
  CHECK(in_time == 5);  // whoever has seen it keeps it
  seen.reset();
  CHECK(in_time == 6);
  for (auto& thread : others) thread.join();
}

}  // namespace
