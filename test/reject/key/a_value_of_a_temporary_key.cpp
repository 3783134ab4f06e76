// reject-gcc: use of deleted function .*operator
// reject-clang: deleted (member )?(operator|function)
#include <keyspan/key/partition_key.hpp>

#ifdef KEYSPAN_GOOD_TWIN
keyspan::partition_key const key{"Oslo"};
keyspan::key_value const city = key[0];
#else
keyspan::key_value const city = keyspan::partition_key{"Oslo"}[0];
#endif
