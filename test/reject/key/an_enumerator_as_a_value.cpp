// reject: key_input
#include <keyspan/key/key_value.hpp>

enum class colour { red };

#ifdef KEYSPAN_GOOD_TWIN
keyspan::key_value const value{keyspan::underlying(colour::red)};
#else
keyspan::key_value const value{colour::red};
#endif
