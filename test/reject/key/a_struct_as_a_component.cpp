// reject-gcc: key_value_or_key_of_one_value.*address
// reject-clang: address.* does not satisfy 'key_value_or_key_of_one_value'
#include <keyspan/key/extractor.hpp>

#include <string>

struct address {
  std::string city;
};
struct person {
  std::string id;
  address home;
};

#ifdef KEYSPAN_GOOD_TWIN
constexpr auto by_home =
    keyspan::key_of([](person const& p) -> auto const& { return p.home.city; });
#else
constexpr auto by_home = keyspan::key_of(&person::home);
#endif
