// What does it cost to find the range that a token lies in, over two loads that depend on each
// other? The first row of each table is the floor.
#include <bench/support/bench.hpp>
#include <keyspan/hash/cosmos_multihash.hpp>
#include <keyspan/hash/cosmos_v1.hpp>
#include <keyspan/hash/token128.hpp>
#include <keyspan/key/partition_key.hpp>
#include <keyspan/range/range_map.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#if KEYSPAN_BENCH_ABSL
#include <absl/container/btree_map.h>
#endif
// The library itself is content with Hana of all Boost.
#if __has_include(<boost/container/flat_map.hpp>)
#include <boost/container/flat_map.hpp>
#endif
#if __has_include(<boost/icl/interval_map.hpp>)
#include <boost/icl/interval_map.hpp>

template <>
struct boost::icl::is_continuous<keyspan::token128> : boost::mpl::true_ {};
#endif

namespace {

using keyspan::range_map;
using keyspan::token128;

constexpr auto ours = "keyspan::range_map";

template <class Token>
using boundaries = std::vector<std::pair<Token, std::uint32_t>>;

// The space of the service: 2^126 tokens.
token128 some_token(bench::Rng& rng) {
  auto const high = rng() >> 2;
  return {high, rng()};
}

std::vector<token128> some_tokens() {
  auto rng = bench::Rng{42};
  std::vector<token128> tokens(1 << 20);
  for (auto& token : tokens) token = some_token(rng);
  return tokens;
}

// Values that differ, so that no map joins neighbours, and none is 0, which means none to some.
template <class Token>
boundaries<Token> numbered(std::vector<Token> lowers) {
  std::sort(lowers.begin(), lowers.end());
  lowers.erase(std::unique(lowers.begin(), lowers.end()), lowers.end());
  boundaries<Token> made;
  for (auto& lower : lowers)
    made.emplace_back(std::move(lower), static_cast<std::uint32_t>(made.size() + 1));
  return made;
}

boundaries<token128> uniform_boundaries(std::size_t count) {
  auto rng = bench::Rng{count};
  std::vector<token128> lowers{{}};
  while (lowers.size() < count) lowers.push_back(some_token(rng));
  return numbered(std::move(lowers));
}

// Ranges cut in the middle, again and again; `chosen` says which of them is next. `towards` 1 takes
// any of them alike, a greater one those that were there first, or came of their left parts: near
// the beginning of the space ranges become as narrow as there are bits.
boundaries<token128> split_boundaries(std::size_t count, double towards) {
  auto rng = bench::Rng{count};
  struct part {
    token128 lower;
    std::uint64_t width;  // of the high word
  };
  std::vector<part> parts{{{}, std::uint64_t{1} << 62}};
  while (parts.size() < count) {
    auto const drawn = std::pow(static_cast<double>(rng() >> 11) * 0x1p-53, towards);
    auto& chosen = parts[static_cast<std::size_t>(drawn * static_cast<double>(parts.size()))];
    if (chosen.width < 2) continue;
    chosen.width /= 2;
    part const right{{chosen.lower.high + chosen.width, 0}, chosen.width};
    parts.push_back(right);
  }
  std::vector<token128> lowers;
  for (auto const& each : parts) lowers.push_back(each.lower);
  return numbered(std::move(lowers));
}

// All cuts in the first 4096th of the space: nearly all tokens lie in the last range.
boundaries<token128> corner_boundaries(std::size_t count) {
  auto rng = bench::Rng{count};
  std::vector<token128> lowers{{}};
  while (lowers.size() < count) {
    auto const token = some_token(rng);
    lowers.push_back({token.high >> 12, token.low});
  }
  return numbered(std::move(lowers));
}

template <class Token>
range_map<Token, std::uint32_t> map_of(boundaries<Token> const& firsts) {
  return *range_map<Token, std::uint32_t>::from_boundaries(firsts);
}

// ---- what others take, asked alike ----

template <class Map, class Token = typename Map::key_type>
struct ordered_map {
  Map map;

  explicit ordered_map(boundaries<Token> const& firsts) : map(firsts.begin(), firsts.end()) {}
  std::uint32_t at(Token const& token) const { return std::prev(map.upper_bound(token))->second; }
};

struct sorted_vector {
  std::vector<token128> lowers{};
  std::vector<std::uint32_t> values{};

  explicit sorted_vector(boundaries<token128> const& firsts) {
    for (auto const& [lower, value] : firsts) {
      lowers.push_back(lower);
      values.push_back(value);
    }
  }
  std::uint32_t at(token128 const& token) const {
    auto const above = std::upper_bound(lowers.begin(), lowers.end(), token);
    return values[static_cast<std::size_t>(above - lowers.begin() - 1)];
  }
};

#if __has_include(<boost/icl/interval_map.hpp>)
struct interval_map {
  using interval = boost::icl::continuous_interval<token128>;
  boost::icl::interval_map<token128, std::uint32_t, boost::icl::partial_enricher> map{};

  explicit interval_map(boundaries<token128> const& firsts) {
    for (std::size_t i = 0; i < firsts.size(); ++i) {
      bool const last = i + 1 == firsts.size();
      token128 const upper = last ? token128{std::uint64_t{1} << 62, 0} : firsts[i + 1].first;
      map.insert(map.end(), {interval::right_open(firsts[i].first, upper), firsts[i].second});
    }
  }
  std::uint32_t at(token128 const& token) const { return map.find(token)->second; }
};
#endif

// Two loads of tables as long as the map's own, the second at the place that the first one names.
// What it finds is near the right answer, no more.
struct bare_loads {
  struct bucket {
    std::uint32_t first;
    std::uint32_t other;
  };
  std::vector<bucket> buckets;
  std::vector<std::uint32_t> values{};
  int shift;

  bare_loads(boundaries<token128> const& firsts, std::size_t bytes)
      : buckets(std::bit_floor(bytes / sizeof(bucket))),
        shift{62 - std::countr_zero(buckets.size())} {
    for (auto const& each : firsts) values.push_back(each.second);
    std::uint32_t first = 0;
    for (std::size_t i = 0; i < buckets.size(); ++i) {
      while (first + 1 < firsts.size() && firsts[first + 1].first.high >> shift < i) ++first;
      buckets[i] = {first, 0};
    }
  }
  std::uint32_t at(token128 const& token) const {
    return values[buckets[token.high >> shift].first];
  }
};

constexpr auto std_map = "std::map::upper_bound";
constexpr auto std_vector = "std::upper_bound in a vector";
constexpr auto btree_map = "absl::btree_map";
constexpr auto flat_map = "boost::container::flat_map";
constexpr auto icl_map = "boost::icl::interval_map";

// One map of each kind, of the same ranges.
struct all_maps {
  range_map<token128, std::uint32_t> own;
  bare_loads bare;
  ordered_map<std::map<token128, std::uint32_t>> tree;
  sorted_vector vector;
#if KEYSPAN_BENCH_ABSL
  ordered_map<absl::btree_map<token128, std::uint32_t>> btree;
#endif
#if __has_include(<boost/container/flat_map.hpp>)
  ordered_map<boost::container::flat_map<token128, std::uint32_t>> flat;
#endif
#if __has_include(<boost/icl/interval_map.hpp>)
  interval_map icl;
#endif

  explicit all_maps(boundaries<token128> const& firsts)
      : own{map_of(firsts)},
        bare{firsts, own.index_memory()},
        tree{firsts},
        vector{firsts}
#if KEYSPAN_BENCH_ABSL
        ,
        btree{firsts}
#endif
#if __has_include(<boost/container/flat_map.hpp>)
        ,
        flat{firsts}
#endif
#if __has_include(<boost/icl/interval_map.hpp>)
        ,
        icl{firsts}
#endif
  {
  }

  // A row for each of them, of the body that `asked` makes of it.
  template <class Asked>
  void rows(bench::table& table, Asked asked) const {
    table.floor("two dependent loads", asked(bare));
    table.row(ours, asked(own));
    table.row(std_map, asked(tree));
    table.row(std_vector, asked(vector));
#if KEYSPAN_BENCH_ABSL
    table.row(btree_map, asked(btree));
#else
    table.left_out(btree_map, "absl is not installed");
#endif
#if __has_include(<boost/container/flat_map.hpp>)
    table.row(flat_map, asked(flat));
#else
    table.left_out(flat_map, "Boost.Container is not installed");
#endif
#if __has_include(<boost/icl/interval_map.hpp>)
    table.row(icl_map, asked(icl));
#else
    table.left_out(icl_map, "Boost.Icl is not installed");
#endif
  }
};

// ---- how they are asked ----

std::uint64_t volatile no_bits = 0;

// Each call asks for the next `count` tokens, none of which is known before the last answer is.
template <class Map>
auto chained(std::vector<token128> const& tokens, Map const& map, std::size_t count) {
  return [&tokens, &map, count, next = std::size_t{0}]() mutable {
    std::uint64_t const none = no_bits;
    std::uint64_t sum = 0;
    std::uint64_t answer = 0;
    for (std::size_t i = 0; i < count; ++i) {
      token128 token = tokens[next + i];
      token.high ^= answer & none;
      answer = map.at(token);
      sum += answer;
    }
    next = (next + count) % tokens.size();
    return sum;
  };
}

template <class Map, class Token>
auto one_by_one(std::vector<Token> const& tokens, Map const& map, std::size_t count) {
  return [&tokens, &map, count, next = std::size_t{0}]() mutable {
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < count; ++i) sum += map.at(tokens[next + i]);
    next = (next + count) % tokens.size();
    return sum;
  };
}

// A number that rows need not agree on.
struct opaque {
  std::uint64_t value;
};
template <class Body>
auto opaquely(Body body) {
  return [body]() mutable { return opaque{body()}; };
}

// Enough of them to bring a map back into the caches before it is measured.
std::size_t tokens_at_once(std::size_t ranges) {
  return (std::max)(std::bit_ceil(ranges) / 4, std::size_t{1} << 12);
}

// ---- the questions ----

struct promised {
  std::size_t ranges;
  double latency;     // times that of std::map
  double throughput;  // the same
  double floor;
};

// Where most loads miss the caches, the pages that a table happens to lie on decide as much as what
// is done with it: so each is laid out several times.
double over_bare_loads_anywhere(bench::session& run, std::vector<token128> const& tokens,
                                std::size_t ranges) {
  constexpr std::size_t times = 4;
  std::size_t const count = tokens_at_once(ranges);
  auto const firsts = uniform_boundaries(ranges);
  std::vector<range_map<token128, std::uint32_t>> maps;
  std::vector<bare_loads> bare;
  for (std::size_t i = 0; i < times; ++i) {
    maps.push_back(map_of(firsts));
    bare.emplace_back(firsts, maps.back().index_memory());
  }
  auto const named = [](char const* name, std::size_t i) {
    return std::string{name} + ", " + std::to_string(i + 1);
  };
  constexpr auto loads = "two dependent loads";
  auto& table = run.table("... at " + std::to_string(times) + " places in memory", "token");
  table.batch(count).rounds(5);
  table.floor(named(loads, 0), chained(tokens, bare[0], count));
  for (std::size_t i = 1; i < times; ++i)
    table.row(named(loads, i), opaquely(chained(tokens, bare[i], count)));
  for (std::size_t i = 0; i < times; ++i)
    table.row(named(ours, i), chained(tokens, maps[i], count));
  double bare_ns = 0;
  double own_ns = 0;
  for (std::size_t i = 0; i < times; ++i) {
    bare_ns += table.ns(named(loads, i));
    own_ns += table.ns(named(ours, i));
  }
  return own_ns / bare_ns;
}

void ask_by_count(bench::session& run, std::vector<token128> const& tokens, std::size_t most) {
  constexpr promised targets[]{
      {64, 3.5, 6, 2}, {1'000, 6, 10, 2}, {16'000, 7, 20, 1.7}, {1'000'000, 4.5, 40, 1.2}};
  auto& chart =
      run.chart("A token to its range, each after the one before", "ranges", "ns per token")
          .log_y();
  constexpr std::size_t counts[]{16, 64, 250, 1'000, 4'000, 16'000, 64'000, 250'000, 1'000'000};
  for (std::size_t const ranges : counts) {
    if (ranges > most) break;
    all_maps const maps{uniform_boundaries(ranges)};
    auto const of = std::to_string(ranges);
    std::size_t const count = tokens_at_once(ranges);
    int const rounds = ranges > 100'000 ? 5 : 31;

    auto& latency =
        run.table("1 token among " + of + " ranges, each after the one before", "token");
    latency.batch(count).rounds(rounds);
    maps.rows(latency, [&](auto const& map) { return chained(tokens, map, count); });
    for (auto const* name :
         {"two dependent loads", ours, std_map, std_vector, btree_map, flat_map, icl_map})
      if (auto const ns = latency.ns(name); !std::isnan(ns))
        chart.line(name, static_cast<double>(ranges), ns);

    auto const target = std::find_if(std::begin(targets), std::end(targets),
                                     [&](auto const& each) { return each.ranges == ranges; });
    if (target == std::end(targets)) continue;
    auto& throughput = run.table("1 token among " + of + " ranges, independently", "token");
    throughput.batch(count).rounds(rounds);
    maps.rows(throughput, [&](auto const& map) { return one_by_one(tokens, map, count); });

    auto const name = "range.map." + of + '.';
    run.target(name + "latency.std_map", latency.ratio(std_map, ours), ">=", target->latency);
    double const over = ranges > 100'000 ? over_bare_loads_anywhere(run, tokens, ranges)
                                         : latency.ratio(ours, "two dependent loads");
    run.target(name + "latency.floor", over, "<=", target->floor);
    run.target(name + "throughput.std_map", throughput.ratio(std_map, ours),
               ">=", target->throughput);
    run.target(name + "index_bytes_per_range",
               static_cast<double>(maps.own.index_memory()) / static_cast<double>(ranges),
               "<=", 16);
  }
}

// Whatever the places are at which a space is cut: tokens are hashes.
void ask_by_shape(bench::session& run, std::vector<token128> const& tokens, std::size_t most) {
  struct shape {
    char const* name;
    char const* what;
    boundaries<token128> (*cut)(std::size_t);
    double throughput;  // times that of ranges cut anywhere
  };
  constexpr shape shapes[]{
      {"halved", "halves of any range", [](std::size_t n) { return split_boundaries(n, 1); }, 1.4},
      {"skewed", "halves of the narrowest", [](std::size_t n) { return split_boundaries(n, 8); },
       1.3},
      {"corner", "cut in one corner only", corner_boundaries, 1.3}};
  constexpr auto evenly = "keyspan::range_map, ranges cut anywhere";
  for (std::size_t const ranges :
       {std::size_t{64}, std::size_t{1'000}, std::size_t{16'000}, std::size_t{1'000'000}}) {
    if (ranges > most) break;
    auto const of = std::to_string(ranges);
    std::size_t const count = tokens_at_once(ranges);
    auto const of_anywhere = map_of(uniform_boundaries(ranges));
    for (auto const& shape : shapes) {
      all_maps const maps{shape.cut(ranges)};
      auto const ask = [&](std::string const& how, auto asked) {
        auto& table =
            run.table("1 token among " + of + " ranges, " + shape.what + ", " + how, "token");
        table.batch(count).rounds(ranges > 100'000 ? 5 : 31);
        maps.rows(table, asked);
        table.row(evenly, opaquely(asked(of_anywhere)));
        return table.ratio(ours, evenly);
      };
      auto const name = "range.map." + of + '.' + shape.name;
      double const latency = ask("each after the one before",
                                 [&](auto const& map) { return chained(tokens, map, count); });
      run.target(name + ".latency.uniform", latency, "<=", 1.2);
      double const throughput =
          ask("independently", [&](auto const& map) { return one_by_one(tokens, map, count); });
      run.target(name + ".throughput.uniform", throughput, "<=", shape.throughput);
    }
  }
}

// Tokens that are no hashes: the times of a year, behind a first one that is the least there is.
void ask_for_times(bench::session& run) {
  constexpr std::size_t ranges = 16'000;
  constexpr std::size_t count = 1 << 12;
  constexpr std::uint64_t year = 31'557'600'000'000'000;  // in nanoseconds
  constexpr std::uint64_t begin = 56 * year;
  auto rng = bench::Rng{11};
  std::vector<std::uint64_t> lowers{0};
  while (lowers.size() < ranges) lowers.push_back(begin + rng() % year);
  auto const firsts = numbered(std::move(lowers));
  std::vector<std::uint64_t> times;
  while (times.size() < 8 * count) times.push_back(begin + rng() % year);
  auto const own = map_of(firsts);
  ordered_map<std::map<std::uint64_t, std::uint32_t>> const tree{firsts};

  auto& table = run.table("1 time among 16000 ranges of a year", "time").batch(count);
  table.floor("the times", [&, next = std::size_t{0}]() mutable {
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < count; ++i) sum += times[next + i];
    next = (next + count) % times.size();
    return opaque{sum};
  });
  table.row(ours, one_by_one(times, own, count));
  table.row(std_map, one_by_one(times, tree, count));
  run.target("range.map.of_times.std_map", table.ratio(std_map, ours), ">=", 10);
}

// A writer's turn: readers keep the map that they have.
void ask_for_snapshots(bench::session& run) {
  constexpr std::size_t ranges = 16'000;
  constexpr auto copied = "copy of keyspan::range_map";
  constexpr auto copied_and_split = "copy of keyspan::range_map, one range split";
  auto const firsts = uniform_boundaries(ranges);
  all_maps const maps{firsts};
  std::size_t const bytes =
      ranges * (sizeof(token128) + sizeof(std::uint32_t)) + maps.own.index_memory();
  std::vector<unsigned char> const from(bytes, 1);
  std::vector<unsigned char> to(bytes);
  token128 const at{firsts[ranges / 2].first.high, firsts[ranges / 2].first.low + 1};

  auto& table = run.table("a snapshot of 16000 ranges", "range").batch(ranges);
  table.floor("memcpy of the bytes", [&] { std::memcpy(to.data(), from.data(), bytes); });
  table.row(copied, [&] {
    auto const copy = maps.own;
    return opaque{copy.size()};
  });
  table.row(copied_and_split, [&] {
    auto next = maps.own;
    next.split(at, 1, 2);
    return opaque{next.size()};
  });
  table.row("copy of std::map", [&] {
    auto const copy = maps.tree.map;
    return opaque{copy.size()};
  });
  table.row("copy of std::map, one range split", [&] {
    auto next = maps.tree.map;
    next.insert_or_assign(at, 2);
    return opaque{next.size()};
  });
#if KEYSPAN_BENCH_ABSL
  table.row("copy of absl::btree_map", [&] {
    auto const copy = maps.btree.map;
    return opaque{copy.size()};
  });
#else
  table.left_out("copy of absl::btree_map", "absl is not installed");
#endif
  run.target("range.map.copy.std_map", table.ratio("copy of std::map", copied), ">=", 15);
  run.target("range.map.copy.memcpy", table.ratio(copied, "memcpy of the bytes"), "<=", 2);
  run.target("range.map.split.ns_per_range", table.ns(copied_and_split), "<=", 7);
  run.target("range.map.split.memcpy", table.ratio(copied_and_split, "memcpy of the bytes"),
             "<=", 10);
}

void ask_for_allocations(bench::session& run, std::vector<token128> const& tokens) {
  auto const map = map_of(uniform_boundaries(16'000));
  std::uint64_t const before = bench::allocations();
  for (auto const& token : tokens) {
    bench::keep(map.at(token));
    bench::keep(map.find(token));
    bench::keep(map.index_of(token));
    bench::keep(map.contains(token));
    bench::keep(map.entry_of(token).value());
  }
  run.target("range.map.allocations", static_cast<double>(bench::allocations() - before), "==", 0);
}

// Tokens of other kinds. Those that are no hashes are searched for.
template <class Token, class Make>
void ask_by_kind(bench::session& run, std::string const& name, std::string const& kind,
                 double times, Token least, Make make) {
  constexpr std::size_t ranges = 16'000;
  constexpr std::size_t count = 1 << 12;
  auto rng = bench::Rng{7};
  std::vector<Token> lowers{std::move(least)};
  while (lowers.size() < ranges) lowers.push_back(make(rng));
  auto const firsts = numbered(std::move(lowers));
  std::vector<Token> tokens;
  while (tokens.size() < 8 * count) tokens.push_back(make(rng));
  auto const own = map_of(firsts);
  ordered_map<std::map<Token, std::uint32_t>> const tree{firsts};

  auto& table = run.table("1 token among 16000 ranges of " + kind, "token").batch(count);
  table.floor("the prefixes of the tokens", [&, next = std::size_t{0}]() mutable {
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < count; ++i) sum += keyspan::token_prefix(tokens[next + i]);
    next = (next + count) % tokens.size();
    return sum;
  });
  table.row(ours, one_by_one(tokens, own, count));
  table.row(std_map, one_by_one(tokens, tree, count));
  run.target("range.map.of_" + name + ".std_map", table.ratio(std_map, ours), ">=", times);
}

void ask_by_kind(bench::session& run) {
  auto const key_of = [](bench::Rng& rng) {
    return keyspan::partition_key{"id-" + std::to_string(rng())};
  };
  ask_by_kind<std::uint64_t>(run, "integers", "64-bit integers", 10, 0,
                             [](auto& rng) { return rng(); });
  ask_by_kind<std::int64_t>(run, "signed_integers", "64-bit integers with a sign", 10,
                            (std::numeric_limits<std::int64_t>::min)(),
                            [](auto& rng) { return static_cast<std::int64_t>(rng()); });
  ask_by_kind(run, "cosmos_v1", "tokens of cosmos_v1", 2, keyspan::cosmos_v1.minimum(),
              [&](auto& rng) { return *keyspan::token_of(keyspan::cosmos_v1, key_of(rng)); });
  ask_by_kind(run, "cosmos_multihash", "tokens of cosmos_multihash", 10,
              keyspan::cosmos_multihash.minimum(),
              [&](auto& rng) { return keyspan::token_of(keyspan::cosmos_multihash, key_of(rng)); });
  ask_by_kind(run, "texts", "texts that are no hashes", 1, std::string{}, [](auto& rng) {
    constexpr std::string_view words[]{"customer-", "order-", "device-", "a", "zone/"};
    return std::string{words[rng() % 5]} + std::to_string(rng() % 1'000'000);
  });
}

}  // namespace

int main(int argc, char** argv) {
  auto run = bench::session{argc, argv};
  bool const quick = bench::parse_arguments(argc, argv)->rounds < 5;
  auto const tokens = some_tokens();
  std::size_t const most = quick ? 64'000 : 1'000'000;
  ask_by_count(run, tokens, most);
  ask_by_shape(run, tokens, most);
  ask_for_times(run);
  ask_for_snapshots(run);
  ask_for_allocations(run, tokens);
  ask_by_kind(run);
  return run.finish();
}
