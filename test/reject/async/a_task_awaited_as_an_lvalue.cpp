// reject: a task is awaited as an rvalue
#include <keyspan/async/task.hpp>

#include <utility>

keyspan::task<int> twice(keyspan::task<int> once) {
#ifdef KEYSPAN_GOOD_TWIN
  co_return co_await std::move(once);
#else
  co_return co_await once;
#endif
}
