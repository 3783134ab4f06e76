// reject: promise_broken
// reject-gcc: a placement has nodes of different names and of positive, finite weights
// reject-clang: in call to 'expects\(.*a placement has nodes of different names
#include <keyspan/hash/rendezvous.hpp>

#ifdef KEYSPAN_GOOD_TWIN
static_assert(keyspan::rendezvous{{"a", 1.0}, {"b", 1.0}}.node_count() == 2);
#else
static_assert(keyspan::rendezvous{{"a", 1.0}, {"a", 1.0}}.node_count() == 2);
#endif
