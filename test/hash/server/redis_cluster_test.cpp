// test/hash/server/redis_cluster_test.cpp — slots as a real redis-server tells them.
#include "redis_server.hpp"

#include <keyspan/hash/redis_cluster.hpp>

#include <support/check.hpp>
#include <support/random.hpp>

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace {

// Pieces of keys: braces most of all, and characters of every length.
constexpr std::array<std::string_view, 16> pieces{"{",
                                                  "}",
                                                  "{",
                                                  "}",
                                                  "{}",
                                                  "}{",
                                                  "a",
                                                  "user",
                                                  ":",
                                                  "1000",
                                                  std::string_view{"\0", 1},
                                                  "\x7F",
                                                  "\xC3\xA9",
                                                  "\xE4\xB8\x96",
                                                  "\xF0\x9F\x98\x80",
                                                  "\r\n"};

std::string some_key(test::random& random) {
  std::string key;
  for (auto left = random.below(12); left > 0; --left) key += random.pick(pieces);
  return key;
}

// What no key value can be and Redis takes all the same.
std::string some_bytes(test::random& random) {
  std::string bytes(random.below(70), '\0');
  for (char& byte : bytes) byte = static_cast<char>(random.below(256));
  return bytes;
}

TEST_CASE("slots are those of a real redis-server") {
  test::redis_server const server;
  test::redis_connection redis;
  REQUIRE(redis.connect(server.port()));
  test::random random{20};
  for (int round = 0; round < 40; ++round) {
    std::vector<std::string> keys{"", "{}", "{", "}", "{{a}}", "foo{}{bar}", "foo{{bar}}zap"};
    while (keys.size() < 300) keys.push_back(some_key(random));
    while (keys.size() < 400) keys.push_back(some_bytes(random));
    auto const slots = redis.slots_of(keys);
    for (std::size_t i = 0; i < keys.size(); ++i) {
      INFO("key " << i << " of round " << round << ": " << keys[i]);
      CHECK(keyspan::redis_cluster_scheme::slot_of(keys[i]) == slots[i]);
      if (auto const value = keyspan::key_value::from(keys[i]))
        CHECK(keyspan::token_of(keyspan::redis_cluster, *value) == slots[i]);
    }
  }
}

TEST_CASE("the slot of a number is that of its digits in a real redis-server") {
  test::redis_server const server;
  test::redis_connection redis;
  REQUIRE(redis.connect(server.port()));
  std::vector<std::string> const digits{"5", "-1", "0.5", "1e+21", "9007199254740991", "0"};
  std::array const numbers{5.0, -1.0, 0.5, 1e21, 9007199254740991.0, -0.0};
  auto const slots = redis.slots_of(digits);
  for (std::size_t i = 0; i < numbers.size(); ++i)
    CHECK(keyspan::token_of(keyspan::redis_cluster, keyspan::key_value{numbers[i]}) == slots[i]);
}

// redis-cli says what it is about to do before it asks whether it should, and is told no.
TEST_CASE("a space is shared out as redis-cli shares it out among up to seven new nodes") {
  std::vector<std::unique_ptr<test::redis_server>> nodes;
  test::temporary_folder const folder;
  auto const answer = folder.path() / "answer";
  std::ofstream{answer} << "no\n";
  while (nodes.size() < 7) nodes.push_back(std::make_unique<test::redis_server>());
  for (std::size_t count = 3; count <= nodes.size(); ++count) {
    std::vector<std::string> command{REDIS_CLI, "--cluster", "create"};
    for (std::size_t i = 0; i < count; ++i)
      command.push_back("127.0.0.1:" + std::to_string(nodes[i]->port()));
    auto const output = folder.path() / "output";
    test::process client{command, output, answer};
    REQUIRE(client.wait(std::chrono::seconds{20}).has_value());
    auto const said = test::text_of_file(output);
    INFO(said);
    for (std::size_t i = 0; i < count; ++i) {
      auto const first = keyspan::redis_cluster.boundary(i, count);
      auto const last = i + 1 == count ? 16383 : keyspan::redis_cluster.boundary(i + 1, count) - 1;
      CHECK(said.find("Master[" + std::to_string(i) + "] -> Slots " + std::to_string(first) +
                      " - " + std::to_string(last) + "\n") != said.npos);
    }
  }
}

}  // namespace
