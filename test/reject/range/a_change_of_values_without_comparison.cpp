// reject: a change names values, so that values of the map are compared with ==
#include <keyspan/range/topology.hpp>

struct node {
  int number;
#ifdef KEYSPAN_GOOD_TWIN
  bool operator==(node const&) const = default;
#endif
};

bool change(keyspan::range_map<int, node>& partitions,
            keyspan::merge_change<int, node> const& merge) {
  return keyspan::apply(partitions, merge).has_value();
}
