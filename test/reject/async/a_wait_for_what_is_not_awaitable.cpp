// reject: awaitable
// reject-clang: await_result|awaitable
#include <keyspan/async/ready.hpp>
#include <keyspan/async/sync_wait.hpp>

int waited() {
#ifdef KEYSPAN_GOOD_TWIN
  return keyspan::sync_wait(keyspan::ready{3});
#else
  return keyspan::sync_wait(3);
#endif
}
