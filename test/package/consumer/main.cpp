// test/package/consumer/main.cpp — a program as a user would write it.
#include <keyspan/keyspan.hpp>

#include <boost/hana/adapt_struct.hpp>

#include <iostream>
#include <string>

struct review {
  std::string id, article_id;
  int rating = 0;
};
BOOST_HANA_ADAPT_STRUCT(review, id, article_id, rating);

namespace {

constexpr auto by_article = keyspan::key_of<review>(keyspan::path<"/article_id">);

auto place_of(review const& r) {
  return keyspan::to_hex(keyspan::token_of(keyspan::cosmos_v2, by_article(r)));
}

}  // namespace

int main() {
  auto const good = place_of({"r-1", "redmond", 5});
  auto const bad = place_of({"r-2", "red\xFFmond", 1});
  if (good != "22E342F38A486A088463DFF7838A5963" || bad) return 1;
  std::cout << *good << '\n' << bad.error() << '\n';
}
