// reject-gcc: use of deleted function .*json_reader
// reject-clang: deleted constructor|deleted function
#include <keyspan/core/json.hpp>

#include <string>

std::string load();

bool is_one_value() {
#ifdef KEYSPAN_GOOD_TWIN
  std::string const text = load();
  keyspan::json_reader in{text};
#else
  keyspan::json_reader in{load()};
#endif
  in.skip();
  in.finish();
  return in.ok();
}
