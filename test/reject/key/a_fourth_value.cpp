// reject: at_most_three_key_values
#include <keyspan/key/partition_key.hpp>

#ifdef KEYSPAN_GOOD_TWIN
keyspan::partition_key const key{"tenant", "user", 3};
#else
keyspan::partition_key const key{"tenant", "user", 3, 4};
#endif
