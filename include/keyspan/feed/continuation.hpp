// keyspan/feed/continuation.hpp — where the reading of a range begins, or goes on.
//
//   beginning        a moment      "12"                      now
//      |----------------|------------|-----------------------|        the log of one range
#pragma once

#include <keyspan/core/contract.hpp>
#include <keyspan/feed/wall_time.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace keyspan {

/// The type of `from_beginning`.
struct from_beginning_type {
  explicit constexpr from_beginning_type() = default;
  friend constexpr bool operator==(from_beginning_type, from_beginning_type) = default;
};
/// Everything that the source still knows.
inline constexpr from_beginning_type from_beginning{};

/// The type of `from_now`.
struct from_now_type {
  explicit constexpr from_now_type() = default;
  friend constexpr bool operator==(from_now_type, from_now_type) = default;
};
/// Only what changes after the feed was opened.
inline constexpr from_now_type from_now{};

/// What changed at a moment and later.
struct from_time {
  wall_time at{};
  friend constexpr bool operator==(from_time const&, from_time const&) = default;
};

/// Which of the starts a reading had.
enum class start_kind : std::uint8_t { beginning, now, time };

/// The enumerator's own name: "beginning".
constexpr std::string_view name_of(start_kind kind) {
  switch (kind) {
    case start_kind::beginning:
      return "beginning";
    case start_kind::now:
      return "now";
    case start_kind::time:
      return "time";
  }
  expects(false, "a start_kind is one of the enumerators");
  return {};
}

/// Where one range is read from: a start, and once it has been read from there, a source's own
/// words for how far. Those are opaque: a source understands its own, also after a split or a
/// merge, and nobody else looks into them.
class continuation {
 public:
  // Not defaulted: g++ 12 ends with an internal error, or calls what it did not make.
  continuation() noexcept {}
  continuation(from_beginning_type) {}
  continuation(from_now_type) : start_{start_kind::now} {}
  continuation(from_time start) : start_{start_kind::time}, time_{start.at} {}
  /// Behind what was read when a source said `text`. Requires a text.
  explicit continuation(std::string text) : text_{std::move(text)} {
    expects(!text_.empty(), "a continuation that was read from has a text");
  }
  /// The same of a reading that began at a moment.
  continuation(from_time start, std::string text) : continuation{std::move(text)} {
    start_ = start_kind::time;
    time_ = start.at;
  }

  /// Whether nothing was read yet: the start alone says where.
  bool is_start() const noexcept { return text_.empty(); }
  /// How the reading began. Once there is a text, a start from the beginning and one from now are
  /// the same, `beginning`; a moment is kept, since some sources want to be told of it each time.
  start_kind start() const noexcept { return start_; }
  /// The moment that the reading began from. Requires `start() == start_kind::time`.
  wall_time time() const {
    expects(start_ == start_kind::time, "only a start from a moment has one");
    return time_;
  }
  /// The source's words; empty at the start.
  std::string const& text() const noexcept { return text_; }

  /// Goes on behind what was read when a source said `text`. Requires a text.
  void advance(std::string_view text) {
    expects(!text.empty(), "a continuation goes on to a text");
    text_.assign(text);
    if (start_ == start_kind::now) start_ = start_kind::beginning;
  }

  /// For people: "from the beginning", "from now", "from 2026-11-18T22:30:05.120Z", "behind 12", or
  /// "from 2026-11-18T22:30:05.120Z, behind 12".
  std::string to_text() const {
    std::string words;
    if (start_ == start_kind::time) {
      words.append("from ").append(time_text(time_).view());
    } else if (is_start()) {
      words = start_ == start_kind::now ? "from now" : "from the beginning";
    }
    if (is_start()) return words;
    return words.append(words.empty() ? "behind " : ", behind ").append(text_);
  }

  friend bool operator==(continuation const&, continuation const&) = default;

 private:
  start_kind start_ = start_kind::beginning;
  wall_time time_{};
  std::string text_{};
};

}  // namespace keyspan
