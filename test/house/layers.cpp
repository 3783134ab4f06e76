#include "layers.hpp"

#include "files.hpp"
#include "text.hpp"

#include <algorithm>
#include <set>
#include <vector>

namespace house {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view include_folder = "include/";
constexpr std::string_view library_folder = "include/keyspan/";

// A header by its place: keyspan/range/token_range.hpp is of module "range" and named
// "token_range"; an umbrella has no module.
struct place {
  std::string_view module;
  std::string_view name;
};

place place_of(std::string_view below_keyspan) {
  auto const slash = below_keyspan.find('/');
  auto const last = below_keyspan.rfind('/');
  auto name = last == std::string_view::npos ? below_keyspan : below_keyspan.substr(last + 1);
  name = name.substr(0, name.find('.'));
  if (slash == std::string_view::npos) return {{}, name};
  return {below_keyspan.substr(0, slash), name};
}

bool is_allowed(place const& from, place const& to) {
  if (from.module == to.module) return true;
  return std::ranges::any_of(find_room(from.module)->may_include, [&](stair const& step) {
    return step.module == to.module && (step.only_header.empty() || step.only_header == to.name) &&
           (step.only_from.empty() || step.only_from == from.name);
  });
}

std::string stairs_of(room const& one, std::string_view quote) {
  std::string text;
  for (auto const& step : one.may_include) {
    if (step.module.empty()) continue;
    if (!text.empty()) text += ", ";
    text += std::string{quote} + std::string{step.module} + std::string{quote};
    if (!step.only_header.empty()) text += " (only " + std::string{step.only_header} + ".hpp)";
    if (!step.only_from.empty()) text += " (only from " + std::string{step.only_from} + ".hpp)";
  }
  return text;
}

std::string ticked(std::string_view text) { return "`" + std::string{text} + "`"; }

// Not in any umbrella, because it brings a third-party JSON library with it.
constexpr std::string_view outside_umbrellas[]{"keyspan/key/json_documents.hpp"};

complaints umbrella_differs(std::string const& file, std::string const& text,
                            std::set<std::string> const& wanted, std::string const& advice) {
  complaints found;
  std::set<std::string> seen;
  for (auto const& include : includes_of(text)) {
    if (!wanted.contains(include.path))
      found.push_back({file, include.line,
                       "the umbrella includes " + include.path + ", which is not its",
                       "take the line out"});
    else if (!seen.insert(include.path).second)
      found.push_back({file, include.line, "the umbrella includes " + include.path + " twice",
                       "take one of the lines out"});
  }
  for (auto const& path : wanted)
    if (!seen.contains(path))
      found.push_back({file, 0, "the umbrella does not include " + path, advice});
  return found;
}

}  // namespace

std::string layers_table() {
  std::string text = "| module | may include |\n|---|---|\n";
  for (auto const& one : rooms) {
    auto const stairs = stairs_of(one, "`");
    text += "| " + ticked(one.name) + " | " + (stairs.empty() ? "-" : stairs) + " |\n";
  }
  return text;
}

complaints layers(fs::path const& root) {
  complaints found;
  auto const headers = files_under(root, library_folder);
  if (headers.empty())
    return {{std::string{library_folder}, 0, "there is no header to check",
             "the check looks in the wrong place, or the library is gone"}};
  std::size_t includes = 0;
  for (auto const& file : headers) {
    auto const from = place_of(std::string_view{file}.substr(library_folder.size()));
    bool const is_umbrella = from.module.empty();
    if (!file.ends_with(".hpp"))
      found.push_back({file, 0, "a file that is no .hpp header stands among the headers",
                       "rename it, or move it to where it belongs"});
    if (is_umbrella ? from.name != "keyspan" && !find_room(from.name) : !find_room(from.module)) {
      found.push_back(
          {file, 0,
           is_umbrella ? "no module is called " + ticked(from.name)
                       : "the folder " + ticked(from.module) + " is not in the table of modules",
           "move the header into a module, or add the module to rooms in "
           "test/house/layers.hpp"});
      continue;
    }
    for (auto const& include : includes_of(text_of(root / file))) {
      if (include.quoted) {
        found.push_back({file, include.line,
                         "#include \"" + include.path + "\" is not written with <>",
                         "write #include <keyspan/…>, so that one spelling finds it everywhere"});
        continue;
      }
      if (!include.path.starts_with("keyspan/")) continue;
      ++includes;
      auto const to = place_of(std::string_view{include.path}.substr(8));
      if (!fs::is_regular_file(root / include_folder / include.path)) {
        found.push_back({file, include.line, include.path + " does not exist",
                         "correct the name of the header"});
      } else if (to.module.empty()) {
        if (from.name != "keyspan" || !is_umbrella)
          found.push_back({file, include.line, "the umbrella " + include.path + " is included",
                           "only users include umbrellas: include the headers that are needed"});
      } else if (!find_room(to.module)) {
        found.push_back({file, include.line, ticked(to.module) + " is not in the table of modules",
                         "add it to rooms in test/house/layers.hpp, or move the header"});
      } else if (!is_umbrella && !is_allowed(from, to)) {
        auto const stairs = stairs_of(*find_room(from.module), "");
        found.push_back({file, include.line,
                         ticked(from.module) + " may not include " + include.path,
                         ticked(from.module) + " may include " +
                             (stairs.empty() ? "nothing but itself" : stairs) +
                             ": move what is shared down, or this header up"});
      }
    }
  }
  if (includes == 0)
    found.push_back({std::string{library_folder}, 0, "no header includes another one of keyspan",
                     "the check no longer recognises #include <keyspan/…>"});
  return found;
}

complaints umbrellas(fs::path const& root) {
  complaints found;
  std::set<std::string> roofs;
  for (auto const& one : rooms) {
    std::string const name{one.name};
    std::string const path = "keyspan/" + name + ".hpp";
    std::string const file = "include/" + path;
    std::set<std::string> wanted;
    for (auto const& header : files_under(root, "include/keyspan/" + name, {".hpp"})) {
      auto const include = header.substr(include_folder.size());
      if (std::ranges::find(outside_umbrellas, include) == std::end(outside_umbrellas))
        wanted.insert(include);
    }
    bool const exists = fs::exists(root / file);
    if (one.roof == umbrella::in_keyspan && !wanted.empty()) roofs.insert(path);
    if (one.roof == umbrella::none) {
      if (exists)
        found.push_back({file, 0, ticked(name) + " has an umbrella",
                         "each header of it is a component of its own: remove the umbrella"});
    } else if (exists) {
      found = found + umbrella_differs(file, text_of(root / file), wanted, "add the line");
    } else if (one.roof == umbrella::in_keyspan && !wanted.empty()) {
      found.push_back({file, 0, ticked(name) + " has headers, but no umbrella",
                       "add it; it includes every header of the module"});
    }
  }
  std::string const whole = "include/keyspan/keyspan.hpp";
  if (!fs::exists(root / whole) || roofs.empty()) {
    found.push_back({whole, 0, "there is no umbrella to check",
                     "the check looks in the wrong place, or keyspan.hpp is gone"});
    return found;
  }
  return found + umbrella_differs(whole, text_of(root / whole), roofs, "add the line");
}

complaints narrow_includes(fs::path const& root) {
  complaints found;
  constexpr std::string_view wide[]{"range/v3/all.hpp", "range/v3/view.hpp", "range/v3/action.hpp",
                                    "range/v3/core.hpp", "boost/hana.hpp"};
  constexpr std::string_view without_range_v3[]{"core", "key", "hash", "range"};
  constexpr std::string_view at_home[]{"range/v3/", "concepts/", "meta/", "boost/hana/",
                                       "fast_float/"};
  std::size_t includes = 0;
  for (auto const& file : files_under(root, library_folder)) {
    std::string_view const below = std::string_view{file}.substr(library_folder.size());
    auto const module = place_of(below).module;
    bool const opens_to_the_street = module == "adapter" || module == "cosmos" || module == "law" ||
                                     below == "key/json_documents.hpp";
    for (auto const& include : includes_of(text_of(root / file))) {
      ++includes;
      bool const is_range_v3 = include.path.starts_with("range/v3/") ||
                               include.path.starts_with("concepts/") ||
                               include.path.starts_with("meta/");
      if (std::ranges::find(wide, include.path) != std::end(wide)) {
        found.push_back({file, include.line,
                         include.path + " brings in everything, at the cost of seconds",
                         "include the narrow headers of what is used"});
      } else if (is_range_v3 &&
                 std::ranges::find(without_range_v3, module) != std::end(without_range_v3)) {
        found.push_back(
            {file, include.line, "range-v3 is included in " + ticked(module),
             "range-v3 stays out of core, key, hash and range: it costs half a second"});
      } else if (!opens_to_the_street && include.path.find('/') != std::string::npos &&
                 !include.path.starts_with("keyspan/") &&
                 std::ranges::none_of(
                     at_home, [&](auto prefix) { return include.path.starts_with(prefix); })) {
        found.push_back(
            {file, include.line, "third-party code is included: " + include.path,
             "below cosmos and the adapters there is range-v3, Hana, fast_float and nothing else"});
      } else if (include.path == "iostream") {
        found.push_back({file, include.line, "<iostream> is included",
                         "include <ostream> or <istream>: <iostream> runs code in every program"});
      }
    }
  }
  if (includes == 0)
    found.push_back({std::string{library_folder}, 0, "there is no include line to check",
                     "the check looks in the wrong place"});
  return found;
}

}  // namespace house
