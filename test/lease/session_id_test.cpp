// test/lease/session_id_test.cpp — the names of runs.
#include <keyspan/lease/session_id.hpp>

#include <support/check.hpp>

#include <cstdint>
#include <functional>
#include <limits>
#include <string_view>

namespace {

using keyspan::session_id;
using test::check;

constexpr bool the_text_of_a_session_gives_the_session_back() {
  for (std::uint64_t const value :
       {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{0xFF}, std::uint64_t{0x0123456789ABCDEF},
        std::uint64_t{0xFEDCBA9876543210}, (std::numeric_limits<std::uint64_t>::max)()}) {
    auto const text = session_id{value}.to_text();
    check(text.size() == 16);
    check(session_id::from_text(text.view()) == session_id{value});
  }
  check(session_id{0xFF}.to_text() == std::string_view{"00000000000000ff"});
  return true;
}
CHECK_BOTH(the_text_of_a_session_gives_the_session_back);

constexpr bool what_is_no_session_is_refused() {
  for (std::string_view const text :
       {"", "0", "00000000000000f", "00000000000000fff", "00000000000000FF", "00000000000000fg",
        "-0000000000000ff", "0x000000000000ff", "               f"})
    check(!session_id::from_text(text));
  return true;
}
CHECK_BOTH(what_is_no_session_is_refused);

constexpr bool zero_is_nobody() {
  check(!keyspan::no_session && !session_id{0} && session_id{1});
  check(session_id{1} < session_id{2} && keyspan::no_session == session_id{});
  return true;
}
CHECK_BOTH(zero_is_nobody);

TEST_CASE("equal sessions hash alike") {
  CHECK(std::hash<session_id>{}(session_id{7}) == std::hash<session_id>{}(session_id{7}));
  CHECK(std::hash<session_id>{}(session_id{7}) != std::hash<session_id>{}(session_id{8}));
}

TEST_CASE("the example of session_id reads as it should") {
  // [region: example]
  keyspan::session_id const session{0x1F};  // drawn at random in a program

  check(session.to_text() == std::string_view{"000000000000001f"});
  check(keyspan::session_id::from_text("000000000000001f") == session);
  check(!keyspan::session_id::from_text("1f"));
  // [end: example]
}

}  // namespace
