// test/core/print_test.cpp — what has a text can be streamed and, where there is one, formatted.
#include <keyspan/core/print.hpp>

#include <support/check.hpp>

#include <iomanip>
#include <sstream>
#include <string>

#if KEYSPAN_STD_FORMAT
#include <format>
#endif

// A type of somebody else that happens to have a to_text().
namespace elsewhere {
struct stranger {
  std::string to_text() const { return "stranger"; }
};
template <class T>
concept has_text = requires(T const& value) { value.to_text(); };
}  // namespace elsewhere

#if KEYSPAN_STD_FORMAT
template <class T>
  requires elsewhere::has_text<T> && std::same_as<T, elsewhere::stranger>
struct std::formatter<T, char> : std::formatter<std::string, char> {
  template <class Context>
  auto format(T const& value, Context& context) const {
    return std::formatter<std::string, char>::format("their own " + value.to_text(), context);
  }
};
#endif

namespace {

using keyspan::errc;
using keyspan::error;
using keyspan::inline_text;

template <class T>
std::string streamed(T const& value) {
  std::ostringstream out;
  out << value;
  return out.str();
}

TEST_CASE("errors, kinds and texts are streamed as they read") {
  // [region: example]
  std::ostringstream out;
  out << keyspan::errc::gap << " | "
      << keyspan::error{keyspan::errc::gap, "between ", 1, " and ", 3};
  CHECK(out.str() == "gap | gap: between 1 and 3");
  // [end: example]
  CHECK(streamed(inline_text<8>{"abc"}) == "abc");
  CHECK(streamed(inline_text<3>{"abcd"}) == "\xE2\x80\xA6");
}

TEST_CASE("width and fill of the stream apply to the text as a whole") {
  std::ostringstream out;
  out << std::setw(6) << std::left << std::setfill('.') << errc::gap << '|' << std::setw(5)
      << std::right << inline_text<8>{"ab"} << '|' << std::setw(70) << error{errc::gap};
  CHECK(out.str().starts_with("gap...|...ab|"));
  CHECK(out.str().size() == 6 + 1 + 5 + 1 + 70);
}

#if KEYSPAN_STD_FORMAT
TEST_CASE("errors, kinds and texts are formatted as they read") {
  CHECK(std::format("{}", error{errc::gap, "here"}) == "gap: here");
  CHECK(std::format("{:>6}|{:.<6}|{:.1}", errc::gap, errc::gap, inline_text<8>{"ab"}) ==
        "   gap|gap...|a");
}

TEST_CASE("a foreign type keeps its own formatter") {
  CHECK(std::format("{}", elsewhere::stranger{}) == "their own stranger");
}
#endif

}  // namespace
