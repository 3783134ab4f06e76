// The walk of one document through the library, as docs/tour.md tells it.
#include <keyspan/keyspan.hpp>

#include <bit>
#include <cstdint>
#include <iostream>
#include <string_view>

namespace {

// [region: read]
struct order {
  double amount = 0;
  bool paid = false;
};

keyspan::result<order> parse_order(std::string_view text) {
  keyspan::json_reader in{text};
  order out;
  in.begin_object();
  for (std::string_view name; in.next_member(name);) {
    if (name == "amount") {
      out.amount = in.number();
    } else if (name == "paid") {
      out.paid = in.boolean();
    } else {
      in.skip();
    }
  }
  return in.finish(out);
}
// [end: read]

// [region: bytes]
// The eight bytes of a double, most significant first, in hexadecimal.
keyspan::inline_text<16> bits_of(double value) {
  char bytes[8];
  keyspan::store_be(bytes, std::bit_cast<std::uint64_t>(value));
  char digits[16];
  return keyspan::encode_hex(std::span{bytes}, digits);
}
// [end: bytes]

// [region: promise]
constexpr double price_of_one(order const& o, int pieces) {
  keyspan::expects(pieces > 0, "an order is of at least one piece");
  return o.amount / pieces;
}

static_assert(price_of_one({.amount = 10, .paid = true}, 4) == 2.5);
// static_assert(price_of_one({.amount = 10, .paid = true}, 0) == 0);   does not compile
// [end: promise]

}  // namespace

int main() {
  // [region: walk]
  auto const amount_of = [](order const& o) { return o.amount; };

  for (std::string_view text : {R"({"id": "o-1", "amount": 0.1, "paid": true})",  //
                                R"({"id": "o-2", "amount": 0.1, "paid": yes})"}) {
    keyspan::result<double> const amount = parse_order(text).transform(amount_of);
    if (amount) {
      std::cout << *amount << " is " << bits_of(*amount) << '\n';
    } else {
      std::cout << amount.error() << '\n'
                << "  " << keyspan::advice_for(amount.error().code) << '\n';
    }
  }
  // [end: walk]
}
