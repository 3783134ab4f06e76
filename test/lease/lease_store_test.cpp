// test/lease/lease_store_test.cpp — what a store of leases is, which ids it takes, and what its
// errors say of a write.
#include <keyspan/async/ready.hpp>
#include <keyspan/async/sync_wait.hpp>
#include <keyspan/core/error.hpp>
#include <keyspan/core/result.hpp>
#include <keyspan/law/lease_store.hpp>
#include <keyspan/lease/lease_store.hpp>

#include <support/check.hpp>
#include <support/contracts.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace {

using keyspan::errc;
using keyspan::is_record_id;
using test::check;

// [region: example]
// Records in a map: all that a store of leases has to do.
class notebook {
 public:
  using request = keyspan::store_request;
  template <class T>
  using answer = keyspan::ready<keyspan::result<T>>;

  answer<std::vector<keyspan::stored_record>> list(std::string_view prefix, request const& asked) {
    if (auto const why = refusal(asked)) return {keyspan::unexpected{*why}};
    std::vector<keyspan::stored_record> all;
    for (auto const& [id, one] : pages_)
      if (id.starts_with(prefix)) all.push_back({id, one.body, one.version});
    return {std::move(all)};
  }
  answer<keyspan::stored_record> read(std::string_view id, request const& asked) {
    if (auto const why = refusal(asked)) return {keyspan::unexpected{*why}};
    auto const at = pages_.find(id);
    if (at == pages_.end()) return {keyspan::fail(errc::not_found, "no page ", id)};
    return {keyspan::stored_record{at->first, at->second.body, at->second.version}};
  }
  answer<std::string> create(std::string_view id, std::string_view body, request const& asked) {
    if (auto const why = refusal(asked)) return {keyspan::unexpected{*why}};
    if (pages_.contains(id)) return {keyspan::fail(errc::already_exists, "page ", id)};
    return {put(id, body)};
  }
  answer<std::string> replace(std::string_view id, std::string_view body, std::string_view version,
                              request const& asked) {
    if (auto const why = refusal(asked)) return {keyspan::unexpected{*why}};
    if (auto const why = conflict(id, version)) return {keyspan::unexpected{*why}};
    return {put(id, body)};
  }
  answer<void> remove(std::string_view id, std::string_view version, request const& asked) {
    if (auto const why = refusal(asked)) return {keyspan::unexpected{*why}};
    if (auto const why = conflict(id, version)) return {keyspan::unexpected{*why}};
    pages_.erase(pages_.find(id));
    return {keyspan::result<void>{}};
  }

 private:
  struct page {
    std::string body;
    std::string version;
  };

  static std::optional<keyspan::error> refusal(request const& asked) {
    if (asked.stop.stop_requested()) return keyspan::error{errc::stopped};
    if (asked.deadline && std::chrono::steady_clock::now() > *asked.deadline)
      return keyspan::error{errc::timed_out};
    return std::nullopt;
  }
  std::optional<keyspan::error> conflict(std::string_view id, std::string_view version) const {
    auto const at = pages_.find(id);
    if (at == pages_.end()) return keyspan::error{errc::not_found, "no page ", id};
    if (at->second.version == version) return std::nullopt;
    return keyspan::error{errc::precondition_failed, "page ", id, " was written to"};
  }
  // The number goes on when a page is torn out: no version ever comes again.
  std::string put(std::string_view id, std::string_view body) {
    std::string version = std::to_string(++written_);
    pages_.insert_or_assign(std::string{id}, page{std::string{body}, version});
    return version;
  }

  std::map<std::string, page, std::less<>> pages_{};
  int written_ = 0;
};
static_assert(keyspan::lease_store<notebook> && !keyspan::watchable_lease_store<notebook>);
// [end: example]

TEST_CASE("the example of lease_store reads as it should") {
  notebook store;
  auto const found = keyspan::law::check_lease_store(store);
  INFO(found.text());
  CHECK(found);
}

constexpr bool an_id_is_what_every_store_takes() {
  std::string const longest(200, 'a');
  for (std::string_view const good :
       {std::string_view{"a"}, std::string_view{"Z"}, std::string_view{"0"}, std::string_view{"-"},
        std::string_view{"_"}, std::string_view{"lease.00ff-7f_1"}, std::string_view{longest}})
    check(is_record_id(good));
  for (std::string_view const bad : {"", ".", "..", ".a", "a.", "a/b", "a b", "a#", "a?b", "a\\b",
                                     "\xC3\xA4", "a:b", "a*", "a%2Fb"})
    check(!is_record_id(bad));
  check(!is_record_id(longest + "a"));
  return true;
}
TEST_CASE("an id is what every store takes") { check(an_id_is_what_every_store_takes()); }

constexpr bool of_all_characters_65_may_be_in_an_id() {
  int good = 0;
  for (int c = 0; c < 256; ++c) {
    char const text[] = {'a', static_cast<char>(c), 'a'};
    if (is_record_id(std::string_view{text, 3})) ++good;
  }
  return good == 26 + 26 + 10 + 3;
}
CHECK_BOTH(of_all_characters_65_may_be_in_an_id);

// Each errc once, by hand.
constexpr std::array not_done{
    errc::unsupported,       errc::invalid_options, errc::wrong_container,
    errc::scheme_mismatch,   errc::too_large,       errc::key_mismatch,
    errc::bad_request,       errc::unauthorized,    errc::forbidden,
    errc::not_found,         errc::already_exists,  errc::range_gone,
    errc::container_changed, errc::contended,       errc::precondition_failed,
    errc::not_attempted,     errc::throttled,       errc::region_not_writable,
    errc::unavailable,
};

constexpr bool an_error_of_a_write_says_that_it_was_not_done_or_nothing() {
  for (errc const code : keyspan::all_errc)
    check(keyspan::was_not_done(code) ==
          (std::find(not_done.begin(), not_done.end(), code) != not_done.end()));
  for (errc const code : {errc::outcome_unknown, errc::timed_out, errc::not_connected,
                          errc::service_failed, errc::bad_response, errc::stopped})
    check(!keyspan::was_not_done(code));
  return true;
}
CHECK_BOTH(an_error_of_a_write_says_that_it_was_not_done_or_nothing);

TEST_CASE("what is no errc says nothing of a write") {
  CHECK(test::promise_broken_by([] { return keyspan::was_not_done(static_cast<errc>(200)); }) ==
        "an errc is one of the enumerators");
}

// ---- each part that may be missing
// ---------------------------------------------------------------

struct whole {
  template <class T>
  using answer = keyspan::ready<keyspan::result<T>>;
  using request = keyspan::store_request;
  using text = std::string_view;
  answer<std::vector<keyspan::stored_record>> list(text, request const&);
  answer<keyspan::stored_record> read(text, request const&);
  answer<std::string> create(text, text, request const&);
  answer<std::string> replace(text, text, text, request const&);
  answer<void> remove(text, text, request const&);
  answer<void> watch(text, request const&);
};
static_assert(keyspan::watchable_lease_store<whole>);

struct without_list : whole {
  void list() = delete;
};
struct without_read : whole {
  keyspan::stored_record read(text, request const&);
};
struct without_create : whole {
  answer<std::string> create(text, text, text, request const&);
};
struct without_replace : whole {
  answer<void> replace(text, text, text, request const&);
};
struct without_remove : whole {
  answer<bool> remove(text, text, request const&);
};
struct without_watch : whole {
  answer<int> watch(text, request const&);
};
static_assert(!keyspan::answers_list_with_records<without_list>);
static_assert(!keyspan::answers_read_with_a_record<without_read>);
static_assert(!keyspan::answers_create_with_a_version<without_create>);
static_assert(!keyspan::answers_replace_with_a_version<without_replace>);
static_assert(!keyspan::answers_remove_with_nothing<without_remove>);
static_assert(!keyspan::answers_watch_with_nothing<without_watch>);
static_assert(!keyspan::lease_store<without_list> && !keyspan::lease_store<without_read>);
static_assert(!keyspan::lease_store<without_create> && !keyspan::lease_store<without_replace>);
static_assert(!keyspan::lease_store<without_remove>);
static_assert(keyspan::lease_store<without_watch> &&
              !keyspan::watchable_lease_store<without_watch>);

}  // namespace
