// test/fuzz/foreign_cursor_fuzz.cpp — any text as a position or a feed range of another SDK: an
// error that says why, or one that makes sense in the container.
#include "fuzz.hpp"

#include <keyspan/core/base64.hpp>
#include <keyspan/feed/cursor.hpp>
#include <keyspan/feed/feed_scope.hpp>
#include <keyspan/feed/foreign_cursor.hpp>
#include <keyspan/hash/any_scheme.hpp>
#include <keyspan/range/partition.hpp>
#include <keyspan/range/routing.hpp>
#include <keyspan/range/token_range.hpp>

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace {

using fuzz::require;

template <class Scheme>
keyspan::routing<Scheme> known(Scheme const& scheme) {
  using token_type = keyspan::token_of_scheme<Scheme>;
  using partition = keyspan::partition<token_type>;
  auto const low = scheme.boundary(1, 3);
  auto const high = scheme.boundary(2, 3);
  std::vector<partition> list;
  list.push_back({"1", {scheme.minimum(), low}, {"0"}});
  list.push_back({"3", {low, high}, {"0", "2"}});
  list.push_back({"4", {high, keyspan::space_end}, {"0", "2"}});
  return *keyspan::routing_of(scheme, std::move(list));
}

template <class Scheme>
void look_at(keyspan::routing<Scheme> const& now, std::string_view text, std::size_t paths) {
  using cursor = keyspan::composite_cursor<keyspan::token_of_scheme<Scheme>>;
  auto const found = keyspan::foreign_cursor(now, text, paths);
  if (found) {
    require(!found->container.empty() && !found->parts.empty(), "a position is of a container");
    auto const again = cursor::from_text(now.scheme(), found->to_text());
    require(again.has_value() && *again == *found, "it is a cursor like any other");
  } else {
    require(!found.error().text.empty(), "an error says what was wrong");
    require(found.error().position.offset <= text.size(), "an error lies in the text");
  }
  auto const scope = keyspan::foreign_feed_range(now, text, paths);
  if (scope) {
    require(keyspan::scope_of(now.scheme(), *scope).has_value(), "a feed range lies in the space");
  } else {
    require(!scope.error().text.empty(), "an error says what was wrong");
  }
  require(!(found && scope), "a text is a position or a feed range");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  static auto const v1 = known(keyspan::any_scheme{keyspan::cosmos_v1});
  static auto const v2 = known(keyspan::cosmos_v2);
  static auto const many = known(keyspan::cosmos_multihash);
  auto const text = fuzz::text_of(data, size);
  look_at(v1, text, 0);
  look_at(v2, text, 0);
  look_at(v2, text, 1);
  look_at(many, text, 0);
  look_at(many, text, 2);
  std::string coded(keyspan::base64_size(size), ' ');
  keyspan::encode_base64(std::span{text}, coded);
  look_at(v2, coded, 0);
  return 0;
}
