// test/cosmos/service_errors_test.cpp — every status and substatus that clients go by.
#include <keyspan/core/error.hpp>
#include <keyspan/cosmos/service_errors.hpp>
#include <keyspan/transport/message.hpp>
#include <keyspan/transport/retry_policy.hpp>
#include <keyspan/transport/retrying.hpp>

#include <support/check.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace {

using keyspan::errc;
using keyspan::error;
using keyspan::request_kind;
using keyspan::response;
using keyspan::cosmos::service_errors;
using test::check;

static_assert(keyspan::response_judge<service_errors>);

std::optional<error> judged(std::uint16_t status, std::uint16_t sub = 0, std::string body = {}) {
  response answer;
  answer.status = status;
  if (sub != 0) answer.headers.set("x-ms-substatus", std::to_string(sub));
  answer.body = std::move(body);
  return service_errors{}(answer);
}

TEST_CASE("each status and substatus is what the service means by it") {
  struct row {
    std::uint16_t status, sub;
    errc code;
    bool is_repeated;  // at the same endpoint, where it is a read
  };
  constexpr row rows[]{
      {400, 0, errc::bad_request, false},
      {400, 1001, errc::key_mismatch, false},
      {400, 1004, errc::unsupported, false},
      {400, 1024, errc::container_changed, false},
      {401, 0, errc::unauthorized, false},
      {403, 0, errc::forbidden, false},
      {403, 3, errc::region_not_writable, false},
      {403, 1008, errc::unavailable, true},
      {403, 1014, errc::forbidden, false},
      {404, 0, errc::not_found, false},
      {404, 1002, errc::session_not_available, false},
      {404, 1003, errc::not_found, false},
      {404, 1013, errc::unavailable, true},
      {408, 0, errc::timed_out, true},
      {409, 0, errc::already_exists, false},
      {410, 0, errc::unavailable, true},
      {410, 1000, errc::container_changed, false},
      {410, 1002, errc::range_gone, false},
      {410, 1007, errc::range_gone, false},
      {410, 1008, errc::range_gone, false},
      {410, 1022, errc::unavailable, true},
      {412, 0, errc::precondition_failed, false},
      {413, 0, errc::too_large, false},
      {429, 0, errc::throttled, true},
      {429, 3092, errc::throttled, true},
      {449, 0, errc::contended, true},
      {500, 0, errc::service_failed, true},
      {503, 0, errc::unavailable, true},
      {418, 0, errc::bad_request, false},
      {502, 0, errc::service_failed, true},
      {302, 0, errc::bad_response, true},
      {100, 0, errc::bad_response, true},
  };
  for (auto const& [status, sub, code, is_repeated] : rows) {
    auto const why = judged(status, sub);
    REQUIRE(why.has_value());
    CHECK(why->code == code);
    CHECK(why->wire.status == status);
    CHECK(why->wire.substatus == sub);
    CHECK(keyspan::may_repeat(*why, request_kind::read) == is_repeated);
  }
}

TEST_CASE("what went well, and what has not changed, is no error") {
  for (std::uint16_t status = 200; status < 300; ++status) CHECK_FALSE(judged(status));
  CHECK_FALSE(judged(304));
}

TEST_CASE("the text is what the service says in its first line") {
  CHECK(judged(404, 0, R"({"code":"NotFound","message":"no such item\nActivityId: 7"})")
            ->text.view() == "NotFound: no such item");
  CHECK(judged(404, 0, R"({"message":"no such item"})")->text.view() == "no such item");
  CHECK(judged(404, 0, R"({"code":"NotFound","more":[1,{"a":null}]})")->text.view() == "NotFound");
  CHECK(judged(404, 0, "{}")->text.view().empty());
  CHECK(judged(404, 0, R"({"code":7,"message":null})")->text.view().empty());
  CHECK(judged(404)->text.view().empty());
  auto const long_one = judged(400, 0, R"({"message":")" + std::string(10'000, 'x') + "\"}");
  CHECK(long_one->text.view().size() <= 160);
}

TEST_CASE("a body that is none of the service's is said to be one") {
  for (std::string const body :
       {"<html>blocked</html>", "{", "[]", "{\"code\":\"a\"} and more", "\xFF", "null"})
    CHECK(judged(503, 0, body)->text.view() ==
          "the body is none of the service's: is there a proxy in between?");
}

TEST_CASE("headers are kept with the error") {
  response answer;
  answer.status = 429;
  answer.headers.set("x-ms-retry-after-ms", "12.5");
  answer.headers.set("x-ms-request-charge", "0.38");
  answer.headers.set("x-ms-activity-id", "11111111-2222-3333-4444-555555555555");
  auto const why = service_errors{}(answer);
  REQUIRE(why.has_value());
  CHECK(why->wire.retry_after_ms == 13);
  CHECK(why->wire.charge == 0.38);
  CHECK(why->wire.activity_id.view() == "11111111-2222-3333-4444-555555555555");
}

TEST_CASE("the example of service_errors reads as it should") {
  // [region: example]
  keyspan::response answer{.status = 410, .headers = {{"x-ms-substatus", "1002"}}};
  auto const why = keyspan::cosmos::service_errors{}(answer);
  check(why && why->code == keyspan::errc::range_gone);
  // [end: example]
}

}  // namespace
