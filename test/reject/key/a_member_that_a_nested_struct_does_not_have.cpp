// reject: has_member_named.*person.*"name"
#include <keyspan/key/extractor.hpp>

#include <boost/hana/adapt_struct.hpp>

#include <optional>
#include <string>

struct person {
  std::string id;
};
struct message {
  std::string tenant;
  std::optional<person> user;
};
BOOST_HANA_ADAPT_STRUCT(person, id);
BOOST_HANA_ADAPT_STRUCT(message, tenant, user);

message const written;
#ifdef KEYSPAN_GOOD_TWIN
auto const key = keyspan::key_of(keyspan::path<"/tenant">, keyspan::path<"/user/id">)(written);
#else
auto const key = keyspan::key_of(keyspan::path<"/tenant">, keyspan::path<"/user/name">)(written);
#endif
