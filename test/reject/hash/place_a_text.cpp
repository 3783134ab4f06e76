// reject: placeable
#include <keyspan/hash/fast64.hpp>
#include <keyspan/hash/jump.hpp>
#include <keyspan/key/partition_key.hpp>

#ifdef KEYSPAN_GOOD_TWIN
auto const node = keyspan::jump{10}.node_of(
    keyspan::token_of(keyspan::fast64, keyspan::partition_key{"redmond"}));
#else
auto const node = keyspan::jump{10}.node_of("redmond");
#endif
