// reject-gcc: no matching function for call to .keyspan::inline_text<16>::inline_text
// reject-clang: no matching constructor for initialization of
#include <keyspan/core/text.hpp>

#ifdef KEYSPAN_GOOD_TWIN
auto const text = keyspan::inline_text<16>{1};
#else
auto const text = keyspan::inline_text<16>{true};
#endif
