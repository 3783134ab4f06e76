// reject: document_outlives_its_key<
#include <keyspan/key/extractor.hpp>

#include <string>

struct person {
  std::string id;
};
person load();

bool has_key() {
  constexpr auto by_id = keyspan::key_of(&person::id);
#ifdef KEYSPAN_GOOD_TWIN
  person const loaded = load();
  auto const key = by_id(loaded);
#else
  auto const key = by_id(load());
#endif
  return key.has_value();
}
