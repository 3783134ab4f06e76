// keyspan/feed/feed_progress.hpp — how the reading of many ranges goes on. It does no I/O itself:
// it says what to ask, and is told the answers.
//
//   ready   [20, 40) [40, 80) [00, 20)      read in turn, a page each
//   idle    [80, FF)                        answered "nothing new"
//   gone?   ask who owns what, put the parts of the new owners in place of the range, go on
#pragma once

#include <keyspan/async/clock.hpp>
#include <keyspan/async/stop_token.hpp>
#include <keyspan/core/boxed.hpp>
#include <keyspan/core/contract.hpp>
#include <keyspan/core/error.hpp>
#include <keyspan/core/result.hpp>
#include <keyspan/feed/continuation.hpp>
#include <keyspan/feed/cursor.hpp>
#include <keyspan/feed/feed_request.hpp>
#include <keyspan/feed/feed_scope.hpp>
#include <keyspan/feed/page.hpp>
#include <keyspan/feed/read_request.hpp>
#include <keyspan/hash/hash_scheme.hpp>
#include <keyspan/range/partition.hpp>
#include <keyspan/range/routing.hpp>
#include <keyspan/range/routing_refresh.hpp>
#include <keyspan/range/token_range.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <ranges>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace keyspan {

/// What is to be done next.
enum class feed_question : std::uint8_t {
  topology,  ///< ask who owns what, from `version()` on
  page,      ///< read `range()` from `from()` on, with `request()`
  wait,      ///< wait until `due()`: nobody is to be asked before
  none,      ///< every range has answered that nothing is new
};

/// The reading of all ranges of a feed, as a machine that others drive: `feed` does, in plain loops
/// and in coroutines.
///
///   switch (progress.next(now)) {
///     case feed_question::topology:  progress.take(source.topology(progress.version()))  …
///     case feed_question::page:      source.read(progress.range(), progress.from(), …)  …
///
/// A page that was accepted does not move the cursor; `pass` does, once the page has been dealt
/// with. Answers that a range is gone are dealt with here, every other error is the caller's, and
/// moves nothing. Copies are independent.
template <hash_scheme Scheme>
class feed_progress {
 public:
  using token_type = token_of_scheme<Scheme>;
  using range_type = token_range<token_type>;
  using routing_type = keyspan::routing<Scheme>;
  using cursor_type = composite_cursor<token_type>;
  using request_type = feed_request<token_type>;

  /// How often in a row one range may be gone, without a page of it in between, before the caller
  /// is told.
  static constexpr int most_refreshes = 16;

  /// Errors, which `sound()` has: `wrong_container` and `scheme_mismatch` for a cursor of another
  /// container or scheme; `overlap` and `invalid_range` for one that was not taken from a feed, and
  /// for one that has no token in common with the scope; `key_mismatch` for a key or prefix that
  /// does not fit the scheme or the cursor.
  feed_progress(Scheme scheme, std::string_view container, request_type request)
      : scheme_{std::move(scheme)} {
    position_.container = container;
    position_.scheme = std::string{std::string_view{scheme_.name()}};
    session_token_ = std::move(request.session_token);
    read_.page_size = request.page_size;
    read_.deadline = request.deadline;
    read_.stop = request.stop;
    if (auto const sound = begin(std::move(request)); !sound) unsound_.emplace(sound);
  }

  /// Whether the request made sense; nothing is asked where it did not.
  result<void> const& sound() const {
    static result<void> const is_sound;
    return unsound_ ? *unsound_ : is_sound;
  }

  /// What to do next. `now` is none for a reader that does not wait: a range that has nothing new
  /// is then done with until `begin_round`. Requires `sound()`.
  feed_question next(std::optional<instant> now) {
    if (needs_topology()) return feed_question::topology;
    if (now) wake(*now);
    if (ready_.first == nobody) return now ? feed_question::wait : feed_question::none;
    shown_ = ready_.first;
    return feed_question::page;
  }
  /// What to do next until the feed is open: `none` when it is. Requires `sound()`.
  feed_question next_to_open() {
    if (needs_topology()) return feed_question::topology;
    if (ready_.first == nobody || !is_unfixed(parts_[ready_.first].at)) return feed_question::none;
    shown_ = ready_.first;
    return feed_question::page;
  }
  /// All ranges are to be asked again, also those that had nothing new.
  void begin_round() noexcept { append(ready_, std::exchange(idle_, {})); }

  /// What to ask `topology` with.
  std::string const& version() const noexcept {
    return refresh_ ? refresh_->version() : no_version();
  }
  /// The range to read, and once its page has come, the range of the page.
  range_type const& range() const { return shown().at.range; }
  /// Where to read it from.
  continuation const& from() const { return shown().at.from; }
  /// How to read it. Refers to this object, and is good until the next question.
  read_request const& request() {
    part const& one = shown();
    read_.partition = one.owner->id;
    read_.is_whole_partition = one.is_whole;
    read_.mode = position_.mode;
    read_.key = position_.key ? &*position_.key : nullptr;
    read_.session_token = session_token_;
    return read_;
  }
  /// When the first of the ranges is to be asked that have nothing new, and no later than the
  /// deadline. Requires that there is one.
  instant due() const {
    expects(idle_.first != nobody, "somebody is waited for");
    return within_deadline(parts_[idle_.first].due);
  }
  /// No later than the deadline.
  instant within_deadline(instant due) const {
    return read_.deadline ? (std::min)(due, *read_.deadline) : due;
  }
  bool has_deadline() const noexcept { return read_.deadline.has_value(); }
  /// Whether it is too late to ask.
  bool is_late(instant now) const noexcept { return read_.deadline && now >= *read_.deadline; }

  /// Takes what `topology` answered. Errors: those of `routing_refresh`.
  result<void> take(partition_page<token_type> answer) {
    expects(static_cast<bool>(refresh_), "partitions are taken when they were asked for");
    refresh_->take(std::move(answer));
    if (refresh_->wants_page()) return {};
    auto newer = refresh_->outcome();
    refresh_.reset();
    if (!newer) return unexpected{newer.error()};
    if (*newer != routing_) adopt(*std::move(newer));
    return {};
  }

  /// Looks at a page that was asked for; `pass` follows, when it has been dealt with.
  /// Errors: `bad_response` for one that leaves nowhere to go on from, and for the last of as many
  /// in a row that lead nowhere.
  template <page_of_items Page>
  result<void> accept(Page const& answer) {
    charge_ += answer.charge;
    refreshes_ = 0;
    if (answer.continuation.empty())
      return fail(errc::bad_response, "the page of ", text_of_range(),
                  " does not say where the next one begins");
    if (int& standstills = parts_[shown_].standstills; !goes_nowhere(answer)) {
      standstills = 0;
    } else if (++standstills == most_refreshes) {
      standstills = 0;
      return fail(errc::bad_response, "page after page of ", text_of_range(),
                  " is empty and goes on where it began, and none says that nothing is new");
    }
    if (is_unfixed(shown().at) && !std::ranges::empty(answer.items))
      return fail(errc::bad_response, "from now on there is nothing yet in ", text_of_range(),
                  ", its page has items");
    return {};
  }
  /// The cursor goes behind the page that was read last. A range that has nothing new is asked
  /// again when `due` has come, or in the next round.
  void pass(std::string_view continuation, bool nothing_new, instant due) {
    expects(shown_ != nobody && shown_ == ready_.first, "a page that was read is passed once");
    part& one = parts_[shown_];
    if (one.at.from.text() != continuation) one.origin = ++origins_;
    one.at.from.advance(continuation);
    one.due = due;
    take_first(ready_);
    append(nothing_new ? idle_ : ready_, shown_);
  }
  /// Looks at the error that `topology` gave, which is the caller's.
  void see(error const& why) noexcept { charge_ += why.wire.charge; }
  /// Looks at the error that a read gave. Whether it is dealt with: what to do next is then another
  /// question; else it is the caller's.
  bool absorb(error const& why) {
    see(why);
    if (why.code != errc::range_gone || refreshes_ == most_refreshes) {
      refreshes_ = 0;
      return false;
    }
    ++refreshes_;
    refresh_.emplace(routing_);
    return true;
  }

  /// Where the reading stands: the range to be read next comes first.
  cursor_type cursor() const {
    cursor_type here = position_;
    here.parts.reserve(parts_.size());
    each_in(ready_, [&](part const& one) { here.parts.push_back(one.at); });
    each_in(idle_, [&](part const& one) { here.parts.push_back(one.at); });
    return here;
  }
  /// Readings of some ranges alone, each from where its cursor says: one for each partition that
  /// owns a part of one, in token order. They know who owns what as this one does, and read the
  /// same key in the same way. Requires that this one was opened.
  std::vector<feed_progress> readings(std::vector<keyspan::cursor<token_type>> at) const {
    expects(routing_ != nullptr, "a reading is opened before it is divided");
    std::sort(at.begin(), at.end(), [](auto const& a, auto const& b) { return a.range < b.range; });
    std::vector<part> parts;
    for (auto& one : at) {
      part whole{std::move(one)};
      place(*routing_, whole, parts);
    }
    feed_progress none = *this;
    none.parts_.clear();
    none.ready_ = none.idle_ = line{};
    none.shown_ = nobody;
    none.refresh_.reset();
    none.refreshes_ = 0;
    none.origins_ = 0;
    none.charge_ = 0;
    std::vector<feed_progress> made(parts.size(), none);
    for (std::size_t i = 0; i < parts.size(); ++i) {
      made[i].parts_.push_back(std::move(parts[i]));
      made[i].parts_.back().origin =
          made[i].parts_.back().at.from.is_start() ? 0 : ++made[i].origins_;
      made[i].append(made[i].ready_, 0);
    }
    return made;
  }
  /// The ranges that are read.
  std::size_t size() const noexcept { return parts_.size(); }
  /// Who owns what, as far as known; null before it was asked for.
  std::shared_ptr<routing_type const> const& routing() const noexcept { return routing_; }
  /// The charges of all pages and errors so far.
  double charge() const noexcept { return charge_; }
  /// Stops the reads that are asked for from here on, in place of the request's own token.
  void stop_by(stop_token stop) noexcept { read_.stop = std::move(stop); }
  stop_token const& stop() const noexcept { return read_.stop; }

 private:
  static constexpr std::uint32_t nobody = ~std::uint32_t{};

  struct part {
    keyspan::cursor<token_type> at;
    partition<token_type> const* owner = nullptr;
    bool is_whole = false;     // all that the owner has
    std::uint64_t origin = 0;  // of what page its text is
    int standstills = 0;       // pages in a row that led nowhere
    instant due{};
    std::uint32_t after = nobody;
  };
  // A queue, threaded through the parts.
  struct line {
    std::uint32_t first = nobody;
    std::uint32_t last = nobody;
  };

  static std::string const& no_version() {
    static std::string const none;
    return none;
  }
  // Where *now* is has yet to be asked.
  static bool is_unfixed(keyspan::cursor<token_type> const& at) {
    return at.from.start() == start_kind::now && at.from.is_start();
  }
  template <class Page>
  bool goes_nowhere(Page const& answer) const {
    return !answer.nothing_new && std::ranges::empty(answer.items) &&
           answer.continuation == shown().at.from.text();
  }
  part const& shown() const {
    expects(shown_ < parts_.size(), "the range of a page is asked for while there is one");
    return parts_[shown_];
  }
  inline_text<112> text_of_range() const {
    if constexpr (detail::tells_token<token_type>) {
      return range().to_text();
    } else {
      return "a range";
    }
  }

  // That every bound is a token of the scheme, so that the cursor's text can be read again.
  result<void> check_bounds(range_type const& range) const {
    auto const look_at = [&](token_type const& bound) -> result<void> {
      auto own = detail::token_in_space(scheme_, result<token_type>{bound});
      if constexpr (hex_scheme<Scheme> && detail::writes_hex<token_type>)
        if (own) own = scheme_.from_hex(bound.to_hex());
      if (!own) return unexpected{own.error()};
      return {};
    };
    if (auto const own = look_at(range.lower()); !own || range.upper().is_space_end()) return own;
    return look_at(range.upper().at());
  }
  result<void> begin(request_type request) {
    auto scope = scope_of(scheme_, std::move(request.scope));
    if (!scope) return unexpected{scope.error()};
    if (auto const own = check_bounds(scope->range); !own) return own;
    position_.mode = request.mode;
    position_.key = std::move(scope->key);
    auto* const resumed = std::get_if<cursor_type>(&request.start);
    if (!resumed) {
      add(keyspan::cursor<token_type>{scope->range, start_of(request.start)});
      return {};
    }
    return resume(std::move(*resumed), scope->range);
  }
  static continuation start_of(feed_start<token_type> const& start) {
    if (std::holds_alternative<from_now_type>(start)) return from_now;
    if (auto const* moment = std::get_if<from_time>(&start)) return *moment;
    return from_beginning;
  }

  result<void> resume(cursor_type from, range_type const& within) {
    if (auto const own = detail::of_container(from, position_.container); !own) return own;
    if (from.scheme != position_.scheme)
      return fail(errc::scheme_mismatch, "the cursor's tokens are of scheme ",
                  std::string_view{from.scheme}.substr(0, 30), ", the source's of ",
                  position_.scheme);
    if (from.key && position_.key && *from.key != *position_.key)
      return fail(errc::key_mismatch, "the cursor reads one key, and the scope names another");
    if (auto const two = detail::overlap_of(from.parts)) return unexpected{two->why};
    position_.mode = from.mode;
    if (from.key) position_.key = std::move(from.key);
    for (bool const unfixed : {true, false})  // where *now* is has to be asked first
      for (auto const& one : from.parts)
        if (is_unfixed(one) == unfixed)
          if (auto const shared = intersection(one.range, within)) add({*shared, one.from});
    if (parts_.empty())
      return fail(errc::invalid_range, "the cursor has no token in common with the scope");
    return {};
  }
  void add(keyspan::cursor<token_type> at) {
    parts_.push_back(part{std::move(at)});
    if (!parts_.back().at.from.is_start()) parts_.back().origin = ++origins_;
    append(ready_, static_cast<std::uint32_t>(parts_.size() - 1));
  }

  bool needs_topology() {
    if (refresh_) return true;
    if (routing_) return false;
    refresh_.emplace(scheme_);
    return true;
  }

  // Every range becomes its parts in the partitions of the newer snapshot, each going on from where
  // the range stood. They are those of the range alone: a new partition may be larger.
  void adopt(std::shared_ptr<routing_type const> newer) {
    std::vector<part> parts;
    parts.reserve(parts_.size() + newer->size());
    each_in(ready_, [&](part const& one) { place(*newer, one, parts); });
    std::size_t const ready = parts.size();
    each_in(idle_, [&](part const& one) { place(*newer, one, parts); });
    unite(parts, ready);
    line lines[2];
    std::uint32_t kept = 0;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      if (!parts[i].owner) continue;
      if (i != kept) parts[kept] = std::move(parts[i]);
      append(parts, lines[i < ready ? 0 : 1], kept++);
    }
    parts.erase(parts.begin() + kept, parts.end());
    parts_ = std::move(parts);
    ready_ = lines[0];
    idle_ = lines[1];
    shown_ = nobody;
    routing_ = std::move(newer);
  }
  static void place(routing_type const& newer, part const& one, std::vector<part>& parts) {
    for (auto const& owner : newer.overlapping(one.at.range)) {
      parts.push_back(one);
      part& placed = parts.back();
      placed.at.range = *intersection(owner.range, one.at.range);
      placed.owner = &owner;
      placed.is_whole = placed.at.range == owner.range;
      placed.after = nobody;
    }
  }
  // Neighbours in one partition that stand where one page of both has left them, or at the same
  // start, and wait in one line, are one again: the first of them in it, the others without an
  // owner. Texts that are merely equal tell nothing: each was given for a range, and a source need
  // not have an answer for both ranges together.
  static void unite(std::vector<part>& parts, std::size_t ready) {
    std::vector<std::uint32_t> sorted(parts.size());
    for (std::uint32_t i = 0; i < sorted.size(); ++i) sorted[i] = i;
    std::sort(sorted.begin(), sorted.end(), [&](std::uint32_t a, std::uint32_t b) {
      return parts[a].at.range < parts[b].at.range;
    });
    std::uint32_t left = nobody;
    for (std::uint32_t const right : sorted) {
      bool const is_alike = left != nobody && (left < ready) == (right < ready);
      if (!is_alike || !stand_together(parts[left], parts[right])) {
        left = right;
        continue;
      }
      auto const whole = join(parts[left].at.range, parts[right].at.range);
      auto const due = (std::min)(parts[left].due, parts[right].due);
      auto const [first, second] = std::minmax(left, right);
      parts[first].at.range = whole;
      parts[first].due = due;
      parts[first].is_whole = whole == parts[first].owner->range;
      parts[second].owner = nullptr;
      left = first;
    }
  }
  static bool stand_together(part const& left, part const& right) {
    return left.owner == right.owner && left.origin == right.origin &&
           adjacent(left.at.range, right.at.range) && left.at.from == right.at.from;
  }

  void wake(instant now) {
    while (idle_.first != nobody && parts_[idle_.first].due <= now)
      append(ready_, take_first(idle_));
  }

  template <class F>
  void each_in(line const& which, F f) const {
    for (std::uint32_t i = which.first; i != nobody; i = parts_[i].after) f(parts_[i]);
  }
  std::uint32_t take_first(line& from) {
    std::uint32_t const first = from.first;
    from.first = std::exchange(parts_[first].after, nobody);
    if (from.first == nobody) from.last = nobody;
    return first;
  }
  void append(line& to, std::uint32_t one) { append(parts_, to, one); }
  static void append(std::vector<part>& parts, line& to, std::uint32_t one) {
    if (to.last == nobody) {
      to.first = one;
    } else {
      parts[to.last].after = one;
    }
    to.last = one;
  }
  void append(line& to, line more) noexcept {
    if (more.first == nobody) return;
    if (to.last == nobody) {
      to.first = more.first;
    } else {
      parts_[to.last].after = more.first;
    }
    to.last = more.last;
  }

  Scheme scheme_;
  cursor_type position_{};  // all of a cursor but its parts
  std::string session_token_{};
  read_request read_{};
  detail::boxed<result<void>> unsound_{};
  std::shared_ptr<routing_type const> routing_{};
  detail::boxed<routing_refresh<Scheme>> refresh_{};
  std::vector<part> parts_{};
  line ready_{};
  line idle_{};
  std::uint32_t shown_ = nobody;  // the part that is read, or was read last
  std::uint64_t origins_ = 0;     // how many pages have left a text
  int refreshes_ = 0;             // in a row
  double charge_ = 0;
};

}  // namespace keyspan
