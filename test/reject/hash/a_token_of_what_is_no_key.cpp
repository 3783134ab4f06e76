// reject-gcc: no match for call to
// reject-clang: no matching function for call to object of type
#include <keyspan/hash/cosmos_v2.hpp>

struct review {
  keyspan::partition_key_view article{"redmond"};
};

#ifdef KEYSPAN_GOOD_TWIN
constexpr auto key = review{}.article;
#else
constexpr auto key = review{};  // its key is to be extracted first
#endif

constexpr auto t = keyspan::token_of(keyspan::cosmos_v2, key);
