// keyspan/range/owned_range.hpp — a range of tokens, and whose it is.
#pragma once

#include <keyspan/hash/token.hpp>
#include <keyspan/range/token_range.hpp>

#include <concepts>

namespace keyspan {

/// A range and its value: the id of a partition, the index of a node, an address.
template <token Token, std::copyable Value>
struct owned_range {
  token_range<Token> range;
  Value value;

  friend constexpr bool operator==(owned_range const& a, owned_range const& b)
    requires std::equality_comparable<Value>
  {
    return a.range == b.range && a.value == b.value;
  }
};

template <token Token, std::copyable Value>
owned_range(token_range<Token>, Value) -> owned_range<Token, Value>;

}  // namespace keyspan
