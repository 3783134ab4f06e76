// reject-gcc: ignoring returned value of type .keyspan::result<void>.
// reject-clang: ignoring return value of (function|type '.*result<void>') declared
// reject-msvc: C4834
#include <keyspan/core/result.hpp>

keyspan::result<void> release();

void leave() {
#ifdef KEYSPAN_GOOD_TWIN
  if (!release()) return;
#else
  release();
#endif
}
