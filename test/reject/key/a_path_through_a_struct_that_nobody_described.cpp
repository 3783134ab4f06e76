// reject: described_struct_or_document
#include <keyspan/key/extractor.hpp>
#include <keyspan/key/key_path.hpp>

#ifdef KEYSPAN_GOOD_TWIN
#include <boost/hana/adapt_struct.hpp>
#endif

struct order {
  int number;
};
#ifdef KEYSPAN_GOOD_TWIN
BOOST_HANA_ADAPT_STRUCT(order, number);
#endif

constexpr auto by_number = keyspan::key_of<order>(keyspan::path<"/number">);
