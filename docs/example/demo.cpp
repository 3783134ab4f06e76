// What the library does, to look at, in two acts.
//
// Pumps send documents over a link that damages some of them, each document that arrives goes to
// the partition that its key belongs to, and a partition that is full splits. Workers share the
// changes of all partitions: one comes later, another one is cut off from the rest of the world,
// and each change is handled all the same.
//
// Then authors and readers in three regions write where they are and read what all have written,
// while one region is cut off and comes back: content_platform.cpp is all of that.
//
// Every document is written, sent, read strictly and compared with what was sent, bit for bit; its
// token is the one that Azure Cosmos DB computes. On a terminal a live table shows it, elsewhere
// plain lines do. The workers' time is virtual: a frame is half a second of it.
#include "content_platform_memory.hpp"
#include "content_platform_story.hpp"
#include "content_platform_table.hpp"

#include <keyspan/keyspan.hpp>

#include <boost/hana/adapt_struct.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <iomanip>
#include <iostream>
#include <map>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#if __has_include(<sys/ioctl.h>) && __has_include(<unistd.h>)
#include <sys/ioctl.h>
#include <unistd.h>
#endif

using namespace std::chrono_literals;

// What is kept of a pump: its last reading.
struct state {
  std::string id, pump;
  std::uint32_t number = 0;
  double value = 0;
};
BOOST_HANA_ADAPT_STRUCT(state, id, pump, number, value);

namespace {

// Whether a table can be drawn over and over: a terminal that is high enough for it.
bool can_be_live() {
#if defined(TIOCGWINSZ)
  winsize window{};
  return isatty(STDOUT_FILENO) == 1 && ioctl(STDOUT_FILENO, TIOCGWINSZ, &window) == 0 &&
         window.ws_row > 30;
#else
  return false;
#endif
}

// Draws over what it drew before.
class screen {
 public:
  void show(std::string frame) {
    auto lines = std::count(frame.begin(), frame.end(), '\n');
    for (; lines < lines_; ++lines) frame += "\033[K\n";  // over what was there
    // Lines must not wrap meanwhile: the next frame goes up by their number.
    std::cout << "\033[?7l";
    if (lines_ != 0) std::cout << "\033[" << lines_ << "A\r";
    std::cout << frame << "\033[?7h" << std::flush;
    lines_ = lines;
  }

 private:
  std::ptrdiff_t lines_ = 0;
};

struct reading {
  std::string pump;
  std::uint32_t number = 0;
  double value = 0;

  friend bool operator==(reading const& a, reading const& b) {
    return a.pump == b.pump && a.number == b.number &&
           std::bit_cast<std::uint64_t>(a.value) == std::bit_cast<std::uint64_t>(b.value);
  }
};

std::string write(reading const& r) {
  std::string text;
  keyspan::json_writer out{text};
  out.begin_object().name("pump").string(r.pump).name("number").integer(r.number);
  out.name("value").number(r.value).end_object();
  return std::string{out.finish().value()};
}

keyspan::result<reading> parse(std::string_view text) {
  keyspan::json_reader in{text};
  reading out;
  in.begin_object();
  for (std::string_view name; in.next_member(name);) {
    if (name == "pump") {
      out.pump = in.string();
    } else if (name == "number") {
      out.number = in.integer<std::uint32_t>();
    } else if (name == "value") {
      out.value = in.number();
    } else {
      in.fail_here("no such member: ", name);
    }
  }
  return in.finish(std::move(out));
}

// How a reading is partitioned.
constexpr auto by_pump = keyspan::key_of(&reading::pump);

// Who keeps the last reading of each pump, in partitions that split when they are full.
using states = keyspan::memory_container<state, keyspan::cosmos_v2_scheme>;
constexpr std::uint64_t room_in_partition = 48'000;

// The same documents and the same damage on every machine.
class dice {
 public:
  std::uint64_t operator()() {
    std::uint64_t z = (state_ += 0x9E3779B97F4A7C15);
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9;
    z = (z ^ z >> 27) * 0x94D049BB133111EB;
    return z ^ z >> 31;
  }
  std::size_t below(std::size_t bound) { return static_cast<std::size_t>((*this)() % bound); }
  // Any finite double, of a size that fits a table.
  double value() {
    std::uint64_t const exponent = 1023 - 20 + below(40);
    return std::bit_cast<double>(((*this)() & 0x800F'FFFF'FFFF'FFFF) | exponent << 52);
  }

 private:
  std::uint64_t state_ = 7;
};

// What a link can do to a document; each of these makes it something else than JSON.
std::string damaged(std::string text, dice& roll) {
  switch (roll.below(6)) {
    case 0:  // cut off
      return text.substr(0, 1 + roll.below(text.size() - 1));
    case 1:  // a byte that begins no character
      return text.replace(9 + roll.below(4), 1, "\xFF");
    case 2:  // a comma too many
      return text.insert(text.size() - 1, ",");
    case 3:  // a leading zero
      return text.insert(text.find("\"number\":") + 9, "0");
    case 4:  // half of a surrogate pair
      return text.insert(text.find("pump-"), "\\uD83D");
    default:  // something behind the end
      return text + "}";
  }
}

struct row {
  std::string pump;
  keyspan::token128 token{};
  std::uint64_t read = 0;
  std::uint64_t refused = 0;
  std::uint32_t number = 0;
  double last = 0;
};
constexpr int pumps = 400;
constexpr std::size_t pumps_shown = 4;

struct refusal {
  std::string text;
  keyspan::error why;
};

// Handles the changes of the ranges that it is given: keeps the last number of each pump, and
// refuses what a worker of before does too late.
struct ledger {
  struct line {
    std::uint64_t epoch = 0;
    std::uint32_t number = 0;
  };
  void enter(state const& one, std::uint64_t epoch) {
    auto& known = lines[one.pump];
    if (epoch >= known.epoch && one.number >= known.number) known = {epoch, one.number};
  }
  std::map<std::string, line> lines{};
};

class show {
 public:
  explicit show(bool is_live) : is_live_{is_live} {
    for (int i = 1; i <= pumps; ++i) {
      rows_.push_back({.pump = "pump-" + std::to_string(i)});
      rows_.back().token = keyspan::token_of(keyspan::cosmos_v2, rows_.back().pump);
    }
  }

  void run() {
    keyspan::run_loop loop;
    static_cast<void>(loop.complete(
        when_all(work(1, "ada", 0s), work(2, "bob", 0s), work(3, "eve", 8s), act()), clock_));
    is_live_ ? draw() : print();
  }

  // Whether the demo may be believed: no damage passed, and no document was read wrongly.
  bool is_right() const {
    std::uint64_t held = 0;
    for (auto const& [id, documents] : documents_) held += documents;
    return wrong_ == 0 && held == all().read && is_all_handled();
  }

 private:
  static constexpr int frames = 40;
  static constexpr int documents_per_frame = 5'000;

  // Sends, splits and shows, and lets half a second pass for the workers each time.
  keyspan::task<> act() {
    using clock = std::chrono::steady_clock;
    auto next_frame = clock::now();
    for (int frame = 0; frame < frames || !is_all_handled(); ++frame) {
      if (frame == 2 * frames / 3) cut_off_->cut_off(keyspan::store_cut::silent);
      for (int i = 0; i < documents_per_frame && frame < frames; ++i) send_one();
      auto waiting = keyspan::wait_for(clock_, 500ms);
      static_cast<void>(co_await std::move(waiting));
      auto looking = look();
      co_await std::move(looking);
      if (!is_live_) continue;
      draw();
      std::this_thread::sleep_until(next_frame += std::chrono::milliseconds{50});
    }
    stop_.request_stop();
  }

  // One worker, which comes some time after the first.
  keyspan::task<> work(std::uint64_t session, std::string name, keyspan::instant::duration later) {
    auto waiting = keyspan::wait_for(clock_, later);
    static_cast<void>(co_await std::move(waiting));
    auto leases = store_.view(name);
    if (name == "ada") cut_off_ = leases;
    keyspan::processor sharing{container_,
                               leases,
                               clock_,
                               {.host_name = name,
                                .lease_renew_interval = 1s,
                                .lease_acquire_interval = 1s,
                                .lease_expiration_interval = 4s,
                                .feed_poll_delay = 200ms,
                                .start = keyspan::from_beginning,
                                .layout_poll_interval = 500ms,
                                .settle_window = 500ms,
                                .drain_limit = 1s,
                                .store_timeout = 500ms,
                                .leaving_notice = 500ms,
                                .session = keyspan::session_id{session}}};
    auto handler = [this](auto& batch) {
      for (auto const& change : batch) ledger_.enter(*change, batch.epoch());
    };
    auto running = sharing.run(handler, stop_.token());
    wrong_ += !(co_await std::move(running)).has_value();
  }

  bool is_all_handled() const {
    return std::all_of(rows_.begin(), rows_.end(), [this](row const& one) {
      auto const found = ledger_.lines.find(one.pump);
      return one.read == 0 || (found != ledger_.lines.end() && found->second.number == one.number);
    });
  }

  void send_one() {
    row& to = rows_[roll_.below(rows_.size())];
    reading const sent{to.pump, ++number_, roll_.value()};
    bool const is_damaged = roll_.below(40) == 0;
    std::string const text = is_damaged ? damaged(write(sent), roll_) : write(sent);
    auto const got = parse(text);
    wrong_ += got.has_value() == is_damaged || (got && !(*got == sent));
    if (got) {
      ++to.read;
      to.last = got->value;
      to.number = got->number;
      auto const token = keyspan::token_of(keyspan::cosmos_v2, by_pump(*got)).value();
      wrong_ += token != to.token;
      auto const done = keyspan::sync_wait(
          container_.upsert(state{got->pump, got->pump, got->number, got->value}));
      wrong_ += !done.has_value();
      auto const& owner = partition_of(token);
      if (++documents_[owner.id] > room_in_partition) split(owner);
    } else {
      ++to.refused;
      if (refusals_.size() == 3) refusals_.erase(refusals_.begin());
      refusals_.push_back({text, got.error()});
    }
  }

  using partition = keyspan::partition<keyspan::token128>;

  partition const& partition_of(keyspan::token128 token) const {
    return *std::find_if(parts_.begin(), parts_.end(),
                         [&](partition const& one) { return one.range.contains(token); });
  }
  // Each half takes the documents of its own pumps.
  void split(partition full) {
    wrong_ += !container_.split(full.id).has_value();
    parts_ = container_.partitions();
    documents_.erase(full.id);
    for (row const& r : rows_)
      if (full.range.contains(r.token)) documents_[partition_of(r.token).id] += r.read;
  }

  // What stands in the store: who has which range, since when, and how far behind.
  keyspan::task<> look() {
    keyspan::lease_control control{container_, store_};
    auto asking = control.lag();
    auto found = co_await std::move(asking);
    if (found) leases_ = *std::move(found);
  }

  row all() const {
    row sum;
    for (row const& r : rows_) {
      sum.read += r.read;
      sum.refused += r.refused;
    }
    return sum;
  }

  char const* colour(char const* code) const { return is_live_ ? code : ""; }
  char const* clear_rest() const { return colour("\033[K"); }

  void table(std::ostream& out) const {
    char const* const dim = colour("\033[2m");
    char const* const off = colour("\033[0m");
    out << dim << "  pump          read   refused           last value   token      partition"
        << off << '\n';
    for (std::size_t i = 0; i < pumps_shown; ++i) {
      row const& r = rows_[i];
      std::ostringstream value;
      value << std::setprecision(10) << r.last;
      out << "  " << colour("\033[36m") << r.pump << off << std::setw(12) << r.read
          << colour("\033[33m") << std::setw(10) << r.refused << off << std::setw(21) << value.str()
          << "   " << dim << keyspan::to_hex(r.token).view().substr(0, 8) << "…  " << off
          << partition_of(r.token).id << '\n';
    }
    row const sum = all();
    out << dim << "  all   " << off << std::setw(12) << sum.read << std::setw(10) << sum.refused
        << "   " << colour(wrong_ == 0 ? "\033[32m" : "\033[31m") << wrong_ << " read wrongly"
        << off << clear_rest() << "\n\n";
    out << dim << "  partition             documents" << std::setw(44) << "owner  epoch  behind"
        << off << clear_rest() << '\n';
    for (auto const& part : parts_) {
      auto const first = keyspan::to_hex(part.range.lower());
      auto const held = documents_.contains(part.id) ? documents_.at(part.id) : 0;
      std::string const stars(held * 30 / room_in_partition, '*');
      out << "  " << std::setw(3) << part.id << dim << "  from " << std::setw(9) << std::left
          << (first.empty() ? "the start" : first.view().substr(0, 8)) << std::right << off
          << std::setw(10) << held << "  " << colour("\033[36m") << std::setw(30) << std::left
          << stars << std::right << off << lease_of(part) << clear_rest() << '\n';
    }
  }
  // Its lease, once there is one of this very range.
  std::string lease_of(partition const& part) const {
    std::ostringstream line;
    for (auto const& [lease, behind] : leases_) {
      if (lease.range != part.range) continue;
      line << "  " << std::setw(5) << (lease.facts.owner ? lease.owner_name : "-") << std::setw(7)
           << lease.facts.epoch << std::setw(8) << behind.value_or(0);
    }
    return line.str().empty() ? "  is split" : line.str();
  }

  void last_refusals(std::ostream& out) const {
    for (refusal const& r : refusals_) {
      std::string shown;  // a byte that is no character would spoil the terminal
      for (char c : r.text) shown += c == '\xFF' ? '?' : c;
      out << "  " << shown << clear_rest() << '\n'
          << std::string(1 + r.why.position.column, ' ') << colour("\033[33m") << '^'
          << colour("\033[0m") << clear_rest() << '\n'
          << "  " << colour("\033[33m") << r.why << colour("\033[0m") << clear_rest() << '\n';
    }
  }

  void draw() {
    std::ostringstream body;
    body << "\n  \033[1mkeyspan " KEYSPAN_VERSION_STRING "\033[0m"
         << "  400 pumps, a link that damages one document in forty, partitions that split,\n"
         << "  workers that share their changes: one comes later, one is cut off\n\n";
    table(body);
    body << "\n  \033[2mlast refused\033[0m\n";
    last_refusals(body);
    screen_.show(body.str());
  }

  void print() const {
    std::cout << "keyspan " KEYSPAN_VERSION_STRING
                 ": 400 pumps, a link that damages one document in forty, partitions that split,\n"
                 "workers that share their changes: one comes later, one is cut off\n\n";
    table(std::cout);
    std::cout << "\n  last refused\n";
    last_refusals(std::cout);
  }

  bool is_live_;
  dice roll_;
  std::vector<row> rows_;
  std::vector<refusal> refusals_;
  states container_{keyspan::cosmos_v2, keyspan::documents_container<"/pump">(), {}};
  std::vector<partition> parts_ = container_.partitions();
  std::map<std::string, std::uint64_t> documents_;  // of partitions
  keyspan::manual_clock clock_;
  keyspan::memory_store<keyspan::manual_clock> store_{clock_};
  std::optional<keyspan::memory_view<keyspan::manual_clock>> cut_off_;
  keyspan::stop_source stop_;
  ledger ledger_;
  std::vector<keyspan::lease_lag<keyspan::token128>> leases_;
  std::uint32_t number_ = 0;
  std::uint64_t wrong_ = 0;
  screen screen_;
};

// People in three regions, one of which is cut off in the middle.
class world_show {
 public:
  explicit world_show(bool is_live) : is_live_{is_live} {}

  void run() {
    auto const tell = [this](std::string const& line) {
      if (!is_live_) std::cout << "  " << line << '\n';
      lines_.push_back(line);
    };
    auto const look = [this] {
      if (is_live_) draw();
    };
    std::cout << "\n  " << (is_live_ ? "\033[1m" : "") << "Write here, read everywhere"
              << (is_live_ ? "\033[0m" : "")
              << "  each region writes to its own account and reads all of them, while\n"
                 "  accounts are copied from region to region; one region is cut off\n\n";
    platform_.emplace(world_, content::story_options{.rounds = 36, .cut = 2}, tell, look);
    is_right_ = platform_->run();
    if (!is_live_) std::cout << '\n', content::print_table(std::cout, platform_->figures());
    std::cout << "\n  " << platform_->articles() << " articles, " << platform_->reviews()
              << " reviews, " << platform_->notifications() << " notifications: "
              << (is_right_ ? "all are read everywhere, each subscriber was told once\n"
                            : "something is WRONG\n");
  }
  bool is_right() const { return is_right_; }

 private:
  void draw() {
    std::ostringstream body;
    content::print_table(body, platform_->figures(), content::table_colours::of_terminal());
    body << "\033[K\n";
    for (std::size_t i = lines_.size() < 5 ? 0 : lines_.size() - 5; i < lines_.size(); ++i)
      body << "  \033[2m" << lines_[i] << "\033[0m\033[K\n";
    screen_.show(body.str());
    std::this_thread::sleep_until(next_frame_ += std::chrono::milliseconds{100});
  }

  bool is_live_;
  bool is_right_ = false;
  content::memory_world world_{keyspan::regional_layout::from({"west", "europe", "asia"}).value()};
  std::optional<content::story<content::memory_world>> platform_{};
  std::vector<std::string> lines_{};
  std::chrono::steady_clock::time_point next_frame_ = std::chrono::steady_clock::now();
  screen screen_{};
};

}  // namespace

int main() {
  bool const is_plain = std::getenv("NO_COLOR") != nullptr || !can_be_live();
  show demo{!is_plain};
  demo.run();
  world_show world{!is_plain};
  world.run();
  return demo.is_right() && world.is_right() ? 0 : 1;
}
