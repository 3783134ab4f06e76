// reject-gcc: path_error_at_column<14, .*a name follows a ..?/
// reject-clang: expects_path\(false, 14, .*a name follows a '/
#include <keyspan/key/key_path.hpp>

#ifdef KEYSPAN_GOOD_TWIN
auto const where = keyspan::path<"/tenant/user">;
#else
auto const where = keyspan::path<"/tenant/user/">;
#endif
