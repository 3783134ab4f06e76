// reject-gcc: required for the satisfaction of 'feeds_to_merge<
// reject-clang: answers_topology_with_partitions
#include <keyspan/async/ready.hpp>
#include <keyspan/feed/scripted_source.hpp>
#include <keyspan/hash/fast64.hpp>
#include <keyspan/merge/merge_async.hpp>

#include <string_view>

struct entry {
  int number;
};
using scripted = keyspan::scripted_source<entry, keyspan::fast64_scheme>;

// Reads pages, and says nowhere which partitions there are.
struct half_source {
  using scheme_type = keyspan::fast64_scheme;
  using page_type = scripted::page_type;

  std::string_view container() const { return "half"; }
  keyspan::fast64_scheme scheme() const { return {}; }
  keyspan::ready<keyspan::result<page_type>> read(
      keyspan::token_range<keyspan::token_of_scheme<keyspan::fast64_scheme>> const&,
      keyspan::continuation const&, keyspan::read_request const&) {
    return {keyspan::result<page_type>{page_type{}}};
  }
};

void open([[maybe_unused]] scripted& whole, [[maybe_unused]] half_source& half) {
#ifdef KEYSPAN_GOOD_TWIN
  auto merged = keyspan::merge_async(whole, keyspan::ascending(&entry::number));
#else
  auto merged = keyspan::merge_async(half, keyspan::ascending(&entry::number));
#endif
  static_cast<void>(merged);
}
