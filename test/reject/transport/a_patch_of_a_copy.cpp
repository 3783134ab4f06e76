// reject: takes_the_document_by_reference
#include <keyspan/hash/cosmos_v2.hpp>
#include <keyspan/transport/memory_container.hpp>

#include <string>

struct review {
  std::string id, article;
  int rating = 0;
};

// What changes a copy of the document changes nothing.
void praise(keyspan::memory_container<review, keyspan::cosmos_v2_scheme>& in) {
#ifdef KEYSPAN_GOOD_TWIN
  auto const add = [](review& one) { ++one.rating; };
#else
  auto const add = [](review one) { ++one.rating; };
#endif
  static_cast<void>(in.patch("redmond", "r-1", add));
}
