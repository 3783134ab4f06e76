// test/fuzz/routing_fuzz.cpp — any bytes as lists of partitions, updates and pages: whatever is
// made of them owns every token once, and whatever is refused changes nothing.
#include "fuzz.hpp"

#include <keyspan/hash/any_scheme.hpp>
#include <keyspan/hash/cosmos_multihash.hpp>
#include <keyspan/hash/cosmos_v2.hpp>
#include <keyspan/hash/redis_cluster.hpp>
#include <keyspan/range/partition.hpp>
#include <keyspan/range/routing.hpp>
#include <keyspan/range/routing_refresh.hpp>

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace {

using fuzz::require;

class byte_source {
 public:
  byte_source(std::uint8_t const* data, std::size_t size) : bytes_{data, size} {}

  bool empty() const { return bytes_.empty(); }
  unsigned next() {
    if (bytes_.empty()) return 0;
    unsigned const byte = bytes_.front();
    bytes_ = bytes_.subspan(1);
    return byte;
  }

 private:
  std::span<std::uint8_t const> bytes_;
};

// Few places, so that bounds meet; some in several widths, some of another scheme.
std::uint16_t token_of_byte(keyspan::redis_cluster_scheme, unsigned byte) {
  return static_cast<std::uint16_t>(byte * 64);
}
keyspan::token128 token_of_byte(keyspan::cosmos_v2_scheme, unsigned byte) {
  return {std::uint64_t{byte} << 56, 0};
}
keyspan::token_multihash token_of_byte(keyspan::cosmos_multihash_scheme, unsigned byte) {
  std::array<unsigned char, 48> bytes{};
  bytes[byte & 1 ? 0 : 16] = static_cast<unsigned char>(byte & 0x3E);
  std::size_t const width = byte & 0x40 ? 48 : byte & 1 ? 16 : 32;
  return *keyspan::token_multihash::from_bytes(std::span{bytes}.first(width));
}
keyspan::any_token token_of_byte(keyspan::any_scheme, unsigned byte) {
  if (byte == 0x81) return keyspan::any_token{token_of_byte(keyspan::cosmos_v2, byte)};
  return keyspan::any_token{token_of_byte(keyspan::cosmos_multihash, byte)};
}

template <class Scheme>
std::optional<keyspan::partition<keyspan::token_of_scheme<Scheme>>> read_partition(
    Scheme const& scheme, byte_source& in) {
  using token = keyspan::token_of_scheme<Scheme>;
  auto const id = [&] {
    unsigned const byte = in.next();
    return byte == 0xFF ? std::string{} : std::to_string(byte % 32);
  };
  std::string name = id();
  unsigned const first = in.next();
  unsigned const last = in.next();
  token const lower = first == 0 ? scheme.minimum() : token_of_byte(scheme, first);
  auto const upper = last == 0 || last == 0xFF
                         ? keyspan::upper_end<token>{keyspan::space_end}
                         : keyspan::upper_end<token>{token_of_byte(scheme, last)};
  std::vector<std::string> parents;
  for (unsigned count = in.next() % 4; count > 0; --count) parents.push_back(id());
  auto range = keyspan::token_range<token>::from(lower, upper);
  if (!range) return std::nullopt;
  return {{std::move(name), *range, std::move(parents)}};
}

template <class Scheme>
auto read_list(Scheme const& scheme, byte_source& in) {
  std::vector<keyspan::partition<keyspan::token_of_scheme<Scheme>>> list;
  for (unsigned count = in.next() % 16; count > 0 && !in.empty(); --count)
    if (auto one = read_partition(scheme, in)) list.push_back(*std::move(one));
  return list;
}

template <class Scheme>
void require_whole(keyspan::routing<Scheme> const& map) {
  auto const all = map.partitions();
  require(!all.empty() && map.size() == all.size(), "a snapshot has partitions");
  require(all.front().range.lower() == map.scheme().minimum(), "the first begins where all does");
  require(all.back().range.upper().is_space_end(), "the last ends where all does");
  std::set<std::string> ids;
  for (std::size_t i = 0; i < all.size(); ++i) {
    auto const& one = all[i];
    if (i > 0) require(keyspan::adjacent(all[i - 1].range, one.range), "no gap and no overlap");
    require(ids.insert(one.id).second, "an id is there once");
    require(map.find(one.id) == &one, "a partition is found by its id");
    require(!map.is_gone(one.id), "who is there is not gone");
    require(map.index_of(one.range.lower()) == i, "a partition owns its first token");
    require(map.overlapping(one.range).data() == &one && map.overlapping(one.range).size() == 1,
            "a partition's range overlaps it alone");
    for (auto const& parent : one.parents) {
      require(map.is_gone(parent), "parents are gone");
      require(map.find(parent) == nullptr, "who is gone is not found");
    }
  }
  std::array const keys{"a", "b", "c", "d", "e"};
  auto const groups = map.group(keys);
  auto const& found = [&]() -> auto const& {
    if constexpr (requires { groups.has_value(); })
      return *groups;
    else
      return groups;
  }();
  std::size_t total = 0;
  for (auto const& [owner, positions] : found) {
    total += positions.size();
    for (auto const i : positions) {
      auto const token = keyspan::token_of(map.scheme(), keys[i]);
      if constexpr (requires { token.has_value(); })
        require(owner.range.contains(*token), "a group has keys of its owner");
      else
        require(owner.range.contains(token), "a group has keys of its owner");
    }
  }
  require(total == keys.size(), "every key is in a group");
}

// The rule by which a list is read, by maps and sets: parents are gone, of one id the last entry
// counts, and what is left owns everything once.
template <class Scheme, class List>
bool is_whole_by_the_rule(Scheme const& scheme, List const& all) {
  std::set<std::string> gone;
  std::map<std::string, typename List::value_type> left;
  for (auto const& one : all) {
    gone.insert(one.parents.begin(), one.parents.end());
    left.insert_or_assign(one.id, one);
  }
  List sorted;
  for (auto const& [id, one] : left)
    if (!gone.contains(id)) sorted.push_back(one);
  std::sort(sorted.begin(), sorted.end(),
            [](auto const& a, auto const& b) { return a.range < b.range; });
  if (sorted.empty() || !(sorted.front().range.lower() == scheme.minimum())) return false;
  for (std::size_t i = 1; i < sorted.size(); ++i)
    if (!keyspan::adjacent(sorted[i - 1].range, sorted[i].range)) return false;
  return sorted.back().range.upper().is_space_end();
}

// A list of entries each of which can be one, and in which no id has two ranges.
template <class List>
bool is_sound(List const& all) {
  std::map<std::string, typename List::value_type> seen;
  for (auto const& one : all) {
    if (one.id.empty()) return false;
    for (auto const& parent : one.parents)
      if (parent.empty() || parent == one.id) return false;
    auto const [at, is_new] = seen.emplace(one.id, one);
    if (!is_new && !(at->second.range == one.range)) return false;
  }
  return true;
}

template <class Partitions, class List>
bool conflicts(Partitions const& known, List const& changes) {
  return std::any_of(changes.begin(), changes.end(), [&](auto const& change) {
    return std::any_of(known.begin(), known.end(), [&](auto const& one) {
      return one.id == change.id && !(one.range == change.range);
    });
  });
}

// Tokens of other schemes are refused, which the rule does not know of.
template <class Scheme>
inline constexpr bool has_foreign_tokens = std::same_as<Scheme, keyspan::any_scheme>;

template <class Scheme>
void run(Scheme const& scheme, byte_source in) {
  auto list = read_list(scheme, in);
  auto made = keyspan::routing_of(scheme, list, "1");
  if (made) {
    require_whole(*made);
    require(is_sound(list) && is_whole_by_the_rule(scheme, list), "what is made follows the rule");
    auto const changes = read_list(scheme, in);
    auto const before = *made;
    auto const newer = made->updated(changes, "2");
    require(*made == before, "a snapshot never changes");
    if (newer) {
      require_whole(*newer);
      for (auto const& one : list)
        for (auto const& parent : one.parents) require(newer->is_gone(parent), "gone is for ever");
    }
    list.insert(list.end(), changes.begin(), changes.end());
    if constexpr (!has_foreign_tokens<Scheme>)
      require(newer.has_value() == (is_sound(changes) && !conflicts(made->partitions(), changes) &&
                                    is_whole_by_the_rule(scheme, list)),
              "an update is refused where the rule says so, and nowhere else");
  } else if constexpr (!has_foreign_tokens<Scheme>) {
    require(!is_sound(list) || !is_whole_by_the_rule(scheme, list),
            "a list that follows the rule is taken");
  }

  using routing = keyspan::routing<Scheme>;
  std::shared_ptr<routing const> known;
  while (!in.empty()) {
    auto refresh = known ? keyspan::routing_refresh<Scheme>{known, {.most_pages = 5}}
                         : keyspan::routing_refresh<Scheme>{scheme, {.most_pages = 5}};
    auto const before = known ? std::optional<routing>{*known} : std::nullopt;
    int answers = 0;
    while (refresh.wants_page()) {
      require(++answers <= 14, "a refresh ends");
      unsigned const kind = in.next();
      refresh.take({read_list(scheme, in), kind % 8 == 0 ? "" : std::to_string(kind % 16),
                    in.empty() || kind % 3 == 0});
    }
    require(!before || *known == *before, "what is known never changes");
    if (!refresh.outcome()) continue;
    known = *refresh.outcome();
    require(known != nullptr, "an outcome is a snapshot");
    require_whole(*known);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  byte_source in{data, size};
  switch (in.next() % 4) {
    case 0:
      run(keyspan::redis_cluster, in);
      break;
    case 1:
      run(keyspan::cosmos_v2, in);
      break;
    case 2:
      run(keyspan::cosmos_multihash, in);
      break;
    default:
      run(keyspan::any_scheme{keyspan::cosmos_multihash}, in);
  }
  return 0;
}
