// reject: described_by_BOOST_HANA_ADAPT_STRUCT_or_to_nlohmann_json
#include <keyspan/cosmos/document_json.hpp>

#include <boost/hana/adapt_struct.hpp>

#include <string>

struct review {
  std::string id;
};
#ifdef KEYSPAN_GOOD_TWIN
BOOST_HANA_ADAPT_STRUCT(review, id);
#endif

std::string text_of(review const& one) {
  return *keyspan::cosmos::text_of(*keyspan::cosmos::json_of(one));
}
