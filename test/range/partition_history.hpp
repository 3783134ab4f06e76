// test/range/partition_history.hpp — what a service would list: partitions that split and merge at
// random, told by the simplest code there is.
#pragma once

#include <keyspan/hash/any_scheme.hpp>
#include <keyspan/hash/cosmos_multihash.hpp>
#include <keyspan/hash/hash_scheme.hpp>
#include <keyspan/range/partition.hpp>
#include <keyspan/range/token_range.hpp>

#include <support/random.hpp>

#include <algorithm>
#include <cstddef>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace test {

/// The same place, written in another width where the scheme's tokens have several.
template <class Token>
Token written_anew(Token const& token, random&) {
  return token;
}
inline keyspan::token_multihash written_anew(keyspan::token_multihash const& token, random& draw) {
  std::vector<unsigned char> bytes(token.bytes().begin(), token.bytes().end());
  while (bytes.size() < 48 && draw.chance(60)) bytes.resize(bytes.size() / 16 * 16 + 16);
  return *keyspan::token_multihash::from_bytes(std::span{bytes});
}
inline keyspan::any_token written_anew(keyspan::any_token const& token, random& draw) {
  auto const* const own = token.get_if<keyspan::token_multihash>();
  return own == nullptr ? token : keyspan::any_token{written_anew(*own, draw)};
}

template <keyspan::splittable_scheme Scheme>
class partition_history {
 public:
  using token = keyspan::token_of_scheme<Scheme>;
  using partition = keyspan::partition<token>;
  using token_range = keyspan::token_range<token>;

  explicit partition_history(Scheme scheme) : scheme_{std::move(scheme)} {
    add(live_.begin(), keyspan::whole_space(scheme_), {});
  }

  Scheme const& scheme() const { return scheme_; }
  /// Who owns the space now, in token order.
  std::vector<partition> const& live() const { return live_; }
  /// All that there ever were, as they were made.
  std::vector<partition> const& log() const { return log_; }
  std::set<std::string> const& gone() const { return gone_; }

  partition const& owner_of(token const& t) const {
    for (partition const& one : live_)
      if (one.range.contains(t)) return one;
    keyspan::expects(false, "somebody owns every token");
    return live_.front();
  }

  /// A token that some key has, or that some partition begins with.
  token some_token(random& draw) const {
    if (draw.chance(30)) return draw.pick(live_).range.lower();
    return token_of_number(draw.below(1'000'000'000));
  }

  /// Splits or merges some partition of those there are, where that can be done.
  void change(random& draw) {
    if (live_.size() > 1 && draw.chance(live_.size() > 40 ? 60 : 30))
      merge(draw);
    else
      split(draw);
  }

  void split(random& draw) {
    auto const i = static_cast<std::size_t>(draw.below(live_.size()));
    std::vector<token> cuts;
    for (auto count = draw.below(3) + 1; count > 0; --count) {
      auto const middle = scheme_.midpoint(live_[i].range.lower(), live_[i].range.upper());
      auto const at = draw.chance(50) && middle.has_value() ? *middle : some_token(draw);
      if (live_[i].range.lower() < at && live_[i].range.contains(at)) cuts.push_back(at);
    }
    std::sort(cuts.begin(), cuts.end());
    cuts.erase(std::unique(cuts.begin(), cuts.end()), cuts.end());
    if (cuts.empty()) return;
    partition const parent = live_[i];
    auto parents = parent.parents;
    parents.push_back(parent.id);
    gone_.insert(parent.id);
    auto at = live_.erase(live_.begin() + static_cast<std::ptrdiff_t>(i));
    for (token_range const& part : keyspan::split(parent.range, cuts))
      at = add(at, part, parents) + 1;
  }

  void merge(random& draw) {
    auto const first = static_cast<std::size_t>(draw.below(live_.size() - 1));
    auto const last = (std::min)(live_.size(), first + 2 + static_cast<std::size_t>(draw.below(2)));
    token_range const all{live_[first].range.lower(), live_[last - 1].range.upper()};
    std::vector<std::string> parents;
    auto const name = [&](std::string const& id) {
      if (std::find(parents.begin(), parents.end(), id) == parents.end()) parents.push_back(id);
    };
    for (std::size_t i = first; i < last; ++i)
      for (auto const& parent : live_[i].parents) name(parent);
    for (std::size_t i = first; i < last; ++i) {
      name(live_[i].id);
      gone_.insert(live_[i].id);
    }
    auto const begin = live_.begin();
    add(live_.erase(begin + static_cast<std::ptrdiff_t>(first),
                    begin + static_cast<std::ptrdiff_t>(last)),
        all, parents);
  }

  /// The entry as it might be listed once more: bounds in other widths, the same otherwise.
  partition listed(partition one, random& draw) const {
    auto const lower = written_anew(one.range.lower(), draw);
    if (one.range.upper().is_space_end())
      one.range = {lower, keyspan::space_end};
    else
      one.range = {lower, written_anew(one.range.upper().at(), draw)};
    return one;
  }

  token token_of_number(std::uint64_t number) const {
    auto const found = keyspan::token_of(scheme_, std::to_string(number));
    if constexpr (requires { found.has_value(); })
      return *found;
    else
      return found;
  }

 private:
  using iterator = typename std::vector<partition>::iterator;

  iterator add(iterator at, token_range range, std::vector<std::string> parents) {
    log_.push_back({std::to_string(log_.size()), std::move(range), std::move(parents)});
    return live_.insert(at, log_.back());
  }

  Scheme scheme_;
  std::vector<partition> live_{};
  std::vector<partition> log_{};
  std::set<std::string> gone_{};
};

}  // namespace test
