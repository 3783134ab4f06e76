// reject: nodiscard
#include <keyspan/async/ready.hpp>
#include <keyspan/async/sync_wait.hpp>

keyspan::ready<int> answer();

void forgets() {
#ifdef KEYSPAN_GOOD_TWIN
  static_cast<void>(keyspan::sync_wait(answer()));
#else
  answer();
#endif
}
