// reject: regional_container
#include <keyspan/async/manual_clock.hpp>
#include <keyspan/feed/scripted_source.hpp>
#include <keyspan/hash/cosmos_v2.hpp>
#include <keyspan/region/united_regions.hpp>
#include <keyspan/transport/memory_container.hpp>

#include <cstddef>
#include <string>

struct review {
  std::string id, article;
};

// A source of bare items does not say which document is which, nor when it was written.
#ifdef KEYSPAN_GOOD_TWIN
using reviews = keyspan::memory_container<review, keyspan::cosmos_v2_scheme>;
#else
using reviews = keyspan::scripted_source<review, keyspan::cosmos_v2_scheme>;
#endif

using everywhere = keyspan::united_regions<reviews, keyspan::manual_clock>;
std::size_t regions_of(everywhere const& all) { return all.layout().size(); }
