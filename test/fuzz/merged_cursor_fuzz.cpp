// test/fuzz/merged_cursor_fuzz.cpp — any text as that of a merge's cursor: an error with a place,
// or a cursor that is written and read again to the same.
#include "fuzz.hpp"

#include <keyspan/hash/any_scheme.hpp>
#include <keyspan/hash/redis_cluster.hpp>
#include <keyspan/merge/merged_cursor.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace {

using fuzz::require;

template <class Scheme>
keyspan::result<keyspan::merged_cursor<keyspan::token_of_scheme<Scheme>>> read(
    Scheme const& scheme, std::string_view text) {
  return keyspan::merged_cursor<keyspan::token_of_scheme<Scheme>>::from_text(scheme, text);
}

template <class Scheme>
bool is_cursor(Scheme const& scheme, std::string_view text) {
  auto const found = read(scheme, text);
  if (!found) {
    auto const& error = found.error();
    require(error.position.offset <= text.size(), "an error lies in the text");
    require(!error.text.empty(), "an error says what was wrong");
    return false;
  }
  for (auto const& feed : found->feeds) {
    require(!feed.parts.empty(), "the cursor of a feed has parts");
    require(feed.scheme == scheme.name(), "a cursor is of the scheme that reads it");
    for (auto const& part : feed.parts) {
      require(part.given.alike <= part.given.count, "no more are alike than were given");
      require(std::is_sorted(part.given.identities.begin(), part.given.identities.end()),
              "identities are in their order");
    }
  }
  auto const written = found->to_text();
  auto const again = read(scheme, written);
  require(again.has_value() && *again == *found, "what is written is read to the same");
  require(again->to_text() == written, "and is written to the same text");
  return true;
}

// With the check that is told of a change, so that what stands behind it is met as well.
template <class Scheme>
void look_at(Scheme const& scheme, std::string_view text) {
  if (is_cursor(scheme, text)) return;
  auto const why = read(scheme, text).error();
  std::string_view const said = why.text.view();
  constexpr std::string_view before = ", that of these values is ";
  auto const at = said.find(before);
  if (!said.starts_with("the check is ") || at == said.npos) return;
  std::string mended{text};
  auto const begin = why.position.offset;
  if (begin >= mended.size() || mended[begin] != '"') return;  // the check of one of its feeds
  auto const end = mended.find('"', begin + 1);
  if (end == mended.npos) return;
  mended.replace(begin + 1, end - begin - 1, said.substr(at + before.size(), 8));
  is_cursor(scheme, mended);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  auto const text = fuzz::text_of(data, size);
  look_at(keyspan::any_scheme{keyspan::cosmos_v2}, text);
  look_at(keyspan::cosmos_v2, text);
  look_at(keyspan::redis_cluster, text);
  return 0;
}
