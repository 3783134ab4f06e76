// test/sim/player.hpp — which worlds there are, playing one from a seed, and the command line.
#pragma once

#include <sim/world.hpp>

#include <cstdint>
#include <iosfwd>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sim {

/// A world by its name: what it shows, and the function that builds and runs it.
struct entry {
  std::string_view name;
  std::string_view about;
  void (*play)(world&);
};

/// All worlds of this program, by name.
std::vector<entry> const& worlds();

/// Makes a world known: one `sim::registered const` at namespace scope in
/// test/sim/<noun>_world.cpp.
struct registered {
  registered(std::string_view name, std::string_view about, void (*play)(world&));
};

/// How one seed ended.
struct outcome {
  std::uint64_t seed;
  std::uint64_t history;
  std::uint64_t steps;
  std::string complaint;            ///< empty where everything held
  std::vector<std::string> report;  ///< what to show of a complaint
};

/// Plays `what` from `seed`. Broken promises and exceptions are complaints too.
outcome play(entry const& what, std::uint64_t seed);

/// The program: `[--seeds N] [--first S] [WORLD]` or `--list`. Returns its exit status: 0 where all
/// held, 1 where something did not, 2 where the arguments make no sense.
int command(std::span<std::string_view const> arguments, std::ostream& out, std::ostream& err);

}  // namespace sim
