// reject-gcc: key_or_result.*person
// reject-clang: person.* does not satisfy 'key_or_result'
#include <keyspan/key/extractor.hpp>

#include <string>

struct person {
  std::string id;
};

template <keyspan::key_extractor<person> Extractor>
void partition_by(Extractor const&) {}

void choose() {
#ifdef KEYSPAN_GOOD_TWIN
  partition_by([](person const& p) { return keyspan::partition_key_view{p.id}; });
#else
  partition_by([](person const& p) { return p; });
#endif
}
