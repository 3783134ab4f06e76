// reject-gcc: text_viewed_or_joined.*string
// reject-clang: string.* does not satisfy 'text_viewed_or_joined'
#include <keyspan/key/extractor.hpp>
#include <keyspan/key/joined.hpp>

#include <string>

struct sale {
  std::string city, day;
};

sale const sold;
#ifdef KEYSPAN_GOOD_TWIN
auto const key = keyspan::key_of(keyspan::joined("-", &sale::city, &sale::day))(sold);
#else
auto const key = keyspan::key_of([](sale const& s) { return s.city + "-" + s.day; })(sold);
#endif
