// A content platform in several regions: authors publish where they are, subscribers are told of
// new articles, and everybody reads and reviews all of them in the region where they are, as
// docs/guide/write_here_read_everywhere.md tells it. A program to start from.
//
// Without options it runs in memory, in virtual time: each region has an account of its own that is
// copied to all others, and one can be cut off for a while. With endpoints it runs in accounts of
// Azure Cosmos DB, or on servers that speak as it does. It checks itself: whatever was acknowledged
// is read everywhere in the end, and every subscriber was told of each article once.
#include "content_platform_memory.hpp"
#include "content_platform_service.hpp"
#include "content_platform_story.hpp"
#include "content_platform_table.hpp"

#include <keyspan/core/print.hpp>
#include <keyspan/core/result.hpp>
#include <keyspan/cosmos/credential.hpp>
#include <keyspan/region/regional_layout.hpp>
#include <keyspan/transport/endpoint.hpp>

#include <charconv>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <iomanip>
#include <iostream>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace {

constexpr std::string_view usage =
    R"(usage: content_platform [--regions 2|3] [--cut REGION] [--rounds N]
       content_platform --endpoint REGION=URL … [--database D] [--rounds N] [--round-ms N]

Without endpoints the regions are west, europe and asia, in memory. --cut cuts one of them off in
the middle, and joins it again.

With endpoints each is an account that is written in that region, such as "West US". Their key is in
the environment variable COSMOS_KEY, or that of one account in COSMOS_KEY_WEST_US.

Exit status: 2 where the usage is wrong, 1 where something is not as it should be.
)";

struct settings {
  std::vector<std::string> regions{"west", "europe", "asia"};
  std::vector<std::string> endpoints{};  // of the regions, in their order; none: in memory
  std::string cut{}, database{"content"};
  content::story_options story{};
};

std::optional<std::size_t> number_in(std::string_view text, std::size_t least, std::size_t most) {
  std::size_t value = 0;
  auto const [end, why] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (why != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  if (value < least || value > most) return std::nullopt;
  return value;
}

bool read_option(std::string_view name, std::string_view value, settings& to) {
  if (name == "--regions") {
    auto const count = number_in(value, 2, 3);
    if (count) to.regions.resize(*count);
    return count.has_value();
  }
  if (name == "--rounds") {
    auto const count = number_in(value, 3, 100'000);
    if (count) to.story.rounds = *count;
    return count.has_value();
  }
  if (name == "--round-ms") {
    auto const time = number_in(value, 1, 60'000);
    if (time) to.story.round = std::chrono::milliseconds{*time};
    return time.has_value();
  }
  if (name == "--endpoint") {
    auto const at = value.find('=');
    if (at == 0 || at == std::string_view::npos) return false;
    if (to.endpoints.empty()) to.regions.clear();
    to.regions.emplace_back(value.substr(0, at));
    to.endpoints.emplace_back(value.substr(at + 1));
    return true;
  }
  if (name == "--cut") {
    to.cut = value;
  } else if (name == "--database") {
    to.database = value;
  } else {
    return false;
  }
  return !value.empty();
}

std::optional<settings> read_arguments(int count, char** arguments) {
  settings made;
  for (int i = 1; i < count; i += 2)
    if (i + 1 == count || !read_option(arguments[i], arguments[i + 1], made)) return std::nullopt;
  if (!made.cut.empty() && !made.endpoints.empty()) return std::nullopt;
  return made;
}

int complain(keyspan::error const& why) {
  std::cerr << "content_platform: " << why << "; " << keyspan::advice_for(why.code) << '\n';
  return 1;
}

// Tells the story line by line, and what has come of it.
template <class World>
int tell(World& world, content::story_options const& how) {
  auto const began = world.now();
  auto const print = [&](std::string const& line) {
    double const passed = static_cast<double>(world.now() - began) / 1000;
    std::cout << std::fixed << std::setprecision(1) << std::setw(7) << passed << " s  " << line
              << std::endl;
  };
  content::story<World> all{world, how, print};
  bool const is_right = all.run();
  std::cout << '\n';
  content::print_table(std::cout, all.figures());
  std::cout << '\n'
            << all.articles() << " articles, " << all.reviews() << " reviews, "
            << all.notifications() << " notifications: "
            << (is_right ? "all of them are read everywhere, each subscriber was told once"
                         : "something is WRONG")
            << std::endl;
  return is_right ? 0 : 1;
}

std::optional<std::string> key_of(std::string_view region) {
  std::string name{"COSMOS_KEY_"};
  for (char const c : region) {
    bool const is_small = c >= 'a' && c <= 'z';
    name.push_back(is_small ? static_cast<char>(c - 'a' + 'A') : c == ' ' ? '_' : c);
  }
  if (char const* const own = std::getenv(name.c_str())) return own;
  if (char const* const all = std::getenv("COSMOS_KEY")) return all;
  return std::nullopt;
}

int run_with_accounts(settings with, keyspan::regional_layout const& layout) {
  std::vector<content::service_place> places;
  for (std::size_t i = 0; i < with.regions.size(); ++i) {
    auto const endpoint = keyspan::service_endpoint::parse(with.endpoints[i]);
    if (!endpoint) return complain(endpoint.error());
    auto const text = key_of(with.regions[i]);
    if (!text) {
      std::cerr << usage;
      return 2;
    }
    auto const key = keyspan::cosmos::master_key::from(*text);
    if (!key) return complain(key.error());
    places.push_back({with.regions[i], *endpoint, *key});
  }
  content::service_world world{layout, std::move(places), with.database};
  if (auto const opened = world.open(); !opened) return complain(opened.error());
  with.story.run = "r" + std::to_string(world.now()) + "-";
  return tell(world, with.story);
}

}  // namespace

int main(int count, char** arguments) {
  auto with = read_arguments(count, arguments);
  if (!with) {
    std::cerr << usage;
    return 2;
  }
  auto const layout = keyspan::regional_layout::from(with->regions);
  if (!layout) return complain(layout.error());
  if (!with->endpoints.empty()) return run_with_accounts(*std::move(with), *layout);
  if (!with->cut.empty()) {
    with->story.cut = layout->find(with->cut);
    if (!with->story.cut) {
      std::cerr << usage;
      return 2;
    }
  }
  content::memory_world world{*layout};
  return tell(world, with->story);
}
