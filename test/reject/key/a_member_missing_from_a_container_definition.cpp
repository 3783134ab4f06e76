// reject: has_member_named.*order.*"tenat"
#include <keyspan/key/container_definition.hpp>

#include <boost/hana/adapt_struct.hpp>

#include <string>

struct order {
  std::string id, tenant;
};
BOOST_HANA_ADAPT_STRUCT(order, id, tenant);

order const placed;
#ifdef KEYSPAN_GOOD_TWIN
auto const key = keyspan::documents_container<"/tenant">().key(placed);
#else
auto const key = keyspan::documents_container<"/tenat">().key(placed);
#endif
