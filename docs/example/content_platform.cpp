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
    R"(usage: content_platform [--regions 2|3] [--cut REGION] [--rounds N] [--round-ms N]
       content_platform --endpoint REGION=URL … [--database D] [--rounds N] [--round-ms N]
                        [--patience-ms N]

Without endpoints the regions are west, europe and asia, in memory. --cut cuts one of them off in
the middle, and joins it again.

With endpoints each is an account that is written in that region, such as "West US". Their key is in
the environment variable COSMOS_KEY, or that of one account in COSMOS_KEY_WEST_US. --patience-ms is
how long it may take at the end until everything is everywhere: 60000.

Exit status: 2 where the usage is wrong, 1 where something is not as it should be.
)";

struct settings {
  std::vector<std::string> regions{"west", "europe", "asia"};
  std::vector<std::string> urls{};  // of the regions, in their order; none: in memory
  std::vector<keyspan::service_endpoint> endpoints{};  // the same
  std::string cut{}, database{};
  content::story_options story{};
  bool has_regions = false, has_patience = false, wants_help = false;
};

template <class... Pieces>
keyspan::unexpected wrong(Pieces const&... pieces) {
  return keyspan::fail(keyspan::errc::invalid_options, pieces...);
}

keyspan::result<std::size_t> number_in(std::string_view option, std::string_view text,
                                       std::size_t least, std::size_t most) {
  std::size_t value = 0;
  auto const [end, why] = std::from_chars(text.data(), text.data() + text.size(), value);
  bool const is_number = why == std::errc{} && end == text.data() + text.size();
  if (!is_number || value < least || value > most)
    return wrong(option, " is a number from ", least, " to ", most, ", and not ", text);
  return value;
}

keyspan::result<void> read_option(std::string_view name, std::string_view value, settings& to) {
  if (name == "--regions") {
    auto const count = number_in(name, value, 2, 3);
    if (!count) return keyspan::unexpected{count.error()};
    if (to.urls.empty()) to.regions.resize(*count);
    to.has_regions = true;
  } else if (name == "--rounds") {
    auto const count = number_in(name, value, 3, 100'000);
    if (!count) return keyspan::unexpected{count.error()};
    to.story.rounds = *count;
  } else if (name == "--round-ms") {
    auto const time = number_in(name, value, 1, 60'000);
    if (!time) return keyspan::unexpected{time.error()};
    to.story.round = std::chrono::milliseconds{*time};
  } else if (name == "--patience-ms") {
    auto const time = number_in(name, value, 1, 3'600'000);
    if (!time) return keyspan::unexpected{time.error()};
    to.story.patience = std::chrono::milliseconds{*time};
    to.has_patience = true;
  } else if (name == "--endpoint") {
    auto const at = value.find('=');
    if (at == 0 || at == std::string_view::npos)
      return wrong("--endpoint is REGION=URL, such as west=http://127.0.0.1:8081, and not ", value);
    if (to.urls.empty()) to.regions.clear();
    to.regions.emplace_back(value.substr(0, at));
    to.urls.emplace_back(value.substr(at + 1));
  } else if (name == "--cut") {
    to.cut = value;
  } else if (name == "--database") {
    to.database = value;
  } else {
    return wrong("there is no option ", name);
  }
  return {};
}

// What goes together, and what does not.
keyspan::result<void> check_together(settings& made) {
  if (made.urls.empty()) {
    if (!made.database.empty()) return wrong("--database is one of accounts: give it --endpoint");
    if (made.has_patience) return wrong("--patience-ms is for accounts: give it --endpoint");
    return {};
  }
  if (!made.cut.empty()) return wrong("--cut is for regions in memory, without --endpoint");
  if (made.has_regions) return wrong("there are as many regions as endpoints: no --regions");
  for (std::size_t i = 0; i < made.urls.size(); ++i) {
    auto const endpoint = keyspan::service_endpoint::parse(made.urls[i]);
    if (!endpoint)
      return wrong("the endpoint of ", made.regions[i], ": ", endpoint.error().text.view());
    for (std::size_t before = 0; before < i; ++before)
      if (made.endpoints[before] == *endpoint)
        return wrong(made.regions[before], " and ", made.regions[i],
                     " have the same endpoint: each region has an account of its own");
    made.endpoints.push_back(*endpoint);
  }
  return {};
}

keyspan::result<settings> read_arguments(int count, char** arguments) {
  settings made;
  for (int i = 1; i < count; i += 2) {
    std::string_view const name{arguments[i]};
    if (name == "--help") {
      made.wants_help = true;
      return made;
    }
    if (i + 1 == count || *arguments[i + 1] == '\0') {
      if (name.starts_with("--")) return wrong(name, " wants a value");
      return wrong("there is no option ", name);
    }
    auto const done = read_option(name, arguments[i + 1], made);
    if (!done) return keyspan::unexpected{done.error()};
  }
  auto const checked = check_together(made);
  if (!checked) return keyspan::unexpected{checked.error()};
  return made;
}

int explain_usage(keyspan::error const& why) {
  std::cerr << "content_platform: " << why.text.view() << "\n\n" << usage;
  return 2;
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

keyspan::result<std::string> key_of(std::string_view region) {
  std::string name{"COSMOS_KEY_"};
  for (char const c : region) {
    bool const is_small = c >= 'a' && c <= 'z';
    name.push_back(is_small ? static_cast<char>(c - 'a' + 'A') : c == ' ' ? '_' : c);
  }
  if (char const* const own = std::getenv(name.c_str())) return std::string{own};
  if (char const* const all = std::getenv("COSMOS_KEY")) return std::string{all};
  return wrong("the key of ", region, " is missing: set COSMOS_KEY, or ", name);
}

int run_with_accounts(settings with, keyspan::regional_layout const& layout) {
  std::vector<content::service_place> places;
  for (std::size_t i = 0; i < with.regions.size(); ++i) {
    auto const text = key_of(with.regions[i]);
    if (!text) return explain_usage(text.error());
    auto const key = keyspan::cosmos::master_key::from(*text);
    if (!key) return complain(key.error());
    places.push_back({with.regions[i], with.endpoints[i], *key});
  }
  std::string const database = with.database.empty() ? "content" : with.database;
  content::service_world world{layout, std::move(places), database};
  if (auto const opened = world.open(); !opened) return complain(opened.error());
  with.story.run = "r" + std::to_string(world.now()) + "-";
  return tell(world, with.story);
}

}  // namespace

int main(int count, char** arguments) {
  auto with = read_arguments(count, arguments);
  if (!with) return explain_usage(with.error());
  if (with->wants_help) {
    std::cout << usage;
    return 0;
  }
  auto const layout = keyspan::regional_layout::from(with->regions);
  if (!layout) return explain_usage(layout.error());
  if (!with->urls.empty()) return run_with_accounts(*std::move(with), *layout);
  if (!with->cut.empty()) {
    with->story.cut = layout->find(with->cut);
    if (!with->story.cut) {
      std::string known;
      for (auto const& one : layout->regions()) known += (known.empty() ? "" : ", ") + one;
      return explain_usage(wrong("there is no region ", with->cut, ", but ", known).error());
    }
  }
  content::memory_world world{*layout};
  return tell(world, with->story);
}
