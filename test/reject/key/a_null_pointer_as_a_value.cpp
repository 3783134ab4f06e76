// reject: key_input
#include <keyspan/key/key_value.hpp>

#ifdef KEYSPAN_GOOD_TWIN
keyspan::key_value const value{keyspan::null};
#else
keyspan::key_value const value{nullptr};
#endif
