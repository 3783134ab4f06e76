// test/sim/feed_model.hpp — what a feed must do, in the simplest form that can be right: who asks
// is told whether that was the question to ask, and where the reading stands.
//
//   ready  [00, 10) "17", turn 3   [10, 40) beginning, turn 1      each stretch of tokens knows how
//   idle   [40, FF) "12"                                          far it was read, and when
#pragma once

#include <sim/world.hpp>

#include <keyspan/async/clock.hpp>
#include <keyspan/feed/continuation.hpp>
#include <keyspan/feed/cursor.hpp>
#include <keyspan/range/token_range.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace sim {

/// One change of one of the keys: the key's number, and how many changes it had before.
struct feed_change {
  std::uint32_t key = 0;
  std::uint32_t sequence = 0;

  friend bool operator==(feed_change const&, feed_change const&) = default;
};

/// Which change of each key comes next, exactly or within bounds where the reading begins at a
/// moment that is not known to the change. What was taken of the last page can be taken back.
class feed_ledger {
 public:
  struct next_change {
    std::uint32_t least = 0;
    std::uint32_t most = 0;
  };

  feed_ledger() = default;
  explicit feed_ledger(std::vector<next_change> next) : next_{std::move(next)} {}

  /// What is wrong with this change being the next one of its key, or nothing.
  std::string take(feed_change const& one) {
    if (one.key >= next_.size()) return line("there is no key ", one.key);
    auto& next = next_[one.key];
    if (one.sequence < next.least)
      return line("change ", one.sequence, " of key ", one.key,
                  " came again, or too late: ", next.least, " is expected");
    if (one.sequence > next.most)
      return line("change ", one.sequence, " of key ", one.key, " came, and ", next.most,
                  " was lost");
    taken_.push_back({one.key, next});
    next = {one.sequence + 1, one.sequence + 1};
    return {};
  }
  void begin_page() { taken_.clear(); }
  void take_back_last() {
    next_[taken_.back().first] = taken_.back().second;
    taken_.pop_back();
  }
  void take_back_page() {
    while (!taken_.empty()) take_back_last();
  }
  /// From here on everything is read that is written.
  void is_open(std::vector<std::uint32_t> const& written) {
    for (std::size_t i = 0; i < next_.size(); ++i)
      next_[i].most = std::max(next_[i].least, std::min(next_[i].most, written[i]));
  }
  next_change const& next(std::size_t key) const { return next_[key]; }

 private:
  std::vector<next_change> next_{};
  std::vector<std::pair<std::uint32_t, next_change>> taken_{};
};

/// How the feed is being read.
enum class feed_manner { opening, draining, following };

template <keyspan::token Token>
class feed_model {
 public:
  using range_type = keyspan::token_range<Token>;
  using cursor_type = keyspan::composite_cursor<Token>;

  /// A page that was delivered, and whose items are not all dealt with.
  struct pending_page {
    range_type range;
    std::string continuation{};
    bool nothing_new = false;
    std::vector<feed_change> items{};
    std::uint64_t number = 0;
  };

  feed_model(range_type const& scope, keyspan::continuation from) {
    stretches_.push_back({scope, std::move(from)});
  }
  /// What a cursor says.
  explicit feed_model(cursor_type const& from) {
    for (auto const& part : from.parts) stretches_.push_back({part.range, part.from});
    sort();
    take_turns_of(from);
  }

  std::optional<pending_page> const& pending() const { return pending_; }
  std::size_t size() const { return stretches_.size(); }
  bool is_open() const {
    return std::ranges::none_of(stretches_, [](auto const& one) { return is_unfixed(one.from); });
  }
  bool is_all_idle() const {
    return std::ranges::all_of(stretches_, [](auto const& one) { return one.is_idle; });
  }
  static bool is_unfixed(keyspan::continuation const& from) {
    return from.is_start() && from.start() == keyspan::start_kind::now;
  }

  /// All is to be read once more, in the order in which the cursor names it.
  void begin(feed_manner manner, keyspan::instant::duration delay, cursor_type const& at) {
    manner_ = manner;
    delay_ = delay;
    take_turns_of(at);
    if (manner_ == feed_manner::opening) return;
    for (auto& one : stretches_) one.is_idle = false;
    if (pending_) pending_->nothing_new = false;  // that was said before the reading began
  }

  /// A range is asked for. What is wrong with that, or nothing.
  std::string ask(range_type const& range, keyspan::continuation const& from,
                  keyspan::instant now) {
    if (!cut(range)) return line("it is not among those that are to be read: ", text_of(range));
    if (manner_ == feed_manner::opening && !is_unfixed(from))
      return "a feed that is opened asks only where now is";
    wake(now);
    std::uint64_t turn = ~std::uint64_t{};
    bool is_idle = false;
    for (auto const& one : stretches_) {
      if (!range.contains(one.range)) continue;
      if (!(one.from == from))
        return line(text_of(one.range), " stands ", one.from.to_text(), " and is read ",
                    from.to_text());
      turn = std::min(turn, one.turn);
      is_idle = is_idle || one.is_idle;
    }
    if (is_unfixed(from)) return {};
    if (!is_open()) return "something is read before it is fixed everywhere where now is";
    if (manner_ == feed_manner::following) return {};
    if (is_idle) return line(text_of(range), " has said that nothing is new, and is asked again");
    for (auto const& one : stretches_) {
      bool const is_first = one.turn < turn || (one.turn == turn && one.range < range);
      if (!one.is_idle && is_first && !range.contains(one.range))
        return line(text_of(range), " is read, and it is the turn of ", text_of(one.range));
    }
    return {};
  }

  /// A page has come. What is wrong with when it came, or nothing.
  std::string deliver(pending_page page) {
    pending_.emplace(std::move(page));
    for (auto& one : stretches_) {
      if (pending_->range.contains(one.range)) {
        one.passed_over = 0;
      } else if (!one.is_idle && ++one.passed_over > 4 * stretches_.size() + 16) {
        return line(text_of(one.range), " is never asked");
      }
    }
    return {};
  }
  /// The cursor goes behind the page.
  void settle(keyspan::instant now) {
    if (!pending_) return;
    auto const page = *std::exchange(pending_, std::nullopt);
    cut(page.range);
    std::erase_if(stretches_, [&](auto const& one) {
      return one.range.lower() != page.range.lower() && page.range.contains(one.range);
    });
    auto& one = *std::ranges::find(stretches_, page.range.lower(),
                                   [](auto const& each) { return each.range.lower(); });
    one.range = page.range;
    one.from.advance(page.continuation);
    one.turn = ++turns_;
    one.is_idle = page.nothing_new;
    one.due = now + delay_;
  }

  /// What is wrong with this cursor, or nothing.
  std::string compare(cursor_type const& at) {
    std::vector<range_type> ranges;
    for (auto const& part : at.parts) {
      if (!cut(part.range)) return line("the cursor reads ", text_of(part.range));
      ranges.push_back(part.range);
      for (auto const& one : stretches_)
        if (part.range.contains(one.range) && !(one.from == part.from))
          return line("the cursor has ", text_of(part.range), " ", part.from.to_text(),
                      ", and it was read ", one.from.to_text());
    }
    for (auto const& one : stretches_) {
      auto const times = std::ranges::count_if(
          ranges, [&](auto const& range) { return range.contains(one.range); });
      if (times != 1) return line("the cursor has ", text_of(one.range), " ", times, " times");
    }
    return {};
  }
  /// When the first of those is due that have nothing new.
  keyspan::instant due() const {
    auto const one = std::ranges::min_element(stretches_, {}, [](auto const& s) { return s.due; });
    return one->due;
  }

 private:
  struct stretch {
    range_type range;
    keyspan::continuation from{};
    std::uint64_t turn = 0;
    bool is_idle = false;
    keyspan::instant due{};
    std::size_t passed_over = 0;
  };

  static std::string text_of(range_type const& range) { return std::string{range.to_text()}; }

  void sort() {
    std::ranges::sort(stretches_, {}, [](auto const& one) { return one.range.lower(); });
  }
  // Makes a bound of each bound of the range. False where the range is not covered.
  bool cut(range_type const& range) {
    cut_at(range.lower());
    if (!range.upper().is_space_end()) cut_at(range.upper().at());
    keyspan::upper_end<Token> covered = range.lower();
    for (auto const& one : stretches_)
      if (covered == one.range.lower() && range.contains(one.range)) covered = one.range.upper();
    return covered == range.upper();
  }
  void cut_at(Token const& at) {
    for (std::size_t i = 0; i < stretches_.size(); ++i) {
      if (!stretches_[i].range.contains(at) || stretches_[i].range.lower() == at) continue;
      stretch right = stretches_[i];
      auto const [left, rest] = split(right.range, at);
      right.range = rest;
      stretches_[i].range = left;
      stretches_.insert(stretches_.begin() + static_cast<std::ptrdiff_t>(i) + 1, std::move(right));
      return;
    }
  }
  void wake(keyspan::instant now) {
    if (manner_ != feed_manner::following) return;
    for (auto& one : stretches_)
      if (one.is_idle && one.due <= now) one.is_idle = false;
  }
  void take_turns_of(cursor_type const& at) {
    turns_ = 0;
    for (auto const& part : at.parts) {
      ++turns_;
      cut(part.range);
      for (auto& one : stretches_)
        if (part.range.contains(one.range)) one.turn = turns_;
    }
  }

  std::vector<stretch> stretches_{};  // in token order
  std::optional<pending_page> pending_{};
  feed_manner manner_ = feed_manner::draining;
  keyspan::instant::duration delay_{};
  std::uint64_t turns_ = 0;
};

}  // namespace sim
