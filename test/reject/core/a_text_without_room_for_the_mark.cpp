// reject: room for the mark of a cut, and a short size
#include <keyspan/core/text.hpp>

#ifdef KEYSPAN_GOOD_TWIN
keyspan::inline_text<3> text;
#else
keyspan::inline_text<2> text;
#endif
