// reject-gcc: required for the satisfaction of 'page_of_items<
// reject-clang: does not satisfy 'page_of_items'
#include <keyspan/feed/page.hpp>

#include <deque>
#include <vector>

// A loop over items walks from one to the next without asking.
#ifdef KEYSPAN_GOOD_TWIN
using items = std::vector<int>;
#else
using items = std::deque<int>;
#endif
template <keyspan::page_of_items Page>
int first_of(Page const& page) {
  return *page.items.begin();
}
int use(keyspan::page<int, items> const& page) { return first_of(page); }
