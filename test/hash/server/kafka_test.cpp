// test/hash/server/kafka_test.cpp — partitions as librdkafka chooses them, and as records arrive.
#include <keyspan/hash/kafka.hpp>

#include <support/check.hpp>
#include <support/random.hpp>

#include <librdkafka/rdkafka.h>
#include <librdkafka/rdkafka_mock.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace {

constexpr char const* topic_name = "keys";
constexpr int timeout_ms = 20'000;

// A cluster inside the client library: brokers that listen on ports of their own, and keep nothing.
class client {
 public:
  explicit client(char const* partitioner, int partitions) {
    char why[512];
    auto* const conf = rd_kafka_conf_new();
    auto const set = [&](char const* name, char const* value) {
      if (rd_kafka_conf_set(conf, name, value, why, sizeof why) != RD_KAFKA_CONF_OK) FAIL(why);
    };
    set("test.mock.num.brokers", "1");
    set("partitioner", partitioner);
    set("linger.ms", "5");
    rd_kafka_conf_set_opaque(conf, this);
    rd_kafka_conf_set_log_cb(conf, nullptr);
    rd_kafka_conf_set_dr_msg_cb(conf, [](rd_kafka_t*, rd_kafka_message_t const* sent, void* self) {
      auto& to = static_cast<client*>(self)->arrived_;
      auto const record = reinterpret_cast<std::uintptr_t>(sent->_private);
      if (sent->err == RD_KAFKA_RESP_ERR_NO_ERROR) to.at(record) = sent->partition;
    });
    kafka_ = rd_kafka_new(RD_KAFKA_PRODUCER, conf, why, sizeof why);
    if (kafka_ == nullptr) FAIL(why);
    rd_kafka_mock_topic_create(rd_kafka_handle_mock_cluster(kafka_), topic_name, partitions, 1);
    topic_ = rd_kafka_topic_new(kafka_, topic_name, nullptr);
  }
  ~client() {
    rd_kafka_topic_destroy(topic_);
    rd_kafka_destroy(kafka_);
  }
  client(client const&) = delete;
  client& operator=(client const&) = delete;

  rd_kafka_topic_t* topic() const { return topic_; }

  // Where each record went, by the word of the broker that took it; -1 where none did.
  std::vector<std::int32_t> send(std::vector<std::string> const& keys) {
    arrived_.assign(keys.size(), -1);
    char value[] = "v";
    for (std::size_t i = 0; i < keys.size(); ++i)
      REQUIRE(rd_kafka_produce(topic_, RD_KAFKA_PARTITION_UA, RD_KAFKA_MSG_F_COPY, value, 1,
                               keys[i].data(), keys[i].size(), reinterpret_cast<void*>(i)) == 0);
    rd_kafka_flush(kafka_, timeout_ms);
    return arrived_;
  }

  // The keys that a reader of this partition finds there, in no more time than `timeout_ms`.
  std::vector<std::string> read(std::int32_t partition, std::size_t count) const {
    char why[512];
    auto* const conf = rd_kafka_conf_new();
    auto const brokers = rd_kafka_mock_cluster_bootstraps(rd_kafka_handle_mock_cluster(kafka_));
    rd_kafka_conf_set_log_cb(conf, nullptr);
    rd_kafka_conf_set(conf, "bootstrap.servers", brokers, why, sizeof why);
    rd_kafka_conf_set(conf, "group.id", "readers", why, sizeof why);
    auto* const reader = rd_kafka_new(RD_KAFKA_CONSUMER, conf, why, sizeof why);
    if (reader == nullptr) FAIL(why);
    auto* const list = rd_kafka_topic_partition_list_new(1);
    rd_kafka_topic_partition_list_add(list, topic_name, partition)->offset =
        RD_KAFKA_OFFSET_BEGINNING;
    rd_kafka_assign(reader, list);
    rd_kafka_topic_partition_list_destroy(list);
    std::vector<std::string> keys;
    auto const deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds{timeout_ms};
    while (keys.size() < count && std::chrono::steady_clock::now() < deadline) {
      auto* const message = rd_kafka_consumer_poll(reader, 100);
      if (message == nullptr) continue;
      if (message->err == RD_KAFKA_RESP_ERR_NO_ERROR && message->partition == partition)
        keys.emplace_back(static_cast<char const*>(message->key), message->key_len);
      rd_kafka_message_destroy(message);
    }
    rd_kafka_consumer_close(reader);
    rd_kafka_destroy(reader);
    return keys;
  }

 private:
  rd_kafka_t* kafka_ = nullptr;
  rd_kafka_topic_t* topic_ = nullptr;
  std::vector<std::int32_t> arrived_{};
};

std::string some_bytes(test::random& random, std::size_t most) {
  std::string bytes(random.below(most), '\0');
  for (char& byte : bytes) byte = static_cast<char>(random.below(256));
  return bytes;
}

std::uint32_t partition_of(std::string_view key, std::uint32_t partitions) {
  return keyspan::kafka_partition(keyspan::kafka_scheme::token_of_bytes(key), partitions);
}

TEST_CASE("partitions are those that librdkafka chooses by murmur2") {
  client const kafka{"murmur2", 3};
  test::random random{22};
  for (int i = 0; i < 20'000; ++i) {
    auto const key = i == 0 ? std::string{} : some_bytes(random, 70);
    auto const partitions = static_cast<std::int32_t>(
        random.chance(20) ? random.between(1, 2'147'483'647) : random.between(1, 64));
    for (auto const choose :
         {&rd_kafka_msg_partitioner_murmur2, &rd_kafka_msg_partitioner_murmur2_random}) {
      auto const theirs =
          choose(kafka.topic(), key.data(), key.size(), partitions, nullptr, nullptr);
      if (partition_of(key, static_cast<std::uint32_t>(partitions)) !=
          static_cast<std::uint32_t>(theirs))
        FAIL_CHECK("key " << i << " among " << partitions << " partitions");
    }
  }
}

TEST_CASE("records arrive in the partitions of their keys") {
  constexpr std::int32_t partitions = 7;
  client kafka{"murmur2_random", partitions};
  test::random random{23};
  std::vector<std::string> keys{"a", "21", "foobar"};
  while (keys.size() < 500) keys.push_back("user-" + std::to_string(random.below(1'000'000)));
  auto const arrived = kafka.send(keys);
  std::vector<std::vector<std::string>> expected(partitions);
  for (std::size_t i = 0; i < keys.size(); ++i) {
    auto const ours = partition_of(keys[i], partitions);
    auto const token = keyspan::token_of(keyspan::kafka, keyspan::key_value{keys[i]});
    CHECK(keyspan::kafka_partition(*token, partitions) == ours);
    CHECK(arrived[i] == static_cast<std::int32_t>(ours));
    expected[ours].push_back(keys[i]);
  }
  for (std::int32_t partition = 0; partition < partitions; ++partition) {
    auto const& of_ours = expected[static_cast<std::size_t>(partition)];
    CHECK(kafka.read(partition, of_ours.size()) == of_ours);  // in the order of sending, too
  }
}

}  // namespace
