// test/processor/strand_test.cpp — one at a time, in the order they came, on a stack that does not
// grow. What threads do to it is in concurrent/strand_test.cpp.
#include <keyspan/async/sync_wait.hpp>
#include <keyspan/async/task.hpp>
#include <keyspan/async/when_all.hpp>
#include <keyspan/processor/strand.hpp>

#include <async/held.hpp>
#include <support/check.hpp>
#include <support/random.hpp>

#include <algorithm>
#include <concepts>
#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace {

using keyspan::strand;
using keyspan::sync_wait;
using keyspan::task;
using keyspan::when_all;
using keyspan::detail::signal;
using keyspan::detail::task_group;
using test::check;
using test::held;

static_assert(!std::copyable<strand> && !std::movable<strand>);
static_assert(!std::movable<signal> && !std::copyable<task_group>);

// Where coroutines wait until the test goes on with them.
class gate {
 public:
  struct waiting {
    gate* at;
    bool await_ready() const noexcept { return false; }
    void await_suspend(std::coroutine_handle<> suspended) const { at->line_.push_back(suspended); }
    void await_resume() const noexcept {}
  };
  waiting pass() noexcept { return {this}; }
  void open_for(std::size_t which = 0) {
    auto const at = line_.begin() + static_cast<std::ptrdiff_t>(which);
    auto const goes_on = *at;
    line_.erase(at);
    goes_on.resume();
  }
  std::size_t size() const { return line_.size(); }

 private:
  std::deque<std::coroutine_handle<>> line_{};
};

TEST_CASE("who comes while somebody is inside goes on behind it, in the order of coming") {
  strand inside;
  std::string log;
  auto const enter = [&](char name) -> held {
    co_await inside.enter();
    log += name;
  };
  std::vector<held> others;
  auto const run_first = [&]() -> held {
    co_await inside.enter();
    log += '[';
    for (char const name : {'a', 'b', 'c', 'd'}) others.push_back(enter(name));
    log += ']';  // none of them inside of this one
    for (held const& one : others) check(!one.is_done());
  };
  auto const first = run_first();
  CHECK(first.is_done());
  CHECK(log == "[]abcd");
}

TEST_CASE("who enters from inside lets all pass who have come before") {
  strand inside;
  std::string log;
  auto const twice = [&](char name) -> held {
    co_await inside.enter();
    log += name;
    co_await inside.enter();
    log += name;
    co_await inside.enter();
    log += name;
  };
  std::vector<held> others;
  auto const run_first = [&]() -> held {
    co_await inside.enter();
    others.push_back(twice('a'));
    others.push_back(twice('b'));
    co_await inside.enter();
    log += '1';
    co_await inside.enter();
    log += '2';
  };
  auto const first = run_first();
  CHECK(log == "ab1ab2ab");
}

TEST_CASE("who leaves goes on outside, once all who have come are through") {
  strand inside;
  std::string log;
  auto const visit = [&](char name) -> held {
    co_await inside.enter();
    log += name;
    check(inside.is_inside());
    co_await inside.leave();
    log += static_cast<char>(name - 'a' + 'A');
    check(!inside.is_inside());
    co_await inside.leave();  // outside of it already: goes on at once
    log += '.';
  };
  std::vector<held> others;
  auto const run_first = [&]() -> held {
    co_await inside.enter();
    for (char const name : {'a', 'b', 'c'}) others.push_back(visit(name));
    co_await inside.leave();
    log += '1';
    check(!inside.is_inside());
    others.push_back(visit('d'));  // not inside of this one, which is on the stack
    log += '2';
  };
  auto const first = run_first();
  CHECK(log == "abc12dA.B.C.D.");
}

TEST_CASE("a strand knows who is inside") {
  strand inside;
  strand other;
  gate out;
  CHECK(!inside.is_inside());
  auto const run_visitor = [&]() -> held {
    check(!inside.is_inside());
    co_await inside.enter();
    check(inside.is_inside() && !other.is_inside());
    bool elsewhere = true;
    std::thread{[&] { elsewhere = inside.is_inside(); }}.join();
    check(!elsewhere);
    co_await out.pass();
    check(!inside.is_inside());  // whoever goes on with it is not
    co_await inside.enter();
    check(inside.is_inside());
  };
  auto const visitor = run_visitor();
  CHECK(!inside.is_inside());
  out.open_for();
  CHECK(visitor.is_done());
  CHECK(!inside.is_inside());
}

TEST_CASE("who waits for something else is no longer inside, and keeps nobody out") {
  strand inside;
  gate out;
  std::string log;
  auto const run_slow = [&]() -> held {
    co_await inside.enter();
    log += 'a';
    co_await out.pass();
    log += 'c';
  };
  auto const slow = run_slow();
  auto const run_quick = [&]() -> held {
    co_await inside.enter();
    log += 'b';
  };
  auto const quick = run_quick();
  CHECK(quick.is_done());
  out.open_for();
  CHECK(log == "abc");
}

// What is true of one at a time: nobody begins between two marks that another one has set.
struct marks {
  bool is_taken = false;
  int rounds = 0;
  void set() {
    check(!is_taken);
    is_taken = true;
  }
  void clear() {
    is_taken = false;
    ++rounds;
  }
};

// A visitor that does by chance whatever one can do with strands, and begins others on the way.
held wander(std::vector<std::unique_ptr<strand>>& strands, std::vector<marks>& all, gate& out,
            test::random& rng, std::vector<held>& others, int depth) {
  for (int step = 0; step < 12; ++step) {
    std::size_t const which = rng.below(strands.size());
    co_await strands[which]->enter();
    check(strands[which]->is_inside());
    all[which].set();
    if (depth > 0 && rng.chance(20))
      others.push_back(wander(strands, all, out, rng, others, depth - 1));
    check(strands[which]->is_inside());
    all[which].clear();
    switch (rng.below(4)) {
      case 0:
        co_await out.pass();
        break;
      case 1:
        co_await strands[which]->leave();
        check(!strands[which]->is_inside());
        if (depth > 0 && rng.chance(20))
          others.push_back(wander(strands, all, out, rng, others, depth - 1));
        break;
      case 2:
        co_await strands[rng.below(strands.size())]->leave();
        break;
      default:
        break;
    }
  }
}

TEST_CASE("whatever coroutines do, one is inside at a time, and all of them end") {
  test::random rng{2};
  for (int round = 0; round < 400; ++round) {
    std::vector<std::unique_ptr<strand>> strands;
    for (std::size_t n = 1 + rng.below(3); n > 0; --n)
      strands.push_back(std::make_unique<strand>());
    std::vector<marks> all(strands.size());
    gate out;
    std::vector<held> others;
    others.reserve(100'000);  // frames refer to it while it grows
    for (int i = 0; i < 4; ++i) others.push_back(wander(strands, all, out, rng, others, 2));
    while (out.size() > 0) out.open_for(rng.below(out.size()));
    int rounds = 0;
    for (marks const& one : all) rounds += one.rounds;
    REQUIRE(rounds == static_cast<int>(others.size()) * 12);
    for (held const& one : others) REQUIRE(one.is_done());
  }
}

// Sanitizers keep frames elsewhere, and turn none into a jump.
#if KEYSPAN_ADDRESS_SANITIZER || KEYSPAN_THREAD_SANITIZER
constexpr bool is_sanitized = true;
#elif defined(__has_feature)
constexpr bool is_sanitized = __has_feature(address_sanitizer) || __has_feature(thread_sanitizer);
#else
constexpr bool is_sanitized = false;
#endif
constexpr int often = is_sanitized ? 1'000 : 100'000;

// How far the stack is from where it was.
std::size_t depth_from(char const* base) {
  char const here = 0;
  auto const a = reinterpret_cast<std::uintptr_t>(base);
  auto const b = reinterpret_cast<std::uintptr_t>(&here);
  return a > b ? a - b : b - a;
}

TEST_CASE("a hundred thousand rounds in and out of a strand leave the stack as it is") {
  strand inside;
  char const base = 0;
  std::size_t deepest = 0;
  int done = 0;
  auto const rounds = [&](int count) -> held {
    for (; count > 0; --count) {
      co_await inside.enter();
      ++done;
      deepest = (std::max)(deepest, depth_from(&base));
      co_await inside.leave();
      deepest = (std::max)(deepest, depth_from(&base));
    }
  };
  auto const one = rounds(100);
  std::size_t const of_few = deepest;
  auto const many = rounds(often);
  CHECK((is_sanitized || deepest == of_few));
  std::vector<held> three;
  auto const run_begin = [&]() -> held {
    co_await inside.enter();
    for (int i = 0; i < 3; ++i) three.push_back(rounds(often));
  };
  auto const begin = run_begin();
  CHECK(done == 100 + 4 * often);
  CHECK((is_sanitized || deepest < of_few + 4'096));
}

task<int> ready_one() { co_return 1; }

TEST_CASE("tasks that are always ready do not deepen the stack, either") {
  strand inside;
  char const base = 0;
  std::size_t deepest = 0;
  auto const visit = [&]() -> task<int> {
    co_await inside.enter();
    int const got = co_await ready_one();
    co_await inside.leave();
    deepest = (std::max)(deepest, depth_from(&base));
    co_return got;
  };
  auto const visits = [&](int count) -> task<int> {
    int sum = 0;
    for (int i = 0; i < count; ++i) sum += co_await visit();
    co_return sum;
  };
  CHECK(sync_wait(visits(10)) == 10);
  std::size_t const of_few = deepest;
  CHECK(sync_wait(visits(often)) == often);
  // Unoptimised builds may keep a frame of the stack for each task that is awaited in turn.
  CHECK((is_sanitized || deepest < of_few + 65'536));
}

TEST_CASE("several strands go their own ways on one thread") {
  strand a;
  strand b;
  strand c;
  std::string log;
  auto const cross = [&](std::string name) -> held {
    co_await a.enter();
    log += name + "a ";
    check(a.is_inside());
    co_await b.enter();
    log += name + "b ";
    check(b.is_inside());
    co_await c.enter();
    log += name + "c ";
    check(c.is_inside());
    co_await a.enter();
    log += name + "A ";
    check(a.is_inside());
  };
  auto const one = cross("1");
  CHECK(one.is_done());
  CHECK(log == "1a 1b 1c 1A ");
  log.clear();
  std::vector<held> two;
  auto const run_begin = [&]() -> held {
    co_await a.enter();
    two.push_back(cross("1"));
    two.push_back(cross("2"));
  };
  auto const begin = run_begin();
  for (held const& it : two) CHECK(it.is_done());
  CHECK(log.size() == 24);
  CHECK(!a.is_inside());
  CHECK(!b.is_inside());
  CHECK(!c.is_inside());
}

TEST_CASE("the last one inside may let the strand go") {
  for (bool const leaves : {false, true}) {
    auto inside = std::make_unique<strand>();
    std::string log;
    auto const visit = [&](char name) -> held {
      co_await inside->enter();
      log += name;
    };
    std::vector<held> others;
    auto const run_last = [&]() -> held {
      co_await inside->enter();
      others.push_back(visit('a'));
      others.push_back(visit('b'));
      if (leaves) {
        co_await inside->leave();
      } else {
        co_await inside->enter();
      }
      inside.reset();
      log += '.';
    };
    auto const last = run_last();
    CHECK(last.is_done());
    CHECK(log == "ab.");
  }
}

TEST_CASE("who waits for a signal goes on when it is given, in the order of waiting, once") {
  strand inside;
  signal changed{inside};
  std::string log;
  int state = 0;
  auto const wait_for = [&](int wanted, char name) -> held {
    co_await inside.enter();
    while (state < wanted) {
      log += '?';
      co_await changed.wait();
      check(inside.is_inside());
    }
    log += name;
  };
  auto const a = wait_for(1, 'a');
  auto const b = wait_for(2, 'b');
  auto const c = wait_for(1, 'c');
  CHECK(log == "???");
  log.clear();
  auto const grow = [&]() -> held {
    co_await inside.enter();
    ++state;
    changed.notify();
    log += '.';  // nobody goes on inside of who tells
    changed.notify();
  };
  auto const first = grow();
  CHECK(log == ".a?c");
  log.clear();
  auto const second = grow();
  CHECK(log == ".b");
  auto const third = grow();  // nobody waits
  CHECK(log == ".b.");
}

TEST_CASE("who waits for a signal goes on behind those who are queued") {
  strand inside;
  signal changed{inside};
  std::string log;
  auto const run_wait = [&]() -> held {
    co_await inside.enter();
    co_await changed.wait();
    log += 'w';
  };
  auto const wait = run_wait();
  auto const visit = [&](char name) -> held {
    co_await inside.enter();
    log += name;
  };
  std::vector<held> others;
  auto const run_tell = [&]() -> held {
    co_await inside.enter();
    others.push_back(visit('a'));
    changed.notify();
    others.push_back(visit('b'));
  };
  auto const tell = run_tell();
  CHECK(log == "awb");
}

TEST_CASE("a group is joined when all that it began have ended, those begun meanwhile, too") {
  strand inside;
  task_group group{inside};
  gate out;
  std::string log;
  auto const step = [&](char name) -> task<> {
    check(inside.is_inside());
    log += name;
    co_await out.pass();  // comes back outside, and ends there
    log += static_cast<char>(name - 'a' + 'A');
  };
  auto const begin_another = [&]() -> task<> {
    co_await out.pass();
    co_await inside.enter();
    group.spawn(step('c'));
  };
  auto const run_all = [&]() -> held {
    co_await inside.enter();
    group.spawn(step('a'));
    group.spawn(step('b'));
    group.spawn(begin_another());
    check(group.size() == 3);
    check(log.empty());  // behind all who are queued
    auto joining = group.join();
    co_await std::move(joining);
    check(inside.is_inside());
    check(group.size() == 0);
    log += '.';
    auto again = group.join();  // of nobody
    co_await std::move(again);
    log += '.';
  };
  auto const all = run_all();
  CHECK(log == "ab");
  out.open_for(1);
  CHECK(log == "abB");
  out.open_for(1);
  CHECK(log == "abBc");
  out.open_for(0);
  CHECK(!all.is_done());
  out.open_for(0);
  CHECK(log == "abBcAC..");
  CHECK(all.is_done());
}

TEST_CASE("who joins waits for those, too, that were begun while it was told that none is left") {
  strand inside;
  task_group group{inside};
  gate out;
  std::string log;
  auto const work = [&](char name) -> task<> {
    co_await out.pass();
    co_await inside.enter();
    log += name;
  };
  auto const run_all = [&]() -> held {
    co_await inside.enter();
    group.spawn(work('a'));
    auto joining = group.join();
    co_await std::move(joining);
    log += '.';
  };
  auto const all = run_all();
  // Queued before the first one is through, so inside between its end and who joins.
  auto const run_another = [&]() -> held {
    co_await inside.enter();
    out.open_for();
    co_await inside.enter();
    co_await inside.enter();
    group.spawn(work('b'));
  };
  auto const another = run_another();
  CHECK(log == "a");
  CHECK(out.size() == 1);
  CHECK(!all.is_done());
  out.open_for();
  CHECK(log == "ab.");
  CHECK(all.is_done());
}

TEST_CASE("a group takes tasks after it was joined") {
  strand inside;
  task_group group{inside};
  int done = 0;
  auto const work = [&]() -> task<> {
    ++done;
    co_return;
  };
  auto const run_all = [&]() -> held {
    co_await inside.enter();
    for (int round = 1; round <= 3; ++round) {
      for (int i = 0; i < round; ++i) group.spawn(work());
      auto joining = group.join();
      co_await std::move(joining);
    }
  };
  auto const all = run_all();
  CHECK(all.is_done());
  CHECK(done == 6);
}

TEST_CASE("the example of strand reads as it should") {
  // [region: example]
  keyspan::strand inside;
  int handled = 0;  // shared by all of them, and needs no lock
  auto const work = [&](int items) -> keyspan::task<> {
    for (; items > 0; --items) {
      co_await inside.enter();
      ++handled;  // nobody else is here
      co_await inside.leave();
      // what may take long
    }
  };
  keyspan::sync_wait(keyspan::when_all(work(3), work(4)));
  check(handled == 7);
  // [end: example]
}

}  // namespace
