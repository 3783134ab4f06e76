// test/example/cosmos_service_journal_test.cpp — the service of docs/example/cosmos_service.hpp
// with its journal: killed at any moment and started again it is what it was.
#include <example/cosmos_service_journal.hpp>

#include <support/random.hpp>

#include <keyspan/core/error.hpp>
#include <keyspan/cosmos/address.hpp>
#include <keyspan/cosmos/credential.hpp>
#include <keyspan/cosmos/service_request.hpp>
#include <keyspan/feed/wall_time.hpp>
#include <keyspan/transport/message.hpp>

#include <catch2/catch_test_macros.hpp>

#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace {

using namespace std::chrono_literals;
using namespace keyspan::cosmos;
using cosmos_server::journaled_service;
using keyspan::errc;
using keyspan::partition_key;
using keyspan::request;
using keyspan::response;

constexpr std::string_view secret = "bm90IG11Y2ggb2YgYSBzZWNyZXQ=";
container_address const orders = *container_address::from("shop", "orders");
keyspan::key_paths shop_path() {
  constexpr std::string_view path[]{"/shop"};
  return *keyspan::key_paths::parse(path);
}

// A folder that goes with the test.
struct folder {
  std::filesystem::path path =
      std::filesystem::temp_directory_path() / ("keyspan-journal-" + std::to_string(::getpid()));

  folder() { std::filesystem::create_directories(path); }
  folder(folder const&) = delete;
  folder& operator=(folder const&) = delete;
  ~folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
  }
  std::string file(std::string_view name = "journal") const { return (path / name).string(); }
};

std::string bytes_of(std::string const& file) {
  std::ifstream in{file, std::ios::binary};
  return {std::istreambuf_iterator<char>{in}, {}};
}
void write_bytes(std::string const& file, std::string_view bytes) {
  std::ofstream{file, std::ios::binary} << bytes;
}

// A service with a journal, a clock of its own, and who signs what is sent to it.
struct world {
  keyspan::wall_time now{std::chrono::sys_days{std::chrono::year{2026} / 11 / 19} + 12h};
  std::unique_ptr<journaled_service> service;

  explicit world(std::string const& file, std::uint64_t seed = 7) {
    auto opened = journaled_service::open(options(seed), file);
    if (!opened) FAIL(opened.error().text.view());
    service = *std::move(opened);
  }
  world(std::string const& file, world const& before) : world{file} { now = before.now; }
  world(world const&) = delete;
  world& operator=(world const&) = delete;

  cosmos_server::cosmos_service_options options(std::uint64_t seed) {
    cosmos_server::cosmos_service_options made{.key = *master_key::from(secret)};
    made.seed = seed;
    made.partitions = 2;
    made.now = [this] { return now; };
    return made;
  }

  response send(service_request what) {
    authorize(what.message, *master_key::from(secret), what.about, what.link, now);
    return service->answer(what.message);
  }
  response control(std::string words) {
    return service->answer(
        {.method = "POST", .target = "/_control/dbs/shop/colls/orders" + std::move(words)});
  }
  world& filled(container_settings how = {}) {
    CHECK(send(create_database("shop")).status == 201);
    CHECK(send(create_container(orders, shop_path(), how)).status == 201);
    return *this;
  }
  response write(std::size_t i, std::string_view more = {}) {
    std::string const shop = "shop " + std::to_string(i);
    std::string body = R"({"id":"o-)" + std::to_string(i) + R"(","shop":")" + shop + "\"";
    return send(upsert_document(orders, partition_key{shop}, body.append(more).append("}")));
  }
  std::vector<std::string> ranges() {
    auto const list =
        partitions_in(keyspan::any_scheme{keyspan::cosmos_v2}, send(read_partitions(orders)));
    std::vector<std::string> made;
    if (list)
      for (auto const& one : list->partitions) made.push_back(one.id);
    return made;
  }
};

// All that can be seen of an answer but the number it has itself.
std::string seen(response const& of) {
  std::string made = std::to_string(of.status) + "\n";
  for (auto const& field : of.headers)
    if (field.name != "x-ms-activity-id") made.append(field.name + ": " + field.value + "\n");
  return made.append(of.body);
}

std::string refusal(std::string const& file, std::uint64_t seed = 7) {
  keyspan::wall_time const now{};
  cosmos_server::cosmos_service_options options{.key = *master_key::from(secret)};
  options.seed = seed;
  options.partitions = 2;
  options.now = [now] { return now; };
  auto const opened = journaled_service::open(std::move(options), file);
  return opened ? "" : std::string{opened.error().text.view()};
}

// One of everything that may be asked, also of what is refused.
void do_something(world& in, test::random& random, std::uint64_t most_ms = 3000) {
  auto const i = static_cast<std::size_t>(random.below(12));
  std::string const shop = "shop " + std::to_string(i);
  std::string const id = "o-" + std::to_string(i);
  std::string const body = R"({"id":")" + id + R"(","shop":")" + shop + R"(","ttl":)" +
                           std::to_string(1 + random.below(30)) + "}";
  partition_key const key{shop};
  in.now += std::chrono::milliseconds{random.below(most_ms)};
  switch (random.below(14)) {
    case 0:
    case 1:
    case 2:
      in.write(i, R"(,"n":)" + std::to_string(random.below(1000)));
      return;
    case 3:
      in.send(create_document(orders, key, body));
      return;
    case 4:
      in.send(replace_document(orders, key, id, body));
      return;
    case 5:
      in.send(remove_document(orders, key, id));
      return;
    case 6: {
      auto work =
          upsert_document(orders, key,
                          R"([{"operationType":"Create","resourceBody":)" + body +
                              R"(},{"operationType":"Upsert","resourceBody":{"id":"x","shop":")" +
                              shop + R"("}}])");
      work.message.headers.set("x-ms-documentdb-is-upsert", "false");
      work.message.headers.set("x-ms-cosmos-is-batch-request", "true");
      if (random.below(2) == 0) work.message.headers.set("x-ms-cosmos-batch-atomic", "true");
      in.send(std::move(work));
      return;
    }
    case 7:
    case 8: {
      auto const all = in.ranges();
      if (all.size() < 5) in.control("/split/" + all[random.below(all.size())]);
      return;
    }
    case 9: {
      auto const all = in.ranges();
      if (all.size() < 2) return;
      auto const first = static_cast<std::size_t>(random.below(all.size() - 1));
      in.control("/merge/" + all[first] + "/" + all[first + 1]);
      return;
    }
    case 10:
      in.send(read_document(orders, key, id));
      return;
    case 11:
      in.send(read_documents(orders, {.key = &key}));
      return;
    case 12: {
      auto const all = in.ranges();
      std::string const range = all[random.below(all.size())];
      in.send(read_changes(orders, {.partition = range}, {}, keyspan::feed_mode::latest_version));
      return;
    }
    default:
      if (random.below(8) != 0) return;
      in.send(remove_container(orders));
      in.send(
          create_container(orders, shop_path(), {.time_to_live = 60s, .keeps_versions = 10min}));
  }
}

// What a service says of all that it has.
std::string all_of(world& in) {
  std::string made = seen(in.send(read_container(orders)));
  made.append(seen(in.send(read_partitions(orders))));
  for (std::string const& range : in.ranges()) {
    page_target const at{.partition = range};
    made.append(seen(in.send(read_documents(orders, at, {.most = 1000}))));
    made.append(seen(
        in.send(read_changes(orders, at, {}, keyspan::feed_mode::latest_version, {.most = 1000}))));
    made.append(
        seen(in.send(read_changes(orders, at, keyspan::continuation{"\"0\""},
                                  keyspan::feed_mode::all_versions_and_deletes, {.most = 1000}))));
  }
  return made;
}

TEST_CASE("a service that is started again with its journal says what it would have said") {
  folder const at;
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    CAPTURE(seed);
    test::random random{seed};
    std::string const file = at.file(std::to_string(seed));
    std::string const copy = file + "-copy";
    world first{file};
    // Some of them are short of request units.
    first.filled({.request_units = seed % 4 == 0 ? 400U : 0U,
                  .time_to_live = seed % 2 == 0 ? std::optional{60s} : std::nullopt,
                  .keeps_versions = 10min});
    for (int round = 0; round < 4; ++round) {
      for (int i = 0; i < 60; ++i) do_something(first, random, seed % 4 == 0 ? 5 : 3000);
      std::filesystem::copy_file(file, copy, std::filesystem::copy_options::overwrite_existing);
      world again{copy, first};
      REQUIRE(all_of(again) == all_of(first));
      // And what is written then has the same etags and positions.
      REQUIRE(seen(again.write(3)) == seen(first.write(3)));
      REQUIRE(seen(again.send(
                  create_document(orders, partition_key{"n"}, R"({"id":"n","shop":"n"})"))) ==
              seen(first.send(
                  create_document(orders, partition_key{"n"}, R"({"id":"n","shop":"n"})"))));
      REQUIRE(all_of(again) == all_of(first));
    }
  }
}

TEST_CASE("who reads alone writes no journal, unless something comes to its end") {
  folder const at;
  world in{at.file()};
  in.filled({.time_to_live = 60s});
  in.write(1);
  auto const before = in.service->records();
  CHECK(before == 3);
  CHECK(in.send(read_document(orders, partition_key{"shop 1"}, "o-1")).status == 200);
  in.send(read_documents(orders, {}));
  in.send(query_documents(orders, {}, R"({"query":"SELECT * FROM c"})"));
  in.send(read_partitions(orders));
  CHECK(in.send(create_document(orders, partition_key{"shop 1"}, R"({"id":"o-1","shop":"shop 1"})"))
            .status == 409);
  CHECK(in.service->records() == before);
  in.now += 61s;
  CHECK(in.send(read_document(orders, partition_key{"shop 1"}, "o-1")).status == 404);
  CHECK(in.service->records() == before + 1);
}

TEST_CASE("neither keys nor signatures stand in the journal") {
  folder const at;
  world in{at.file()};
  in.filled();
  auto one = upsert_document(orders, partition_key{"a"}, R"({"id":"1","shop":"a"})");
  one.message.headers.set("cookie", "something of mine");
  CHECK(in.send(std::move(one)).status == 201);
  auto const text = bytes_of(at.file());
  CHECK(text.find(R"({"id":"1","shop":"a"})") != text.npos);
  CHECK(text.find("x-ms-documentdb-partitionkey: [\"a\"]") != text.npos);
  for (std::string_view const word : {"authorization", "x-ms-date", "sig", "cookie", "master"})
    CHECK(text.find(word) == text.npos);
  CHECK(text.find(secret) == text.npos);
}

TEST_CASE("a last record that is only half there is dropped, wherever it ends") {
  folder const at;
  {
    world in{at.file()};
    in.filled();
    in.write(1);
  }
  auto const kept = bytes_of(at.file());
  {
    world in{at.file()};
    CHECK(in.service->records() == 3);
    in.write(2);
  }
  auto const whole = bytes_of(at.file());
  for (std::size_t size = kept.size(); size < whole.size(); ++size) {
    write_bytes(at.file(), std::string_view{whole}.substr(0, size));
    world in{at.file()};
    REQUIRE(in.service->records() == 3);
    REQUIRE(bytes_of(at.file()) == kept);
    // Written again it is what it was.
    in.write(2);
    REQUIRE(bytes_of(at.file()) == whole);
  }
}

TEST_CASE("a journal that is damaged is refused, with the place") {
  folder const at;
  std::size_t second = 0;
  {
    world in{at.file()};
    in.filled();
    second = bytes_of(at.file()).size();
    in.write(1);
    in.write(2);
  }
  auto const whole = bytes_of(at.file());
  for (std::size_t i = 0; i < whole.size(); ++i) {
    auto damaged = whole;
    damaged[i] = static_cast<char>(damaged[i] ^ 1);
    write_bytes(at.file(), damaged);
    auto const said = refusal(at.file());
    CAPTURE(i, said);
    REQUIRE(said.find("is damaged: cut the file there") != said.npos);
    REQUIRE(bytes_of(at.file()) == damaged);
    if (i == second)
      REQUIRE(said.starts_with("record 3 of the journal, at byte " + std::to_string(second)));
  }
  write_bytes(at.file(), "something else that somebody has written for another reason altogether");
  CHECK_FALSE(refusal(at.file()).empty());
}

TEST_CASE("a journal of another server is refused") {
  folder const at;
  {
    world{at.file()}.filled();
  }
  CHECK(refusal(at.file(), 8) == "the journal is of a server with another --seed or --partitions");
  CHECK(refusal(at.file(), 7).empty());
  CHECK(refusal(at.path.string()) == "the journal is no file");
  CHECK_FALSE(refusal(at.file("no/such/folder")).empty());
}

TEST_CASE("a journal has one server at a time") {
  folder const at;
  {
    world in{at.file()};
    CHECK(refusal(at.file()) == "another server has the journal open");
  }
  CHECK(refusal(at.file()).empty());
}

TEST_CASE("where the journal takes no more nobody is answered, and what was answered stays") {
  folder const at;
  std::size_t answered = 0;
  {
    world in{at.file()};
    in.filled();
    rlimit before{};
    REQUIRE(getrlimit(RLIMIT_FSIZE, &before) == 0);
    auto const handler = std::signal(SIGXFSZ, SIG_IGN);
    rlimit const small{bytes_of(at.file()).size() + 1000, before.rlim_max};
    REQUIRE(setrlimit(RLIMIT_FSIZE, &small) == 0);
    bool has_failed = false;
    try {
      for (; answered < 100; ++answered) in.write(answered);
    } catch (cosmos_server::journal_failed const&) {
      has_failed = true;
    }
    REQUIRE(setrlimit(RLIMIT_FSIZE, &before) == 0);
    std::signal(SIGXFSZ, handler);
    CHECK(has_failed);
    CHECK_THROWS_AS(in.send(read_account()), cosmos_server::journal_failed);
  }
  CHECK(answered > 0);
  world again{at.file()};
  CHECK(again.service->records() == 2 + answered);
  CHECK(again.send(read_document(orders, partition_key{"shop 0"}, "o-0")).status == 200);
}

}  // namespace
