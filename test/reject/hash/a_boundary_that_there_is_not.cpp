// reject: promise_broken
// reject-gcc: in 'constexpr' expansion of .*a boundary is asked of one of the partitions
// reject-clang: in call to 'expects\(.*a boundary is asked of one of the partitions
#include <keyspan/hash/cosmos_v2.hpp>

#ifdef KEYSPAN_GOOD_TWIN
constexpr std::size_t partition = 1;
#else
constexpr std::size_t partition = 2;
#endif

constexpr auto first = keyspan::cosmos_v2.boundary(partition, 2);
