// reject: key_input
#include <keyspan/key/key_value.hpp>

int const number = 5;

#ifdef KEYSPAN_GOOD_TWIN
keyspan::key_value const value{number};
#else
keyspan::key_value const value{&number};
#endif
