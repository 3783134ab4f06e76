// Sharing a space out, splitting it, and following a service that does, as
// docs/guide/partitions_that_split.md tells it.
#include <keyspan/keyspan.hpp>

#include <array>
#include <cstdint>
#include <iostream>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

using keyspan::cosmos_v2;
using keyspan::token128;

namespace {

constexpr std::uint64_t gigabyte = 1'000'000'000;

// [region: plan]
constexpr keyspan::container_demand wanted{.request_units = 35'000, .bytes = 21 * gigabyte};
static_assert(keyspan::partitions_needed(wanted) == 4);  // N = T / t, rounded up
// [end: plan]

using partition = keyspan::partition<token128>;
using page = keyspan::partition_page<token128>;
using routing = keyspan::routing<keyspan::cosmos_v2_scheme>;

// A service that has four partitions, and later splits the second one.
class service {
 public:
  // [region: service]
  // GET …/pkranges with If-None-Match: what is new since `version`.
  page fetch(std::string_view version) const {
    if (version.empty()) return {first_list(), "etag-1"};
    if (version == "etag-1" && has_split_) return {children_of_1(), "etag-2"};
    return {.not_modified = true};
  }
  // [end: service]
  void split() { has_split_ = true; }

 private:
  static std::vector<partition> first_list() {
    std::vector<partition> list;
    for (auto const& [range, number] : keyspan::evenly_split(cosmos_v2, 4))
      list.push_back({.id = std::to_string(number), .range = range});
    return list;
  }
  static std::vector<partition> children_of_1() {
    auto const lower = cosmos_v2.boundary(1, 4);
    auto const middle = cosmos_v2.boundary(3, 8);
    auto const upper = cosmos_v2.boundary(2, 4);
    return {{.id = "4", .range = {lower, middle}, .parents = {"1"}},
            {.id = "5", .range = {middle, upper}, .parents = {"1"}}};
  }

  bool has_split_ = false;
};

// [region: refresh]
keyspan::result<std::shared_ptr<routing const>> refreshed(
    service const& from, std::shared_ptr<routing const> const& known) {
  auto refresh = known ? keyspan::routing_refresh{known} : keyspan::routing_refresh{cosmos_v2};
  while (refresh.wants_page()) refresh.take(from.fetch(refresh.version()));
  return refresh.outcome();
}
// [end: refresh]

}  // namespace

int main() {
  // [region: even]
  auto owners = keyspan::evenly_split<std::string>(cosmos_v2, {"a", "b", "c", "d"});
  for (auto const& [range, owner] : owners) std::cout << owner << " has " << range << '\n';
  // [end: even]

  // [region: which]
  std::array const held{3 * gigabyte, 10 * gigabyte, 6 * gigabyte, 2 * gigabyte};
  for (auto const& [index, parts] : keyspan::splits_needed(held, wanted.request_units))
    std::cout << owners[index].value() << " is to split into " << parts << '\n';
  // [end: which]

  // [region: split]
  auto const before = owners;  // a snapshot
  auto const full = owners[1].range();
  token128 const cut = keyspan::split_point(cosmos_v2, full).value();
  owners.split(cut, "b1", "b2");

  for (std::string_view key : {"article-3", "article-7", "article-8"}) {
    auto const token = keyspan::token_of(cosmos_v2, key);
    std::cout << key << ": " << before.at(token) << " -> " << owners.at(token) << '\n';
  }
  // [end: split]

  // [region: change]
  auto const changes = keyspan::diff(before, owners).value();
  for (auto const& change : changes)
    std::visit([](auto const& one) { std::cout << one << '\n'; }, change);

  auto elsewhere = before;
  auto const applied = keyspan::apply(elsewhere, changes);
  auto const again = keyspan::apply(elsewhere, changes);
  std::cout << std::boolalpha << applied.has_value() << ", then " << again.error() << '\n';
  // [end: change]

  // [region: routing]
  service container;
  keyspan::published current{refreshed(container, nullptr).value()};
  auto const pinned = current.pin();  // one short turn at a mutex, for as many keys as one likes
  std::cout << "article-8 is in " << pinned->owner_of("article-8")->id << '\n';

  container.split();  // and a request to it is answered: the range is gone
  if (auto const newer = refreshed(container, pinned))
    static_cast<void>(current.replace(pinned, *newer));  // unless somebody was faster
  auto const now = current.pin();
  std::cout << "article-8 is in " << now->owner_of("article-8")->id << ", 1 is "
            << (now->is_gone("1") ? "gone" : "there") << ", and who holds a pin still sees "
            << pinned->owner_of("article-8")->id << '\n';
  // [end: routing]

  // [region: group]
  std::vector<std::string> const keys{"article-1", "article-2", "article-3", "article-8",
                                      "article-9"};
  for (auto const& [owner, positions] : now->group(keys)) {
    std::cout << "to " << owner.id << ':';
    for (auto const i : positions) std::cout << ' ' << keys[i];
    std::cout << '\n';
  }
  // [end: group]
}
