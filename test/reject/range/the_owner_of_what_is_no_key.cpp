// reject: routable_by
#include <keyspan/hash/cosmos_v2.hpp>
#include <keyspan/range/routing.hpp>

#include <string>

using namespace keyspan;

struct review {
  std::string article_id;
};

auto owner(routing<cosmos_v2_scheme> const& map, review const& one) {
#ifdef KEYSPAN_GOOD_TWIN
  return map.owner_of(one.article_id);
#else
  return map.owner_of(one);
#endif
}
