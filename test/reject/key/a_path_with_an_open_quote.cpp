// reject-gcc: path_error_at_column<9, .*the quote that opens a name is not closed
// reject-clang: expects_path\(false, 9, .*the quote that opens a name is not closed
#include <keyspan/key/key_path.hpp>

#ifdef KEYSPAN_GOOD_TWIN
auto const where = keyspan::path<"/tenant/'user id'">;
#else
auto const where = keyspan::path<"/tenant/'user id">;
#endif
