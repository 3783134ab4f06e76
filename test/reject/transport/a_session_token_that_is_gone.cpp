// reject-gcc: to 'keyspan::borrowed_text'
// reject-clang: no matching constructor|no viable conversion
#include <keyspan/transport/memory_container.hpp>

#include <string>

std::string token_of_session();

void read() {
#ifdef KEYSPAN_GOOD_TWIN
  std::string const token = token_of_session();
  keyspan::read_options const options{.session_token = token};
#else
  keyspan::read_options const options{.session_token = token_of_session()};
#endif
  static_cast<void>(options);
}
