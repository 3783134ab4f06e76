// docs/example/mortal_container.hpp — a container as a program sees it that is killed: after so
// many steps nothing that the program does has an effect any more.
//
//   life one{.steps = 17, .is_last_done = true};     the 17th is done, and nobody is told
//   mortal_container seen{copies, one};
#pragma once

#include <keyspan/async/awaitable.hpp>
#include <keyspan/async/task.hpp>
#include <keyspan/core/error.hpp>
#include <keyspan/core/result.hpp>
#include <keyspan/feed/continuation.hpp>
#include <keyspan/feed/read_request.hpp>
#include <keyspan/transport/item_batch.hpp>

#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <type_traits>
#include <utility>

namespace moving {

/// How long a program lives.
struct life {
  std::uint64_t steps = (std::numeric_limits<std::uint64_t>::max)();
  /// Whether the last step is done, though nobody is told any more.
  bool is_last_done = false;
  /// Told when it ends.
  std::function<void()> at_end{};
  /// How long a step takes: before it is done, and until that is told.
  std::function<keyspan::task<>()> wait{};

  bool is_over() const noexcept { return steps == 0; }
};

/// A container, until a life is over.
template <class Container>
class mortal_container {
 public:
  using scheme_type = typename Container::scheme_type;
  using token_type = typename Container::token_type;
  using range_type = typename Container::range_type;
  using document_type = typename Container::document_type;
  using item_type = typename Container::item_type;
  using page_type = typename Container::page_type;

  mortal_container(Container& in, life& of) : in_{in}, of_{of} {}

  auto const& scheme() const noexcept { return in_.scheme(); }
  auto const& container() const noexcept { return in_.container(); }

  auto create(document_type one) {
    return step([this, one = std::move(one)] { return in_.create(one); });
  }
  auto replace(document_type one, keyspan::write_options how = {}) {
    return step([this, one = std::move(one), how] { return in_.replace(one, how); });
  }
  template <class Key, class Id>
  auto remove(Key const& key, Id const& id, keyspan::write_options how = {}) {
    return step([this, key, id, how] { return in_.remove(key, id, how); });
  }
  template <class Key, class Id>
  auto read_item(Key const& key, Id const& id) {
    return step([this, key, id] { return in_.read_item(key, id); });
  }
  auto read(range_type const& range, keyspan::continuation const& from,
            keyspan::read_request const& request) {
    return step([this, range, from, request] { return in_.read(range, from, request); });
  }
  auto topology(std::string const& known) {
    return step([this, known] { return in_.topology(known); });
  }

 private:
  template <class Do>
  auto step(Do what)
      -> keyspan::task<std::remove_cvref_t<keyspan::await_result<std::invoke_result_t<Do&>>>> {
    if (of_.wait) {
      auto waiting = of_.wait();
      co_await std::move(waiting);
    }
    auto const nobody =
        keyspan::fail(keyspan::errc::not_connected, "the program that asks was killed");
    if (of_.is_over()) co_return nobody;
    bool const is_last = --of_.steps == 0;
    if (is_last && of_.at_end) of_.at_end();
    if (is_last && !of_.is_last_done) co_return nobody;
    auto doing = what();
    auto done = co_await std::move(doing);
    if (is_last) co_return nobody;
    if (of_.wait) {
      auto waiting = of_.wait();
      co_await std::move(waiting);
    }
    if (of_.is_over()) co_return nobody;
    co_return done;
  }

  Container& in_;
  life& of_;
};

}  // namespace moving
