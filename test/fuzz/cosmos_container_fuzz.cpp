// test/fuzz/cosmos_container_fuzz.cpp — any answer of a service to whatever a container asks: a
// status, headers and a body, as lines.
//
//   200 1002            status and substatus
//   etag: "12"          headers, to an empty line
//
//   {"Documents":[…]}   the body
#include "fuzz.hpp"

#include <keyspan/async/clock.hpp>
#include <keyspan/async/ready.hpp>
#include <keyspan/async/sync_wait.hpp>
#include <keyspan/core/result.hpp>
#include <keyspan/cosmos/cosmos_account.hpp>
#include <keyspan/feed/feed_mode.hpp>
#include <keyspan/transport/item_batch.hpp>
#include <keyspan/transport/message.hpp>

#include <boost/hana/adapt_struct.hpp>
#include <nlohmann/json.hpp>

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace {

struct review {
  std::string id;
  std::string article;
  std::optional<int> rating{};
};

}  // namespace
BOOST_HANA_ADAPT_STRUCT(review, id, article, rating);
namespace {

using fuzz::require;

struct jumping_clock {
  keyspan::instant now() const noexcept { return at; }
  keyspan::ready<keyspan::result<void>> wait_until(keyspan::instant due, keyspan::stop_token = {}) {
    if (due > at) at = due;
    return {keyspan::result<void>{}};
  }
  keyspan::instant at{};
};

// Says what a container is, and nothing but the input once `is_open`.
struct service {
  keyspan::ready<keyspan::result<keyspan::response>> send(keyspan::request const&) {
    if (is_open) return {keyspan::result<keyspan::response>{answer}};
    keyspan::response opened;
    opened.body =
        R"({"id":"c","_rid":"AAAAAA==","partitionKey":{"paths":["/article"],"kind":"Hash","version":2}})";
    return {keyspan::result<keyspan::response>{opened}};
  }
  keyspan::response answer{};
  bool is_open = false;
};

keyspan::response answer_in(std::string_view text) {
  keyspan::response made;
  auto const line = [&] {
    auto const size = text.find('\n');
    auto const one = text.substr(0, size);
    text.remove_prefix(size == text.npos ? text.size() : size + 1);
    return one;
  };
  auto const first = line();
  std::uint16_t status = 200;
  auto const [end, why] = std::from_chars(first.data(), first.data() + first.size(), status);
  if (why == std::errc{}) made.status = status;
  if (auto const sub = first.find(' '); sub != first.npos)
    made.headers.add("x-ms-substatus", first.substr(sub + 1));
  for (auto header = line(); !header.empty(); header = line()) {
    auto const colon = header.find(": ");
    if (colon != header.npos) made.headers.add(header.substr(0, colon), header.substr(colon + 2));
  }
  made.body = std::string{text};
  return made;
}

template <class T, class Use>
void ask(keyspan::response const& answer, Use const& use) {
  service from;
  jumping_clock clock;
  keyspan::cosmos::cosmos_account account{from,
                                          clock,
                                          *keyspan::cosmos::master_key::from("c2VjcmV0"),
                                          {.retries = {.most_attempts = 2}}};
  auto opened = keyspan::sync_wait(account.open<T>(std::string{"d"}, std::string{"c"}));
  require(opened.has_value(), "the container is opened");
  from.answer = answer;
  from.is_open = true;
  use(*opened);
}

template <class Answer>
void is_answer_or_error(keyspan::result<Answer> const& answer) {
  if (!answer)
    require(!keyspan::name_of(answer.error().code).empty(), "an error is one of the list");
}

template <class T>
void ask_all(keyspan::response const& answer, T const& document) {
  ask<T>(answer, [&](auto& in) {
    is_answer_or_error(keyspan::sync_wait(in.create(document)));
    is_answer_or_error(keyspan::sync_wait(in.read_item("a", "r")));
    is_answer_or_error(keyspan::sync_wait(in.remove("a", "r")));
    is_answer_or_error(keyspan::sync_wait(in.patch("a", "r", [](T&) {})));
    keyspan::item_batch<T> work{"a"};
    work.upsert(document).read("r");
    auto const done = keyspan::sync_wait(in.execute(work));
    if (done) require(done->operations.size() == 2, "each operation has an outcome");
    auto const range = keyspan::whole_space(in.scheme());
    for (auto const mode :
         {keyspan::feed_mode::latest_version, keyspan::feed_mode::all_versions_and_deletes}) {
      keyspan::read_request request{.partition = "0", .is_whole_partition = true, .mode = mode};
      auto const page = keyspan::sync_wait(in.read(range, keyspan::continuation{"\"1\""}, request));
      if (page) require(!page->continuation.empty(), "a page can be gone on from");
    }
    is_answer_or_error(keyspan::sync_wait(in.topology("")));
  });
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  auto const answer = answer_in(fuzz::text_of(data, size));
  // One of both, so that a replay is as quick as others.
  if (size % 2 == 0) {
    ask_all<review>(answer, {"r", "a", 1});
  } else {
    ask_all<nlohmann::json>(answer, {{"id", "r"}, {"article", "a"}});
  }
  return 0;
}
