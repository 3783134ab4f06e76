// test/fuzz/merged_cursor_fuzz.cpp — any text as that of a merge's cursor: an error with a place,
// or a cursor that is written and read again to the same.
#include "cursor_text.hpp"
#include "fuzz.hpp"

#include <keyspan/hash/any_scheme.hpp>
#include <keyspan/hash/redis_cluster.hpp>
#include <keyspan/merge/merged_cursor.hpp>

#include <algorithm>
#include <cstdint>
#include <string_view>

namespace {

using fuzz::require;

template <class Scheme>
void look_at(Scheme const& scheme, std::string_view text) {
  using cursor = keyspan::merged_cursor<keyspan::token_of_scheme<Scheme>>;
  auto const read = [&](std::string_view from) { return cursor::from_text(scheme, from); };
  fuzz::look_at_cursor(text, read, [&](cursor const& found) {
    for (auto const& feed : found.feeds) {
      require(!feed.parts.empty(), "the cursor of a feed has parts");
      require(feed.scheme == scheme.name(), "a cursor is of the scheme that reads it");
      for (auto const& part : feed.parts) {
        require(part.given.alike <= part.given.count, "no more are alike than were given");
        require(std::is_sorted(part.given.identities.begin(), part.given.identities.end()),
                "identities are in their order");
      }
    }
  });
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  auto const text = fuzz::text_of(data, size);
  look_at(keyspan::any_scheme{keyspan::cosmos_v2}, text);
  look_at(keyspan::cosmos_v2, text);
  look_at(keyspan::redis_cluster, text);
  return 0;
}
