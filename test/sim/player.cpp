#include "player.hpp"

#include <keyspan/core/contract.hpp>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <exception>
#include <iomanip>
#include <optional>
#include <ostream>
#include <stdexcept>

namespace sim {

namespace {

std::vector<entry>& known() {
  static std::vector<entry> all;
  return all;
}

struct broken_promise : std::logic_error {
  using std::logic_error::logic_error;
};

class throwing_contracts {
 public:
  throwing_contracts()
      : before_{keyspan::set_contract_handler([](keyspan::violation const& broken) {
          throw broken_promise{line("broken promise: ", broken.promise, " (",
                                    broken.where.file_name(), ":", broken.where.line(), ")")};
        })} {}
  ~throwing_contracts() { keyspan::set_contract_handler(before_); }
  throwing_contracts(throwing_contracts const&) = delete;
  throwing_contracts& operator=(throwing_contracts const&) = delete;

 private:
  keyspan::contract_handler before_;
};

std::optional<std::uint64_t> number(std::string_view text) {
  std::uint64_t value = 0;
  auto const [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (problem != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

constexpr std::string_view usage =
    "usage: sim [--seeds N] [--first S] [WORLD]\n"
    "       sim --list\n";

void show(outcome const& seen, entry const& what, std::ostream& out) {
  out << what.name << ": seed " << seen.seed << ": " << seen.complaint << '\n';
  for (auto const& text : seen.report) out << "  " << text << '\n';
  out << "  replay: ./dev sim --first " << seen.seed << " --seeds 1 " << what.name << '\n';
}

bool holds(entry const& what, std::uint64_t first, std::uint64_t seeds, std::ostream& out) {
  auto const begun = std::chrono::steady_clock::now();
  std::uint64_t steps = 0;
  for (std::uint64_t i = 0; i < seeds; ++i) {
    auto seen = play(what, first + i);
    // The first seed is played twice, for a world that does not repeat itself cannot be replayed.
    if (i == 0 && seen.complaint.empty()) {
      auto const again = play(what, first);
      if (again.history != seen.history || again.steps != seen.steps)
        seen.complaint = "the same seed gave two different histories";
    }
    if (!seen.complaint.empty()) {
      show(seen, what, out);
      return false;
    }
    steps += seen.steps;
  }
  auto const took = std::chrono::steady_clock::now() - begun;
  out << what.name << ": " << seeds << " seeds from " << first << ", " << steps
      << " events, nothing violated, " << std::fixed << std::setprecision(1)
      << std::chrono::duration<double>{took}.count() << " s\n";
  return true;
}

}  // namespace

std::vector<entry> const& worlds() { return known(); }

registered::registered(std::string_view name, std::string_view about, void (*play)(world&)) {
  auto& all = known();
  auto const place = std::ranges::lower_bound(all, name, {}, &entry::name);
  all.insert(place, entry{name, about, play});
}

outcome play(entry const& what, std::uint64_t seed) {
  throwing_contracts const scope;
  world w{seed};
  std::string complaint;
  try {
    what.play(w);
  } catch (violated const& e) {
    complaint = e.what();
  } catch (broken_promise const& e) {
    complaint = e.what();
  } catch (std::exception const& e) {
    complaint = line("exception: ", e.what());
  }
  outcome ended{seed, w.history(), w.steps(), std::move(complaint), {}};
  if (ended.complaint.empty()) return ended;

  std::string faults = "faults:";
  for (auto const& kind : w.faults()) faults += line(" ", kind.name(), " ", kind.struck(), "x,");
  if (w.faults().empty()) faults += " none,";
  faults.pop_back();
  auto const time = std::chrono::duration<double>{w.now().time_since_epoch()}.count();
  ended.report.push_back(line("at step ", w.steps(), ", ", time, " s, history ", w.history()));
  ended.report.push_back(std::move(faults));
  ended.report.emplace_back("last events:");
  for (auto const& text : w.last_lines()) ended.report.push_back(line("  ", text));
  return ended;
}

int command(std::span<std::string_view const> arguments, std::ostream& out, std::ostream& err) {
  std::uint64_t seeds = 100;
  std::uint64_t first = 1;
  std::optional<std::string_view> chosen;
  auto const refuse = [&err](auto const&... pieces) {
    err << "sim: " << line(pieces...) << '\n' << usage;
    return 2;
  };
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    auto const word = arguments[i];
    if (word == "--list") {
      if (arguments.size() != 1) return refuse("--list stands alone");
      for (auto const& each : worlds()) out << each.name << "  " << each.about << '\n';
      return 0;
    }
    if (word == "--seeds" || word == "--first") {
      if (++i == arguments.size()) return refuse(word, " wants a number");
      auto const value = number(arguments[i]);
      if (!value || (word == "--seeds" && *value == 0))
        return refuse(word, " wants a number, not '", arguments[i], "'");
      (word == "--seeds" ? seeds : first) = *value;
    } else if (word.starts_with('-')) {
      return refuse("unknown option '", word, "'");
    } else if (chosen) {
      return refuse("one world at a time, or none for all: '", word, "'");
    } else {
      chosen = word;
    }
  }
  if (chosen && std::ranges::find(worlds(), *chosen, &entry::name) == worlds().end())
    return refuse("no world is called '", *chosen, "'; --list names them");
  if (worlds().empty()) return refuse("this program has no world");

  bool all_hold = true;
  for (auto const& each : worlds()) {
    if (chosen && each.name != *chosen) continue;
    all_hold = holds(each, first, seeds, out) && all_hold;
  }
  return all_hold ? 0 : 1;
}

}  // namespace sim
