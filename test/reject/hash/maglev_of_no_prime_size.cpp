// reject: promise_broken
// reject-gcc: positive, finite weights, and a table of prime size with entries for all of them
// reject-clang: in call to 'expects\(.*and a table of prime size
#include <keyspan/hash/maglev.hpp>

#ifdef KEYSPAN_GOOD_TWIN
static_assert(keyspan::maglev({"a", "b"}, {.table_size = 7}).node_count() == 2);
#else
static_assert(keyspan::maglev({"a", "b"}, {.table_size = 8}).node_count() == 2);
#endif
