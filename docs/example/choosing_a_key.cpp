// Describing partition keys, as docs/guide/choosing_a_key.md tells it.
#include <keyspan/keyspan.hpp>

#include <boost/hana/adapt_struct.hpp>

#include <chrono>
#include <iostream>
#include <string>

using namespace std::chrono_literals;

// [region: structs]
struct address {
  std::string city;
};
BOOST_HANA_ADAPT_STRUCT(address, city);

struct order {
  std::string id, tenant;
  address ship_to;
  double amount = 0;
  std::chrono::sys_seconds placed_at;
};
BOOST_HANA_ADAPT_STRUCT(order, id, tenant, ship_to, amount, placed_at);
// [end: structs]

// [region: key_of]
constexpr auto by_tenant = keyspan::key_of(&order::tenant);
constexpr auto by_city = keyspan::key_of<order>(keyspan::path<"/ship_to/city">);
constexpr auto by_tenant_and_city =  // hierarchical
    keyspan::key_of(keyspan::path<"/tenant">, keyspan::path<"/ship_to/city">);
constexpr auto by_size = keyspan::key_of([](order const& o) { return o.amount >= 1000; });
// [end: key_of]

// [region: synthetic]
constexpr auto by_city_and_day =
    keyspan::joined("-", keyspan::path<"/ship_to/city">,
                    keyspan::time_bucket(&order::placed_at, keyspan::time_unit::day));
constexpr auto by_spread_tenant = keyspan::bucketed(&order::tenant, 4, &order::id);
// [end: synthetic]

// [region: container]
constexpr auto orders = keyspan::documents_container<"/tenant", "/ship_to/city">();
// [end: container]

int main() {
  order const o{.id = "o-17",
                .tenant = "contoso",
                .ship_to = {"Oslo"},
                .amount = 12.5,
                .placed_at = std::chrono::sys_days{2026y / 11 / 18} + 9h};

  // [region: use]
  std::cout << *by_tenant(o) << ' ' << *by_city(o) << ' ' << *by_tenant_and_city(o) << ' '
            << *by_size(o) << '\n';
  // [end: use]

  // [region: spread]
  std::cout << *by_city_and_day(o) << '\n' << *by_spread_tenant(o) << ", one of";
  for (keyspan::partition_key const& key : by_spread_tenant.all_keys("contoso"))
    std::cout << ' ' << key;
  std::cout << '\n';
  // [end: spread]

  // [region: both_keys]
  std::cout << "partition key " << *orders.key(o) << ", row key " << *orders.row_key(o) << '\n';
  keyspan::partition_key const everything{"contoso"};
  std::cout << orders.fits(everything).error() << '\n';
  // [end: both_keys]

  // [region: token]
  auto const token = keyspan::token_of(keyspan::cosmos_multihash, orders.key(o));
  auto const of_tenant =
      keyspan::prefix_bounds(keyspan::cosmos_multihash, everything, orders.path_count());
  std::cout << std::boolalpha << "under its tenant: " << of_tenant->contains(*token) << '\n';
  // [end: token]

  // [region: partition]
  std::size_t const partitions = 5;
  std::size_t partition = partitions - 1;
  while (*token < keyspan::cosmos_multihash.boundary(partition, partitions)) --partition;
  std::cout << "partition " << partition << " of " << partitions << '\n';
  // [end: partition]

  // [region: wire]
  std::string const header =
      keyspan::to_key_json(keyspan::partition_key{"Zürich", 1.5, keyspan::undefined});
  std::cout << header << " is " << *keyspan::read_key_json(header) << '\n';
  // [end: wire]
}
