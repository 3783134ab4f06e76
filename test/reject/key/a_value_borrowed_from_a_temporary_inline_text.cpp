// reject: borrowable_key_input
#include <keyspan/core/text.hpp>
#include <keyspan/key/key_value.hpp>

#ifdef KEYSPAN_GOOD_TWIN
keyspan::inline_text<8> const number{"no. ", 5};
keyspan::key_value const value{number};
#else
keyspan::key_value const value{keyspan::inline_text<8>{"no. ", 5}};
#endif
