// From a struct to its place in the hash space, as README.md shows it.
// [region: quick_start]
#include <keyspan/keyspan.hpp>

#include <boost/hana/adapt_struct.hpp>

#include <array>
#include <iostream>
#include <string>

struct review {
  std::string id, article_id;
  int rating = 0;
};
BOOST_HANA_ADAPT_STRUCT(review, id, article_id, rating);

// Said once: the reviews of an article live together. A misspelt member does not compile.
constexpr auto by_article = keyspan::key_of<review>(keyspan::path<"/article_id">);

// The very token that the service computes; the compiler can do it, too.
static_assert(keyspan::to_hex(keyspan::token_of(keyspan::cosmos_v2,
                                                keyspan::partition_key{"redmond"})) ==
              "22E342F38A486A088463DFF7838A5963");

int main() {
  // A container of four partitions, cut where the service cuts a new one.
  auto const partitions = keyspan::evenly_split(keyspan::cosmos_v2, 4);

  for (review const& r : std::array{review{"r-1", "redmond", 5},  //
                                    review{"r-2", "red\xFFmond", 1}}) {
    auto const token = keyspan::token_of(keyspan::cosmos_v2, by_article(r));
    if (token) {
      std::cout << r.id << " lives at " << keyspan::to_hex(*token) << ", in partition "
                << partitions.at(*token) << '\n';
    } else {
      std::cout << r.id << ": " << token.error() << '\n';
    }
  }
}
// [end: quick_start]
