// test/fuzz/cursor_fuzz.cpp — any text as a cursor's: an error with a place, or a cursor that is
// written and read again to the same.
#include "cursor_text.hpp"
#include "fuzz.hpp"

#include <keyspan/feed/cursor.hpp>
#include <keyspan/hash/any_scheme.hpp>
#include <keyspan/hash/cassandra.hpp>
#include <keyspan/hash/identity.hpp>
#include <keyspan/hash/redis_cluster.hpp>
#include <keyspan/range/token_range.hpp>

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace {

using fuzz::require;

template <class Scheme>
void look_at(Scheme const& scheme, std::string_view text) {
  using cursor = keyspan::composite_cursor<keyspan::token_of_scheme<Scheme>>;
  auto const read = [&](std::string_view from) { return cursor::from_text(scheme, from); };
  fuzz::look_at_cursor(text, read, [&](cursor const& found) {
    require(!found.parts.empty(), "a cursor has parts");
    require(found.scheme == scheme.name(), "a cursor is of the scheme that reads it");
    for (std::size_t i = 0; i < found.parts.size() && i < 50; ++i)
      for (std::size_t j = 0; j < i; ++j)
        require(!overlaps(found.parts[i].range, found.parts[j].range), "parts lie apart");
  });
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  auto const text = fuzz::text_of(data, size);
  look_at(keyspan::any_scheme{keyspan::cosmos_v1}, text);
  look_at(keyspan::cosmos_v2, text);
  look_at(keyspan::cosmos_multihash, text);
  look_at(keyspan::redis_cluster, text);
  look_at(keyspan::cassandra, text);
  look_at(keyspan::identity, text);
  return 0;
}
