// From a struct to its partition, and what changed, read through a split, as README.md shows it.
// [region: quick_start]
#include <keyspan/keyspan.hpp>

#include <boost/hana/adapt_struct.hpp>

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

// Four partitions in memory, that stand for a service's.
using reviews = keyspan::scripted_source<review, keyspan::cosmos_v2_scheme>;

int main() {
  reviews container{keyspan::cosmos_v2, 4};
  for (review const& r : {review{"r-1", "redmond", 5}, {"r-2", "seattle", 4}})
    container.write(by_article(r), r);

  // Everything that changed, page by page, partition by partition.
  keyspan::feed changes{container};
  for (review const& r : changes) std::cout << r.id << " of " << r.article_id << '\n';

  // Where that stands is a line of text, good for ever: after splits, in another process.
  std::string const kept = changes.cursor().to_text();
  container.split("2");
  review const next{"r-3", "redmond", 3};
  container.write(by_article(next), next);

  keyspan::feed resumed{container, {.start = keyspan::cursor_of(container, kept).value()}};
  for (review const& r : resumed)
    std::cout << r.id << " since then, in " << resumed.range() << '\n';

  // What is damaged is refused, and the error says what is wrong with it.
  std::cout << keyspan::cursor_of(container, kept.substr(0, 40)).error() << '\n';
}
// [end: quick_start]
