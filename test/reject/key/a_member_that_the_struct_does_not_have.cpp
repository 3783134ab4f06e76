// reject: has_member_named.*review.*"artcle_id"
#include <keyspan/key/extractor.hpp>

#include <boost/hana/adapt_struct.hpp>

#include <string>

struct review {
  std::string id, article_id;
};
BOOST_HANA_ADAPT_STRUCT(review, id, article_id);

#ifdef KEYSPAN_GOOD_TWIN
constexpr auto by_article = keyspan::key_of<review>(keyspan::path<"/article_id">);
#else
constexpr auto by_article = keyspan::key_of<review>(keyspan::path<"/artcle_id">);
#endif
