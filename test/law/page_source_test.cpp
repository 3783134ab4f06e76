// test/law/page_source_test.cpp — the laws of page sources: the scripted one keeps them with every
// scheme, and for each law there is a source that breaks it and is caught.
#include <keyspan/async/ready.hpp>
#include <keyspan/async/sync_wait.hpp>
#include <keyspan/core/error.hpp>
#include <keyspan/core/result.hpp>
#include <keyspan/feed/continuation.hpp>
#include <keyspan/feed/page.hpp>
#include <keyspan/feed/page_source.hpp>
#include <keyspan/feed/read_request.hpp>
#include <keyspan/feed/scripted_source.hpp>
#include <keyspan/hash/any_scheme.hpp>
#include <keyspan/hash/cosmos_multihash.hpp>
#include <keyspan/hash/cosmos_v1.hpp>
#include <keyspan/hash/cosmos_v2.hpp>
#include <keyspan/hash/fast64.hpp>
#include <keyspan/hash/hash_scheme.hpp>
#include <keyspan/hash/identity.hpp>
#include <keyspan/hash/redis_cluster.hpp>
#include <keyspan/key/partition_key.hpp>
#include <keyspan/law/finding.hpp>
#include <keyspan/law/page_source.hpp>
#include <keyspan/range/partition.hpp>
#include <keyspan/range/routing_refresh.hpp>
#include <keyspan/range/token_range.hpp>

#include <support/check.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

namespace {

using keyspan::continuation;
using keyspan::errc;
using keyspan::fast64;
using keyspan::read_request;
using keyspan::ready;
using keyspan::result;
using keyspan::scripted_source;
using keyspan::law::check_page_source;
using keyspan::law::finding;
using test::check;

struct change {
  std::string key{};
  int number = 0;
  friend bool operator==(change const&, change const&) = default;
};

void holds(finding const& found) {
  INFO(found.text());
  CHECK(found);
}

void breaks(finding const& found, std::string_view law) {
  INFO(found.text());
  CHECK(found.text().starts_with("broken law: "));
  CHECK(found.text().substr(12).starts_with(law));
}

template <class Source>
void fill(Source& source, int count, int keys) {
  for (int i = 0; i < count; ++i) {
    std::string const key = "key " + std::to_string(i * i % keys);
    if (i % 10 == 3) {
      source.write_together(key, {{key, i}, {key, 1'000 + i}, {key, 2'000 + i}});
    } else {
      source.write(key, {key, i});
    }
  }
}

template <class Scheme>
void keeps_the_laws(Scheme const& scheme) {
  INFO(std::string_view{scheme.name()});
  scripted_source<change, Scheme> source{scheme, 3};
  fill(source, 120, 31);
  for (bool const again : {false, true}) {
    if (again) {
      source.empty_pages(2);
      source.ends_with_items();
      source.list_page_size(1);
      source.page_size(5);
    }
    auto const change_partitions = [&] {
      source.split(again ? "5" : "0");
      if (again) source.split("6");
      source.merge(again ? "4" : "1", again ? "8" : "2");
    };
    holds(check_page_source(source, &change::key, &change::number, {.items = source.size()},
                            change_partitions));
  }
}

TEST_CASE("the example of the laws of page sources reads as it should") {
  // [region: example]
  // Run over a source of one's own, filled, with something to split it by if that can be done.
  keyspan::scripted_source<change, keyspan::cosmos_v2_scheme> source{keyspan::cosmos_v2, 2};
  for (int i = 0; i < 50; ++i) {
    std::string const key = "tenant " + std::to_string(i % 7);
    source.write(key, {key, i});
  }
  auto const found = keyspan::law::check_page_source(source, &change::key, &change::number,
                                                     {.items = 50}, [&] { source.split("0"); });
  check(static_cast<bool>(found));  // else found.text() says which law, and where
  // [end: example]
}

TEST_CASE("a scripted source keeps the laws with the schemes of Cosmos DB") {
  keeps_the_laws(keyspan::cosmos_v2);
  keeps_the_laws(keyspan::cosmos_multihash);
}

TEST_CASE("a scripted source keeps the laws with a scheme chosen at run time") {
  keeps_the_laws(keyspan::any_scheme{keyspan::cosmos_v1});
  keeps_the_laws(keyspan::any_scheme{keyspan::cosmos_multihash});
}

TEST_CASE("a scripted source keeps the laws with integers, and with keys in their own order") {
  keeps_the_laws(fast64);
  keeps_the_laws(keyspan::redis_cluster);
  keeps_the_laws(keyspan::identity);
}

TEST_CASE("a source without items, and one with a single item, keep the laws") {
  scripted_source<change, keyspan::fast64_scheme> source{fast64, 2};
  holds(check_page_source(source, &change::key, &change::number, {.items = 0}));
  source.write("a", {"a", 1});
  holds(check_page_source(source, &change::key, &change::number, {.items = 1}));
}

TEST_CASE("items are known by their key in any form, or by their token") {
  scripted_source<int, keyspan::fast64_scheme> source{fast64, 2};
  for (int i = 0; i < 30; ++i) source.write(i % 7, i);
  holds(check_page_source(source, [](int item) { return item % 7; }));
  holds(check_page_source(source, [](int item) { return keyspan::partition_key{item % 7}; }));
  holds(check_page_source(source, [](int item) {
    return keyspan::result<keyspan::partition_key>{keyspan::partition_key{item % 7}};
  }));
  holds(check_page_source(source, [](int item) {
    return keyspan::token_of(fast64, keyspan::partition_key{item % 7});
  }));
  // The wrong key is found out.
  breaks(check_page_source(source, [](int item) { return item % 7 + 1; }),
         "a range has items of its own tokens; [");
  breaks(check_page_source(source,
                           [](int) -> keyspan::result<keyspan::partition_key> {
                             return keyspan::fail(errc::not_a_key, "an array");
                           }),
         "every item has a key, and that a token; not_a_key: an array");
}

// Redis keeps keys of one slot; between them there need not be an order.
TEST_CASE("keys that share a token may come in any order among each other, each in its own") {
  using base = scripted_source<change, keyspan::redis_cluster_scheme>;
  struct shuffles : base {
    using base::base;
    auto read(range_type const& range, continuation const& from, read_request const& request) {
      auto answer = base::read(range, from, request);
      if (turns++ % 3 != 0 || !answer.value) return answer;
      auto& items = answer.value->items;
      // Those of one page, one key after the other.
      std::sort(items.begin(), items.end(), [&](change const& a, change const& b) {
        return is_wrong ? a.number > b.number
                        : std::tie(a.key, a.number) < std::tie(b.key, b.number);
      });
      return answer;
    }
    int turns = 0;
    bool is_wrong = false;
  };
  shuffles source{keyspan::redis_cluster};
  for (int i = 0; i < 40; ++i) {
    std::string const key = "{a}" + std::to_string(i % 3);
    source.write(key, {key, i});
  }
  holds(check_page_source(source, &change::key, &change::number));
  source.is_wrong = true;
  source.turns = 0;
  breaks(check_page_source(source, &change::key, &change::number),
         "a range that is read again has the same items");
}

// ---- sources that break one law each -----------------------------------------------------------

using scheme = keyspan::fast64_scheme;
using good = scripted_source<change, scheme>;
using range = good::range_type;
using page = good::page_type;
using reply = ready<result<page>>;
using list = ready<result<keyspan::partition_page<std::uint64_t>>>;

// What the others change. The check sees this class alone, so that it is compiled once.
struct faulty : good {
  faulty() : good{fast64, 3} { fill(*this, 100, 23); }
  faulty(faulty&&) = delete;
  virtual ~faulty() = default;
  virtual std::string container() const { return good::container(); }
  virtual reply read(range const& r, continuation const& from, read_request const& request) {
    return honest(r, from, request);
  }
  virtual list topology(std::string const& known) { return good::topology(known); }
  reply honest(range const& r, continuation const& from, read_request const& request) {
    return good::read(r, from, request);
  }
  bool has_changed() const { return partitions().front().id != "0"; }
  bool is_gone(std::string_view id) const {
    return std::ranges::find(partitions(), id, &good::partition_type::id) == partitions().end();
  }
};

finding look_at(faulty& source, std::function<void()> const& split_something) {
  return check_page_source(source, &change::key, &change::number,
                           {.most_pages = 2'000, .items = source.size()}, split_something);
}
template <class Source>
finding look_at_a() {
  Source source;
  return look_at(source, [&source] {
    source.split("0");
    source.merge("1", "2");
  });
}
finding look_without_order(faulty& source) {
  return check_page_source(source, &change::key, {}, {.most_pages = 500});
}

bool is_from_beginning(continuation const& from) {
  return from.is_start() && from.start() == keyspan::start_kind::beginning;
}
bool is_one_token(range const& r) { return r == range{r.lower(), fast64.successor(r.lower())}; }
bool lose_the_last(reply& got) {
  if (!got.value || got.value->items.empty()) return false;
  got.value->items.pop_back();
  return true;
}
void lose_one_of_several(reply& got) {
  if (got.value && got.value->items.size() > 1) got.value->items.pop_back();
}

TEST_CASE("the source that the others are made of is good") { holds(look_at_a<faulty>()); }

TEST_CASE("a source that loses or repeats something is caught") {
  // Where nobody counts and no reading differs from another, nobody can tell.
  struct loses_one : faulty {
    reply read(range const& r, continuation const& from, read_request const& request) override {
      auto got = honest(r, from, request);
      if (got.value) std::erase_if(got.value->items, [](change const& c) { return c.number == 7; });
      return got;
    }
  };
  struct loses_the_last_of_a_page : faulty {
    reply read(range const& r, continuation const& from, read_request const& request) override {
      auto got = honest(r, from, request);
      if (got.value && !got.value->items.empty()) got.value->items.pop_back();
      return got;
    }
  };
  struct loses_when_pages_are_small : faulty {
    reply read(range const& r, continuation const& from, read_request const& request) override {
      auto got = honest(r, from, request);
      if (got.value && request.page_size == 1 && got.value->items.size() > 1)
        got.value->items.resize(1);
      return got;
    }
  };
  struct repeats_one : faulty {
    reply read(range const& r, continuation const& from, read_request const& request) override {
      auto got = honest(r, from, request);
      if (!got.value) return got;
      auto& items = got.value->items;
      auto const at = std::ranges::find(items, 9, &change::number);
      if (at != items.end()) items.insert(at, change{*at});
      return got;
    }
  };
  breaks(look_at_a<loses_one>(), "every item is read; there are 120, and 119 are read");
  breaks(look_at_a<loses_the_last_of_a_page>(), "a page size is a hint, and changes no item");
  breaks(look_at_a<loses_when_pages_are_small>(), "a page size is a hint, and changes no item");
  breaks(look_at_a<repeats_one>(), "no item comes twice");
}

TEST_CASE("a source whose ids can only be compared is looked through just as well") {
  struct repeats : faulty {
    reply read(range const& r, continuation const& from, read_request const& request) override {
      auto got = honest(r, from, request);
      if (got.value && !got.value->items.empty())
        got.value->items.push_back(got.value->items.back());
      return got;
    }
  };
  repeats source;
  breaks(look_without_order(source), "a page size is a hint");
  faulty right;
  holds(look_without_order(right));
  struct twice : faulty {
    twice() {
      write("twice", {"twice", 1}), write("twice", {"twice", 2}), write("twice", {"twice", 1});
    }
  };
  twice other;
  breaks(look_without_order(other), "no item comes twice");
}

TEST_CASE("a source that changes the order of a key is caught") {
  struct reverses : faulty {
    reply read(range const& r, continuation const& from, read_request const& request) override {
      auto got = honest(r, from, request);
      if (got.value && request.page_size > 4) std::ranges::reverse(got.value->items);
      return got;
    }
  };
  struct remembers : faulty {
    reply read(range const& r, continuation const& from, read_request const& request) override {
      auto got = honest(r, from, request);
      if (got.value && times++ % 3 == 0) std::ranges::reverse(got.value->items);
      return got;
    }
    int times = 0;
  };
  breaks(look_at_a<reverses>(), "a page size is a hint, and changes no item");
  breaks(look_at_a<remembers>(), "a range that is read again has the same items");
}

TEST_CASE("a source that never says that nothing is new is caught, and so is one that fails") {
  struct goes_on_for_ever : faulty {
    reply read(range const& r, continuation const& from, read_request const& request) override {
      auto got = honest(r, from, request);
      if (got.value) got.value->nothing_new = false;
      return got;
    }
  };
  struct stands_still : faulty {
    reply read(range const& r, continuation const& from, read_request const& request) override {
      auto got = honest(r, from, request);
      if (got.value && from.is_start() && !got.value->items.empty()) {
        got.value->items.clear();
        got.value->continuation = "\"0\"";
      } else if (got.value && from.text() == "\"0\"") {
        got.value->continuation = "\"0\"";
        got.value->items.clear();
      }
      return got;
    }
  };
  struct fails : faulty {
    reply read(range const& r, continuation const& from, read_request const& request) override {
      if (from.text() == "\"100\"") return {keyspan::fail(errc::service_failed, "no more")};
      return honest(r, from, request);
    }
  };
  breaks(look_at_a<goes_on_for_ever>(), "a reading comes to where nothing is new; [0, ");
  breaks(look_at_a<stands_still>(), "a reading comes to where nothing is new");
  breaks(look_at_a<fails>(), "a source at rest answers; [0, ");
}

TEST_CASE("a source that does not say where to go on is caught") {
  struct silent_at_the_end : faulty {
    reply read(range const& r, continuation const& from, read_request const& request) override {
      auto got = honest(r, from, request);
      if (got.value && got.value->nothing_new) got.value->continuation.clear();
      return got;
    }
  };
  struct silent_from_now : faulty {
    reply read(range const& r, continuation const& from, read_request const& request) override {
      auto got = honest(r, from, request);
      if (got.value && from == continuation{keyspan::from_now}) got.value->continuation.clear();
      return got;
    }
  };
  breaks(look_at_a<silent_at_the_end>(), "a page says where the next one begins");
  breaks(look_at_a<silent_from_now>(), "a page says where the next one begins; [0, ");
}

TEST_CASE("a source whose continuations are good once, or not exactly, is caught") {
  struct good_once : faulty {
    reply read(range const& r, continuation const& from, read_request const& request) override {
      auto got = honest(r, from, request);
      if (!got.value || from.is_start()) return got;
      if (std::ranges::find(seen, from.text()) != seen.end()) got.value->items.clear();
      seen.push_back(from.text());
      return got;
    }
    std::vector<std::string> seen{};
  };
  struct repeats_the_last : faulty {
    reply read(range const& r, continuation const& from, read_request const& request) override {
      if (from.is_start() || request.page_size < 5 || from.text() == "\"100\"")
        return honest(r, from, request);
      auto const behind = std::stoul(from.text().substr(1));
      return honest(r, continuation{"\"" + std::to_string(behind - 1) + "\""}, request);
    }
  };
  // A reading that was left is not gone on with as it would have been, in pages of its own size.
  struct knows_the_last_reading_only : faulty {
    knows_the_last_reading_only() { page_size(7); }
    reply read(range const& r, continuation const& from, read_request const& request) override {
      bool const is_known = from.is_start() || from.text() == given || request.page_size != 0;
      auto got = honest(r, from, request);
      if (!is_known) lose_the_last(got);
      if (got.value) given = got.value->continuation;
      return got;
    }
    std::string given{};
  };
  constexpr std::string_view law =
      "a continuation goes on with all that follows, as often as it is read from";
  breaks(look_at_a<good_once>(), law);
  breaks(look_at_a<knows_the_last_reading_only>(), law);
  breaks(look_at_a<repeats_the_last>(), "a page size is a hint, and changes no item");
}

TEST_CASE("a source that shows other items than those of the range is caught") {
  struct shows_all_of_the_partition : faulty {
    reply read(range const& r, continuation const& from, read_request const& request) override {
      for (auto const& one : partitions())
        if (one.range.contains(r)) {
          auto whole = request;
          whole.partition = {};
          return honest(one.range, from, whole);
        }
      return honest(r, from, request);
    }
  };
  struct shows_nothing_of_parts : faulty {
    reply read(range const& r, continuation const& from, read_request const& request) override {
      auto got = honest(r, from, request);
      if (got.value && !request.is_whole_partition && is_from_beginning(from)) {
        got.value->items.clear();
        got.value->nothing_new = true;
      }
      return got;
    }
  };
  struct forgets_where_parts_were : faulty {
    reply read(range const& r, continuation const& from, read_request const& request) override {
      bool const is_part = !request.partition.empty() && !request.is_whole_partition;
      if (is_part && !from.is_start() && from.text() != "\"100\"")
        return honest(r, keyspan::from_now, request);
      return honest(r, from, request);
    }
  };
  struct does_not_see_one_token : faulty {
    reply read(range const& r, continuation const& from, read_request const& request) override {
      return honest(r, is_one_token(r) ? continuation{keyspan::from_now} : from, request);
    }
  };
  struct loses_some_of_a_part_in_small_pages : faulty {
    reply read(range const& r, continuation const& from, read_request const& request) override {
      auto got = honest(r, from, request);
      if (request.page_size != 0 && !request.is_whole_partition) lose_one_of_several(got);
      return got;
    }
  };
  breaks(look_at_a<shows_all_of_the_partition>(), "a range has items of its own tokens; [");
  breaks(look_at_a<does_not_see_one_token>(), "a part has the items of the whole that lie in it");
  breaks(look_at_a<loses_some_of_a_part_in_small_pages>(),
         "a page size is a hint, and changes no item");
  breaks(look_at_a<shows_nothing_of_parts>(), "a part has the items of the whole that lie in it");
  breaks(look_at_a<forgets_where_parts_were>(),
         "a continuation is good for any part of its range; [");
}

TEST_CASE("a source that shows the past from now on is caught") {
  struct begins_at_the_beginning : faulty {
    reply read(range const& r, continuation const& from, read_request const& request) override {
      bool const is_now = from == continuation{keyspan::from_now};
      return honest(r, is_now ? continuation{keyspan::from_beginning} : from, request);
    }
  };
  struct shows_it_on_the_next_page : faulty {
    reply read(range const& r, continuation const& from, read_request const& request) override {
      auto got = honest(r, from, request);
      if (got.value && from == continuation{keyspan::from_now}) got.value->continuation = "\"20\"";
      return got;
    }
  };
  struct begins_anew_after_a_split : faulty {
    reply read(range const& r, continuation const& from, read_request const& request) override {
      bool const is_now = from == continuation{keyspan::from_now};
      return honest(r, is_now && has_changed() ? continuation{keyspan::from_beginning} : from,
                    request);
    }
  };
  // What it once gave as now, in words of its own.
  struct forgets_after_a_split_when_it_was : faulty {
    reply read(range const& r, continuation const& from, read_request const& request) override {
      if (from.text() == then && has_changed()) return honest(r, keyspan::from_beginning, request);
      auto got = honest(r, from, request);
      if (got.value && from == continuation{keyspan::from_now} && !has_changed())
        got.value->continuation = then;
      return got;
    }
    std::string then = "\"100+1\"";
  };
  constexpr std::string_view law = "from now on there is nothing that was there before; [";
  breaks(look_at_a<begins_at_the_beginning>(), law);
  breaks(look_at_a<shows_it_on_the_next_page>(), law);
  shows_it_on_the_next_page never_split;
  breaks(look_without_order(never_split), law);
  breaks(look_at_a<begins_anew_after_a_split>(), law);
  breaks(look_at_a<forgets_after_a_split_when_it_was>(), law);
}

TEST_CASE("a source that takes a moment for another is caught, one that finds none says so") {
  struct starts_from : faulty {
    explicit starts_from(continuation other) : start{std::move(other)} {}
    reply read(range const& r, continuation const& from, read_request const& request) override {
      bool const is_timed = from.is_start() && from.start() == keyspan::start_kind::time;
      return honest(r, is_timed ? start : from, request);
    }
    continuation start;
  };
  struct finds_no_moment : faulty {
    explicit finds_no_moment(errc code) : why{code} {}
    reply read(range const& r, continuation const& from, read_request const& request) override {
      if (from.start() == keyspan::start_kind::time) return {keyspan::fail(why, "no clock")};
      return honest(r, from, request);
    }
    errc why;
  };
  starts_from now{keyspan::from_now};
  breaks(look_at(now, [&] { now.split("0"); }),
         "from the first moment on there is everything, or errc::unsupported; [");
  starts_from beginning{keyspan::from_beginning};
  breaks(look_at(beginning, [&] { beginning.split("0"); }),
         "from the last moment on there is nothing, or errc::unsupported; [");
  finds_no_moment honest{errc::unsupported};
  holds(look_at(honest, [&] { honest.split("0"); }));
  finds_no_moment rude{errc::bad_request};
  breaks(look_at(rude, [&] { rude.split("0"); }), "a source at rest answers; [");
}

TEST_CASE("a source that reads another key along, or none, is caught") {
  struct takes_no_key : faulty {
    reply read(range const& r, continuation const& from, read_request const& request) override {
      auto other = request;
      other.key = nullptr;
      return honest(r, from, other);
    }
  };
  struct finds_no_key : faulty {
    reply read(range const& r, continuation const& from, read_request const& request) override {
      auto got = honest(r, from, request);
      if (got.value && request.key) got.value->items.clear(), got.value->nothing_new = true;
      return got;
    }
  };
  constexpr std::string_view law = "a read of one key gives its items and no others; [";
  breaks(look_at_a<takes_no_key>(), law);
  takes_no_key never_split;
  breaks(look_without_order(never_split), law);
  breaks(look_at_a<finds_no_key>(), law);
}

TEST_CASE("a source that reads a key well only in one page, or from the beginning, is caught") {
  struct forgets_the_key_when_it_goes_on : faulty {
    reply read(range const& r, continuation const& from, read_request const& request) override {
      auto other = request;
      if (!from.is_start()) other.key = nullptr;
      return honest(r, from, other);
    }
  };
  // A page of all that there is of a key leaves nothing to go on with.
  struct forgets_the_key_behind_pages_of_all : faulty {
    reply read(range const& r, continuation const& from, read_request const& request) override {
      auto other = request;
      if (!from.is_start() && request.page_size == 0) other.key = nullptr;
      return honest(r, from, other);
    }
  };
  struct loses_the_second_one_by_one : faulty {
    reply read(range const& r, continuation const& from, read_request const& request) override {
      auto got = honest(r, from, request);
      if (request.key && request.page_size == 1 && !from.is_start()) lose_the_last(got);
      return got;
    }
  };
  struct loses_some_in_small_pages : faulty {
    reply read(range const& r, continuation const& from, read_request const& request) override {
      auto got = honest(r, from, request);
      if (request.key && request.page_size > 1) lose_one_of_several(got);
      return got;
    }
  };
  // In pages of its own size; of a part it loses none.
  struct loses_one_of_a_whole_partition : faulty {
    reply read(range const& r, continuation const& from, read_request const& request) override {
      auto got = honest(r, from, request);
      if (request.key && request.page_size == 0 && request.is_whole_partition && from.is_start())
        lose_the_last(got);
      return got;
    }
  };
  constexpr std::string_view law = "a read of one key gives its items and no others; [";
  breaks(look_at_a<forgets_the_key_when_it_goes_on>(), law);
  breaks(look_at_a<forgets_the_key_behind_pages_of_all>(), law);
  breaks(look_at_a<loses_the_second_one_by_one>(), law);
  breaks(look_at_a<loses_some_in_small_pages>(), law);
  breaks(look_at_a<loses_one_of_a_whole_partition>(), law);
}

TEST_CASE("a source that reads a key well only in whole partitions, or before a split, is caught") {
  struct forgets_the_key_in_a_part : faulty {
    reply read(range const& r, continuation const& from, read_request const& request) override {
      auto other = request;
      if (!request.is_whole_partition) other.key = nullptr;
      return honest(r, from, other);
    }
  };
  struct does_not_see_a_key_in_its_own_range : faulty {
    reply read(range const& r, continuation const& from, read_request const& request) override {
      bool const is_blind = request.key && is_one_token(r);
      return honest(r, is_blind ? continuation{keyspan::from_now} : from, request);
    }
  };
  struct loses_some_after_a_split : faulty {
    reply read(range const& r, continuation const& from, read_request const& request) override {
      auto got = honest(r, from, request);
      if (request.key && has_changed()) lose_one_of_several(got);
      return got;
    }
  };
  constexpr std::string_view law = "a read of one key gives its items and no others; [";
  breaks(look_at_a<forgets_the_key_in_a_part>(), law);
  breaks(look_at_a<does_not_see_a_key_in_its_own_range>(), law);
  breaks(look_at_a<loses_some_after_a_split>(), law);
}

TEST_CASE("a source that reads over partitions is caught, and one that calls it something else") {
  struct reads_what_it_can : faulty {
    reply read(range const& r, continuation const& from, read_request const& request) override {
      auto got = honest(r, from, request);
      if (!got.value && got.value.error().code == errc::range_gone)
        return {page{.continuation = "\"0\""}};
      return got;
    }
  };
  struct calls_it_bad : faulty {
    reply read(range const& r, continuation const& from, read_request const& request) override {
      auto got = honest(r, from, request);
      if (!got.value) return {keyspan::fail(errc::bad_request, "several partitions")};
      return got;
    }
  };
  // Only where the range was one once.
  struct reads_what_is_gone : faulty {
    reply read(range const& r, continuation const& from, read_request const& request) override {
      auto got = honest(r, from, request);
      if (!got.value && partitions().front().id == "3") return {page{.continuation = "\"0\""}};
      return got;
    }
  };
  breaks(look_at_a<reads_what_it_can>(), "a range over several partitions is gone; [0, ");
  breaks(look_at_a<calls_it_bad>(), "a range over several partitions is gone; [0, ");
  breaks(look_at_a<reads_what_is_gone>(), "a range over several partitions is gone; [0, ");
}

TEST_CASE("a source that does not say that a partition it is asked for by name is gone is caught") {
  struct does_not_know_it : faulty {
    reply read(range const& r, continuation const& from, read_request const& request) override {
      if (is_gone(request.partition) && is_from_beginning(from))
        return {keyspan::fail(errc::unknown_range, "which one?")};
      return honest(r, from, request);
    }
  };
  struct has_nothing_new_in_it : faulty {
    reply read(range const& r, continuation const& from, read_request const& request) override {
      if (is_gone(request.partition) && !from.is_start())
        return {page{.continuation = from.text(), .nothing_new = true}};
      return honest(r, from, request);
    }
  };
  // A part of one that was split, or the whole of one that was merged, lies in one partition.
  struct reads_the_successor : faulty {
    explicit reads_the_successor(bool parts) : does_parts{parts} {}
    reply read(range const& r, continuation const& from, read_request const& request) override {
      auto other = request;
      if (is_gone(request.partition) && request.is_whole_partition != does_parts) {
        other.partition = {};
        other.is_whole_partition = false;
      }
      return honest(r, from, other);
    }
    bool does_parts;
  };
  constexpr std::string_view law = "a partition that was split or merged is gone; [";
  breaks(look_at_a<does_not_know_it>(), law);
  breaks(look_at_a<has_nothing_new_in_it>(), law);
  reads_the_successor of_a_split{true};
  breaks(look_at(of_a_split, [&] { of_a_split.split("0"); }), law);
  reads_the_successor of_a_merge{false};
  breaks(look_at(of_a_merge, [&] { of_a_merge.merge("1", "2"); }), law);
}

TEST_CASE("a source that an error or a stop moves is caught") {
  struct is_moved_by_an_error : faulty {
    reply read(range const& r, continuation const& from, read_request const& request) override {
      auto got = honest(r, from, request);
      if (!got.value) has_failed = true;
      if (got.value && has_failed && !got.value->items.empty()) got.value->items.pop_back();
      return got;
    }
    bool has_failed = false;
  };
  // One error falsifies one reading: of those from the beginning, or of those that go on.
  struct is_moved_once : faulty {
    explicit is_moved_once(bool at_the_beginning) : does_begin{at_the_beginning} {}
    reply read(range const& r, continuation const& from, read_request const& request) override {
      auto got = honest(r, from, request);
      if (!got.value) has_failed = true;
      if (has_failed && is_from_beginning(from) == does_begin && lose_the_last(got))
        has_failed = false;
      return got;
    }
    bool does_begin;
    bool has_failed = false;
  };
  struct is_confused_by_a_stop : faulty {
    reply read(range const& r, continuation const& from, read_request const& request) override {
      if (request.stop.stop_requested()) return {keyspan::fail(errc::timed_out, "too late")};
      return honest(r, from, request);
    }
  };
  struct is_too_late_to_be_stopped : faulty {
    reply read(range const& r, continuation const& from, read_request const& request) override {
      auto other = request;
      other.stop = {};
      return honest(r, from, other);
    }
  };
  breaks(look_at_a<is_moved_by_an_error>(), "an error moves nothing; [0, ");
  for (bool const does_begin : {false, true}) {
    is_moved_once source{does_begin};
    breaks(look_at(source, [&] { source.split("0"); }), "an error moves nothing; [0, ");
  }
  breaks(look_at_a<is_confused_by_a_stop>(), "a read that is stopped says so; [0, ");
  holds(look_at_a<is_too_late_to_be_stopped>());
}

TEST_CASE("a topology that is not whole, not the newest or not the same is caught") {
  struct leaves_one_out : faulty {
    list topology(std::string const& known) override {
      auto got = good::topology(known);
      if (!got.value->partitions.empty()) got.value->partitions.pop_back();
      return got;
    }
  };
  struct fails : faulty {
    list topology(std::string const&) override {
      return {keyspan::fail(errc::unavailable, "not now")};
    }
  };
  struct never_ends : faulty {
    list topology(std::string const& known) override {
      auto got = good::topology(known);
      got.value->not_modified = false;
      return got;
    }
  };
  struct tells_it_again : faulty {
    list topology(std::string const& known) override {
      if (known == "\"3\"" && asked++ != 0) return good::topology("");
      return good::topology(known);
    }
    int asked = 0;
  };
  struct is_another_one : faulty {
    list topology(std::string const& known) override {
      if (known.empty() && asked++ == 1) split("2");
      return good::topology(known);
    }
    int asked = 0;
  };
  constexpr std::string_view whole =
      "a topology lists partitions that own every token exactly once; ";
  breaks(look_at_a<leaves_one_out>(), std::string{whole} + "gap: after partition 1 nobody owns ");
  breaks(look_at_a<fails>(), std::string{whole} + "it fails: unavailable: not now");
  breaks(look_at_a<never_ends>(), std::string{whole} + "bad_response: page after page of the list");
  breaks(look_at_a<tells_it_again>(), "a topology has nothing newer than its newest version");
  breaks(look_at_a<is_another_one>(), "a topology that is read again is the same");
}

TEST_CASE("a source that does not tell what replaced a range is caught") {
  struct tells_of_no_change : faulty {
    list topology(std::string const& known) override {
      if (known.empty()) return good::topology(known);
      keyspan::partition_page<std::uint64_t> same;
      same.version = known;
      same.not_modified = true;
      return {same};
    }
  };
  struct gives_new_parents : faulty {
    list topology(std::string const& known) override {
      auto got = good::topology(known);
      for (auto& one : got.value->partitions)
        if (known.empty() && one.id == "4") one.parents.push_back("17");
      return got;
    }
  };
  breaks(look_at_a<tells_of_no_change>(), "a topology tells what replaced a range; ");
  breaks(
      look_at_a<gives_new_parents>(),
      "a topology tells what replaced a range; what is new since version \"3\" does not make the "
      "whole list");
  faulty nothing_happens;
  breaks(look_at(nothing_happens, [] {}),
         "a topology tells what replaced a range; nothing is new since version \"3\"");
}

TEST_CASE("a source whose continuations or items do not outlive a split or a merge is caught") {
  struct begins_anew : faulty {
    reply read(range const& r, continuation const& from, read_request const& request) override {
      bool const is_old = !from.is_start() && partitions().size() != 3;
      bool const has_changed = partitions().front().id != "0";
      if ((is_old || has_changed) && !from.is_start() && from.text() != "\"100\"")
        return honest(r, keyspan::from_beginning, request);
      return honest(r, from, request);
    }
  };
  struct child_is_empty : faulty {
    reply read(range const& r, continuation const& from, read_request const& request) override {
      if (request.partition == "4") return honest(r, keyspan::from_now, request);
      return honest(r, from, request);
    }
  };
  struct merged_is_not_sorted : faulty {
    reply read(range const& r, continuation const& from, read_request const& request) override {
      auto got = honest(r, from, request);
      if (got.value && request.partition == "5") std::ranges::reverse(got.value->items);
      return got;
    }
  };
  struct begins_too_late : faulty {
    reply read(range const& r, continuation const& from, read_request const& request) override {
      auto got = honest(r, from, request);
      if (has_changed() && is_from_beginning(from)) lose_the_last(got);
      return got;
    }
  };
  struct loses_some_in_small_pages : faulty {
    reply read(range const& r, continuation const& from, read_request const& request) override {
      auto got = honest(r, from, request);
      if (has_changed() && request.page_size != 0) lose_one_of_several(got);
      return got;
    }
  };
  constexpr std::string_view law = "a continuation outlives splits and merges";
  breaks(look_at_a<begins_anew>(), law);
  breaks(look_at_a<begins_too_late>(), law);
  breaks(look_at_a<loses_some_in_small_pages>(), "a page size is a hint, and changes no item; [");
  breaks(look_at_a<child_is_empty>(), law);
  breaks(look_at_a<merged_is_not_sorted>(), law);
}

TEST_CASE("a container without a name, or of another one each time, is caught") {
  struct nameless : faulty {
    std::string container() const override { return {}; }
  };
  struct renamed : faulty {
    std::string container() const override {
      return std::to_string(partitions().front().id == "0");
    }
  };
  breaks(look_at_a<nameless>(), "a container has a name");
  breaks(look_at_a<renamed>(), "a container keeps its name; 1 became another one");
}

}  // namespace
