// Reading the changes of a container that splits meanwhile, as docs/guide/reading_a_feed.md tells
// it.
#include <keyspan/keyspan.hpp>

#include <chrono>
#include <iostream>
#include <ranges>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

using keyspan::cosmos_v2;
using namespace std::chrono_literals;

namespace {

struct review {
  std::string id;
  std::string article;
  int rating = 0;
};

// [region: source]
using reviews = keyspan::scripted_source<review, keyspan::cosmos_v2_scheme>;

void write(reviews& to, review const& r) { to.write(r.article, r); }
// [end: source]

// [region: async]
keyspan::task<keyspan::result<int>> count_good(reviews& source) {
  keyspan::feed changes{source};
  auto stream = changes.stream();
  int good = 0;
  while (auto const item = co_await stream.next()) {  // suspends once a page at most
    if (!item.has_value()) co_return keyspan::unexpected{item.error()};
    good += item->rating >= 4;
  }
  co_await stream.close();
  co_return good;
}
// [end: async]

}  // namespace

int main() {
  reviews source{cosmos_v2, 2};
  write(source, {"r-1", "redmond", 5});
  write(source, {"r-2", "seattle", 4});
  write(source, {"r-3", "redmond", 2});

  // [region: items]
  keyspan::feed changes{source};
  for (review const& r : changes) std::cout << r.id << " of " << r.article << '\n';
  // [end: items]

  // [region: again]
  write(source, {"r-4", "seattle", 3});
  for (review const& r : changes) std::cout << "new: " << r.id << '\n';
  // [end: again]

  // [region: keep]
  std::string const kept = changes.cursor().to_text();
  // [end: keep]
  std::cout << kept << '\n';

  // [region: resume]
  source.split("0");
  write(source, {"r-5", "redmond", 1});

  auto const cursor = keyspan::cursor_of(source, kept);
  if (!cursor) return std::cout << cursor.error() << '\n', 1;
  keyspan::feed resumed{source, {.start = *cursor}};
  for (review const& r : resumed) std::cout << "after the split: " << r.id << '\n';
  // [end: resume]

  keyspan::error const too_much{keyspan::errc::throttled, "more than a thousand units a second"};
  source.fail_read(source.reads().size() + 2, too_much);
  // [region: pages]
  keyspan::feed all{source, {.page_size = 2}};
  for (auto const& page : all.pages()) {
    if (page) {
      std::cout << page->items.size() << " from " << all.range() << '\n';
    } else {
      std::cout << page.error() << '\n';  // the last of the loop
    }
  }
  std::cout << std::ranges::distance(all.items()) << " more when it is tried again\n";
  // [end: pages]

  // [region: pipe]
  auto good = changes.items() | std::views::filter([](review const& r) { return r.rating >= 4; }) |
              std::views::transform(&review::id);
  write(source, {"r-6", "seattle", 5});
  for (auto const& id : good) std::cout << "good: " << id << '\n';
  // [end: pipe]

  // [region: now]
  keyspan::feed news{source, {.start = keyspan::from_now}};
  if (auto const opened = news.open(); !opened) return std::cout << opened.error() << '\n', 1;
  write(source, {"r-7", "redmond", 4});
  for (review const& r : news) std::cout << "since it was opened: " << r.id << '\n';
  // [end: now]

  // [region: scope]
  keyspan::feed redmond{source, {.scope = keyspan::partition_key{"redmond"}}};
  for (review const& r : redmond) std::cout << "redmond: " << r.id << '\n';
  // [end: scope]

  keyspan::stop_source stop;
  source.before_read([&, last = source.reads().size() + 9](std::size_t number) {
    if (number == last - 3) write(source, {"r-8", "seattle", 4});
    if (number == last) stop.request_stop();
  });
  // [region: follow]
  keyspan::thread_clock clock;
  keyspan::feed followed{source, {.stop = stop.token()}};
  for (auto const& page : followed.follow(clock, 1ms).pages()) {
    if (page) {
      std::cout << "followed to " << page->items.back().id << '\n';
    } else {
      std::cout << page.error() << '\n';
    }
  }
  // [end: follow]
  source.before_read({});

  // [region: divide]
  auto const shares = keyspan::divide(changes, 3).value();
  for (auto const& share : shares) {
    std::cout << "one of three reads";
    for (auto const& part : share.parts) std::cout << ' ' << part.range;
    std::cout << '\n';
  }
  // [end: divide]

  std::cout << keyspan::sync_wait(count_good(source)).value() << " good ones\n";
}
