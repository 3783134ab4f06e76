// reject-gcc: ignoring returned value of type .keyspan::result<int>.
// reject-clang: ignoring return value of (function|type '.*result<int>') declared
// reject-msvc: C4834
#include <keyspan/core/result.hpp>

keyspan::result<int> next_page();

void read() {
#ifdef KEYSPAN_GOOD_TWIN
  static_cast<void>(next_page());
#else
  next_page();
#endif
}
