// test/package/consumer/cosmos.cpp — a program that uses keyspan::cosmos.
#include <keyspan/cosmos.hpp>
#include <keyspan/cosmos/document_json.hpp>

#include <boost/hana/adapt_struct.hpp>

#include <iostream>
#include <string>

struct review {
  std::string id, article_id;
  int rating = 0;
};
BOOST_HANA_ADAPT_STRUCT(review, id, article_id, rating);

int main() {
  auto const json = keyspan::cosmos::json_of(review{"r-1", "redmond", 5});
  if (!json) return 1;
  auto const text = keyspan::cosmos::text_of(*json);
  auto const back = keyspan::cosmos::document_from<review>(*json);
  if (!text || !back || back->rating != 5) return 1;
  std::cout << "keyspan::cosmos works with " << *text << '\n';
}
