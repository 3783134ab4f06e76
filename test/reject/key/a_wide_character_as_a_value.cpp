// reject: key_input
#include <keyspan/key/key_value.hpp>

#ifdef KEYSPAN_GOOD_TWIN
keyspan::key_value const value{65};
#else
keyspan::key_value const value{u'A'};
#endif
