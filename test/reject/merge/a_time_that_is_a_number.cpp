// reject-gcc: following_within asks a function that returns a std::chrono::time_point
// reject-clang: following_within asks a function that returns a std::chrono::time_point
#include <keyspan/async/manual_clock.hpp>
#include <keyspan/merge/following_within.hpp>

#include <chrono>

// By how much a number of milliseconds is late nobody could say.
auto within(keyspan::manual_clock& clock) {
  using std::chrono::milliseconds;
#ifdef KEYSPAN_GOOD_TWIN
  auto const now = [] { return std::chrono::sys_time<milliseconds>{milliseconds{17}}; };
#else
  auto const now = [] { return 17L; };
#endif
  return keyspan::following_within{clock, std::chrono::seconds{1}, milliseconds{5}, now};
}
