// test/transport/http_errors_test.cpp — every status, and how long it asks to wait.
#include <keyspan/core/error.hpp>
#include <keyspan/transport/http_errors.hpp>
#include <keyspan/transport/message.hpp>
#include <keyspan/transport/retrying.hpp>

#include <support/check.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace {

using keyspan::errc;
using keyspan::http_errors;
using keyspan::response;

static_assert(keyspan::response_judge<http_errors>);

std::optional<errc> code_of(std::uint16_t status) {
  auto const why = http_errors{}(response{.status = status});
  return why ? std::optional{why->code} : std::nullopt;
}

TEST_CASE("every status is a success or an error, and the named ones have their own") {
  constexpr std::pair<std::uint16_t, errc> named[]{
      {401, errc::unauthorized}, {403, errc::forbidden},           {404, errc::not_found},
      {407, errc::unauthorized}, {408, errc::timed_out},           {409, errc::already_exists},
      {410, errc::range_gone},   {412, errc::precondition_failed}, {413, errc::too_large},
      {429, errc::throttled},    {449, errc::contended},           {503, errc::unavailable},
  };
  for (std::uint16_t status = 0; status < 1000; ++status) {
    std::optional<errc> wanted = errc::bad_response;
    if (status >= 400 && status < 500) wanted = errc::bad_request;
    if (status >= 500 && status < 600) wanted = errc::service_failed;
    if ((status >= 200 && status < 300) || status == 304) wanted = std::nullopt;
    for (auto const& [one, code] : named)
      if (one == status) wanted = code;
    CHECK(code_of(status) == wanted);
  }
}

TEST_CASE("an error says where it came from, and after how many attempts") {
  auto const why =
      http_errors{}(response{.status = 503, .attempts = 3, .endpoint = {"localhost:8081"}});
  REQUIRE(why);
  CHECK(why->wire.status == 503);
  CHECK(why->wire.attempts == 3);
  CHECK(why->wire.endpoint == "localhost:8081");
}

std::uint32_t wait_of(keyspan::header_list headers) {
  return http_errors{}(response{.status = 429, .headers = std::move(headers)})->wire.retry_after_ms;
}

TEST_CASE("how long to wait is read in milliseconds, or in seconds, and never guessed") {
  CHECK(wait_of({{"x-ms-retry-after-ms", "120"}}) == 120);
  CHECK(wait_of({{"X-MS-Retry-After-Ms", "12.5"}}) == 13);  // never too soon
  CHECK(wait_of({{"Retry-After", "3"}}) == 3000);
  CHECK(wait_of({{"Retry-After", "3"}, {"x-ms-retry-after-ms", "5"}}) == 5);
  CHECK(wait_of({{"x-ms-retry-after-ms", "1e300"}}) == 4'294'967'295);
  for (std::string_view const text : {"", "0", "-5", "soon", "Fri, 31 Dec 1999 23:59:59 GMT", "5 "})
    CHECK(wait_of({{"x-ms-retry-after-ms", std::string{text}}}) == 0);
  CHECK(wait_of({}) == 0);
}

TEST_CASE("what a response says of itself is read from its headers") {
  response answer{.status = 410,
                  .headers = {{"X-MS-SubStatus", "1002"},
                              {"x-ms-activity-id", "6d8c07c2-5bc3-4a53-8e7b-3f7b0d1e9a10"},
                              {"x-ms-request-charge", "2.29"}},
                  .attempts = 2,
                  .endpoint = {"localhost:8081"}};
  keyspan::wire_details const wanted{.status = 410,
                                     .substatus = 1002,
                                     .attempts = 2,
                                     .charge = 2.29,
                                     .activity_id = {"6d8c07c2-5bc3-4a53-8e7b-3f7b0d1e9a10"},
                                     .endpoint = {"localhost:8081"}};
  CHECK(keyspan::details_of(answer) == wanted);
  CHECK(http_errors{}(answer)->wire == wanted);
  answer.charge = 12;  // of more attempts than this one
  CHECK(keyspan::details_of(answer).charge == 12);
  answer.status = 200;
  CHECK(keyspan::details_of(answer).substatus == 1002);
}

TEST_CASE("headers that cannot be read say nothing") {
  for (std::string_view const text : {"", "-1", "65536", "1e300", "many", "0x10"}) {
    auto const said =
        keyspan::details_of(response{.headers = {{"x-ms-substatus", std::string{text}}}});
    CHECK(said.substatus == 0);
  }
  for (std::string_view const text : {"", "-1", "dear", "nan"}) {
    auto const said =
        keyspan::details_of(response{.headers = {{"x-ms-request-charge", std::string{text}}}});
    CHECK(said.charge == 0);
  }
  CHECK(keyspan::details_of(response{.headers = {{"x-ms-substatus", "65535"}}}).substatus ==
        65'535);
}

TEST_CASE("the example of http_errors reads as it should") {
  // [region: example]
  keyspan::response const answer{.status = 429, .headers = {{"Retry-After", "3"}}};
  auto const why = keyspan::http_errors{}(answer);
  CHECK(why->code == keyspan::errc::throttled);
  CHECK(why->wire.retry_after_ms == 3000);
  // [end: example]
}

}  // namespace
