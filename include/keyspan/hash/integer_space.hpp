// keyspan/hash/integer_space.hpp — integers as a space that can be shared out and cut.
//
//   first                                  last
//     [----part 0----|----part 1----|---------]   every part but the last is size / parts wide
#pragma once

#include <keyspan/core/contract.hpp>
#include <keyspan/core/error.hpp>
#include <keyspan/core/result.hpp>
#include <keyspan/hash/token.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>

namespace keyspan {

/// The integers from `first` to `last`, both included: what a scheme whose tokens are integers
/// answers `successor`, `boundary` and `midpoint` with.
template <std::integral Token>
  requires(!std::same_as<Token, bool>)
struct integer_space {
  Token first = (std::numeric_limits<Token>::min)();
  Token last = (std::numeric_limits<Token>::max)();

  constexpr bool contains(Token t) const noexcept { return first <= t && t <= last; }

  /// The next integer, or the end behind the last. Requires that the space contains `t`.
  constexpr upper_end<Token> successor(Token t) const {
    expects(contains(t), "the space contains the token");
    if (t == last) return space_end;
    return static_cast<Token>(t + 1);
  }

  /// The first token of part `part` among `parts` parts; the last one takes what division leaves.
  /// Requires `part < parts`, and that there are as many tokens as parts.
  constexpr Token boundary(std::size_t part, std::size_t parts) const {
    expects(part < parts, "a part has a number below the count of parts");
    std::uint64_t const width = distance(first, last);  // one less than there are tokens
    std::uint64_t const count = parts;
    expects(count - 1 <= width, "every part has a token");
    std::uint64_t const share = width / count + (width % count == count - 1 ? 1 : 0);
    return moved(first, share * part);
  }

  /// The token in the middle between the two. Requires that the space contains them.
  /// Errors: `invalid_range` where no token lies between them.
  constexpr result<Token> midpoint(Token lower, upper_end<Token> const& upper) const {
    bool const open = upper.is_space_end();
    Token const at = open ? last : upper.at();
    expects(contains(lower) && contains(at), "the space contains the bounds");
    std::uint64_t const between = distance(lower, at);
    if (lower > at || between < (open ? 1U : 2U)) {
      error none{errc::invalid_range, "no token lies between ", lower};
      open ? none.text.append(" and the end") : none.text.append(" and ", at);
      return unexpected{none};
    }
    // The end stands one behind the last token; added first, that one could overflow.
    return moved(lower, between / 2 + (open ? between % 2 : 0));
  }

  friend constexpr bool operator==(integer_space const&, integer_space const&) = default;

 private:
  static constexpr std::uint64_t distance(Token from, Token to) noexcept {
    return static_cast<std::uint64_t>(to) - static_cast<std::uint64_t>(from);
  }
  static constexpr Token moved(Token from, std::uint64_t by) noexcept {
    return static_cast<Token>(static_cast<std::uint64_t>(from) + by);
  }
};

}  // namespace keyspan
