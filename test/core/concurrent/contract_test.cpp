// test/core/concurrent/contract_test.cpp — the contract handler belongs to all threads at once.
#include <keyspan/core/contract.hpp>

#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <functional>
#include <latch>
#include <string_view>
#include <thread>

namespace {

struct heard {
  int handler;
  bool whole;
};

template <int Id>
void throw_heard(keyspan::violation const& broken) {
  throw heard{Id, std::string_view{broken.promise} == "kept"};
}

constexpr std::array<keyspan::contract_handler, 4> handlers{&throw_heard<0>, &throw_heard<1>,
                                                            &throw_heard<2>, &throw_heard<3>};

// How often each handler went in and came out in one thread.
struct tally {
  std::array<int, handlers.size()> in{};
  std::array<int, handlers.size()> out{};
  int strangers = 0;
};

void change_handlers(std::size_t first, tally& mine, std::latch& start) {
  start.arrive_and_wait();  // one alone would be done before the other begins
  for (std::size_t i = 0; i < 200'000; ++i) {
    std::size_t const chosen = (first + i) % handlers.size();
    ++mine.in[chosen];
    auto const old = keyspan::set_contract_handler(handlers[chosen]);
    auto const known = std::ranges::find(handlers, old);
    if (known == handlers.end()) {
      ++mine.strangers;
    } else {
      ++mine.out[static_cast<std::size_t>(known - handlers.begin())];
    }
  }
}

void break_promises(tally& mine) {
  for (int i = 0; i < 5'000; ++i) {
    try {
      keyspan::expects(false, "kept");
      ++mine.strangers;
    } catch (heard const& h) {
      if (!h.whole || h.handler < 0 || h.handler > 3) ++mine.strangers;
    }
  }
}

TEST_CASE("handlers are changed while other threads break promises") {
  auto const before = keyspan::set_contract_handler(handlers[0]);
  std::array<tally, 4> tallies;
  std::latch start{2};
  {
    std::thread a{change_handlers, 0, std::ref(tallies[0]), std::ref(start)};
    std::thread b{change_handlers, 2, std::ref(tallies[1]), std::ref(start)};
    std::thread c{break_promises, std::ref(tallies[2])};
    std::thread d{break_promises, std::ref(tallies[3])};
    for (auto* const thread : {&a, &b, &c, &d}) thread->join();
  }
  auto const last = keyspan::set_contract_handler(before);
  // Each handler that went in came out once: an exchange loses none and invents none.
  for (std::size_t h = 0; h < handlers.size(); ++h) {
    int in = h == 0 ? 1 : 0;
    int out = last == handlers[h] ? 1 : 0;
    for (auto const& each : tallies) {
      in += each.in[h];
      out += each.out[h];
      CHECK(each.strangers == 0);
    }
    CHECK(in == out);
  }
}

}  // namespace
