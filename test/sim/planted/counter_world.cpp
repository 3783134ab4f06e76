// test/sim/planted/counter_world.cpp — wrong on purpose: clerks read a counter, think, and write it
// back.
//
// Now and then one clerk thinks so long that another comes between, and an update is lost. Only
// where the swarm left that fault on can it happen, so most seeds are clean: the simulator has to
// find it.
#include <sim/planted/routine.hpp>
#include <sim/player.hpp>
#include <sim/world.hpp>

#include <chrono>
#include <string>
#include <vector>

namespace {

using namespace std::chrono_literals;

struct office {
  explicit office(sim::world& in) : w{in}, distraction{in.declare_fault("distraction", 3)} {}

  sim::routine clerk(int number) {
    auto numbers = w.stream(sim::line("clerk ", number));
    auto const morning = std::chrono::microseconds{numbers.between(0, 90'000)};
    co_await w.sleep(morning, sim::line("clerk ", number, " comes"));
    for (int i = 0; i < 5; ++i) {
      int const read = counter;
      if (distraction.strikes()) {
        auto const lost_in_thought = std::chrono::milliseconds{numbers.between(1, 60)};
        co_await w.sleep(lost_in_thought, sim::line("clerk ", number, " returns to his work"));
      }
      counter = read + 1;
      ++updates;
      w.note("clerk ", number, " writes ", counter);
      co_await w.sleep(30ms, sim::line("clerk ", number, " takes the next file"));
    }
  }

  sim::world& w;
  sim::fault& distraction;
  int counter = 0;
  int updates = 0;
};

sim::registered const counter{"counter", "an update that is lost now and then", [](sim::world& w) {
                                office o{w};
                                w.always("the counter counts every update", [&o] {
                                  return o.counter == o.updates
                                             ? std::string{}
                                             : sim::line("it is ", o.counter, " after ", o.updates,
                                                         " updates");
                                });
                                std::vector<sim::routine> clerks;
                                for (int i = 0; i < 3; ++i) clerks.push_back(o.clerk(i));
                                w.run();
                              }};

// Wrong in another way: what happens depends on something outside of the world.
sim::registered const unsteady{"unsteady", "it does not repeat itself", [](sim::world& w) {
                                 static int played = 0;
                                 w.note("played ", ++played, " times");
                               }};

}  // namespace
