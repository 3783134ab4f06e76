// How a program ends that breaks a promise. Built twice: as usual, and without exceptions and RTTI.

#include <keyspan/core.hpp>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <string>
#include <string_view>

namespace {

using keyspan::errc;
using keyspan::result;

result<int> half_of(int number) {
  if (number % 2 != 0) return keyspan::fail(errc::not_representable, number, " has no half");
  return number / 2;
}

void require(bool holds, char const* what) {
  if (holds) return;
  std::fprintf(stderr, "it does not hold that %s\n", what);
  std::exit(1);
}

// Something of every header of core, so that all of them are compiled and linked this way.
void live() {
  require(half_of(4).value() == 2, "half of 4 is 2");
  require(!half_of(3) && half_of(3).error().code == errc::not_representable, "3 has no half");
  require(half_of(8).and_then(half_of).transform([](int n) { return n + 1; }) == 3,
          "8 / 4 + 1 is 3");
  std::array<char, 4> digits{};
  std::array<std::byte, 2> const bytes{std::byte{0xAB}, std::byte{0x01}};
  require(keyspan::encode_hex(std::span{bytes}, digits) == "AB01", "bytes have digits");
  std::array<std::byte, 2> read{};
  require(keyspan::decode_hex("AB01", std::span{read}) == 2u && read == bytes, "digits have bytes");
  std::string text;
  keyspan::json_writer out{text};
  out.begin_array().string("a\n").number(0.1).boolean(true).end_array();
  require(out.finish() && text == R"(["a\n",0.1,true])", "JSON is written");
  keyspan::json_reader in{text};
  in.begin_array();
  require(in.next_element() && in.string() == "a\n", "a string is read");
  require(in.next_element() && in.number() == 0.1, "a number is read");
  require(in.next_element() && in.boolean() && !in.next_element() && in.finish(0), "JSON is read");
  keyspan::json_reader wrong{"[1,"};
  wrong.skip();
  require(wrong.finish(0).error().code == errc::malformed, "what is malformed is refused");
  keyspan::set_contract_handler([](keyspan::violation const&) {});
  require(keyspan::set_contract_handler(nullptr) != &keyspan::print_violation, "a handler is set");
}

}  // namespace

int main(int count, char** arguments) {
  std::string_view const way = count == 2 ? arguments[1] : "live";
  if (way == "live") {
    live();
    return 0;
  }
  if (way == "promise") keyspan::expects(false, "nobody breaks this promise");
  if (way == "value") static_cast<void>(half_of(7).value());
  if (way == "void value") result<void>{keyspan::fail(errc::lease_lost, "lease 9")}.value();
  if (way == "handler that returns") {
    keyspan::set_contract_handler(
        [](keyspan::violation const&) { std::fprintf(stderr, "heard\n"); });
    keyspan::expects(false, "nobody breaks this promise");
  }
  std::fprintf(stderr, "still alive\n");
  return 0;
}
