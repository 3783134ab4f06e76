// What does a look-up cost through a pinned snapshot, and what does it cost to pin one? The first
// row is the floor.
#include <bench/support/bench.hpp>
#include <bench/support/companion.hpp>
#include <keyspan/hash/cosmos_v2.hpp>
#include <keyspan/range/published.hpp>
#include <keyspan/range/range_map.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <utility>
#include <vector>

#if __has_include(<boost/smart_ptr/atomic_shared_ptr.hpp>)
#include <boost/smart_ptr/atomic_shared_ptr.hpp>
#include <boost/smart_ptr/make_shared.hpp>
#define KEYSPAN_BENCH_BOOST_SMART_PTR 1
#else
#define KEYSPAN_BENCH_BOOST_SMART_PTR 0
#endif

namespace {

using keyspan::token128;
using owners = keyspan::range_map<token128, std::uint32_t>;
using place = keyspan::published<owners>;

constexpr std::size_t range_count = 16'384;
constexpr int pins = 256;

std::vector<token128> some_tokens(std::uint64_t seed) {
  auto rng = bench::Rng{seed};
  std::vector<token128> tokens(1 << 12);
  for (auto& token : tokens) token = {rng() & keyspan::cosmos_v2.greatest().high, rng()};
  return tokens;
}

std::uint64_t looked_up(owners const& map, std::vector<token128> const& tokens) {
  std::uint64_t sum = 0;
  for (token128 const& token : tokens) sum += map.at(token);
  return sum;
}

// Every row looks the same tokens up; they differ in how they find the map.
double ratio_of_look_ups(bench::session& run, std::string const& title, place const& current,
                         std::vector<token128> const& tokens) {
  auto const pin = current.pin();
  owners const* const raw = pin.get();
  auto& table = run.table(title, "look-up").batch(tokens.size());
  table.count_allocations();
  table.floor("through a raw pointer", [&tokens, raw] { return looked_up(*raw, tokens); });
  table.row("through a pin", [&tokens, pin] { return looked_up(*pin, tokens); });
  table.row("through a pin, taken for these 4096", [&] {
    auto const mine = current.pin();
    return looked_up(*mine, tokens);
  });
  table.row("through a pin, asked each time if current", [&, pin] {
    std::uint64_t sum = 0;
    for (token128 const& token : tokens) {
      bench::keep(current.is_current(pin));
      sum += pin->at(token);
    }
    return sum;
  });
  table.row("through a pin, taken each time", [&] {
    std::uint64_t sum = 0;
    for (token128 const& token : tokens) sum += current.pin()->at(token);
    return sum;
  });
  return table.ratio("through a pin", "through a raw pointer");
}

// A shared_ptr that is copied in a lock, as it stands in many programs.
template <class Mutex, template <class> class Lock>
struct locked {
  Mutex mutable mutex{};
  std::shared_ptr<owners const> current;

  std::shared_ptr<owners const> pin() const {
    Lock<Mutex> const lock{mutex};
    return current;
  }
};

// A row that pins again and again, by whatever way.
template <class Pin>
auto many(Pin pin) {
  return [pin = std::move(pin)] {
    for (int i = 0; i < pins; ++i) bench::keep(pin().get());
  };
}

bench::table& table_of_pins(bench::session& run, std::string const& title, place const& current) {
  auto const snapshot = current.pin();
  auto& table = run.table(title, "pin").batch(pins);
  table.count_allocations();
  table.floor("copy a std::shared_ptr", many([snapshot] { return snapshot; }));
  table.row("published::pin", many([&current] { return current.pin(); }));
  table.row("published::is_current", [&current, snapshot] {
    for (int i = 0; i < pins; ++i) bench::keep(current.is_current(snapshot));
  });
  return table;
}

double ratio_of_pins(bench::session& run, std::string const& title, place const& current) {
  auto& table = table_of_pins(run, title, current);
  auto const snapshot = current.pin();
  auto const mutex = std::make_shared<locked<std::mutex, std::lock_guard>>();
  mutex->current = snapshot;
  table.row("std::mutex and a copy", many([mutex] { return mutex->pin(); }));
  auto const shared = std::make_shared<locked<std::shared_mutex, std::shared_lock>>();
  shared->current = snapshot;
  table.row("std::shared_mutex and a copy", many([shared] { return shared->pin(); }));
#if defined(__cpp_lib_atomic_shared_ptr)
  auto const atomic = std::make_shared<std::atomic<std::shared_ptr<owners const>>>(snapshot);
  table.row("std::atomic<std::shared_ptr>", many([atomic] { return atomic->load(); }));
#else
  table.left_out("std::atomic<std::shared_ptr>", "this standard library has none");
#endif
#if KEYSPAN_BENCH_BOOST_SMART_PTR
  auto const boosts = std::make_shared<boost::atomic_shared_ptr<owners const>>(
      boost::make_shared<owners const>(*snapshot));
  table.row("boost::atomic_shared_ptr", many([boosts] { return boosts->load(); }));
#else
  table.left_out("boost::atomic_shared_ptr", "Boost.SmartPtr is not installed");
#endif
  return table.ratio("published::pin", "std::mutex and a copy");
}

}  // namespace

int main(int argc, char** argv) {
  auto run = bench::session{argc, argv};
  auto const tokens = some_tokens(42);
  auto const others = some_tokens(43);
  auto const first = keyspan::evenly_split(keyspan::cosmos_v2, range_count);
  place current{first};

  double const alone =
      ratio_of_look_ups(run, "1 token among 16k ranges, 1 thread", current, tokens);
  run.target("range.published.lookup.one_thread", alone, "<=", 1.05);
  run.target("range.published.pin.one_thread", ratio_of_pins(run, "1 pin, 1 thread", current),
             "<=", 1.1);
  {
    bench::companion const beside{[&] { bench::keep(looked_up(*current.pin(), others)); }};
    double const two =
        ratio_of_look_ups(run, "the same while another thread looks up", current, tokens);
    run.target("range.published.lookup.two_threads", two, "<=", 1.05);
    double const pin = ratio_of_pins(run, "1 pin while another thread looks up", current);
    run.target("range.published.pin.two_threads", pin, "<=", 1.1);
  }
  {
    bench::companion const beside{[&] { bench::keep(current.pin().get()); }};
    auto& table = table_of_pins(run, "1 pin while another thread does nothing but pin", current);
    static_cast<void>(table.ns("published::pin"));
  }
  // Both parts of a range keep its value, so that every snapshot has the same answers.
  auto rng = bench::Rng{44};
  auto const writer = [&] {
    current.update([&](owners const& now) {
      owners next = now.size() < range_count + 64 ? now : first;
      token128 const at{rng() & keyspan::cosmos_v2.greatest().high, rng() | 1};
      next.split(at, next.at(at), next.at(at));
      return next;
    });
  };
  {
    bench::companion const beside{writer};
    double const written =
        ratio_of_look_ups(run, "the same while another thread splits", current, tokens);
    run.target("range.published.lookup.while_splitting", written, "<=", 1.05);
  }
  return run.finish();
}
