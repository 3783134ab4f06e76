// What does it cost to build and to sign a request, over the HMAC that its signature is made of?
// The first row is the floor: HMAC-SHA256 of the text that is signed, and base64.
#include <bench/support/bench.hpp>
#include <keyspan/core/base64.hpp>
#include <keyspan/core/result.hpp>
#include <keyspan/cosmos/address.hpp>
#include <keyspan/cosmos/credential.hpp>
#include <keyspan/cosmos/hmac_sha256.hpp>
#include <keyspan/cosmos/service_request.hpp>
#include <keyspan/feed/wall_time.hpp>
#include <keyspan/key/partition_key.hpp>
#include <keyspan/transport/message.hpp>

#if KEYSPAN_BENCH_OPENSSL
#include <openssl/evp.h>
#include <openssl/hmac.h>
#endif

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <ctime>
#include <iomanip>
#include <span>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace {

namespace cosmos = keyspan::cosmos;
using keyspan::request;
using header_lines = std::vector<std::pair<std::string, std::string>>;

// 64 bytes, as accounts have them.
constexpr std::string_view key_text =
    "MDEyMzQ1Njc4OWFiY2RlZmdoaWprbG1ub3BxcnN0dXZ3eHl6QUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVotXw==";
constexpr std::string_view session = "0:-1#125678#4=98765";

struct asked_for {
  std::string database{"shop"};
  std::string container{"reviews"};
  std::string article{"b2f6c8de-7c0f-4f4e-9d54-0d9f0c7a5e11"};
  std::string id{"6d8c07c2-5bc3-4a53-8e7b-3f7b0d1e9a10"};
  std::string body{};
};

// The moment that all rows sign.
keyspan::wall_time moment() {
  using namespace std::chrono;
  return sys_days{year{2024} / May / 17} + hours{11} + minutes{3} + seconds{27};
}

std::vector<unsigned char> key_bytes() {
  std::vector<unsigned char> bytes(64);
  bench::keep(keyspan::decode_base64(key_text, std::span{bytes}).has_value());
  return bytes;
}

#if KEYSPAN_BENCH_OPENSSL
struct openssl_hmac {
  cosmos::digest256 operator()(std::span<unsigned char const> key, std::string_view text) const {
    cosmos::digest256 made{};
    unsigned size = 0;
    HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()),
         reinterpret_cast<unsigned char const*>(text.data()), text.size(), made.data(), &size);
    return made;
  }
};
#endif

// What a program does that has a hash and no library for the rest, in two styles.
namespace by_hand {

std::string date_of(keyspan::wall_time at) {
  std::time_t const seconds = std::chrono::system_clock::to_time_t(at);
  std::tm parts{};
  gmtime_r(&seconds, &parts);
  char text[40];
  return {text, std::strftime(text, sizeof text, "%a, %d %b %Y %H:%M:%S GMT", &parts)};
}

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

template <class Hmac>
std::string signature(std::vector<unsigned char> const& key, std::string const& text,
                      Hmac const& hmac) {
  auto const digest = hmac(std::span<unsigned char const>{key}, text);
  std::array<char, 44> base64{};
  return std::string{keyspan::encode_base64(std::span{digest}, std::span<char>{base64})};
}

struct strings {
  static std::string encoded(std::string const& text) {
    std::string made;
    for (char const c : text) {
      if (std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '_' || c == '.' ||
          c == '~') {
        made += c;
      } else {
        char hex[4];
        std::snprintf(hex, sizeof hex, "%%%02X", static_cast<unsigned>(c) & 0xFF);
        made += hex;
      }
    }
    return made;
  }
  static std::string text_to_sign(std::string const& method, std::string const& link,
                                  std::string const& date) {
    return lower(method) + "\n" + "docs" + "\n" + link + "\n" + lower(date) + "\n" + "" + "\n";
  }
  static std::string link_of(asked_for const& what) {
    return "dbs/" + what.database + "/colls/" + what.container + "/docs/" + what.id;
  }
  static std::string target_of(asked_for const& what) {
    return "/dbs/" + encoded(what.database) + "/colls/" + encoded(what.container) + "/docs/" +
           encoded(what.id);
  }
  static std::string key_of(asked_for const& what) { return "[\"" + what.article + "\"]"; }
};

struct streams {
  static std::string encoded(std::string const& text) {
    std::ostringstream made;
    made << std::hex << std::uppercase << std::setfill('0');
    for (char const c : text) {
      if (std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '_' || c == '.' ||
          c == '~') {
        made << c;
      } else {
        made << '%' << std::setw(2) << (static_cast<int>(c) & 0xFF);
      }
    }
    return made.str();
  }
  static std::string text_to_sign(std::string const& method, std::string const& link,
                                  std::string const& date) {
    std::ostringstream made;
    made << lower(method) << "\n"
         << "docs"
         << "\n"
         << link << "\n"
         << lower(date) << "\n\n";
    return made.str();
  }
  static std::string link_of(asked_for const& what) {
    std::ostringstream made;
    made << "dbs/" << what.database << "/colls/" << what.container << "/docs/" << what.id;
    return made.str();
  }
  static std::string target_of(asked_for const& what) {
    std::ostringstream made;
    made << "/dbs/" << encoded(what.database) << "/colls/" << encoded(what.container) << "/docs/"
         << encoded(what.id);
    return made.str();
  }
  static std::string key_of(asked_for const& what) {
    std::ostringstream made;
    made << "[\"" << what.article << "\"]";
    return made.str();
  }
};

struct message {
  std::string method;
  std::string target;
  header_lines headers;
  std::string body;
};

template <class Style, class Hmac>
message read_document(asked_for const& what, std::vector<unsigned char> const& key,
                      Hmac const& hmac) {
  message made{"GET", Style::target_of(what), {}, {}};
  made.headers.emplace_back("accept", "application/json");
  made.headers.emplace_back("x-ms-version", "2020-07-15");
  made.headers.emplace_back("x-ms-cosmos-sdk-supportedcapabilities", "1");
  made.headers.emplace_back("x-ms-documentdb-partitionkey", Style::key_of(what));
  made.headers.emplace_back("x-ms-session-token", session);
  std::string const date = date_of(moment());
  made.headers.emplace_back("x-ms-date", date);
  std::string const text = Style::text_to_sign(made.method, Style::link_of(what), date);
  made.headers.emplace_back(
      "authorization", Style::encoded("type=master&ver=1.0&sig=" + signature(key, text, hmac)));
  return made;
}

}  // namespace by_hand

// The request whole, so that rows can be compared by more than their signature.
std::string whole(std::string const& method, std::string const& target, auto const& headers,
                  std::string const& body) {
  std::string text = method + ' ' + target;
  for (auto const& [name, value] : headers) text.append("\n" + name + ": " + value);
  return text + "\n\n" + body;
}
std::string whole(request const& of) { return whole(of.method, of.target, of.headers, of.body); }
std::string whole(by_hand::message const& of) {
  return whole(of.method, of.target, of.headers, of.body);
}

// What was added last.
std::string_view authorization_of(request const& what) { return (what.headers.end() - 1)->value; }

}  // namespace

int main(int argc, char** argv) {
  auto run = bench::session{argc, argv};
  asked_for const wanted;
  auto const address = *cosmos::container_address::from(wanted.database, wanted.container);
  keyspan::partition_key const key{wanted.article};
  cosmos::credential const who{*cosmos::master_key::from(key_text)};
  auto const bytes = key_bytes();
  auto const now = moment();
  std::string const signed_text = cosmos::text_to_sign(
      "GET", cosmos::resource::document, address.link(wanted.id), cosmos::http_date(now));

  auto const built = [&] {
    return cosmos::read_document(address, key, wanted.id, {.session_token = session});
  };
  auto const built_and_signed = [&](auto const& hmac) {
    auto made = built();
    cosmos::authorize(made.message, who, made.about, made.link, now, hmac);
    return std::move(made.message);
  };
  auto const hand_made =
      by_hand::read_document<by_hand::strings>(wanted, bytes, cosmos::hmac_sha256);
  if (whole(hand_made) != whole(built_and_signed(cosmos::hmac_sha256))) {
    std::fprintf(stderr, "what is made by hand is another request:\n%s\n\n%s\n",
                 whole(hand_made).c_str(), whole(built_and_signed(cosmos::hmac_sha256)).c_str());
    return 1;
  }

  auto& reads = run.table("1 point read, asked for", "request").count_allocations();
  auto const floor = [&](auto const& hmac) {
    auto const digest = hmac(std::span<unsigned char const>{bytes}, signed_text);
    std::array<char, 44> base64{};
    bench::keep(keyspan::encode_base64(std::span{digest}, std::span<char>{base64}));
  };
  reads.floor("HMAC-SHA256 and base64", [&] { floor(cosmos::hmac_sha256); });
  reads.row("built", [&] { bench::keep(built()); });
  reads.row("signed", [&, made = built()]() mutable {
    cosmos::authorize(made.message, who, made.about, made.link, now);
    return authorization_of(made.message);
  });
  reads.row("built and signed", [&, made = request{}]() mutable {
    made = built_and_signed(cosmos::hmac_sha256);
    return authorization_of(made);
  });
  reads.row("by hand, std::string", [&, made = by_hand::message{}]() mutable {
    made = by_hand::read_document<by_hand::strings>(wanted, bytes, cosmos::hmac_sha256);
    return std::string_view{made.headers.back().second};
  });
  reads.row("by hand, ostringstream", [&, made = by_hand::message{}]() mutable {
    made = by_hand::read_document<by_hand::streams>(wanted, bytes, cosmos::hmac_sha256);
    return std::string_view{made.headers.back().second};
  });
#if KEYSPAN_BENCH_OPENSSL
  reads.row("OpenSSL's HMAC and base64", [&] { floor(openssl_hmac{}); });
  reads.row("built and signed, OpenSSL's HMAC", [&, made = request{}]() mutable {
    made = built_and_signed(openssl_hmac{});
    return authorization_of(made);
  });
#else
  reads.left_out("OpenSSL's HMAC and base64", "there is no OpenSSL");
#endif

  // The body is moved into the request and not looked at.
  std::string const body(1024, 'x');
  auto& writes = run.table("1 upsert of 1 KB, asked for", "request").count_allocations();
  writes.floor("copy the body", [&] { bench::keep(std::string{body}); });
  writes.row("copy and build", [&] { bench::keep(cosmos::upsert_document(address, key, body)); });

  double const hmac_ns = reads.ns("HMAC-SHA256 and base64");
  run.target("cosmos.request.built_and_signed", reads.ns("built and signed") / hmac_ns, "<=", 2);
  run.target(
      "cosmos.request.strings",
      (reads.ns("by hand, std::string") - hmac_ns) / (reads.ns("built and signed") - hmac_ns),
      ">=", 1);
  run.target("cosmos.request.streams", reads.ratio("by hand, ostringstream", "built and signed"),
             ">=", 1.8);
  return run.finish();
}
