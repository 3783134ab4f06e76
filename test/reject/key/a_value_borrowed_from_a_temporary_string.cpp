// reject: borrowable_key_input
#include <keyspan/key/key_value.hpp>

#include <string>

std::string load();

bool is_string() {
#ifdef KEYSPAN_GOOD_TWIN
  std::string const city = load();
  return keyspan::key_value{city}.is_string();
#else
  return keyspan::key_value{load()}.is_string();
#endif
}
