// test/transport/http_request_test.cpp — what could be taken for another message is not sent.
#include <keyspan/core/error.hpp>
#include <keyspan/transport/http_request.hpp>
#include <keyspan/transport/message.hpp>

#include <support/check.hpp>

#include <string>
#include <string_view>

namespace {

using keyspan::fault_in_http;
using keyspan::request;
using test::check;

std::string fault(request const& what) {
  auto const why = fault_in_http(what);
  if (!why) return {};
  CHECK(why->code == keyspan::errc::bad_request);
  return std::string{why->text.view()};
}
std::string fault_of_header(std::string_view name, std::string_view value) {
  request what;
  what.headers.add(name, value);
  return fault(what);
}

TEST_CASE("an honest request can be sent") {
  // [region: example]
  keyspan::request const honest{.method = "PUT", .target = "/a%20b?c=d", .body = "{}"};
  check(!keyspan::fault_in_http(honest));
  keyspan::request smuggled{.headers = {{"x-name", "a\r\nhost: elsewhere"}}};
  check(keyspan::fault_in_http(smuggled)->code == keyspan::errc::bad_request);
  // [end: example]
  CHECK(fault_of_header("x-a!#$%&'*+-.^_`|~9", "caf\xC3\xA9\t\x80 ").empty());
  CHECK(fault_of_header("x", "").empty());
  CHECK(fault_of_header("Content-Length", "0").empty());
}

TEST_CASE("every byte that could end a line or a word is refused, and no value repeated") {
  for (int byte = 0; byte < 256; ++byte) {
    CAPTURE(byte);
    std::string const odd = std::string("se") + static_cast<char>(byte) + "cret";
    bool const is_control = (byte < 0x20 && byte != '\t') || byte == 0x7F;
    auto const said = fault_of_header("authorization", odd);
    CHECK(said.empty() == !is_control);
    CHECK(said.find("cret") == std::string::npos);
    bool const is_mark =
        std::string_view{"!#$%&'*+-.^_`|~"}.find(static_cast<char>(byte)) != std::string_view::npos;
    bool const is_word = (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
                         (byte >= '0' && byte <= '9');
    CHECK(fault_of_header(odd, "v").empty() == (is_word || (byte != 0 && is_mark)));
    CHECK(fault({.method = odd}).empty() == (is_word || (byte != 0 && is_mark)));
    bool const is_in_path = byte > 0x20 && byte < 0x7F && byte != '#';
    CHECK(fault({.target = "/" + odd}).empty() == is_in_path);
  }
}

TEST_CASE("what is no request is named") {
  CHECK(fault({.method = ""}) == "a method has letters, and no blanks");
  for (std::string const target : {"", "a", "http://elsewhere/", "*"})
    CHECK(fault({.target = target}).starts_with("a target begins with '/'"));
  CHECK(fault({.method = "HEAD", .body = "x"}) == "a HEAD request has no body");
  CHECK(fault_of_header("", "v") == "a header's name has a character that no name has");
  CHECK(fault_of_header("content-LENGTH", "1") ==
        "the header Content-Length is not the length of the body");
  CHECK(fault_of_header("Transfer-Encoding", "chunked") ==
        "the header Transfer-Encoding is the transport's own");
  CHECK(fault_of_header("expect", "100-continue") == "the header expect is the transport's own");
}

}  // namespace
