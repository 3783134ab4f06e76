// test/house/everything.hpp — what two translation units that include everything have to agree on.
#pragma once

#include <array>

namespace house {

/// Addresses of inline functions and variables, as one translation unit sees them.
using addresses = std::array<void const*, 4>;
addresses addresses_in_first();
addresses addresses_in_second();

}  // namespace house
