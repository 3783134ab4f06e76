// keyspan/range/partition.hpp — a physical partition: its id, what it owns, and whom it came from.
//
//   1 [=============================)            parents
//   2 [============)3 [=============)            1
//                  4 [=====)5 [=====)            1, 3      all ancestors, the oldest first
#pragma once

#include <keyspan/core/text.hpp>
#include <keyspan/hash/token.hpp>
#include <keyspan/range/token_range.hpp>

#include <string>
#include <type_traits>
#include <vector>

namespace keyspan {

// g++ 12 ends with an internal error where a list of partitions is written as an argument and it
// has not been asked this before.
static_assert(std::is_nothrow_default_constructible_v<std::vector<std::string>>);

/// One entry of a service's list of who owns what. An id is never given to another range.
template <token Token>
struct partition {
  std::string id;
  token_range<Token> range;
  /// The ids of all that it came from by splits and merges, as the service lists them.
  std::vector<std::string> parents{};

  /// "4 [20, FF)": the id and the bounds.
  constexpr inline_text<160> to_text() const
    requires detail::tells_token<Token>
  {
    return inline_text<160>{id, " ", range.to_text()};
  }

  friend constexpr bool operator==(partition const&, partition const&) = default;
};

template <token Token>
partition(std::string, token_range<Token>) -> partition<Token>;
template <token Token>
partition(std::string, token_range<Token>, std::vector<std::string>) -> partition<Token>;

}  // namespace keyspan
