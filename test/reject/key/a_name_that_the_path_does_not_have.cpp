// reject-gcc: no matching function for call to
// reject-clang: no matching (member )?function for call to .segment
#include <keyspan/key/key_path.hpp>

#ifdef KEYSPAN_GOOD_TWIN
auto const name = keyspan::path<"/tenant/user">.segment<1>();
#else
auto const name = keyspan::path<"/tenant/user">.segment<2>();
#endif
