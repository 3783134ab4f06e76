#include <bench/support/bench.hpp>
#include <keyspan/core/json.hpp>
#include <support/check.hpp>
#include <support/contracts.hpp>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

#include <unistd.h>

namespace {

using bench::nanoseconds;
using std::chrono::microseconds;

// A session whose clock moves only when a row says so.
struct fake_run {
  nanoseconds now{0};
  std::ostringstream out{};
  bench::session session;

  explicit fake_run(bench::session_options options = {.name = "fake", .rounds = 5})
      : session{std::move(options), out, [this] { return now; }} {}

  auto taking(nanoseconds time) {
    return [this, time] { now += time; };
  }
  bool printed(std::string_view text) const { return out.str().find(text) != std::string::npos; }
};

// Seconds and back to nanoseconds: the last bit may differ.
bool is_about(double measured, double wanted) {
  return std::abs(measured - wanted) < 1e-9 * wanted;
}

std::string read_file(std::filesystem::path const& path) {
  std::ifstream in{path, std::ios::binary};
  return {std::istreambuf_iterator<char>{in}, {}};
}

// A folder of its own that goes away with the test.
class scratch_folder {
 public:
  explicit scratch_folder(std::string const& name)
      : path_{std::filesystem::temp_directory_path() /
              ("keyspan_" + name + '_' + std::to_string(::getpid()))} {
    std::filesystem::remove_all(path_);
  }
  ~scratch_folder() { std::filesystem::remove_all(path_); }
  scratch_folder(scratch_folder const&) = delete;
  scratch_folder& operator=(scratch_folder const&) = delete;
  std::filesystem::path const& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

keyspan::result<bench::session_options> parsed(std::vector<char const*> arguments) {
  arguments.insert(arguments.begin(), "some/folder/core_bytes");
  return bench::parse_arguments(static_cast<int>(arguments.size()), arguments.data());
}

}  // namespace

TEST_CASE("the time of a row is its own, and every row is a multiple of the floor") {
  fake_run run;
  auto& table = run.session.table("waiting", "wait");
  table.floor("a little", run.taking(nanoseconds{100}));
  table.row("more", run.taking(nanoseconds{250}));
  CHECK(is_about(table.ns("a little"), 100));
  CHECK(is_about(table.ns("more"), 250));
  CHECK(is_about(table.ratio("more", "a little"), 2.5));
  CHECK(run.printed("ns/wait"));
  CHECK(run.printed("100     floor"));
  CHECK(run.printed("250      2.50"));
}

TEST_CASE("a batch shares the time of a call out among its operations") {
  fake_run run;
  auto& table = run.session.table("ten at once", "wait").batch(10);
  table.floor("ten", run.taking(nanoseconds{100}));
  table.row("four", run.taking(nanoseconds{100})).batch(4);
  CHECK(is_about(table.ns("ten"), 10));
  CHECK(is_about(table.ns("four"), 25));
}

TEST_CASE("the median forgets a few samples that were disturbed") {
  fake_run run;
  auto& table = run.session.table("disturbed", "wait");
  std::vector<int> times{5, 3, 900, 4, 800};
  table.timed("by itself", [times, i = std::size_t{0}]() mutable {
    return microseconds{times[i++ % times.size()]};
  });
  CHECK(is_about(table.ns("by itself"), 5000));
  CHECK(run.printed("us") == false);  // 5000 ns still read well as they are
}

TEST_CASE("samples are made long enough for the clock") {
  fake_run run{{.name = "fake", .rounds = 3, .sample = microseconds{100}}};
  auto& table = run.session.table("short", "wait");
  long calls = 0;
  table.floor("fast", [&] {
    ++calls;
    run.now += nanoseconds{10};
  });
  CHECK(is_about(table.ns("fast"), 10));
  CHECK(calls >= 3 * 10'000);   // three samples of 100 us each
  CHECK(calls <= 20 * 10'000);  // and no more than it takes to find that out
}

TEST_CASE("a table measures at most as many rounds as it was told") {
  fake_run run{{.name = "fake", .rounds = 31}};
  auto& table = run.session.table("slow", "wait").rounds(4);
  int calls = 0;
  table.timed("slow", [&] {
    ++calls;
    return microseconds{1};
  });
  static_cast<void>(table.ns("slow"));
  CHECK(calls == 4);
}

TEST_CASE("rows take turns, and no row always follows the same neighbour") {
  fake_run run{{.name = "fake", .rounds = 6}};
  auto& table = run.session.table("turns", "turn");
  std::string order;
  for (char const name : {'a', 'b', 'c'})
    table.timed(std::string{name}, [&order, name] {
      order += name;
      return microseconds{1};
    });
  static_cast<void>(table.ns("a"));
  REQUIRE(order.size() == 18);
  for (std::size_t round = 0; round < 6; ++round) {
    auto turn = order.substr(3 * round, 3);
    std::ranges::sort(turn);
    CHECK(turn == "abc");
  }
  for (char const first : {'a', 'b', 'c'})
    for (char const second : {'a', 'b', 'c'})
      if (first != second) CHECK(order.find(std::string{first, second}) != std::string::npos);
}

TEST_CASE("a target is one line of a fixed form") {
  fake_run run;
  run.session.target("merge.k64.priority_queue", 5.1234, ">=", 4);
  run.session.target("hash.added_ns", 3.5, "<=", 3);
  run.session.target("hash.allocations", 0, "==", 0);
  run.session.target("big", 1234.5, ">=", 45);
  CHECK(run.printed("target merge.k64.priority_queue 5.12 >= 4 ok\n"));
  CHECK(run.printed("target hash.added_ns 3.50 <= 3 MISSED\n"));
  CHECK(run.printed("target hash.allocations 0 == 0 ok\n"));
  CHECK(run.printed("target big 1234 >= 45 ok\n"));
  CHECK(run.session.missed() == 1);
  CHECK(run.session.finish() == 0);
  CHECK(run.printed("targets missed: 1 of 4\n"));
}

TEST_CASE("a target judges what it prints") {
  fake_run run;
  run.session.target("just", 1.2004, "<=", 1.2);
  run.session.target("not", 1.206, "<=", 1.2);
  run.session.target("counted", 0.001, "==", 0);
  CHECK(run.printed("target just 1.20 <= 1.2 ok\n"));
  CHECK(run.printed("target not 1.21 <= 1.2 MISSED\n"));
  CHECK(run.printed("target counted 0.001 == 0 MISSED\n"));
  CHECK(test::promise_broken_by([&] { run.session.target("odd", 1, "<", 2); }) ==
        "a target compares with >=, <= or ==");
}

TEST_CASE("what this machine cannot show is named, never silent") {
  fake_run run;
  auto& table = run.session.table("peers", "wait");
  table.floor("ours", run.taking(nanoseconds{100}));
  table.left_out("theirs", "libtheirs is not installed");
  double const ratio = table.ratio("theirs", "ours");
  CHECK(ratio != ratio);
  run.session.target("ours.theirs", ratio, ">=", 2);
  CHECK(run.printed("left out: theirs (libtheirs is not installed)\n"));
  CHECK(run.printed("left out: target ours.theirs, its rows were not measured\n"));
  CHECK_FALSE(run.printed("\ntarget"));
  CHECK(run.session.missed() == 0);
}

TEST_CASE("rows that compute different things are found out, the floor is not asked") {
  fake_run run;
  auto const one_of = [&](int value) {
    return [&run, value] {
      run.now += nanoseconds{100};
      return value;
    };
  };
  auto& table = run.session.table("sums", "sum");
  table.floor("nothing", one_of(0));
  table.row("ours", one_of(42));
  table.row("theirs", one_of(42));
  table.row("silent", run.taking(nanoseconds{100}));
  CHECK(run.session.finish() == 0);
  CHECK_FALSE(run.printed("DIFFERS"));

  fake_run wrong;
  auto& texts = wrong.session.table("texts", "text");
  texts.floor("nothing", wrong.taking(nanoseconds{100}));
  for (std::string const text : {"A0", "A1"})
    texts.row("says " + text, [&wrong, text] {
      wrong.now += nanoseconds{100};
      return text;
    });
  CHECK(wrong.session.finish() == 1);
  CHECK(wrong.printed("DIFFERS: in \"texts\", \"says A1\" does not compute what \"says A0\" does"));
}

TEST_CASE("allocations are counted per operation") {
  fake_run run;
  auto& table = run.session.table("allocating", "thing").count_allocations().batch(2);
  table.floor("none", run.taking(nanoseconds{100}));
  table.row("three for two", [&] {
    run.now += nanoseconds{100};
    for (int i = 0; i < 3; ++i) bench::keep(std::vector<int>(100));
  });
  CHECK(table.allocations_of("none") == 0);
  CHECK(table.allocations_of("three for two") == 1.5);
  CHECK(run.printed("allocs"));
}

TEST_CASE("a table keeps to its promises") {
  fake_run run;
  auto& table = run.session.table("rows", "wait");
  CHECK(test::promise_broken_by([&] { table.row("no floor yet", [] {}); }) ==
        "the floor is the first row of a table, and the only floor");
  table.floor("floor", run.taking(nanoseconds{100}));
  CHECK(test::promise_broken_by([&] { table.row("floor", [] {}); }) ==
        "no two rows have the same name");
  CHECK(test::promise_broken_by([&] { return table.ns("missing"); }) ==
        "a row of this name is in the table");
  CHECK(test::promise_broken_by([&] { table.row("late", [] {}); }) ==
        "a table takes no rows once it was measured");
}

TEST_CASE("the results are one JSON text, and the charts stand beside it") {
  scratch_folder const folder{"bench_results"};
  auto const out = folder.path() / "made" / "on demand";
  fake_run run{{.name = "core_fake", .out = out.string(), .rounds = 3, .boxplot = true}};
  auto& table = run.session.table("say \"ns\"", "wait");
  table.floor("floor", run.taking(nanoseconds{100}));
  table.row("row", run.taking(nanoseconds{300}));
  table.left_out("peer", "not here");
  run.session.target("fake.row", table.ratio("row", "floor"), "<=", 2);
  run.session.chart("one", "n", "ns").line("a", 1, 2);
  run.session.chart("two", "n", "ns").line("a", 1, 2);
  CHECK(run.session.finish() == 0);

  CHECK(read_file(out / "core_fake.svg").find("<title>one</title>") != std::string::npos);
  CHECK(read_file(out / "core_fake_2.svg").find("<title>two</title>") != std::string::npos);
  CHECK(read_file(out / "core_fake.html").find("<html>") != std::string::npos);

  auto const text = read_file(out / "core_fake.json");
  keyspan::json_reader json{text};
  std::string_view name;
  std::vector<std::string> seen;
  double over_floor = 0;
  bool ok = true;
  json.begin_object();
  while (json.next_member(name)) {
    seen.emplace_back(name);
    if (name == "name")
      CHECK(json.string() == "core_fake");
    else if (name == "tables") {
      json.begin_array();
      while (json.next_element()) {
        json.begin_object();
        while (json.next_member(name)) {
          if (name == "title")
            CHECK(json.string() == "say \"ns\"");
          else if (name == "rows") {
            json.begin_array();
            while (json.next_element()) {
              json.begin_object();
              while (json.next_member(name)) {
                if (name == "over_floor")
                  over_floor = json.number();
                else
                  json.skip();
              }
            }
          } else
            json.skip();
        }
      }
    } else if (name == "targets") {
      json.begin_array();
      while (json.next_element()) {
        json.begin_object();
        while (json.next_member(name)) {
          if (name == "ok")
            ok = json.boolean();
          else
            json.skip();
        }
      }
    } else
      json.skip();
  }
  json.finish();
  REQUIRE(json.ok());
  CHECK(seen == std::vector<std::string>{"name", "compiler", "rounds", "tables", "targets"});
  CHECK(is_about(over_floor, 3));
  CHECK_FALSE(ok);
}

TEST_CASE("a file that cannot be written is a failure") {
  scratch_folder const folder{"bench_blocked"};
  std::filesystem::create_directories(folder.path());
  std::ofstream{folder.path() / "file"} << "in the way";
  fake_run run{{.name = "fake", .out = (folder.path() / "file" / "below").string(), .rounds = 3}};
  CHECK(run.session.finish() == 1);
}

TEST_CASE("the command line is understood or refused") {
  auto const usual = parsed({});
  REQUIRE(usual);
  CHECK(*usual == bench::session_options{.name = "core_bytes"});

  auto const all = parsed({"--out", "results", "--rounds", "7", "--boxplot"});
  REQUIRE(all);
  CHECK(*all == bench::session_options{
                    .name = "core_bytes", .out = "results", .rounds = 7, .boxplot = true});
  CHECK(parsed({"--quick"})->rounds < 10);
  CHECK(parsed({"--help"})->help);

  for (auto const& [wrong, named] :
       std::vector<std::pair<std::vector<char const*>, std::string_view>>{
           {{"--fast"}, "unknown argument --fast"},
           {{"results"}, "unknown argument results"},
           {{"--out"}, "--out wants a value"},
           {{"--rounds", "0"}, "--rounds wants a number from 1 on, not 0"},
           {{"--rounds", "3x"}, "--rounds wants a number from 1 on, not 3x"},
           {{"--rounds", "99999999999"}, "--rounds wants a number from 1 on, not 99999999999"}}) {
    auto const refused = parsed(wrong);
    REQUIRE_FALSE(refused);
    CHECK(refused.error().code == keyspan::errc::invalid_options);
    CHECK(refused.error().text == named);
  }
}

TEST_CASE("the clock of a thread stands still while the thread does") {
  if (!bench::thread_time_is_cpu_time()) SKIP("this system has no CPU clock per thread");
  auto const before = bench::thread_time();
  ::usleep(50'000);
  CHECK(bench::thread_time() - before < std::chrono::milliseconds{25});
  auto const busy_from = bench::thread_time();
  auto const wall_from = std::chrono::steady_clock::now();
  while (bench::thread_time() - busy_from < std::chrono::milliseconds{5} &&
         std::chrono::steady_clock::now() - wall_from < std::chrono::seconds{10}) {
  }
  CHECK(bench::thread_time() - busy_from >= std::chrono::milliseconds{5});
}
