// reject-gcc: required for the satisfaction of 'gives_key_or_token_of_item<
// reject-clang: because 'detail::gives_key_or_token_of_item<
#include <keyspan/feed/scripted_source.hpp>
#include <keyspan/law/page_source.hpp>

struct change {
#ifdef KEYSPAN_GOOD_TWIN
  int key = 0;
#else
  struct {
  } key{};
#endif
  int number = 0;
};

void look_at(keyspan::scripted_source<change, keyspan::fast64_scheme>& source) {
  static_cast<void>(keyspan::law::check_page_source(source, &change::key, &change::number));
}
