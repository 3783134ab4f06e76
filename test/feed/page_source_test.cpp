// test/feed/page_source_test.cpp — what is a source, and what is not quite one.
#include <keyspan/async/ready.hpp>
#include <keyspan/async/sync_wait.hpp>
#include <keyspan/async/task.hpp>
#include <keyspan/core/error.hpp>
#include <keyspan/core/result.hpp>
#include <keyspan/feed/continuation.hpp>
#include <keyspan/feed/page.hpp>
#include <keyspan/feed/page_source.hpp>
#include <keyspan/feed/read_request.hpp>
#include <keyspan/hash/fast64.hpp>
#include <keyspan/hash/hash_scheme.hpp>
#include <keyspan/key/partition_key.hpp>
#include <keyspan/law/page_source.hpp>
#include <keyspan/range/partition.hpp>
#include <keyspan/range/routing_refresh.hpp>
#include <keyspan/range/token_range.hpp>

#include <support/check.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace {

using keyspan::answers_read_with_a_page;
using keyspan::answers_topology_with_partitions;
using keyspan::continuation;
using keyspan::errc;
using keyspan::has_container_and_scheme;
using keyspan::page_source;
using keyspan::read_request;
using keyspan::ready;
using keyspan::result;
using range = keyspan::token_range<std::uint64_t>;
using partition_page = keyspan::partition_page<std::uint64_t>;

// [region: example]
// Lines of a log, one partition: all that a feed needs of whatever is read through it.
class journal {
 public:
  using scheme_type = keyspan::fast64_scheme;
  using page_type = keyspan::page<std::string>;
  template <class T>
  using answer = keyspan::ready<keyspan::result<T>>;

  explicit journal(std::vector<std::string> lines) : lines_{std::move(lines)} {}

  scheme_type scheme() const { return keyspan::fast64; }
  std::string_view container() const { return "journal-1"; }

  answer<page_type> read(range const& asked, keyspan::continuation const& from,
                         keyspan::read_request const& request) {
    if (from.start() == keyspan::start_kind::time)
      return {
          keyspan::fail(keyspan::errc::unsupported, "a line does not know when it was written")};
    std::size_t at = 0;
    if (!from.is_start())
      at = std::stoul(from.text());
    else if (from.start() == keyspan::start_kind::now)
      at = lines_.size();
    std::size_t const most = request.page_size != 0 ? request.page_size : 100;
    page_type page;
    for (; at < lines_.size() && page.items.size() < most; ++at) {
      keyspan::partition_key const key{lines_[at]};
      if (asked.contains(keyspan::token_of(scheme(), key)) && (!request.key || *request.key == key))
        page.items.push_back(lines_[at]);
    }
    page.nothing_new = at == lines_.size();
    page.continuation = std::to_string(at);
    return {page};
  }

  answer<keyspan::partition_page<std::uint64_t>> topology(std::string const& known) {
    keyspan::partition_page<std::uint64_t> list{.version = "1", .not_modified = known == "1"};
    if (!list.not_modified) list.partitions.push_back({"0", whole_space(scheme())});
    return {list};
  }

 private:
  std::vector<std::string> lines_;
};
static_assert(keyspan::page_source<journal>);
// [end: example]

TEST_CASE("the example of page_source keeps the laws") {
  journal lines{{"one", "two", "three", "four", "five", "six", "seven"}};
  auto const found = keyspan::law::check_page_source(lines, std::identity{});
  INFO(found.text());
  CHECK(found);
}

// What each of the others changes.
struct whole_source {
  using scheme_type = keyspan::fast64_scheme;
  using page_type = keyspan::page<int>;
  scheme_type scheme() const { return keyspan::fast64; }
  std::string container() const { return "c"; }
  ready<result<page_type>> read(range const&, continuation const&, read_request const&) {
    return {};
  }
  ready<result<partition_page>> topology(std::string const&) { return {}; }
};
static_assert(page_source<whole_source>);
static_assert(std::is_same_v<keyspan::item_of_source<whole_source>, int>);
static_assert(std::is_same_v<keyspan::token_of_source<whole_source>, std::uint64_t>);

struct by_tasks : whole_source {
  keyspan::task<result<page_type>> read(range, continuation, read_request);
  keyspan::task<result<partition_page>> topology(std::string);
};
static_assert(page_source<by_tasks>);

struct without_scheme : whole_source {
  void scheme() const = delete;
};
struct without_container : whole_source {
  int container() const { return 1; }
};
struct of_no_scheme : whole_source {
  using scheme_type = int;
};
static_assert(!has_container_and_scheme<without_scheme> && !page_source<without_scheme>);
static_assert(!has_container_and_scheme<without_container> && !page_source<without_container>);
static_assert(!has_container_and_scheme<of_no_scheme> && !page_source<of_no_scheme>);

struct without_read : whole_source {
  void read() = delete;
};
struct at_once : whole_source {
  result<page_type> read(range const&, continuation const&, read_request const&);
};
struct without_result : whole_source {
  ready<page_type> read(range const&, continuation const&, read_request const&);
};
struct of_a_list : whole_source {
  using page_type = keyspan::page<int, std::list<int>>;
  ready<result<page_type>> read(range const&, continuation const&, read_request const&);
};
struct takes_its_request_away : whole_source {
  ready<result<page_type>> read(range const&, continuation const&, read_request&);
};
static_assert(!answers_read_with_a_page<without_read> && !page_source<without_read>);
static_assert(!answers_read_with_a_page<at_once> && !page_source<at_once>);
static_assert(!answers_read_with_a_page<without_result> && !page_source<without_result>);
static_assert(!answers_read_with_a_page<of_a_list> && !page_source<of_a_list>);
static_assert(!answers_read_with_a_page<takes_its_request_away>);

struct without_topology : whole_source {
  void topology() = delete;
};
struct other_tokens : whole_source {
  ready<result<keyspan::partition_page<int>>> topology(std::string const&);
};
static_assert(!answers_topology_with_partitions<without_topology> &&
              !page_source<without_topology>);
static_assert(!answers_topology_with_partitions<other_tokens> && !page_source<other_tokens>);

}  // namespace
