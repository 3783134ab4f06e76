// reject: makes_placement
#include <keyspan/hash/jump.hpp>
#include <keyspan/law/placement.hpp>

#ifdef KEYSPAN_GOOD_TWIN
auto const make = [](std::size_t count) { return keyspan::jump{count}; };
#else
auto const make = [](std::size_t count) { return count; };
#endif
auto const found = keyspan::law::check_placement(make, 3);
