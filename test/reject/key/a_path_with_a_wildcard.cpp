// reject-gcc: path_error_at_column<9, .*a property of that name stands in quotes
// reject-clang: expects_path\(false, 9, .*a property of that name stands in quotes
#include <keyspan/key/key_path.hpp>

#ifdef KEYSPAN_GOOD_TWIN
auto const where = keyspan::path<"/tenant/'*'">;
#else
auto const where = keyspan::path<"/tenant/*">;
#endif
