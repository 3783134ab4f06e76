// reject: a graph is partitioned by one property
#include <keyspan/key/container_definition.hpp>

#ifdef KEYSPAN_GOOD_TWIN
constexpr auto graph = keyspan::graph_container<"city">();
#else
constexpr auto graph = keyspan::graph_container<"address.city">();
#endif
