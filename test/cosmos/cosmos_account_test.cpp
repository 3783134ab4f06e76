// test/cosmos/cosmos_account_test.cpp — who signs, repeats and opens.
#include <keyspan/async/sync_wait.hpp>
#include <keyspan/core/error.hpp>
#include <keyspan/cosmos/cosmos_account.hpp>
#include <keyspan/cosmos/service_request.hpp>

#include <catch2/catch_test_macros.hpp>
#include <cosmos/account.hpp>

#include <chrono>
#include <cstddef>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace {

using keyspan::errc;
using keyspan::sync_wait;
using test::account;
using test::door;

TEST_CASE("each attempt is signed anew") {
  account a;
  std::vector<std::string> dates, signatures;
  auto time = keyspan::wall_time{std::chrono::hours{24 * 365 * 50}};
  keyspan::cosmos::cosmos_account in{a.to,
                                     a.clock,
                                     *keyspan::cosmos::master_key::from(test::account_key),
                                     {.now = [&] { return time += std::chrono::seconds{1}; }}};
  a.to.before = [&](keyspan::request const& what) {
    dates.emplace_back(what.headers.find("x-ms-date").value());
    signatures.emplace_back(what.headers.find("authorization").value());
    return dates.size() < 4 ? door::status(503) : door::status(200);
  };
  auto const answer = sync_wait(in.send(keyspan::cosmos::read_account()));
  REQUIRE(answer);
  CHECK(answer->attempts == 4);
  CHECK(std::set(dates.begin(), dates.end()).size() == 4);
  CHECK(std::set(signatures.begin(), signatures.end()).size() == 4);
}

TEST_CASE("waits are drawn anew for each request, and are the same for one seed") {
  auto const waits = [](std::uint64_t seed) {
    account a;
    keyspan::cosmos::cosmos_account in{a.to,
                                       a.clock,
                                       *keyspan::cosmos::master_key::from(test::account_key),
                                       {.retries = {.seed = seed}}};
    a.to.before = [](keyspan::request const&) { return door::status(503); };
    for (int i = 0; i < 2; ++i) {
      auto const answer = sync_wait(in.send(keyspan::cosmos::read_account()));
      CHECK(answer.value().status == 503);
    }
    return a.clock.waits;
  };
  auto const first = waits(1);
  REQUIRE(first.size() == 18);
  CHECK_FALSE(std::vector(first.begin(), first.begin() + 9) ==
              std::vector(first.begin() + 9, first.end()));
  CHECK(waits(1) == first);
  CHECK_FALSE(waits(2) == first);
}

TEST_CASE("a wrong key is refused, and another credential is taken from then on") {
  account a;
  a.make("reviews");
  keyspan::cosmos::cosmos_account in{a.to, a.clock, *keyspan::cosmos::master_key::from("d3Jvbmc=")};
  auto const refused = sync_wait(in.open<test::review>("shop", "reviews"));
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == errc::unauthorized);
  in.set_credential(*keyspan::cosmos::master_key::from(test::account_key));
  CHECK(sync_wait(in.open<test::review>("shop", "reviews")));
  in.set_credential(keyspan::cosmos::bearer_token{"a.b.c"});
  CHECK_FALSE(sync_wait(in.open<test::review>("shop", "reviews")));
  CHECK(a.to.last().headers.find("authorization") == "type%3Daad%26ver%3D1.0%26sig%3Da.b.c");
}

TEST_CASE("nothing secret is told in errors and events") {
  account a;
  a.make("reviews");
  std::string told;
  keyspan::cosmos::cosmos_account in{
      a.to,
      a.clock,
      *keyspan::cosmos::master_key::from("c2VjcmV0LXNlY3JldA=="),
      {.on_event = [&](keyspan::event const& one) { told.append(one.to_text()).append("\n"); }}};
  for (int turn = 0; turn < 3; ++turn) {
    if (turn == 1) in.set_credential(keyspan::cosmos::resource_token{"type=resource&sig=hush"});
    if (turn == 2) in.set_credential(keyspan::cosmos::bearer_token{"hush.hush.hush"});
    auto const opened = sync_wait(in.open<test::review>("shop", "reviews"));
    REQUIRE_FALSE(opened);
    told.append(opened.error().to_text()).append("\n");
  }
  INFO(told);
  CHECK_FALSE(told.empty());
  std::string const signature{a.to.asked.front().headers.find("authorization").value()};
  for (std::string_view const secret : {std::string_view{"c2VjcmV0"}, std::string_view{"secret"},
                                        std::string_view{"hush"}, std::string_view{signature}})
    CHECK(told.find(secret) == std::string::npos);
}

TEST_CASE("who repeats in an error what he was sent does not get a secret into it") {
  account a;
  for (keyspan::cosmos::credential const& who :
       {keyspan::cosmos::credential{*keyspan::cosmos::master_key::from("c2VjcmV0LXNlY3JldA==")},
        keyspan::cosmos::credential{keyspan::cosmos::resource_token{"type=resource&sig=hu/sh+"}},
        keyspan::cosmos::credential{keyspan::cosmos::bearer_token{"hu.sh.hush"}}}) {
    a.in.set_credential(who);
    std::string header, plain;
    a.to.before =
        [&](keyspan::request const& what) -> std::optional<keyspan::result<keyspan::response>> {
      header = std::string{what.headers.find("authorization").value()};
      for (std::size_t i = 0; i < header.size(); ++i) {
        bool const is_coded = header[i] == '%';
        plain += is_coded ? static_cast<char>(std::stoi(header.substr(i + 1, 2), nullptr, 16))
                          : header[i];
        if (is_coded) i += 2;
      }
      keyspan::response made;
      made.status = 400;
      made.body = R"({"code":"Odd","message":")" + header + " or " + plain + R"("})";
      return keyspan::result<keyspan::response>{made};
    };
    auto const refused = sync_wait(a.in.open<test::review>("shop", "reviews"));
    REQUIRE_FALSE(refused);
    CHECK(refused.error().text.view().find("***") != std::string_view::npos);
    auto const shown = refused.error().to_text();
    for (std::size_t i = header.find("sig") + 8; i + 12 <= header.size(); ++i)
      CHECK(shown.view().find(std::string_view{header}.substr(i, 12)) == std::string_view::npos);
    for (std::size_t i = plain.find("sig=") + 4; i + 12 <= plain.size(); ++i)
      CHECK(shown.view().find(std::string_view{plain}.substr(i, 12)) == std::string_view::npos);
  }
}

TEST_CASE("an account signs by whichever HMAC it is given") {
  account a;
  int times = 0;
  auto const counted = [&times](std::span<unsigned char const> key, std::string_view text) {
    ++times;
    return keyspan::cosmos::hmac_sha256(key, text);
  };
  keyspan::cosmos::cosmos_account in{
      a.to, a.clock, *keyspan::cosmos::master_key::from(test::account_key), {}, counted};
  CHECK(sync_wait(in.send(keyspan::cosmos::read_account())).value().status == 200);
  CHECK(times == 1);
}

TEST_CASE("events tell each attempt with its status") {
  account a;
  std::vector<keyspan::event_kind> kinds;
  keyspan::cosmos::cosmos_account in{
      a.to,
      a.clock,
      *keyspan::cosmos::master_key::from(test::account_key),
      {.on_event = [&](keyspan::event const& one) { kinds.push_back(one.kind); }}};
  a.to.instead = {door::status(429), door::status(503)};
  CHECK(sync_wait(in.send(keyspan::cosmos::read_account())).value().status == 200);
  CHECK(kinds == std::vector{keyspan::event_kind::repeating, keyspan::event_kind::repeating,
                             keyspan::event_kind::answered});
}

}  // namespace
