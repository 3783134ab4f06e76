// test/sim/request_faults.hpp — what happens to requests in a world: kinds of faults of the swarm,
// as the chances of a source that strikes by itself.
#pragma once

#include "world.hpp"

#include <keyspan/transport/faulty.hpp>

#include <support/random.hpp>

#include <chrono>

namespace sim {

/// Each world has some of these kinds, and each source of it its own chances of them.
class request_faults {
 public:
  explicit request_faults(world& in)
      : throttling_{in.declare_fault("throttled", 100)},
        refusing_{in.declare_fault("unavailable", 100)},
        losing_{in.declare_fault("lost answers", 100)},
        delaying_{in.declare_fault("delays", 100)} {}

  keyspan::fault_chances chances(test::random& numbers, unsigned most_refused = 15) {
    auto const percent = [&](fault& kind, unsigned most) {
      return kind.strikes() ? static_cast<unsigned>(1 + numbers.below(most)) : 0u;
    };
    return {.throttled = percent(throttling_, most_refused),
            .unavailable = percent(refusing_, most_refused),
            .lost = percent(losing_, 10),
            .delayed = percent(delaying_, 80),
            .longest_delay = std::chrono::milliseconds{30},
            .seed = numbers()};
  }

 private:
  fault& throttling_;
  fault& refusing_;
  fault& losing_;
  fault& delaying_;
};

}  // namespace sim
