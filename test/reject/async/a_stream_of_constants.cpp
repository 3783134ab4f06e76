// reject: a stream gives items of an object type without const
#include <keyspan/async/async_stream.hpp>

#ifdef KEYSPAN_GOOD_TWIN
using item = int;
#else
using item = int const;
#endif

bool has_ended(keyspan::async_stream<item> const& stream) { return !stream; }
