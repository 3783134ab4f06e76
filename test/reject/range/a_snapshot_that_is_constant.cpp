// reject: what is published is an object type without const
#include <keyspan/range/published.hpp>

#ifdef KEYSPAN_GOOD_TWIN
keyspan::published<int> place{1};
#else
keyspan::published<int const> place{1};
#endif
