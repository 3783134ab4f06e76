// reject: at_most_three_key_values
#include <keyspan/key/partition_key.hpp>

#ifdef KEYSPAN_GOOD_TWIN
auto const key = keyspan::partition_key_view::from(1, 2, 3);
#else
auto const key = keyspan::partition_key_view::from(1, 2, 3, 4);
#endif
