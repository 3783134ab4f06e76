// What the library does, to look at: pumps send documents over a link that damages some of them,
// each document that arrives goes to the partition that its key belongs to, and a partition that is
// full splits.
//
// Every document is written, sent, read strictly and compared with what was sent, bit for bit; its
// token is the one that Azure Cosmos DB computes. On a terminal a live table shows it, elsewhere
// plain lines do.
#include <keyspan/keyspan.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <iomanip>
#include <iostream>
#include <sstream>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#if __has_include(<sys/ioctl.h>) && __has_include(<unistd.h>)
#include <sys/ioctl.h>
#include <unistd.h>
#endif

namespace {

// Whether a table can be drawn over and over: a terminal that is high enough for it.
bool can_be_live() {
#if defined(TIOCGWINSZ)
  winsize window{};
  return isatty(STDOUT_FILENO) == 1 && ioctl(STDOUT_FILENO, TIOCGWINSZ, &window) == 0 &&
         window.ws_row > 28;
#else
  return false;
#endif
}

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

// A partition of the container, and how much it holds.
struct partition {
  int number = 0;
  std::uint64_t documents = 0;
};
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
  double last = 0;
};
constexpr int pumps = 400;
constexpr std::size_t pumps_shown = 4;

struct refusal {
  std::string text;
  keyspan::error why;
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
    using clock = std::chrono::steady_clock;
    auto const end = clock::now() + std::chrono::milliseconds{2200};
    auto next_frame = clock::now();
    for (int frame = 0; frame < frames; ++frame) {
      for (int i = 0; i < documents_per_frame; ++i) send_one();
      if (!is_live_ || clock::now() > end) continue;
      draw();
      std::this_thread::sleep_until(next_frame += std::chrono::milliseconds{50});
    }
    is_live_ ? draw() : print();
  }

  // Whether the demo may be believed: no damage passed, and no document was read wrongly.
  bool is_right() const {
    std::uint64_t held = 0;
    for (auto const& [range, part] : partitions_) held += part.documents;
    return wrong_ == 0 && held == all().read;
  }

 private:
  static constexpr int frames = 40;
  static constexpr int documents_per_frame = 5'000;

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
      auto const token = keyspan::token_of(keyspan::cosmos_v2, by_pump(*got)).value();
      wrong_ += token != to.token;
      if (++partitions_.at(token).documents > room_in_partition) split(token);
    } else {
      ++to.refused;
      if (refusals_.size() == 3) refusals_.erase(refusals_.begin());
      refusals_.push_back({text, got.error()});
    }
  }

  // Cuts the range that the token lies in: each half takes the documents of its own pumps.
  void split(keyspan::token128 token) {
    auto const full = partitions_.entry_of(token).range();
    auto const middle = keyspan::cosmos_v2.midpoint(full.lower(), full.upper()).value();
    partition left{.number = ++last_number_};
    partition right{.number = ++last_number_};
    for (row const& r : rows_)
      if (full.contains(r.token)) (r.token < middle ? left : right).documents += r.read;
    partitions_.split(middle, left, right);
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
          << partitions_.at(r.token).number << '\n';
    }
    row const sum = all();
    out << dim << "  all   " << off << std::setw(12) << sum.read << std::setw(10) << sum.refused
        << "   " << colour(wrong_ == 0 ? "\033[32m" : "\033[31m") << wrong_ << " read wrongly"
        << off << clear_rest() << "\n\n";
    for (auto const& [range, part] : partitions_) {
      auto const first = keyspan::to_hex(range.lower());
      out << "  partition" << std::setw(3) << part.number << dim << "  from " << std::setw(9)
          << std::left << (first.empty() ? "the start" : first.view().substr(0, 8)) << std::right
          << off << std::setw(8) << part.documents << "  " << colour("\033[36m");
      for (auto stars = part.documents * 30 / room_in_partition; stars > 0; --stars) out << '*';
      out << off << clear_rest() << '\n';
    }
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
         << "  400 pumps, a link that damages one document in forty, partitions that split\n\n";
    table(body);
    body << "\n  \033[2mlast refused\033[0m\n";
    last_refusals(body);
    std::string const frame = body.str();
    // Lines must not wrap meanwhile: the next frame goes up by their number.
    std::cout << "\033[?7l";
    if (lines_drawn_ != 0) std::cout << "\033[" << lines_drawn_ << "A\r";
    std::cout << frame << "\033[?7h" << std::flush;
    lines_drawn_ = std::count(frame.begin(), frame.end(), '\n');
  }

  void print() const {
    std::cout
        << "keyspan " KEYSPAN_VERSION_STRING
           ": 400 pumps, a link that damages one document in forty, partitions that split\n\n";
    table(std::cout);
    std::cout << "\n  last refused\n";
    last_refusals(std::cout);
  }

  bool is_live_;
  dice roll_;
  std::vector<row> rows_;
  std::vector<refusal> refusals_;
  keyspan::range_map<keyspan::token128, partition> partitions_{
      keyspan::whole_space(keyspan::cosmos_v2), partition{}};
  int last_number_ = 0;
  std::uint32_t number_ = 0;
  std::uint64_t wrong_ = 0;
  std::ptrdiff_t lines_drawn_ = 0;
};

}  // namespace

int main() {
  bool const is_plain = std::getenv("NO_COLOR") != nullptr || !can_be_live();
  show demo{!is_plain};
  demo.run();
  return demo.is_right() ? 0 : 1;
}
