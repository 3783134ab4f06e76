// reject: borrowable_key_input
#include <keyspan/key/key_value.hpp>

#include <string>

#ifdef KEYSPAN_GOOD_TWIN
std::string const city{"redmond"};
auto const value = keyspan::key_value::from(city);
#else
auto const value = keyspan::key_value::from(std::string{"redmond"});
#endif
