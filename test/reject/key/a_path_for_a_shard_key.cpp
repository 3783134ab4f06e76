// reject: a shard key is names with dots between them, this is a path
#include <keyspan/key/container_definition.hpp>

#ifdef KEYSPAN_GOOD_TWIN
auto const cities = keyspan::mongodb_container<"address.city">();
#else
auto const cities = keyspan::mongodb_container<"/address/city">();
#endif
