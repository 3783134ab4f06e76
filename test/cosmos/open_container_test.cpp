// test/cosmos/open_container_test.cpp — what a container in use is judged by, and what it knows.
#include <keyspan/core/error.hpp>
#include <keyspan/cosmos/open_container.hpp>

#include <catch2/catch_test_macros.hpp>
#include <cosmos/account.hpp>

#include <chrono>
#include <cstdint>
#include <string>

namespace {

using keyspan::errc;
using keyspan::cosmos::container_properties;
using keyspan::cosmos::is_document_id;
using keyspan::cosmos::detail::answer_judge;
using keyspan::cosmos::detail::batch_outcome_in;
using keyspan::cosmos::detail::judging;
using keyspan::cosmos::detail::known_version;
using keyspan::cosmos::detail::what_is_left;
using nlohmann::json;

TEST_CASE("an id is a text that fits into a path") {
  // [region: example]
  static_assert(keyspan::cosmos::is_document_id("r-1 ü"));
  static_assert(!keyspan::cosmos::is_document_id("reviews/r-1"));
  // [end: example]
  CHECK(is_document_id(std::string(1023, 'x')));
  CHECK_FALSE(is_document_id(std::string(1024, 'x')));
  CHECK_FALSE(is_document_id(""));
  for (std::string const bad : {"a\\", "?", "#", "a\x7F", "\x1F", "\xC3"})
    CHECK_FALSE(is_document_id(bad));
}

TEST_CASE("who asks by key waits for a split, who asks by range is told of it") {
  auto const judged = [](answer_judge how, std::uint16_t status, std::uint16_t sub) {
    auto const answer = **test::door::status(status, sub);
    auto const why = judging{how}(answer);
    REQUIRE(why);
    CHECK(why->wire.status == status);
    return why->code;
  };
  for (std::uint16_t const sub : {std::uint16_t{1002}, std::uint16_t{1007}, std::uint16_t{1008}}) {
    CHECK(judged(answer_judge::by_service, 410, sub) == errc::range_gone);
    CHECK(judged(answer_judge::by_key, 410, sub) == errc::unavailable);
    CHECK(judged(answer_judge::by_range, 410, sub) ==
          (sub == 1002 ? errc::range_gone : errc::unavailable));
  }
  for (auto const how : {answer_judge::by_service, answer_judge::by_key, answer_judge::by_range})
    CHECK(judged(how, 410, 1000) == errc::container_changed);
}

TEST_CASE("what is left of a document is its id and its key") {
  container_properties known;
  known.paths =
      keyspan::key_paths::parse(std::vector<std::string_view>{"/tenant", "/user/id"}).value();
  json const all{{"id", "d"}, {"tenant", "t"}, {"user", {{"id", 5}}}};
  CHECK(what_is_left(known, "d", R"(["t",5])").value() == all);
  CHECK(what_is_left(known, "d", R"({"tenant":"t","id":5})").value() == all);
  CHECK(what_is_left(known, "d", R"({"/tenant":"t","/user/id":5})").value() == all);
  CHECK(what_is_left(known, "d", "").value() == json{{"id", "d"}});
  CHECK(what_is_left(known, "d", "[{},5]").value() == json{{"id", "d"}, {"user", {{"id", 5}}}});
  CHECK(what_is_left(known, "d", "[").error().code == errc::malformed);
  known.paths = keyspan::key_paths::parse(std::vector<std::string_view>{"/a", "/a/b"}).value();
  CHECK(what_is_left(known, "d", "[1,2]").error().code == errc::bad_response);
}

TEST_CASE("an outcome of a batch is an answer or an error") {
  auto const good =
      batch_outcome_in({{"statusCode", 201}, {"requestCharge", 6.2}, {"eTag", "e"}}, 0);
  REQUIRE(good);
  CHECK(good->status == 201);
  CHECK(good->charge == 6.2);
  CHECK(good->etag == "e");
  auto const refused = [](json const& told) { return batch_outcome_in(told, 3).error(); };
  CHECK(refused({{"statusCode", 424}}).code == errc::not_attempted);
  CHECK(refused({{"statusCode", 412}}).code == errc::precondition_failed);
  CHECK(refused({{"statusCode", 429}, {"subStatusCode", 3200}}).wire.substatus == 3200);
  CHECK(refused({{"statusCode", 400}, {"subStatusCode", 1001}}).code == errc::key_mismatch);
  CHECK(refused({{"statusCode", 412}}).text.view().starts_with("operation 3: "));
  for (json const& odd : {json{1}, json{}, json::object(), json{{"statusCode", "200"}},
                          json{{"statusCode", 1e9}}, json{{"statusCode", -1}}})
    CHECK(refused(odd).code == errc::bad_response);
}

TEST_CASE("an etag that is too long to be kept is no answer") {
  CHECK(known_version::of({{"id", "d"}, {"_etag", "e"}, {"_ts", 5}}, "").value().etag == "e");
  CHECK(known_version::of({{"id", "d"}}, "outer").value().etag == "outer");
  CHECK(known_version::of({{"id", "d"}}, std::string(65, 'e')).error().code == errc::bad_response);
  // A time that no clock has is held back, not multiplied beyond what can be counted.
  CHECK(known_version::of({{"_ts", ~std::uint64_t{0}}}, "").value().changed_at.time_since_epoch() ==
        std::chrono::seconds{std::int64_t{1} << 40});
}

}  // namespace
