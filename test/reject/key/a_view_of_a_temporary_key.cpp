// reject-gcc: use of deleted function .*partition_key_view
// reject-clang: deleted
#include <keyspan/key/partition_key.hpp>

keyspan::partition_key load();

std::size_t size() {
#ifdef KEYSPAN_GOOD_TWIN
  auto const key = load();
  keyspan::partition_key_view const view = key;
#else
  keyspan::partition_key_view const view = load();
#endif
  return view.size();
}
