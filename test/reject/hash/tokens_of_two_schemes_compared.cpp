// reject-gcc: no match for 'operator=='
// reject-clang: invalid operands to binary expression
#include <keyspan/hash/cosmos_v1.hpp>

using namespace keyspan;

#ifdef KEYSPAN_GOOD_TWIN
using other = token_v1;
#else
using other = token128;
#endif

bool same(token_v1 const& a, other const& b) { return a == b; }
