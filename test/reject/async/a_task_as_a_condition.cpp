// reject-gcc: could not convert
// reject-clang: is not contextually convertible to 'bool'
#include <keyspan/async/task.hpp>

keyspan::task<bool> is_done();

#ifdef KEYSPAN_GOOD_TWIN
keyspan::task<int> count() {
  bool const done = co_await is_done();
  if (done) co_return 1;
  co_return 0;
}
#else
keyspan::task<int> count() {
  if (is_done()) co_return 1;  // nobody awaits it
  co_return 0;
}
#endif
