// reject: returns_nothing_or_a_result_of_nothing
#include <keyspan/transport/item_batch.hpp>

#include <string>

struct review {
  std::string id, article;
  int rating = 0;
};

// A patch that refuses says so by an error: what else it returned would be lost.
void praise(keyspan::item_batch<review>& work) {
#ifdef KEYSPAN_GOOD_TWIN
  work.patch("r-1", [](review& one) -> keyspan::result<void> {
    if (one.rating == 5) return keyspan::fail(keyspan::errc::invalid_options, "there is no more");
    ++one.rating;
    return {};
  });
#else
  work.patch("r-1", [](review& one) { return ++one.rating <= 5; });
#endif
}
