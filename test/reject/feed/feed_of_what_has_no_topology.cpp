// reject: answers_topology_with_partitions
#include <keyspan/feed/feed.hpp>
#include <keyspan/feed/scripted_source.hpp>
#include <keyspan/hash/cosmos_v2.hpp>

#include <string>

using whole_source = keyspan::scripted_source<int, keyspan::cosmos_v2_scheme>;

struct half_source : whole_source {
  using whole_source::whole_source;
#ifndef KEYSPAN_GOOD_TWIN
  void topology(std::string const& known) = delete;
#endif
};

keyspan::feed<half_source>* place = nullptr;
