// test/async/stop_token_test.cpp — who is asked to stop hears of it, once, and who has gone does
// not.
#include <keyspan/async/stop_token.hpp>
#include <keyspan/core/version.hpp>

#include <support/allocations.hpp>
#include <support/check.hpp>

#include <memory>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

namespace {

using keyspan::stop_callback;
using keyspan::stop_source;
using keyspan::stop_token;

static_assert(std::is_nothrow_copy_constructible_v<stop_token> &&
              std::is_nothrow_copy_assignable_v<stop_token> &&
              std::is_nothrow_default_constructible_v<stop_token>);
static_assert(!std::is_move_constructible_v<stop_callback<void (*)()>>);

TEST_CASE("a token without a source never says stop") {
  stop_token const never;
  CHECK_FALSE(never.stop_requested());
  CHECK_FALSE(never.stop_possible());
  CHECK(never == stop_token{});
  bool called = false;
  {
    stop_callback const none{never, [&] { called = true; }};
  }
  CHECK_FALSE(called);
}

TEST_CASE("stop is requested once, and all tokens of the source say so") {
  // [region: example]
  stop_source source;
  stop_token const stop = source.token();  // handed to whom may be stopped
  test::check(!stop.stop_requested());

  int hangs_up = 0;
  stop_callback const at_stop{stop, [&] { ++hangs_up; }};

  test::check(source.request_stop());
  test::check(stop.stop_requested() && hangs_up == 1);
  test::check(!source.request_stop());  // not the first one: nobody is told again
  // [end: example]
  CHECK(hangs_up == 1);
  CHECK(source.token() == stop);
  CHECK(stop_source{}.token() != stop);
}

TEST_CASE("a callback of what was stopped already is called at once") {
  stop_source source;
  source.request_stop();
  int calls = 0;
  {
    stop_callback const late{source.token(), [&] { ++calls; }};
    CHECK(calls == 1);
  }
  CHECK(calls == 1);
}

TEST_CASE("a callback that is gone is not called, wherever it stood among the others") {
  for (std::size_t gone = 0; gone < 3; ++gone) {
    stop_source source;
    std::vector<int> calls(3);
    auto const counting = [&](std::size_t i) { return [&calls, i] { ++calls[i]; }; };
    using callback = stop_callback<decltype(counting(0))>;
    std::vector<std::unique_ptr<callback>> all;
    for (std::size_t i = 0; i < 3; ++i)
      all.push_back(std::make_unique<callback>(source.token(), counting(i)));
    all[gone].reset();
    source.request_stop();
    for (std::size_t i = 0; i < 3; ++i) CHECK(calls[i] == (i == gone ? 0 : 1));
  }
}

TEST_CASE("a callback may destroy itself, another one, its source, and ask again") {
  auto source = std::make_unique<stop_source>();
  auto const token = source->token();
  int calls = 0;
  std::optional<stop_callback<void (*)()>> never_called;
  never_called.emplace(token, +[] { FAIL("it was destroyed before its turn"); });
  struct self {
    std::optional<stop_callback<self>>* holder;
    std::optional<stop_callback<void (*)()>>* other;
    std::unique_ptr<stop_source>* source;
    int* calls;
    void operator()() const {
      auto const here = *this;  // this object goes
      CHECK_FALSE((*here.source)->request_stop());
      here.holder->reset();
      here.other->reset();
      here.source->reset();
      ++*here.calls;
    }
  };
  std::optional<stop_callback<self>> holder;
  holder.emplace(token, self{&holder, &never_called, &source, &calls});
  CHECK(source->request_stop());
  CHECK(calls == 1);
  CHECK(source == nullptr);
  CHECK(token.stop_requested());
}

TEST_CASE("where no source is left stop cannot be requested any more") {
  std::optional<stop_source> source{std::in_place};
  stop_token const stop = source->token();
  std::optional<stop_source> copy{*source};
  source.reset();
  CHECK(stop.stop_possible());
  std::optional<stop_source> moved{std::move(*copy)};
  copy.reset();
  CHECK(moved->token() == stop);
  CHECK(stop.stop_possible());
  moved = stop_source{};
  CHECK_FALSE(stop.stop_possible());
  CHECK_FALSE(stop.stop_requested());
}

TEST_CASE("what was stopped stays so where no source is left, and late callbacks hear of it") {
  stop_token stop;
  {
    stop_source source;
    stop = source.token();
    source.request_stop();
  }
  CHECK(stop.stop_possible());
  CHECK(stop.stop_requested());
  int calls = 0;
  stop_callback const late{stop, [&] { ++calls; }};
  CHECK(calls == 1);
}

TEST_CASE("a callback may destroy all that knows of the request, itself included") {
  struct everything {
    struct ending {
      std::unique_ptr<everything>* of;
      void operator()() const {
        auto* const gone = of;  // this object goes
        gone->reset();
      }
    };
    stop_source source{};
    std::optional<stop_callback<ending>> at_stop{};
  };
  auto all = std::make_unique<everything>();
  all->at_stop.emplace(all->source.token(), everything::ending{&all});
  CHECK(all->source.request_stop());
  CHECK(all == nullptr);
}

TEST_CASE("a source that was moved from has no tokens and requests nothing") {
  stop_source source;
  stop_source const taken = std::move(source);
  CHECK_FALSE(source.request_stop());  // NOLINT(bugprone-use-after-move)
  CHECK_FALSE(source.stop_requested());
  CHECK_FALSE(source.token().stop_possible());
  CHECK(taken.token().stop_possible());
}

TEST_CASE("a source made where one was freed allocates nothing, nor do tokens and callbacks") {
  {
    stop_source const first;
  }
  std::size_t const made = test::allocations_in([] {
    stop_source source;
    stop_token const stop = source.token();
    stop_token const copy = stop;
    stop_callback const told{copy, [] {}};
    source.request_stop();
  });
  CHECK((made == 0 || KEYSPAN_THREAD_SANITIZER));
}

}  // namespace
