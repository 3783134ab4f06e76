// reject-gcc: member_path_or_function.*char
// reject-clang: char.* does not satisfy 'member_path_or_function'
#include <keyspan/key/extractor.hpp>
#include <keyspan/key/key_path.hpp>

#ifdef KEYSPAN_GOOD_TWIN
constexpr auto by_tenant = keyspan::key_of(keyspan::path<"/tenant">);
#else
constexpr auto by_tenant = keyspan::key_of("/tenant");
#endif
