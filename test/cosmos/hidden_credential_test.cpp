// test/cosmos/hidden_credential_test.cpp — who repeats a signature in what he answers, in whichever
// form, does not get it into errors and events.
#include <keyspan/async/sync_wait.hpp>
#include <keyspan/core/error.hpp>
#include <keyspan/core/result.hpp>
#include <keyspan/cosmos/cosmos_account.hpp>
#include <keyspan/cosmos/cosmos_container.hpp>
#include <keyspan/cosmos/credential.hpp>
#include <keyspan/cosmos/service_request.hpp>
#include <keyspan/feed/wall_time.hpp>
#include <keyspan/transport/event.hpp>
#include <keyspan/transport/message.hpp>

#include <catch2/catch_test_macros.hpp>
#include <cosmos/account.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace {

using keyspan::request;
using keyspan::response;
using keyspan::result;
using keyspan::sync_wait;
using test::account;
using test::door;
using test::review;

std::string lower(std::string_view text) {
  std::string made{text};
  for (char& c : made)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return made;
}
// With something else in the place of each such character.
std::string with(std::string_view text, char what, std::string_view instead) {
  std::string made;
  for (char const c : text)
    if (c == what)
      made += instead;
    else
      made += c;
  return made;
}

// What somebody sees in it who knows how such characters are written elsewhere.
std::string plain(std::string_view text) {
  std::string made = lower(text);
  for (auto const& [spelt, c] :
       {std::pair{"\\/", '/'}, std::pair{"\\u002f", '/'}, std::pair{"\\u002b", '+'},
        std::pair{"%2f", '/'}, std::pair{"%2b", '+'}, std::pair{"%3d", '='}}) {
    std::string_view const what{spelt};
    for (auto at = made.find(what); at != made.npos; at = made.find(what, at))
      made.replace(at, what.size(), 1, c);
  }
  return made;
}

// The part of an authorization that is secret, plain.
std::string signature_in(request const& what) {
  auto const plain =
      keyspan::cosmos::percent_decoded(what.headers.find("authorization").value()).value();
  return plain.substr(plain.find("sig=") + 4);
}
std::string percent_encoded(std::string_view secret) {
  return with(with(with(secret, '+', "%2B"), '/', "%2F"), '=', "%3D");
}

struct spelling {
  std::string_view name;
  std::function<std::string(std::string const&)> of;
};
std::vector<spelling> spellings() {
  return {
      {"plain", [](std::string const& secret) { return secret; }},
      {"with words in front", [](std::string const& s) { return "type=master&ver=1.0&sig=" + s; }},
      {"JSON's slashes", [](std::string const& s) { return with(s, '/', "\\/"); }},
      {"JSON's numbers", [](std::string const& s) { return with(s, '+', "\\u002b"); }},
      {"all of JSON",
       [](std::string const& s) { return with(with(s, '/', "\\u002F"), '+', "\\u002B"); }},
      {"nothing but JSON's numbers",
       [](std::string const& s) {
         constexpr std::string_view digits = "0123456789abcdef";
         std::string made;
         for (char const c : s)
           made.append("\\u00").append({digits[static_cast<std::size_t>(c) / 16],
                                        digits[static_cast<std::size_t>(c) % 16]});
         return made;
       }},
      {"percent", percent_encoded},
      {"small percent", [](std::string const& s) { return lower(percent_encoded(s)); }},
      {"cut off", [](std::string const& s) { return s.substr(0, 20); }},
      {"its end", [](std::string const& s) { return s.substr(s.size() - 20); }},
      {"in pieces",
       [](std::string const& s) { return s.substr(0, 16) + " and " + s.substr(16, 16); }},
  };
}

TEST_CASE("a signature that is repeated in an answer is seen by nobody") {
  std::string told;  // by events
  // The same signatures each time.
  auto const now = keyspan::wall_time{std::chrono::hours{400'000}};
  account a;
  a.to.service = cosmos_server::cosmos_service{
      {.key = *keyspan::cosmos::master_key::from(test::account_key), .now = [now] { return now; }}};
  keyspan::cosmos::account_options options;
  options.now = [now] { return now; };
  options.on_event = [&](keyspan::event const& one) {
    for (std::string_view const part :
         {one.operation, one.partition, one.endpoint, one.activity_id})
      told.append(part).append("\n");
  };
  keyspan::cosmos::cosmos_account<door, test::jumping_clock> in_account{
      a.to, a.clock, *keyspan::cosmos::master_key::from(test::account_key), options};
  auto const send = [&](keyspan::cosmos::service_request what) {
    REQUIRE(sync_wait(in_account.ask(std::move(what))));
  };
  send(keyspan::cosmos::create_database("shop"));
  std::string_view const paths[]{"/article"};
  send(keyspan::cosmos::create_container(
      *keyspan::cosmos::container_address::from("shop", "reviews"),
      *keyspan::key_paths::parse(paths)));
  bool has_slash = false, has_plus = false;
  auto in = sync_wait(in_account.open<review>("shop", "reviews")).value();
  for (spelling const& each : spellings()) {
    for (std::uint16_t const status :
         std::initializer_list<std::uint16_t>{302, 400, 401, 403, 429, 503}) {
      CAPTURE(each.name, status);
      // Several, so that there are some with each character.
      for (int i = 0; i < 6; ++i) {
        std::vector<std::string> secrets;
        a.to.before = [&](request const& what) {
          auto const secret = signature_in(what);
          secrets.push_back(secret);
          response said;
          said.status = status;
          auto const spelt = each.of(secret);
          // A header has no escapes of JSON.
          bool const is_json = spelt.find('\\') != spelt.npos;
          said.headers.add("x-ms-activity-id", is_json ? secret : spelt);
          said.headers.add("location", "/?sig=" + spelt);
          said.body = i % 2 == 0 ? R"({"code":"Odd","message":"got )" + spelt + "\"}"
                                 : R"({"code":")" + spelt + R"(","message":"odd"})";
          return std::optional{result<response>{said}};
        };
        told.clear();
        auto const read = sync_wait(in.read_item("redmond", "r-" + std::to_string(i)));
        REQUIRE_FALSE(read);
        told.append(read.error().to_text().view()).append("\n");
        told.append(read.error().text.view()).append("\n");
        told.append(read.error().wire.activity_id.view()).append("\n");
        told.append(read.error().wire.endpoint.view());
        auto const shown = plain(told);
        CHECK(shown.find('*') != shown.npos);
        bool is_seen = false;
        for (std::string const& secret : secrets) {
          has_slash |= secret.find('/') != secret.npos;
          has_plus |= secret.find('+') != secret.npos;
          for (std::size_t at = 0; at + 12 <= secret.size(); ++at)
            is_seen |= shown.find(lower(secret).substr(at, 12)) != shown.npos;
        }
        CHECK_FALSE(is_seen);
      }
    }
  }
  CHECK(has_slash);
  CHECK(has_plus);
}

TEST_CASE("what is no secret stays in an error") {
  account a;
  a.make("reviews");
  auto in = a.open();
  response said;
  said.status = 400;
  said.headers.add("x-ms-activity-id", "0b7e5c1a-0000-4000-8000-000000000001");
  said.body = R"({"code":"BadRequest","message":"type=master is what you signed by"})";
  a.to.instead = {result<response>{said}};
  auto const read = sync_wait(in.read_item("redmond", "r-1"));
  REQUIRE_FALSE(read);
  CHECK(read.error().text == "BadRequest: type=master is what you signed by");
  CHECK(read.error().wire.activity_id == "0b7e5c1a-0000-4000-8000-000000000001");
}

}  // namespace
