// test/house/layers.hpp — which module may include which, and the checks that hold the headers to
// it.
//
// The stairs go down only: a module includes modules that stand before it in the table.
#pragma once

#include "complaint.hpp"

#include <array>
#include <cstddef>
#include <filesystem>
#include <iterator>
#include <string>
#include <string_view>

namespace house {

/// Leave to include a module, or one header of it, from a whole module, or from one header of it.
struct stair {
  std::string_view module{};
  std::string_view only_header{};
  std::string_view only_from{};
};

/// Whether a module has an umbrella <module>.hpp, and whether keyspan.hpp includes that.
enum class umbrella { in_keyspan, apart, none };

struct room {
  std::string_view name;
  std::array<stair, 12> may_include{};
  umbrella roof = umbrella::in_keyspan;
};

inline constexpr std::array<stair, 12> every_floor{{{"core"},
                                                    {"key"},
                                                    {"async"},
                                                    {"hash"},
                                                    {"range"},
                                                    {"feed"},
                                                    {"merge"},
                                                    {"lease"},
                                                    {"transport"},
                                                    {"region"},
                                                    {"processor"},
                                                    {"cosmos"}}};

// docs/design/layers.md shows this table; house_docs keeps the two the same.
inline constexpr room rooms[]{
    {.name = "core"},
    {.name = "key", .may_include = {{{"core"}}}},
    {.name = "async", .may_include = {{{"core"}}}},
    {.name = "hash", .may_include = {{{"core"}, {"key"}}}},
    {.name = "range", .may_include = {{{"core"}, {"key"}, {"hash"}}}},
    {.name = "feed", .may_include = {{{"core"}, {"async"}, {"key"}, {"hash"}, {"range"}}}},
    {.name = "merge",
     .may_include = {{{"core"}, {"async"}, {"key"}, {"hash"}, {"range"}, {"feed"}}}},
    {.name = "lease",
     .may_include = {{{"core"},
                      {.module = "async", .only_header = "instant"},
                      {.module = "async", .only_from = "lease_store"},
                      {.module = "async", .only_from = "memory_store"},
                      {"hash"},
                      {"range"},
                      {.module = "feed", .only_header = "cursor"}}}},
    {.name = "transport",
     .may_include = {{{"core"}, {"async"}, {"key"}, {"hash"}, {"range"}, {"feed"}}}},
    {.name = "region",
     .may_include =
         {{{"core"}, {"async"}, {"hash"}, {"range"}, {"feed"}, {"merge"}, {"transport"}}}},
    {.name = "processor",
     .may_include = {{{"core"}, {"async"}, {"hash"}, {"range"}, {"feed"}, {"lease"}}}},
    {.name = "cosmos",
     .may_include = {{{"core"},
                      {"key"},
                      {"async"},
                      {"hash"},
                      {"range"},
                      {"feed"},
                      {"merge"},
                      {"lease"},
                      {"transport"},
                      {"region"},
                      {"processor"}}},
     .roof = umbrella::apart},
    {.name = "law", .may_include = every_floor, .roof = umbrella::apart},
    // Nobody looks at law, the adapters included.
    {.name = "adapter", .may_include = every_floor, .roof = umbrella::none},
};

constexpr std::size_t floor_of(std::string_view name) {
  std::size_t place = 0;
  while (place < std::size(rooms) && rooms[place].name != name) ++place;
  return place;
}

constexpr room const* find_room(std::string_view name) {
  std::size_t const place = floor_of(name);
  return place < std::size(rooms) ? &rooms[place] : nullptr;
}

static_assert(
    [] {
      for (std::size_t place = 0; place < std::size(rooms); ++place)
        for (auto const& step : rooms[place].may_include)
          if (!step.module.empty() && floor_of(step.module) >= place) return false;
      return true;
    }(),
    "a module includes only modules that stand before it in the table");

/// The table as Markdown, one row per module.
std::string layers_table();

/// Include lines against the table, and against what really exists.
complaints layers(std::filesystem::path const& root);

/// Each umbrella includes all it stands for and nothing else.
complaints umbrellas(std::filesystem::path const& root);

/// Light headers only, and third-party code only where it is at home.
complaints narrow_includes(std::filesystem::path const& root);

}  // namespace house
