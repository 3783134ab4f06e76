// bench/support/uuids.hpp — keys as most programs have them.
#pragma once

#include <bench/support/bench.hpp>

#include <string>

namespace bench {

inline std::string some_uuid(Rng& rng) {
  static constexpr char digits[] = "0123456789abcdef";
  std::string made;
  for (int i = 0; i < 36; ++i)
    made += i == 8 || i == 13 || i == 18 || i == 23 ? '-' : digits[rng() & 15];
  return made;
}

}  // namespace bench
