// reject-gcc: key_value_or_key_of_one_value.*time_point
// reject-clang: time_point.* does not satisfy 'key_value_or_key_of_one_value'
#include <keyspan/key/time_bucket.hpp>

#include <chrono>

struct event {
  std::chrono::system_clock::time_point at;
  std::chrono::steady_clock::time_point began;
};

event const seen;
#ifdef KEYSPAN_GOOD_TWIN
auto const day = keyspan::time_bucket(&event::at, keyspan::time_unit::day)(seen);
#else
auto const day = keyspan::time_bucket(&event::began, keyspan::time_unit::day)(seen);
#endif
