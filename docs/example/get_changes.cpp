// docs/example/get_changes.cpp — what changed since the last time, range by range: from one reader,
// and shared out among several.
//
// A container of measurements is read twice. The first call of get_changes tells of every document,
// the second one, from the checkpoints that the first one returned, of exactly the two that were
// created in between. What is read is filtered by who reads.
#include <keyspan/core/print.hpp>
#include <keyspan/keyspan.hpp>

#include <boost/hana/adapt_struct.hpp>

#include <cstddef>
#include <iostream>
#include <map>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace {

struct measurement {
  std::string id;
  std::string device;
  std::string metric;
  double value = 0;
};

}  // namespace
BOOST_HANA_ADAPT_STRUCT(measurement, id, device, metric, value);
namespace {

using container = keyspan::memory_container<measurement, keyspan::cosmos_v2_scheme>;
using range = keyspan::token_range<keyspan::token128>;

// [region: get_changes]
// How far each range was read; what a program keeps until the next time.
using checkpoints = std::map<range, std::string>;

// Calls `use` with every change since the checkpoints, or all where there are none, and returns the
// checkpoints of now.
template <class Use>
keyspan::result<checkpoints> get_changes(container& from, checkpoints const& since, Use&& use) {
  // Where each range that was read stands, as a cursor; a partition that was split since is found
  // again by what it owned.
  keyspan::feed all{from};
  if (auto const opened = all.open(); !opened) return keyspan::unexpected{opened.error()};
  auto place = all.cursor();
  if (!since.empty()) {
    place.parts.clear();
    for (auto const& [owned, text] : since)
      place.parts.push_back({owned, keyspan::continuation{text}});
  }
  keyspan::feed changes{from, {.start = place, .page_size = 100}};
  for (auto const& page : changes.pages()) {
    if (!page) return keyspan::unexpected{page.error()};
    for (auto const& change : page->items) use(*change);
  }
  checkpoints reached;
  for (auto const& part : changes.cursor().parts)
    reached.insert_or_assign(part.range, part.from.text());
  return reached;
}
// [end: get_changes]

// [region: distributed]
// The same by several consumers, each reading its share of the ranges on a thread of its own.
// Returns what each of them has found.
std::vector<std::size_t> get_changes_distributed(container& from, std::size_t consumers) {
  keyspan::feed all{from};
  auto const shares = keyspan::divide(all, consumers).value();
  std::vector<std::size_t> found(consumers);
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < consumers; ++i)
    threads.emplace_back([&from, &share = shares[i], &count = found[i]] {
      keyspan::feed mine{from, {.start = share}};
      for (auto const& page : mine.pages()) count += page.value().items.size();
    });
  for (auto& thread : threads) thread.join();
  return found;
}
// [end: distributed]

// [region: filter]
// What this reader is interested in; a container knows nothing of it.
bool is_hot(measurement const& one) { return one.metric == "Temperature" && one.value > 1000; }
// [end: filter]

void create(container& in, int first, int last) {
  for (int i = first; i < last; ++i) {
    measurement made{"m-" + std::to_string(i), "device-" + std::to_string(i % 40),
                     i % 3 == 0 ? "Temperature" : "Pressure", 900.0 + i};
    keyspan::sync_wait(in.create(std::move(made))).value();
  }
}

}  // namespace

int main() {
  constexpr std::size_t documents = 500;
  container measurements{
      keyspan::cosmos_v2, keyspan::documents_container<"/device">(), {.partitions = 4}};
  create(measurements, 0, documents);

  std::size_t first = 0;
  std::size_t hot = 0;
  auto const kept = get_changes(measurements, {}, [&](measurement const& one) {
    ++first;
    hot += is_hot(one) ? 1u : 0u;
  });
  if (!kept) return std::cerr << kept.error() << '\n', 1;
  std::cout << "read one after another: " << first << " documents of " << kept->size()
            << " ranges, " << hot << " of them hot\n";

  std::size_t shared_out = 0;
  std::cout << "read by three consumers:";
  for (std::size_t const count : get_changes_distributed(measurements, 3)) {
    std::cout << ' ' << count;
    shared_out += count;
  }
  std::cout << '\n';

  // Meanwhile a partition splits, and two documents are created.
  if (auto const parts = measurements.split("2"); !parts)
    return std::cerr << parts.error() << '\n', 1;
  create(measurements, documents, documents + 2);

  std::size_t second = 0;
  auto const next = get_changes(measurements, *kept, [&](measurement const& one) {
    ++second;
    std::cout << "new: " << one.id << " of " << one.device << '\n';
  });
  if (!next) return std::cerr << next.error() << '\n', 1;
  std::cout << "first call: " << first << " documents, second call: " << second << " documents\n";
  bool const is_right =
      first == documents && second == 2 && shared_out == documents && next->size() == 5;
  return is_right ? 0 : 1;
}
