// reject-gcc: path_error_at_column<1, .*a path begins with ..?/
// reject-clang: expects_path\(false, 1, .*a path begins with '/
#include <keyspan/key/key_path.hpp>

#ifdef KEYSPAN_GOOD_TWIN
auto const where = keyspan::path<"/tenant">;
#else
auto const where = keyspan::path<"tenant">;
#endif
