// Many sources as one ordered stream: ranges in memory, the partitions of a container, and the same
// container in three regions, as docs/guide/one_stream_from_many.md tells it.
#include <keyspan/core/print.hpp>
#include <keyspan/keyspan.hpp>

#include <chrono>
#include <iostream>
#include <ranges>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

using namespace std::chrono_literals;
using keyspan::cosmos_v2;

namespace {

// [region: item]
struct sale {
  std::string id;
  std::string shop;
  std::chrono::sys_time<std::chrono::milliseconds> at{};
  int cents = 0;
};
using sales = keyspan::scripted_source<sale, keyspan::cosmos_v2_scheme>;
// [end: item]

void write(sales& to, std::string_view id, std::string_view shop, std::chrono::milliseconds at,
           int cents) {
  sale made{std::string{id}, std::string{shop}, {}, cents};
  made.at += at;
  to.write(shop, std::move(made));
}

// [region: async]
keyspan::task<keyspan::result<int>> total_of(sales& source) {
  auto reader = keyspan::merge_async(source, keyspan::ascending(&sale::at));
  int cents = 0;
  while (auto const* batch = co_await reader.next_batch()) {  // suspends once a page at most
    if (!*batch) co_return keyspan::unexpected{batch->error()};
    for (sale const& one : **batch) cents += one.cents;
  }
  co_await reader.close();
  co_return cents;
}
// [end: async]

// [region: live]
keyspan::task<> show_live(sales& source, keyspan::manual_clock& clock) {
  auto wall = [&clock] {
    return std::chrono::sys_time<std::chrono::milliseconds>{
        std::chrono::floor<std::chrono::milliseconds>(clock.now().time_since_epoch())};
  };
  // Asked again every 100 ms; who is silent is waited for until a second has gone by.
  auto reader = keyspan::merge_async(source, keyspan::by_time(&sale::at),
                                     keyspan::following_within{clock, 100ms, 1s, wall});
  for (int shown = 0; shown < 4; ++shown) {
    auto const one = co_await reader.next();
    std::cout << one->id << " is shown at " << wall().time_since_epoch().count() << " ms\n";
  }
  co_await reader.close();
}
// [end: live]

}  // namespace

// [region: keep_async]
keyspan::task<std::string> show_some(sales& source) {
  auto reader = keyspan::merge_async(source, keyspan::ascending(&sale::at), {.batch_size = 3});
  std::string kept;
  if (auto const* batch = co_await reader.next_batch(); batch && *batch) {
    for (sale const& one : **batch) std::cout << one.id << '\n';
    kept = reader.cursor().to_text();  // in front of the next batch
  }
  co_await reader.close();
  co_return kept;
}
// [end: keep_async]

int main() {
  // [region: ranges]
  std::vector<std::vector<int>> const runs{{1, 4, 9}, {2, 3, 10}, {5, 6}};
  for (int const n : keyspan::merge(runs)) std::cout << n << ' ';
  std::cout << '\n';
  // [end: ranges]

  sales source{cosmos_v2, 4};
  write(source, "s-1", "rome", 10ms, 250);
  write(source, "s-2", "oslo", 20ms, 300);
  write(source, "s-3", "rome", 30ms, 120);
  write(source, "s-4", "cairo", 40ms, 990);

  // [region: container]
  for (sale const& one : keyspan::merge(source, keyspan::ascending(&sale::at)))
    std::cout << one.id << " in " << one.shop << '\n';
  // [end: container]

  // [region: columns]
  auto const by_shop = keyspan::ascending(&sale::shop).then(keyspan::descending(&sale::cents));
  std::vector<std::vector<sale>> days{{{"a", "oslo", {}, 30}, {"b", "rome", {}, 20}},
                                      {{"c", "oslo", {}, 90}, {"d", "rome", {}, 10}}};
  for (sale const& one : keyspan::merge(days, by_shop)) std::cout << one.id << ' ';
  std::cout << '\n';
  // [end: columns]

  // [region: keep]
  auto const in_time = keyspan::ascending(&sale::at);
  auto merged = keyspan::merge(source, in_time);
  for (sale const& one : merged.items() | std::views::take(2)) std::cout << one.id << '\n';
  std::string const kept = merged.cursor().to_text();
  // [end: keep]

  // [region: resume]
  source.split("2");
  auto const cursor = keyspan::merged_cursor_of<sales>::from_text(cosmos_v2, kept);
  if (!cursor) return std::cout << cursor.error() << '\n', 1;
  for (sale const& one : keyspan::merge(source, in_time, *cursor))
    std::cout << "then " << one.id << '\n';
  // [end: resume]
  auto const place = keyspan::sync_wait(show_some(source));
  std::cout << "kept in " << place.size() << " bytes\n";

  // [region: regions]
  sales regions[]{sales{cosmos_v2, 2}, sales{cosmos_v2, 2}};
  write(regions[0], "s-1", "rome", 10ms, 100);
  write(regions[0], "s-2", "oslo", 15ms, 200);
  write(regions[1], "s-1", "rome", 10ms, 100);  // the same, copied from there
  write(regions[1], "s-2", "oslo", 25ms, 222);  // written over, later

  auto const latest =
      keyspan::united_by(keyspan::ascending(&sale::id), &sale::id, keyspan::last_writer(&sale::at));
  for (sale const& one : keyspan::merge(regions, latest))
    std::cout << one.id << ": " << one.cents << '\n';
  // [end: regions]

  // [region: failure]
  sales unsorted{cosmos_v2, 1};
  write(unsorted, "late", "rome", 50ms, 1);
  write(unsorted, "early", "rome", 40ms, 1);
  std::vector<keyspan::feed<sales>> several;
  several.emplace_back(source);
  several.emplace_back(unsorted);
  auto rest = keyspan::merge(several, in_time, {.failure = keyspan::on_failure::go_on});
  std::cout << std::ranges::distance(rest.items()) << " sales\n";
  for (auto const& failure : rest.failures())
    std::cout << "without feed " << failure.feed << ": " << failure.why << '\n';
  // [end: failure]

  std::cout << keyspan::sync_wait(total_of(source)).value() << " cents\n";

  keyspan::manual_clock clock;
  keyspan::run_loop loop;
  loop.complete(show_live(source, clock), clock);
}
