// test/example/content_platform_test.cpp — the content platform in memory, and in accounts on three
// servers of which one is killed.
#include "program.hpp"

#include <catch2/catch_test_macros.hpp>

#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include <unistd.h>

namespace {

std::string const key = "bm90IG11Y2ggb2YgYSBzZWNyZXQ=";
std::string const as_it_should_be =
    "all of them are read everywhere, each subscriber was told once";

std::size_t count(std::string_view what, std::string_view in) {
  std::size_t found = 0;
  for (auto at = in.find(what); at != in.npos; at = in.find(what, at + 1)) ++found;
  return found;
}
// When the line with these words was told.
double second_of(std::string_view words, std::string const& in) {
  auto const at = in.find(words);
  REQUIRE(at != in.npos);
  return std::stod(in.substr(in.rfind('\n', at) + 1));
}
test::outcome ended(std::vector<std::string> words) {
  words.insert(words.begin(), CONTENT_PLATFORM_PROGRAM);
  test::program running{std::move(words)};
  return running.finish();
}

TEST_CASE("in two and in three regions everybody reads all, and every subscriber is told once") {
  for (char const* const regions : {"2", "3"}) {
    auto const seen = ended({"--regions", regions});
    INFO(seen.out);
    CHECK(seen.status == 0);
    CHECK(seen.err.empty());
    CHECK(count(as_it_should_be, seen.out) == 1);
    CHECK(count("cut off", seen.out) == 0);
    CHECK(count("has lost its leases", seen.out) == 0);
    CHECK(count("begins at a token", seen.out) == 1);
  }
}

TEST_CASE("whichever region is cut off, others say what is missing, and nothing is lost") {
  struct place {
    std::string regions, cut;
  };
  for (auto const& [regions, cut] : {place{"2", "west"}, place{"2", "europe"}, place{"3", "west"},
                                     place{"3", "europe"}, place{"3", "asia"}}) {
    auto const seen = ended({"--regions", regions, "--cut", cut, "--rounds", "40"});
    INFO(seen.out);
    CHECK(seen.status == 0);
    CHECK(count(cut + " is cut off", seen.out) == 1);
    CHECK(count(cut + " is back", seen.out) == 1);
    CHECK(count(" 1 cannot reach its leases", seen.out) == 1);
    CHECK(count(" 1 has lost its leases", seen.out) == 1);
    CHECK(count("cannot be read yet", seen.out) == (regions == "2" ? 2U : 3U));
    CHECK(count("in " + cut + " 0 articles", seen.out) == 0);
    CHECK(count(as_it_should_be, seen.out) == 1);
  }
}

TEST_CASE("the same options tell the same story") {
  auto const once = ended({"--cut", "europe"});
  CHECK(once.out == ended({"--cut", "europe"}).out);
  CHECK(once.out != ended({"--cut", "asia"}).out);
}

TEST_CASE("the platform says what is wrong with its options, and never the key") {
  ::unsetenv("COSMOS_KEY");
  std::string const west = "west=http://127.0.0.1:1";
  struct mistake {
    std::vector<std::string> words;
    std::string told;
  };
  for (auto const& [words, told] : std::vector<mistake>{
           {{"--regions", "4"}, "--regions is a number from 2 to 3, and not 4"},
           {{"--regions"}, "--regions wants a value"},
           {{"--cut", ""}, "--cut wants a value"},
           {{"--cut", "mars"}, "there is no region mars, but west, europe, asia"},
           {{"--regions", "2", "--cut", "asia"}, "there is no region asia, but west, europe"},
           {{"--rounds", "-1"}, "--rounds is a number from 3 to 100000, and not -1"},
           {{"--rounds", "2"}, "--rounds is a number from 3 to 100000, and not 2"},
           {{"--odd", "1"}, "there is no option --odd"},
           {{"odd"}, "there is no option odd"},
           {{"--database", "d"}, "--database is one of accounts: give it --endpoint"},
           {{"--patience-ms", "9"}, "--patience-ms is for accounts: give it --endpoint"},
           {{"--endpoint", "http://x"}, "--endpoint is REGION=URL"},
           {{"--endpoint", "west=nothing"}, "the endpoint of west: "},
           {{"--endpoint", west}, "the key of west is missing: set COSMOS_KEY, or COSMOS_KEY_WEST"},
           {{"--endpoint", west, "--cut", "west"}, "--cut is for regions in memory"},
           {{"--regions", "2", "--endpoint", west}, "there are as many regions as endpoints"},
           {{"--endpoint", west, "--endpoint", "asia=http://127.0.0.1:1/"},
            "west and asia have the same endpoint"},
           {{"--endpoint", west, "--endpoint", "west=http://127.0.0.1:2"},
            "the layout names region west twice"}}) {
    auto const seen = ended(words);
    INFO(seen.err);
    CHECK(seen.status == 2);
    CHECK(seen.out.empty());
    CHECK(seen.err.starts_with("content_platform: " + told));
    CHECK(count("\n\nusage: content_platform", seen.err) == 1);
  }
  auto const asked = ended({"--help"});
  CHECK(asked.status == 0);
  CHECK(asked.out.starts_with("usage: content_platform"));
  CHECK(asked.err.empty());

  ::setenv("COSMOS_KEY", "no base64!", 1);
  auto const no_key = ended({"--endpoint", "west=http://127.0.0.1:1"});
  CHECK(no_key.status == 1);
  CHECK(no_key.err.find("no base64!") == std::string::npos);
  ::setenv("COSMOS_KEY", key.c_str(), 1);
  auto const nobody = ended({"--endpoint", "west=http://127.0.0.1:1"});
  CHECK(nobody.status == 1);
  CHECK(nobody.err.find("not_connected") != std::string::npos);
  CHECK((nobody.out + nobody.err).find(key) == std::string::npos);
}

// A server for each region, whose data outlives it in a file.
class servers {
 public:
  servers() {
    for (char const* const name : {"west", "europe", "asia"}) {
      regions_.push_back({name, file_of(name), "0", nullptr});
      start(regions_.size() - 1);
    }
    ::setenv("COSMOS_KEY", key.c_str(), 1);
  }
  ~servers() {
    for (region& one : regions_) {
      one.running.reset();
      std::filesystem::remove(one.journal);
    }
  }
  servers(servers const&) = delete;
  servers& operator=(servers const&) = delete;

  void start(std::size_t number) {
    region& one = regions_[number];
    one.running = std::make_unique<test::program>(
        std::vector<std::string>{COSMOS_SERVER_PROGRAM, "--port", one.port, "--key", key,
                                 "--partitions", "2", "--journal", one.journal});
    std::istringstream said{one.running->lines(1)};
    std::string ready, port;
    said >> ready >> port;
    REQUIRE(ready == "ready");
    if (one.port == "0") one.port = port;
  }
  // At once and without a word: SIGKILL.
  void kill(std::size_t number) { regions_[number].running.reset(); }

  std::vector<std::string> words(std::vector<std::string> more) const {
    std::vector<std::string> all{CONTENT_PLATFORM_PROGRAM};
    for (region const& one : regions_) {
      all.push_back("--endpoint");
      all.push_back(one.name + "=http://127.0.0.1:" + one.port);
    }
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }

 private:
  struct region {
    std::string name, journal, port;
    std::unique_ptr<test::program> running;
  };
  static std::string file_of(std::string const& name) {
    auto const file = "keyspan_platform_" + std::to_string(::getpid()) + '_' + name;
    return (std::filesystem::temp_directory_path() / file).string();
  }

  std::vector<region> regions_{};
};

TEST_CASE("three accounts over HTTP are read as one, and again by who starts anew") {
  servers all;
  for (int i = 0; i < 2; ++i) {
    test::program platform{all.words({"--rounds", "10", "--round-ms", "50"})};
    auto const seen = platform.finish();
    INFO(seen.out << seen.err);
    CHECK(seen.status == 0);
    CHECK(count(as_it_should_be, seen.out) == 1);
    CHECK((seen.out + seen.err).find(key) == std::string::npos);
  }
}

TEST_CASE(
    "a server that is killed is reported while it is down, and nothing acknowledged is lost") {
  servers all;
  test::program platform{all.words({"--rounds", "30", "--round-ms", "100"})};
  platform.lines(2);  // subscriptions, and ten rounds
  all.kill(2);
  for (std::size_t lines = 3; count("does not answer", platform.lines(lines)) < 3; ++lines)
    REQUIRE(lines < 20);  // each of three regions says so
  all.start(2);
  auto const seen = platform.finish();
  INFO(seen.out << seen.err);
  CHECK(seen.status == 0);
  for (std::string const where : {"west", "europe", "asia"}) {
    CHECK(count("in " + where + ": the account of asia does not answer", seen.out) >= 1);
    CHECK(count("in " + where + ": the account of asia answers again", seen.out) >= 1);
  }
  CHECK(count(as_it_should_be, seen.out) == 1);
}

TEST_CASE("a server that stays dead is told of once, and not waited for longer than was asked") {
  servers all;
  test::program platform{
      all.words({"--rounds", "14", "--round-ms", "50", "--patience-ms", "4000"})};
  platform.lines(2);  // subscriptions, and ten rounds
  all.kill(2);
  auto const seen = platform.finish();
  INFO(seen.out << seen.err);
  // Four seconds for all that is left to do, and not for each part of it.
  CHECK(second_of("asia does not answer: what", seen.out) - second_of("waiting for", seen.out) <
        10);
  CHECK(seen.status == 1);
  CHECK(count("waiting for those that do not take their writes: asia", seen.out) == 1);
  CHECK(count("WRONG: asia does not answer: what is there cannot be checked", seen.out) == 1);
  CHECK(count("WRONG: ", seen.out) <=
        13);  // this one, ten faults, how many more, what is unwritten
  CHECK(count(as_it_should_be, seen.out) == 0);
}

}  // namespace
