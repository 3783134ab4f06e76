// reject-gcc: use of deleted function .*prefix
// reject-clang: deleted (member )?function
#include <keyspan/key/partition_key.hpp>

keyspan::partition_key load();

bool is_empty() {
#ifdef KEYSPAN_GOOD_TWIN
  auto const key = load();
  auto const tenant = key.prefix(1);
#else
  auto const tenant = load().prefix(1);
#endif
  return tenant.empty();
}
