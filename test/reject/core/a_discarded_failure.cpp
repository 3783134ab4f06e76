// reject-gcc: ignoring return value of .*fail.*, declared with attribute .nodiscard.
// reject-clang: ignoring return value of function declared with 'nodiscard' attribute
// reject-msvc: C4834
#include <keyspan/core/result.hpp>

keyspan::result<int> half(int n) {
#ifdef KEYSPAN_GOOD_TWIN
  if (n % 2 != 0) return keyspan::fail(keyspan::errc::malformed, n, " is odd");
#else
  if (n % 2 != 0) keyspan::fail(keyspan::errc::malformed, n, " is odd");
#endif
  return n / 2;
}
