// test/fuzz/lease_record_fuzz.cpp — any text as that of a record of leases: an error with a place,
// or a record that is written and read again to the same.
#include "cursor_text.hpp"
#include "fuzz.hpp"

#include <keyspan/hash/any_scheme.hpp>
#include <keyspan/hash/cassandra.hpp>
#include <keyspan/hash/identity.hpp>
#include <keyspan/hash/redis_cluster.hpp>
#include <keyspan/lease/lease_record.hpp>
#include <keyspan/range/cover.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace {

using fuzz::require;

template <class Position, class Range>
void require_cover(Position const& position, Range const& whole) {
  std::vector<Range> ranges;
  for (auto const& part : position.parts) ranges.push_back(part.range);
  require(cover_of(ranges, whole).is_exact(), "a position covers the range of its lease");
}

// A position has a check: once it is mended, what stands behind it is met as well.
std::string with_check_mended(std::string_view text, std::string_view said) {
  constexpr std::string_view before = ": the check is ";
  constexpr std::string_view between = ", that of these values is ";
  auto const first = said.find(before);
  auto const second = said.find(between);
  if (first == said.npos || second == said.npos || second < first) return {};
  auto const old = said.substr(first + before.size(), second - first - before.size());
  auto const at = text.rfind(old);
  if (old.size() != 8 || at == text.npos) return {};
  std::string mended{text};
  return mended.replace(at, old.size(), said.substr(second + between.size(), 8));
}

template <class Scheme>
void look_at_lease(Scheme const& scheme, std::string_view text) {
  using record = keyspan::lease_record<keyspan::token_of_scheme<Scheme>>;
  auto const read = [&](std::string_view from) { return record::from_text(scheme, from); };
  auto const look = [](record const& found) {
    require(found.weight >= 0, "a weight is not below zero");
    require(found.facts.held_for.count() >= 0, "nor is a duration");
    require_cover(found.position, found.range);
    if (found.reset) require_cover(*found.reset, found.range);
  };
  if (fuzz::is_cursor(text, read, look)) return;
  auto const why = read(text).error();
  auto const mended = with_check_mended(text, why.text.view());
  if (!mended.empty()) fuzz::is_cursor(mended, read, look);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  auto const text = fuzz::text_of(data, size);
  look_at_lease(keyspan::any_scheme{keyspan::cosmos_v2}, text);
  look_at_lease(keyspan::cosmos_v2, text);
  look_at_lease(keyspan::redis_cluster, text);
  look_at_lease(keyspan::cassandra, text);
  look_at_lease(keyspan::identity, text);
  fuzz::is_cursor(text, keyspan::member_record::from_text, [](keyspan::member_record const& found) {
    require(static_cast<bool>(found.session), "a member is somebody");
    require(found.held_for.count() >= 0, "a duration is not below zero");
  });
  fuzz::is_cursor(text, keyspan::layout_record::from_text, [](keyspan::layout_record const&) {});
  return 0;
}
