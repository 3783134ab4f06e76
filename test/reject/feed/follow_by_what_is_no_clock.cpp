// reject-gcc: required for the satisfaction of 'clock<
// reject-clang: constraints not satisfied for class template 'following'
#include <keyspan/async/thread_clock.hpp>
#include <keyspan/feed/feed.hpp>
#include <keyspan/feed/scripted_source.hpp>
#include <keyspan/hash/cosmos_v2.hpp>

#include <chrono>

using source_type = keyspan::scripted_source<int, keyspan::cosmos_v2_scheme>;

#ifdef KEYSPAN_GOOD_TWIN
using clock_type = keyspan::thread_clock;
#else
using clock_type = std::chrono::steady_clock;
#endif

auto follow(keyspan::feed<source_type>& changes, clock_type& clock) {
  return changes.follow(clock, std::chrono::seconds{1});
}
