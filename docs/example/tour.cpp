// The walk of one document through the library, as docs/tour.md tells it.
#include <keyspan/keyspan.hpp>

#include <iostream>
#include <string>
#include <string_view>

namespace {

// [region: read]
struct order {
  std::string tenant;
  double amount = 0;
  bool paid = false;
};

keyspan::result<order> parse_order(std::string_view text) {
  keyspan::json_reader in{text};
  order out;
  in.begin_object();
  for (std::string_view name; in.next_member(name);) {
    if (name == "tenant") {
      out.tenant = in.string();
    } else if (name == "amount") {
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

// [region: key]
constexpr auto by_tenant = keyspan::key_of(&order::tenant, &order::paid);
// [end: key]

// [region: promise]
constexpr double price_of_one(double amount, int pieces) {
  keyspan::expects(pieces > 0, "an order is of at least one piece");
  return amount / pieces;
}

static_assert(price_of_one(10, 4) == 2.5);
// static_assert(price_of_one(10, 0) == 0);   does not compile
// [end: promise]

}  // namespace

int main() {
  // [region: walk]
  for (std::string_view text : {R"({"tenant": "contoso", "amount": 0.1, "paid": true})",  //
                                R"({"tenant": "contoso", "amount": 0.1, "paid": false})",
                                R"({"tenant": "contoso", "amount": 0.1, "paid": yes})"}) {
    keyspan::result<order> const read = parse_order(text);
    if (!read) {
      std::cout << read.error() << '\n' << "  " << keyspan::advice_for(read.error().code) << '\n';
      continue;
    }
    auto const key = by_tenant(*read);
    auto const token = keyspan::token_of(keyspan::cosmos_multihash, key);
    std::cout << *key << " lives at " << *keyspan::to_hex(token) << '\n';
  }
  // [end: walk]

  // [region: prefix]
  auto const everything = keyspan::prefix_bounds(keyspan::cosmos_multihash, "contoso", 2);
  std::cout << "all of contoso, from " << keyspan::to_hex(everything->lower) << '\n'
            << "           up to " << keyspan::to_hex(everything->upper) << '\n';
  // [end: prefix]

  // [region: owner]
  auto partitions = keyspan::evenly_split(keyspan::cosmos_multihash, 3);
  auto const contoso = keyspan::token_range{*everything};
  for (auto const& [range, number] : partitions.overlapping(contoso))
    std::cout << "partition " << number << " has " << range << '\n';

  auto const cut = *keyspan::token_multihash::from_hex("0A4BA22644167DA7161C260336FB542327");
  partitions.split(cut, 3, 4);
  for (auto const& [range, number] : partitions.overlapping(contoso))
    std::cout << "partition " << number << " has " << range << '\n';
  // [end: owner]

  // [region: feed]
  keyspan::scripted_source<order, keyspan::cosmos_multihash_scheme> container{
      keyspan::cosmos_multihash, 3};
  for (order const& o : {order{"contoso", 0.1, true}, {"fabrikam", 7, true}, {"contoso", 2, false}})
    container.write(by_tenant(o), o);

  keyspan::key_prefix const all_of_contoso{keyspan::partition_key{"contoso"}, 2};
  keyspan::feed changes{container, {.scope = all_of_contoso}};
  for (order const& o : changes) std::cout << o.tenant << " orders for " << o.amount << '\n';
  // [end: feed]

  // [region: cursor]
  container.split("0", cut);
  order const later{"contoso", 3, true};
  container.write(by_tenant(later), later);
  for (order const& o : changes) std::cout << o.tenant << " orders for " << o.amount << '\n';
  for (auto const& part : changes.cursor().parts)
    std::cout << "read up to " << part.from.text() << " in " << part.range << '\n';
  // [end: cursor]
}
