// reject-gcc: checked_range_map
// reject-clang: checked_range_map|no type named 'token_type' in 'std::map
#include <keyspan/law/range_map.hpp>

#include <map>
#include <vector>

std::vector<int> const tokens{1, 2};
#ifdef KEYSPAN_GOOD_TWIN
keyspan::range_map<int, int> const map{{0, keyspan::space_end}, 1};
#else
std::map<int, int> const map{{0, 1}};
#endif
auto const found = keyspan::law::check_range_map(map, tokens);
