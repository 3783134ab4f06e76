// reject-gcc: (constraints not satisfied|template constraint failure)
// reject-clang: constraints not satisfied
#include <keyspan/hash/any_scheme.hpp>

#ifdef KEYSPAN_GOOD_TWIN
auto const t = keyspan::any_scheme{keyspan::cosmos_v2}.from_hex("22");
#else
auto const t = keyspan::from_hex<keyspan::any_token>("22");  // of which scheme?
#endif
