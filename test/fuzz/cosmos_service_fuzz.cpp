// test/fuzz/cosmos_service_fuzz.cpp — any requests to the server of the examples: each is answered,
// and none does harm.
#include "fuzz.hpp"

#include "../../docs/example/cosmos_service.hpp"

#include <keyspan/core/json.hpp>
#include <keyspan/cosmos/credential.hpp>
#include <keyspan/cosmos/service_request.hpp>
#include <keyspan/feed/wall_time.hpp>
#include <keyspan/transport/message.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace {

using cosmos_server::cosmos_service;
using fuzz::require;
using keyspan::request;

keyspan::cosmos::master_key const key = *keyspan::cosmos::master_key::from("c2VjcmV0");
constexpr keyspan::wall_time now{std::chrono::milliseconds{1'795'000'000'000}};

std::string_view take(std::string_view& text, std::string_view until) {
  auto const size = (std::min)(text.find(until), text.size());
  auto const taken = text.substr(0, size);
  text.remove_prefix((std::min)(size + until.size(), text.size()));
  return taken;
}

// "METHOD target", headers, an empty line, a body.
request read_request(std::string_view text) {
  request made;
  std::string_view first = take(text, "\n");
  made.method = take(first, " ");
  made.target = first;
  for (;;) {
    std::string_view line = take(text, "\n");
    if (line.empty()) break;
    auto const name = take(line, ": ");
    made.headers.add(name, line);
  }
  made.body = text;
  return made;
}

// Gives it the signature that the service looks for, so that more than that is looked at.
void sign(request& what) {
  auto const path = cosmos_server::read_path(what.target);
  if (!path) return;
  std::size_t const count = path->size();
  std::string const kind = count == 0       ? ""
                           : count % 2 == 1 ? (*path)[count - 1]
                                            : (*path)[count - 2];
  std::string text = what.method + '\n' + kind + '\n';
  for (char& c : text) c = keyspan::detail::lower_case(c);
  text += path->link(count % 2 == 1 ? count - 1 : count) + '\n';
  std::string date{keyspan::cosmos::http_date(now).view()};
  what.headers.set("x-ms-date", date);
  for (char& c : date) c = keyspan::detail::lower_case(c);
  what.headers.set("authorization", key.authorization(text + date + "\n\n"));
}

// Two containers, and documents in them.
std::vector<request> what_there_is() {
  std::vector<request> made;
  for (std::string_view const text :
       {"POST /dbs\n\n{\"id\":\"d\"}",
        "POST /dbs/d/colls\n\n{\"id\":\"c\",\"partitionKey\":{\"paths\":[\"/p\"],\"version\":2}}",
        "POST "
        "/dbs/d/colls\n\n{\"id\":\"h\",\"defaultTtl\":-1,\"partitionKey\":{\"paths\":[\"/p\",\"/"
        "q\"],\"kind\":\"MultiHash\",\"version\":2}}",
        "POST /dbs/d/colls/c/docs\nx-ms-documentdb-partitionkey: "
        "[\"a\"]\n\n{\"id\":\"1\",\"p\":\"a\"}",
        "POST /dbs/d/colls/c/docs\nx-ms-documentdb-partitionkey: "
        "[\"b\"]\n\n{\"id\":\"2\",\"p\":\"b\"}",
        "POST /dbs/d/colls/h/docs\nx-ms-documentdb-partitionkey: "
        "[1,{}]\n\n{\"id\":\"3\",\"p\":1}"}) {
    made.push_back(read_request(text));
    sign(made.back());
  }
  return made;
}

void ask(cosmos_service& service, request const& what) {
  auto const answer = service.answer(what);
  require(answer.status >= 200 && answer.status < 600, "an answer has a status");
  require(answer.status != 500, "nothing goes wrong inside");
  if (answer.status >= 400) require(!answer.body.empty(), "a refusal says why");
  if (answer.status == 204 || answer.status == 304)
    require(answer.body.empty(), "what has no body has none");
  if (answer.body.empty()) return;
  keyspan::json_reader in{answer.body, {.max_depth = 300, .max_names = 100'000}};
  in.skip();
  in.finish();
  require(in.ok(), "a body is JSON");
  for (auto const& field : answer.headers)
    require(std::none_of(field.value.begin(), field.value.end(),
                         [](char c) { return c == '\r' || c == '\n' || c == '\0'; }),
            "a header is one line");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  cosmos_server::cosmos_service_options options{.key = key};
  options.partitions = 2;
  options.now = [] { return now; };
  cosmos_service service{std::move(options)};
  static std::vector<request> const beginning = what_there_is();
  for (auto const& what : beginning)
    require(service.answer(what).status == 201, "what it is asked about is there");
  std::string_view left = fuzz::text_of(data, size);
  bool is_first = true;
  while (!left.empty()) {
    auto what = read_request(take(left, "\n====\n"));
    if (is_first) ask(service, what);  // without a signature
    is_first = false;
    sign(what);
    ask(service, what);
  }
  require(service.bytes() < 64'000'000, "no input fills the server");
  return 0;
}
