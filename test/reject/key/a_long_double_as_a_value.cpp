// reject: key_input
#include <keyspan/key/key_value.hpp>

#ifdef KEYSPAN_GOOD_TWIN
keyspan::key_value const value{1.5};
#else
keyspan::key_value const value{1.5L};
#endif
