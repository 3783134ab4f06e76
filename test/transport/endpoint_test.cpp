// test/transport/endpoint_test.cpp — addresses of services, read, written and refused.
#include <keyspan/core/error.hpp>
#include <keyspan/core/text.hpp>
#include <keyspan/transport/endpoint.hpp>

#include <support/check.hpp>

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <unordered_set>

namespace {

using keyspan::errc;
using keyspan::service_endpoint;
using test::check;

TEST_CASE("the example of endpoint reads as it should") {
  // [region: example]
  auto const shop = keyspan::service_endpoint::parse("https://Shop.documents.azure.com:443/");
  check(shop.has_value() && shop->is_secure && shop->port == 443);
  check(shop->host == "shop.documents.azure.com");
  check(shop->authority() == "shop.documents.azure.com:443");  // as errors name it

  auto const local = keyspan::service_endpoint::parse("http://[::1]:8081");
  check(local.has_value() && local->host == "::1" && local->to_text() == "http://[::1]:8081");
  // [end: example]
}

TEST_CASE("an endpoint is a scheme, a host and a port") {
  struct row {
    std::string_view url;
    bool is_secure;
    std::string_view host;
    std::uint16_t port;
  };
  for (auto const& [url, is_secure, host, port] :
       {row{"https://a", true, "a", 443}, row{"http://a", false, "a", 80},
        row{"HTTPS://A.B/", true, "a.b", 443},
        row{"http://127.0.0.1:8081", false, "127.0.0.1", 8081},
        row{"https://x-y_z.example:1/", true, "x-y_z.example", 1},
        row{"https://a:65535", true, "a", 65535}, row{"https://a:0443", true, "a", 443},
        row{"https://[::1]:8081/", true, "::1", 8081}, row{"http://[::]", false, "::", 80},
        row{"http://[FE80::1]", false, "fe80::1", 80}, row{"http://[1::]", false, "1::", 80},
        row{"http://[1:2:3:4:5:6:7:8]", false, "1:2:3:4:5:6:7:8", 80},
        row{"http://[::ffff:10.0.0.1]", false, "::ffff:10.0.0.1", 80},
        row{"http://[1:2:3:4:5:6:10.0.0.1]:5", false, "1:2:3:4:5:6:10.0.0.1", 5},
        row{"http://1a.2b", false, "1a.2b", 80}}) {
    CAPTURE(url);
    auto const read = service_endpoint::parse(url);
    REQUIRE(read.has_value());
    CHECK(read->is_secure == is_secure);
    CHECK(read->host == host);
    CHECK(read->port == port);
    CHECK(service_endpoint::parse(read->to_text()) == *read);
    CHECK(service_endpoint::parse(read->to_text() + '/') == *read);
  }
}

TEST_CASE("what is no endpoint is refused with the place") {
  struct row {
    std::string_view url;
    std::uint32_t offset;
  };
  using namespace std::string_view_literals;
  std::string const long_part = "http://" + std::string(64, 'a');
  std::string long_host = "http://a";
  for (int i = 0; i < 127; ++i) long_host += ".a";
  for (auto const& [url, offset] : {row{"", 0},
                                    row{"shop.example", 0},
                                    row{"ftp://a", 0},
                                    row{"https:/a", 0},
                                    row{" https://a", 0},
                                    row{"https://", 8},
                                    row{"https:///", 8},
                                    row{"https://:443", 8},
                                    row{"https://?x", 8},
                                    row{"https://a/b", 10},
                                    row{"https://a//", 10},
                                    row{"https://a/?", 10},
                                    row{"https://a?q", 9},
                                    row{"https://a#f", 9},
                                    row{"https://a b", 9},
                                    row{"https://a ", 9},
                                    row{"https://a\n", 9},
                                    row{"https://a\t:1", 9},
                                    row{"https://a\0b"sv, 9},
                                    row{"https://a%2e", 9},
                                    row{"https://\xC3\xA4", 8},
                                    row{"https://a\\b", 9},
                                    row{"https://a:", 10},
                                    row{"https://a:x", 10},
                                    row{"https://a:-1", 10},
                                    row{"https://a:0", 10},
                                    row{"https://a:65536", 10},
                                    row{"https://a:99999999999999999999999", 10},
                                    row{"https://a:443x", 13},
                                    row{"https://a:443 ", 13},
                                    row{"https://.a", 8},
                                    row{"https://a..b", 10},
                                    row{"https://a.", 10},
                                    row{"https://-a", 8},
                                    row{"https://b.a-", 10},
                                    row{"https://256.0.0.1", 8},
                                    row{"https://127.1", 8},
                                    row{"https://1", 8},
                                    row{"https://01.2.3.4", 8},
                                    row{"https://1.2.3.4.5", 8},
                                    row{"https://a.1", 8},
                                    row{"https://[::1", 8},
                                    row{"https://[]", 9},
                                    row{"https://[:]", 9},
                                    row{"https://[:::]", 9},
                                    row{"https://[1::2::3]", 9},
                                    row{"https://[12345::]", 9},
                                    row{"https://[1:2:3:4:5:6:7]", 9},
                                    row{"https://[1:2:3:4:5:6:7:8:9]", 9},
                                    row{"https://[::1:2:3:4:5:6:7:8]", 9},
                                    row{"https://[1:2:3:4:5:6:7:]", 9},
                                    row{"https://[fe80::1%25eth0]", 9},
                                    row{"https://[::1.2.3]", 9},
                                    row{"https://[::1.2.3.4.]", 9},
                                    row{"https://[::g]", 9},
                                    row{"https://[::1]x", 13},
                                    row{"https://::1", 8},
                                    row{"https://a:1:2", 11},
                                    row{long_part, 7},
                                    row{long_host, 7}}) {
    CAPTURE(url);
    auto const refused = service_endpoint::parse(url);
    REQUIRE_FALSE(refused.has_value());
    CHECK(refused.error().code == errc::malformed);
    CHECK(refused.error().position.line == 1);
    CHECK(refused.error().position.offset == offset);
    CHECK(refused.error().position.column == offset + 1);
    CHECK_FALSE(refused.error().text.empty());
    CHECK_FALSE(refused.error().text.is_cut());
  }
}

TEST_CASE("a user and a password are refused, and repeated nowhere") {
  for (std::string_view const url :
       {"https://me:sesame@shop.example/", "http://sesame@a", "https://@a", "https://me:sesame@",
        "https://sesame@[::1]:1/", "https://me:ses/ame@a", "https://me:se?same@a", "https://sesame",
        "https://a/sesame"}) {
    CAPTURE(url);
    auto const read = service_endpoint::parse(url);
    if (read) {
      CHECK(url == "https://sesame");  // a host as good as any
      continue;
    }
    CHECK(read.error().to_text().view().find("ses") == std::string_view::npos);
    bool const has_user =
        url.substr(0, url.find_first_of("/?", 8)).find('@') != std::string_view::npos;
    CHECK((read.error().text == "an endpoint has no user and no password") == has_user);
  }
}

TEST_CASE("endpoints are equal, ordered and hashed by all they say") {
  service_endpoint const a{.host = "a"};
  service_endpoint const later{.host = "a", .port = 444};
  service_endpoint const plain{.is_secure = false, .host = "a"};
  service_endpoint const b{.host = "b"};
  CHECK(std::set{b, a, later, plain, a}.size() == 4);
  CHECK(std::unordered_set<service_endpoint>{b, a, later, plain, a}.size() == 4);
  CHECK(plain < a);
  CHECK(a < later);
  CHECK(later < b);
  CHECK(keyspan::to_text(b) == "https://b:443");
}

}  // namespace
