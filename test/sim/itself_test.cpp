// test/sim/itself_test.cpp — the simulator finds what is wrong, and one seed reproduces all of it.
#include <sim/planted/routine.hpp>
#include <sim/player.hpp>
#include <sim/world.hpp>

#include <keyspan/core/contract.hpp>

#include <catch2/catch_test_macros.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace {

using namespace std::chrono_literals;

struct printed {
  int status;
  std::string out;
  std::string err;
};

printed command(std::vector<std::string_view> const& arguments) {
  std::ostringstream out;
  std::ostringstream err;
  int const status = sim::command(arguments, out, err);
  return {status, out.str(), err.str()};
}

sim::entry const& entry_named(std::string_view name) {
  for (auto const& each : sim::worlds())
    if (each.name == name) return each;
  throw std::out_of_range{"no such world"};
}

// ---- time and order

TEST_CASE("events happen at their time, whatever the order they were scheduled in") {
  sim::world w{1};
  std::string seen;
  auto const at = [&](sim::duration after, char name) {
    w.schedule(after, std::string{name}, [&seen, &w, name, after] {
      CHECK(w.now() == sim::instant{after});
      seen += name;
    });
  };
  at(3ms, 'c');
  at(1ms, 'a');
  at(2ms, 'b');
  CHECK_FALSE(w.is_idle());
  w.run();
  CHECK(seen == "abc");
  CHECK(w.is_idle());
  CHECK(w.steps() == 3);
  CHECK(w.now() == sim::instant{3ms});
}

std::string order_of_one_instant(std::uint64_t seed) {
  sim::world w{seed};
  std::string seen;
  for (char const name : {'a', 'b', 'c'})
    w.schedule(1ms, std::string{name}, [&seen, name] { seen += name; });
  w.run();
  return seen;
}

TEST_CASE("the seed decides the order within one instant, and every order comes up") {
  std::set<std::string> orders;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    auto const order = order_of_one_instant(seed);
    CHECK(order == order_of_one_instant(seed));
    orders.insert(order);
  }
  CHECK(orders.size() == 6);
}

TEST_CASE("an event that is taken back does not happen") {
  sim::world w{1};
  int happened = 0;
  auto const ticket = w.schedule(1ms, "never", [&] { ++happened; });
  auto const kept = w.schedule(1ms, "once", [&] { ++happened; });
  CHECK(w.cancel(ticket));
  CHECK_FALSE(w.cancel(ticket));
  w.run();
  CHECK(happened == 1);
  CHECK_FALSE(w.cancel(kept));
}

TEST_CASE("a run ends at its time or when it is stopped, and goes on later") {
  sim::world w{1};
  int happened = 0;
  for (int i = 1; i <= 5; ++i) {
    w.schedule(std::chrono::milliseconds{i}, "tick", [&] {
      if (++happened == 4) w.stop();
    });
  }
  w.run_until(sim::instant{2ms});  // what happens at the end itself is part of it
  CHECK(happened == 2);
  w.run_until(sim::instant{2500us});
  CHECK(happened == 2);
  CHECK(w.now() == sim::instant{2500us});
  w.run();
  CHECK(happened == 4);
  CHECK(w.now() == sim::instant{4ms});
  w.run();
  CHECK(happened == 5);
  w.schedule_at(sim::instant{1ms}, "late", [&] { ++happened; });
  w.run();
  CHECK(happened == 6);
  CHECK(w.now() == sim::instant{5ms});  // time does not run backwards
}

TEST_CASE("an action need not be copyable, and one that never happened is freed with the world") {
  auto const watched = std::make_shared<int>(0);
  {
    sim::world w{1};
    w.schedule(1ms, "moves", [own = std::make_unique<int>(1), watched] { *watched = *own; });
    w.run();
    CHECK(*watched == 1);
    w.schedule(1ms, "never", [watched] { *watched = 2; });
    CHECK(watched.use_count() == 2);
  }
  CHECK(watched.use_count() == 1);
}

// ---- coroutines

sim::routine count_to(int end, int& counter, sim::world& w) {
  while (counter < end) {
    co_await w.sleep(1ms, "counts");
    ++counter;
  }
}

TEST_CASE("a coroutine sleeps in virtual time, and takes its event with it when it is destroyed") {
  sim::world w{1};
  int counter = 0;
  {
    auto const counting = count_to(3, counter, w);
    w.run();
    CHECK(counter == 3);
    CHECK(counting.is_done());
    CHECK(w.now() == sim::instant{3ms});
  }
  counter = 0;
  {
    auto const abandoned = count_to(3, counter, w);
    w.run_until(w.now() + 1ms);
    CHECK_FALSE(w.is_idle());
    CHECK_FALSE(abandoned.is_done());
  }
  CHECK(w.is_idle());
  w.run();
  CHECK(counter == 1);
}

// ---- numbers and faults

TEST_CASE("an actor's numbers depend on the seed and its name alone") {
  sim::world a{7};
  sim::world b{7};
  auto early = a.stream("reader");
  for (int i = 0; i < 10; ++i) static_cast<void>(a.stream("writer")());
  static_cast<void>(b.schedule(1ms, "something", [] {}));
  auto late = b.stream("reader");
  CHECK(early() == late());
  std::set<std::uint64_t> first;
  for (std::uint64_t seed = 0; seed < 100; ++seed)
    for (auto const* const name : {"reader", "writer", "reader 1", "reader 2", ""})
      first.insert(sim::world{seed}.stream(name)());
  CHECK(first.size() == 500);
}

TEST_CASE("the swarm switches whole kinds off, in every combination") {
  std::set<unsigned> combinations;
  int on = 0;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    sim::world w{seed};
    auto& cut = w.declare_fault("cut", 50);
    auto& delay = w.declare_fault("delay", 50);
    auto& loss = w.declare_fault("loss", 50);
    combinations.insert((cut.is_on() ? 1U : 0U) | (delay.is_on() ? 2U : 0U) |
                        (loss.is_on() ? 4U : 0U));
    on += cut.is_on() ? 1 : 0;
    for (int i = 0; i < 50; ++i) static_cast<void>(cut.strikes());
    CHECK((cut.struck() > 0) == cut.is_on());
    auto const struck = cut.struck();
    w.heal();
    for (int i = 0; i < 50; ++i) CHECK_FALSE(cut.strikes());
    CHECK(cut.struck() == struck);
  }
  CHECK(combinations.size() == 8);
  CHECK(on > 60);
  CHECK(on < 140);
}

TEST_CASE("a fault strikes as often as it says") {
  sim::world w{0};
  std::uint64_t struck = 0;
  std::uint64_t kinds = 0;
  for (int i = 0; i < 100; ++i) {
    auto& kind = w.declare_fault(sim::line("kind ", i), 30);
    for (int k = 0; k < 100; ++k) static_cast<void>(kind.strikes());
    kinds += kind.is_on() ? 1U : 0U;
    struck += kind.struck();
  }
  auto const share = static_cast<double>(struck) / static_cast<double>(kinds * 100);
  CHECK(share > 0.27);
  CHECK(share < 0.33);
}

// ---- history

TEST_CASE("one seed gives one history, and another seed another") {
  std::set<std::uint64_t> histories;
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    auto const first = sim::play(entry_named("counter"), seed);
    auto const again = sim::play(entry_named("counter"), seed);
    CHECK(first.history == again.history);
    CHECK(first.steps == again.steps);
    CHECK(first.complaint == again.complaint);
    CHECK(first.report == again.report);
    histories.insert(first.history);
  }
  CHECK(histories.size() == 100);
}

TEST_CASE("the history knows what, when and in which order") {
  auto const history = [](auto const& tell) {
    sim::world w{1};
    tell(w);
    return w.history();
  };
  auto const told = history([](sim::world& w) { w.note("a"), w.note("b"); });
  CHECK(told == history([](sim::world& w) { w.note("a"), w.note("b"); }));
  CHECK(told != history([](sim::world& w) { w.note("b"), w.note("a"); }));
  CHECK(told != history([](sim::world& w) { w.note("c"), w.note("b"); }));
  CHECK(told != history([](sim::world& w) { w.note("ab"); }));
  CHECK(told != history([](sim::world& w) {
          w.note("a");
          w.run_until(sim::instant{1us});
          w.note("b");
        }));
}

// ---- what is wrong

TEST_CASE("an invariant is looked at after every step") {
  auto const seen =
      sim::play({"a test", "",
                 [](sim::world& w) {
                   auto const n = std::make_shared<int>(0);
                   w.always("n stays below 3",
                            [n] { return *n < 3 ? std::string{} : sim::line("it is ", *n); });
                   for (int i = 0; i < 10; ++i)
                     w.schedule(std::chrono::milliseconds{i}, "n grows", [n] { ++*n; });
                   w.run();
                 }},
                1);
  CHECK(seen.complaint == "n stays below 3: it is 3");
  CHECK(seen.steps == 3);
  CHECK(seen.report.back() == "  #3  0.002000 s  n grows");
}

TEST_CASE("demands, broken promises, exceptions and restlessness are complaints") {
  auto const complaint = [](void (*play)(sim::world&)) {
    return sim::play({"a test", "", play}, 1).complaint;
  };
  CHECK(complaint([](sim::world& w) { w.demand(1 + 1 == 3, "one and one is ", 2); }) ==
        "one and one is 2");
  CHECK(complaint([](sim::world&) {
          keyspan::expects(false, "this is kept");
        }).starts_with("broken promise: this is kept ("));
  CHECK(complaint([](sim::world&) { throw std::runtime_error{"out of luck"}; }) ==
        "exception: out of luck");
  CHECK(complaint([](sim::world& w) {
          w.allow_steps(100);
          struct again {
            sim::world& in;
            void operator()() const { in.schedule(1ms, "again", again{in}); }
          };
          w.schedule(1ms, "again", again{w});
          w.run();
        }) == "not at rest after 100 events");
  CHECK(complaint([](sim::world& w) { w.run(); }).empty());
}

TEST_CASE("a planted bug is found, and its printed seed finds it again") {
  auto const found = command({"--seeds", "200", "counter"});
  REQUIRE(found.status == 1);
  CHECK(found.out.find("the counter counts every update: it is ") != std::string::npos);
  CHECK(found.out.find("last events:") != std::string::npos);
  CHECK(found.out.find("faults: distraction ") != std::string::npos);

  std::string_view constexpr words = "replay: ./dev sim --first ";
  auto const place = found.out.find(words);
  REQUIRE(place != std::string::npos);
  auto const rest = std::string_view{found.out}.substr(place + words.size());
  auto const seed = rest.substr(0, rest.find(' '));
  CHECK(rest.substr(seed.size()) == " --seeds 1 counter\n");
  CHECK(seed != "1");  // it took some searching

  auto const replayed = command({"--first", seed, "--seeds", "1", "counter"});
  CHECK(replayed.status == 1);
  CHECK(replayed.out == found.out);  // the complaint, the step, the time and every event
}

TEST_CASE("a world that does not repeat itself is a complaint") {
  auto const seen = command({"--seeds", "1", "unsteady"});
  CHECK(seen.status == 1);
  CHECK(seen.out.starts_with("unsteady: seed 1: the same seed gave two different histories"));
}

// ---- the command line

TEST_CASE("worlds are listed by name") {
  auto const listed = command({"--list"});
  CHECK(listed.status == 0);
  CHECK(listed.out ==
        "counter  an update that is lost now and then\n"
        "unsteady  it does not repeat itself\n");
}

TEST_CASE("words that make no sense are refused") {
  std::vector<std::vector<std::string_view>> const nonsense{
      {"nowhere"},           {"--seed", "1"},
      {"--seeds"},           {"--seeds", "0"},
      {"--seeds", "many"},   {"--seeds", "-1"},
      {"--seeds", "1x"},     {"--first"},
      {"--first", ""},       {"counter", "other"},
      {"--list", "extra"},   {"-h"},
      {"counter", "--list"}, {"--first", "99999999999999999999"}};
  for (auto const& arguments : nonsense) {
    auto const refused = command(arguments);
    INFO(arguments.front());
    CHECK(refused.status == 2);
    CHECK(refused.out.empty());
    CHECK(refused.err.find("usage: sim [--seeds N] [--first S] [WORLD]") != std::string::npos);
  }
}

TEST_CASE("a clean world says how much was played") {
  auto const clean = command({"--first", "1", "--seeds", "1", "counter"});
  CHECK(clean.status == 0);
  CHECK(clean.out.starts_with("counter: 1 seeds from 1, "));
  CHECK(clean.out.find("nothing violated") != std::string::npos);
  CHECK(clean.err.empty());
}

}  // namespace
