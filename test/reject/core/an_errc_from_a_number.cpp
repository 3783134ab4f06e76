// reject-gcc: cannot convert '410' \(type 'int'\) to type 'keyspan::errc'
// reject-clang: no known conversion from 'int' to '(keyspan::)?errc'
#include <keyspan/core/result.hpp>

#ifdef KEYSPAN_GOOD_TWIN
keyspan::result<int> const gone = keyspan::fail(keyspan::errc::range_gone);
#else
keyspan::result<int> const gone = keyspan::fail(410);
#endif
