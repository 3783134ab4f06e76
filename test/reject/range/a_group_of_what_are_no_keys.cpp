// reject: groupable_by
#include <keyspan/hash/cosmos_v2.hpp>
#include <keyspan/range/routing.hpp>

#include <string>
#include <vector>

using namespace keyspan;

struct review {
  std::string article_id;
};

auto groups(routing<cosmos_v2_scheme> const& map, std::vector<review> const& reviews) {
#ifdef KEYSPAN_GOOD_TWIN
  return map.group(reviews, &review::article_id);
#else
  return map.group(reviews);
#endif
}
