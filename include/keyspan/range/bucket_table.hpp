// keyspan/range/bucket_table.hpp — an index over rising tokens that answers in one step.
//
//   prefix of a token --cut--> bucket . rest      cuts before the bucket, rests of up to four in it
//
// Hashes are spread evenly whatever the places are at which their space was cut: so nearly every
// hash meets a bucket of few cuts, also where all cuts lie in one corner.
#pragma once

#include <keyspan/core/bytes.hpp>
#include <keyspan/core/contract.hpp>
#include <keyspan/range/token_prefix.hpp>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <span>
#include <vector>

namespace keyspan {

/// Finds the last of rising tokens that is not greater than a given one. It keeps at most 16 bytes
/// for each token and not the tokens themselves.
template <prefixed_token Token>
class bucket_table {
 public:
  /// How many tokens a table takes at most.
  static constexpr std::size_t max_size() noexcept { return 0x7FFF'FFFF; }

  /// Of no tokens.
  constexpr bucket_table() = default;
  /// Requires rising tokens, no more than `max_size()`.
  constexpr explicit bucket_table(std::span<Token const> lowers) { rebuild(lowers); }

  /// Makes the table that of `lowers`, in the storage it has where that is enough. Where there is
  /// no memory for it, it is a table of no tokens.
  constexpr void rebuild(std::span<Token const> lowers) {
    expects(lowers.size() <= max_size(), "a table has 31 bits for the number of a token");
    buckets_.clear();
    if (lowers.empty()) return;
    scale_to(lowers);
    fill(lowers);
  }

  /// The position of the last token that is not greater than `token`.
  /// Requires the tokens that the table was made of, and that the first is not greater.
  /// Complexity: constant for tokens that are spread evenly, logarithmic for any others.
  constexpr std::size_t position(std::span<Token const> lowers, Token const& token) const {
    std::uint64_t const distance = token_prefix(token) - base_;
    if (distance > reach_) [[unlikely]]
      return search(lowers.data(), token);
    bucket const& own = buckets_[bucket_of(distance)];
    std::uint32_t found = own.before;
    if (found >= many) [[unlikely]]
      return search(lowers.data(), token);
    std::uint8_t const rest = rest_of(distance);
    for (std::uint8_t const cut : own.rests) {
      if (cut == rest) [[unlikely]]
        return search(lowers.data(), token);
      found += static_cast<std::uint32_t>(cut < rest);
    }
    return found;
  }

  /// What the table takes beside the object.
  constexpr std::size_t memory() const noexcept { return buckets_.size() * sizeof(bucket); }

 private:
  // Nothing is asked for that is before the first token, so only the cuts behind it count. Room for
  // a cut that is not there looks like one at the end of the bucket: one hash in 256 has to ask.
  struct bucket {
    std::uint32_t before = 0;  // cuts before the bucket; `many` is added where its own are too many
    std::uint8_t rests[4] = {0xFF, 0xFF, 0xFF, 0xFF};

    constexpr void count(std::uint8_t rest) noexcept {
      ++before;
      store_le(rests, load_le<std::uint32_t>(rests) << 8 | rest);
    }
  };
  static constexpr std::uint32_t many = 0x8000'0000;

  // The buckets go from the first token to the next power of two behind the last one, which is the
  // end of the space where such a space was shared out evenly. Where all cuts are far from the
  // first token, they begin at the second. There are at most two buckets to a token, each as wide
  // as a power of two: shifts are all that stands between a token and its bucket.
  constexpr void scale_to(std::span<Token const> lowers) {
    std::uint64_t const last = token_prefix(lowers.back());
    base_ = token_prefix(lowers.front());
    if (lowers.size() > 2) {
      std::uint64_t const second = token_prefix(lowers[1]);
      if (last - second < (last - base_) / 4) base_ = second;
    }
    int const width = (std::max)(static_cast<int>(std::bit_width(last - base_)), 1);
    int const bits = static_cast<int>(std::bit_width(lowers.size()));
    shift_ = (std::max)(width - bits, 1);
    constexpr std::uint64_t greatest = ~std::uint64_t{0};
    reach_ = (std::min)(greatest >> (64 - width), greatest - base_);
  }

  // Counts the cuts of each bucket, then sums the counts up: no step waits for a guess at how many
  // buckets lie between two cuts.
  constexpr void fill(std::span<Token const> lowers) {
    buckets_.resize(bucket_of(reach_) + 1);
    for (Token const& cut : lowers.subspan(1)) {
      // Clipped for the sake of tokens whose prefixes fall, which a law has yet to find.
      std::uint64_t const distance = (std::min)(token_prefix(cut) - base_, reach_);
      buckets_[bucket_of(distance)].count(rest_of(distance));
    }
    std::uint32_t before = 0;
    for (bucket& each : buckets_) {
      std::uint32_t const own = each.before;
      each.before = own > std::size(each.rests) ? before | many : before;
      before += own;
    }
    cuts_ = before;
  }

  constexpr std::size_t bucket_of(std::uint64_t distance) const noexcept {
    return static_cast<std::size_t>(distance >> shift_);
  }
  // The next eight bits. Where there are fewer, zeros follow: no distance is that long then.
  constexpr std::uint8_t rest_of(std::uint64_t distance) const noexcept {
    return static_cast<std::uint8_t>(std::rotr(distance, shift_) >> 56);
  }

  constexpr std::size_t cuts_before(std::size_t number) const noexcept {
    return number < buckets_.size() ? buckets_[number].before & ~many : cuts_;
  }

  // Compares tokens. Kept out of the way of those that need not.
  [[gnu::noinline]] constexpr std::size_t search(Token const* lowers, Token const& token) const {
    std::uint64_t const prefix = token_prefix(token);
    if (prefix < base_) return 0;
    if (prefix - base_ > reach_) return cuts_;
    std::size_t const in = bucket_of(prefix - base_);
    Token const* first = lowers + cuts_before(in) + 1;
    Token const* const last = lowers + cuts_before(in + 1) + 1;
    if (last - first > 8) {
      first = std::upper_bound(first, last, token);
    } else {
      while (first != last && *first <= token) ++first;
    }
    return static_cast<std::size_t>(first - lowers) - 1;
  }

  std::uint64_t base_ = 0;
  std::uint64_t reach_ = 0;
  int shift_ = 1;
  std::uint32_t cuts_ = 0;
  std::vector<bucket> buckets_{};
};

}  // namespace keyspan
