// reject: nodiscard
#include <keyspan/async/task.hpp>

#include <utility>

keyspan::task<> work();

keyspan::task<> forgets() {
#ifdef KEYSPAN_GOOD_TWIN
  co_await work();
#else
  work();
  co_return;
#endif
}
