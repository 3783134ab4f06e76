// reject-gcc: no match for call to
// reject-clang: no matching function for call to object of type
#include <keyspan/hash/cosmos_v2.hpp>

#ifdef KEYSPAN_GOOD_TWIN
constexpr auto scheme = keyspan::cosmos_v2;
#else
constexpr auto scheme = 2;
#endif

constexpr auto t = keyspan::token_of(scheme, keyspan::partition_key{"redmond"});
