// reject: text_piece
#include <keyspan/core/text.hpp>

#ifdef KEYSPAN_GOOD_TWIN
auto const text = keyspan::inline_text<16>{1};
#else
auto const text = keyspan::inline_text<16>{0.5};
#endif
