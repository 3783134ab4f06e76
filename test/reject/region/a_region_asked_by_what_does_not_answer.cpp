// reject: asks_a_region
#include <keyspan/async/manual_clock.hpp>
#include <keyspan/async/ready.hpp>
#include <keyspan/region/across_regions.hpp>

using keyspan::account_regions;
using keyspan::ready;
using keyspan::response;
using keyspan::result;

// An answer is a result, so that a region which cannot be reached can say so.
#ifdef KEYSPAN_GOOD_TWIN
using answer = result<response>;
#else
using answer = response;
#endif

auto read_anywhere(keyspan::region_directory& regions, keyspan::manual_clock& clock) {
  auto const ask = [](keyspan::service_region const&, keyspan::region_attempt const&) {
    return ready<answer>{response{}};
  };
  auto const look = [](keyspan::service_endpoint const&, keyspan::instant) {
    return ready<result<account_regions>>{account_regions{}};
  };
  return keyspan::send_across(regions, clock, {}, ask, look, keyspan::http_errors{}, nullptr);
}
