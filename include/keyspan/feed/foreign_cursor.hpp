// keyspan/feed/foreign_cursor.hpp — positions and ranges that the SDKs of Cosmos DB have written.
//
//   .NET, Java, Python, JavaScript, Go  --read-->  composite_cursor, feed_scope
//
// They are read, to move a reader over, and never written.
#pragma once

#include <keyspan/core/base64.hpp>
#include <keyspan/core/contract.hpp>
#include <keyspan/core/error.hpp>
#include <keyspan/core/json.hpp>
#include <keyspan/core/result.hpp>
#include <keyspan/core/text.hpp>
#include <keyspan/feed/continuation.hpp>
#include <keyspan/feed/cursor.hpp>
#include <keyspan/feed/feed_mode.hpp>
#include <keyspan/feed/feed_scope.hpp>
#include <keyspan/feed/wall_time.hpp>
#include <keyspan/hash/hash_scheme.hpp>
#include <keyspan/hash/token.hpp>
#include <keyspan/key/key_json.hpp>
#include <keyspan/key/key_value.hpp>
#include <keyspan/key/partition_key.hpp>
#include <keyspan/range/partition.hpp>
#include <keyspan/range/routing.hpp>
#include <keyspan/range/token_range.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace keyspan {

namespace detail {

// Some members of a JSON object by their names, each as its text; empty where it is not there.
template <std::size_t N>
class json_members {
 public:
  constexpr explicit json_members(std::array<std::string_view, N> const& names) : names_{names} {}

  constexpr std::string_view operator[](std::string_view name) const {
    auto const found = std::find(names_.begin(), names_.end(), name);
    expects(found != names_.end(), "the member is one of those that were looked for");
    return texts_[static_cast<std::size_t>(found - names_.begin())];
  }
  // Whether a member has a value other than null.
  constexpr bool has(std::string_view name) const {
    std::string_view const text = (*this)[name];
    return !text.empty() && text != "null";
  }

  constexpr void read(json_reader& in) {
    in.begin_object();
    std::string_view name;
    while (in.next_member(name)) {
      auto const found = std::find(names_.begin(), names_.end(), name);
      std::string_view const text = in.skip();
      if (found != names_.end()) texts_[static_cast<std::size_t>(found - names_.begin())] = text;
    }
  }

 private:
  std::array<std::string_view, N> names_;
  std::array<std::string_view, N> texts_{};
};

// As the SDKs compare the words of their kinds: BEGINNING, Beginning, POINT_IN_TIME, PointInTime.
inline bool is_word(std::string_view text, std::string_view wanted) {
  std::size_t at = 0;
  for (char const c : text) {
    if (c == '_' || c == '-' || c == ' ') continue;
    char const lower = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    if (at == wanted.size() || wanted[at++] != lower) return false;
  }
  return at == wanted.size();
}

inline std::optional<feed_mode> foreign_mode(std::string_view text) {
  for (std::string_view const word : {"incremental", "incrementalfeed", "latestversion"})
    if (is_word(text, word)) return feed_mode::latest_version;
  for (std::string_view const word : {"fullfidelity", "fullfidelityfeed", "allversionsanddeletes"})
    if (is_word(text, word)) return feed_mode::all_versions_and_deletes;
  return std::nullopt;
}

// Keeps the first error and does little after it, so that what reads a form looks like the form.
template <hex_scheme Scheme>
class foreign_reader {
 public:
  using token_type = token_of_scheme<Scheme>;
  using range_type = token_range<token_type>;
  using cursor_type = composite_cursor<token_type>;
  using partition_type = partition<token_type>;

  foreign_reader(routing<Scheme> const& known, std::size_t paths) : known_{known}, paths_{paths} {}

  result<cursor_type> read_cursor(std::string_view text) {
    std::string_view const json = json_of(text);
    auto const top =
        outermost(json, std::array<std::string_view, 18>{
                            "keyspan", "V", "Rid", "Continuation", "Mode", "StartFrom", "v",
                            "containerRid", "continuation", "rid", "resourceId", "partitionKey",
                            "Range", "PK", "PKRangeId", "minInclusive", "mode", "startFrom"});
    if (!refusal_) {
      if (top.has("keyspan")) {
        refuse(error{errc::unsupported,
                     "this is a cursor of keyspan; composite_cursor::from_text "
                     "reads it"});
      } else if (top.has("v") || top.has("containerRid")) {
        read_python(json);
      } else if (top.has("StartFrom") || top.has("Mode")) {
        read_java(json);
      } else if (top.has("resourceId")) {
        read_go(json);
      } else if (top.has("rid")) {
        read_javascript(json);
      } else if (top.has("V") || top.has("Rid")) {
        read_dotnet(json);
      } else if (top.has("Range") || top.has("PK") || top.has("PKRangeId") ||
                 top.has("minInclusive")) {
        refuse(error{errc::unsupported,
                     "this is a feed range, which says nothing about how far "
                     "it was read; foreign_feed_range reads it"});
      } else {
        refuse(error{errc::malformed,
                     "this is JSON, but no continuation of the .NET, Java, "
                     "Python, JavaScript or Go SDK"});
      }
    }
    if (!refusal_ && made_.parts.empty()) refuse("Continuation", errc::malformed, "it is empty");
    if (!refusal_)
      if (auto const two = overlap_of(made_.parts))
        refuse(error{errc::overlap, form_, ": ", two->why.text});
    if (refusal_) return unexpected{*refusal_};
    made_.scheme = std::string{std::string_view{known_.scheme().name()}};
    return std::move(made_);
  }

  result<feed_scope<token_type>> read_feed_range(std::string_view text) {
    form_ = "feed range";
    std::string_view const json = json_of(text);
    auto const top =
        outermost(json, std::array<std::string_view, 8>{"Continuation", "continuation", "StartFrom",
                                                        "v", "keyspan", "type", "value", "min"});
    std::optional<scope> found;
    if (!refusal_) {
      if (top.has("Continuation") || top.has("continuation") || top.has("StartFrom") ||
          top.has("v") || top.has("keyspan")) {
        refuse(error{errc::unsupported,
                     "this is a continuation and no feed range; foreign_cursor "
                     "reads it"});
      } else if (top.has("type")) {
        found = typed_scope(json);
      } else if (top.has("min")) {
        found = scope{.ranges = {}};
        if (auto range = range_of(json, "min")) found->ranges.push_back(*std::move(range));
      } else {
        found = scope_in(json, is_decoded_ ? key_text::value : key_text::text);
        if (!refusal_ && !found)
          refuse(error{errc::malformed,
                       "a feed range has a member Range, PK, PKRangeId or minInclusive"});
      }
    }
    if (refusal_) return unexpected{*refusal_};
    if (found->prefix) return feed_scope<token_type>{*std::move(found->prefix)};
    if (found->key) return feed_scope<token_type>{*std::move(found->key)};
    range_type all = found->ranges.front();
    for (std::size_t i = 1; i < found->ranges.size(); ++i) {
      if (!adjacent(all, found->ranges[i]))
        return fail(errc::gap, "what the partition was split into is no single range any more");
      all = join(all, found->ranges[i]);
    }
    return feed_scope<token_type>{std::move(all)};
  }

 private:
  // Whether a key stands there as its JSON, or .NET's way as a string of that.
  enum class key_text : std::uint8_t { value, text };

  // What is read: ranges, and the key where it is one.
  struct scope {
    std::vector<range_type> ranges{};
    std::optional<partition_key> key{};
    std::optional<key_prefix> prefix{};
    bool is_by_id = false;
  };
  // Where ranges begin that were not read yet, and the moment that is kept beside a text.
  struct start {
    std::optional<continuation> from{continuation{from_beginning}};
    std::optional<wall_time> time{};
  };
  struct entry {
    std::string_view range{};
    std::string_view token{};
  };

  void refuse(error const& why) {
    if (!refusal_) refusal_ = why;
  }
  template <class... Pieces>
  void refuse(std::string_view member, errc code, Pieces const&... pieces) {
    refuse(error{code, form_, ": ", member, ": ", pieces...});
  }
  void refuse(std::string_view member, error const& why) { refuse(member, why.code, why.text); }

  std::string_view json_of(std::string_view text) {
    while (!text.empty() && is_json_space(text.front())) text.remove_prefix(1);
    while (!text.empty() && is_json_space(text.back())) text.remove_suffix(1);
    if (text.starts_with('{')) return text;
    is_decoded_ = true;
    decoded_.resize(text.size());
    auto const size = decode_base64(text, std::span{decoded_});
    if (size) return std::string_view{decoded_}.substr(0, *size);
    refuse(
        error{errc::malformed, "the text is neither JSON nor base64 of it: ", size.error().text});
    return {};
  }

  // Of the whole text, whose places mean something to who reads of an error.
  template <std::size_t N>
  json_members<N> outermost(std::string_view json, std::array<std::string_view, N> const& names) {
    json_members<N> found{names};
    if (refusal_) return found;
    json_reader in{json};
    found.read(in);
    in.finish();
    if (!in.ok()) refuse(is_decoded_ ? in.error().at({}) : in.error());
    return found;
  }
  template <std::size_t N>
  json_members<N> members(std::string_view member, std::string_view json,
                          std::array<std::string_view, N> const& names) {
    json_members<N> found{names};
    if (json.empty()) refuse(member, errc::malformed, "it is missing");
    if (refusal_) return found;
    json_reader in{json};
    found.read(in);
    if (!in.ok()) refuse(member, in.error());
    return found;
  }
  template <class F>
  void elements(std::string_view member, std::string_view json, F const& each) {
    if (json.empty()) refuse(member, errc::malformed, "it is missing");
    if (refusal_) return;
    json_reader in{json};
    in.begin_array();
    while (!refusal_ && in.next_element()) each(in.skip());
    if (!in.ok()) refuse(member, in.error());
  }
  std::string string_in(std::string_view member, std::string_view json) {
    if (json.empty()) refuse(member, errc::malformed, "it is missing");
    if (refusal_) return {};
    json_reader in{json};
    std::string text{in.string()};
    if (!in.ok()) refuse(member, in.error());
    return text;
  }
  std::int64_t integer_in(std::string_view member, std::string_view json) {
    if (json.empty()) refuse(member, errc::malformed, "it is missing");
    if (refusal_) return 0;
    json_reader in{json};
    auto const value = in.template integer<std::int64_t>();
    if (!in.ok()) refuse(member, in.error());
    return value;
  }
  // A flag, in either spelling of its name.
  bool flag_in(std::string_view member, std::string_view json, std::string_view other,
               bool otherwise) {
    if (json.empty()) json = other;
    if (json.empty() || json == "null" || refusal_) return otherwise;
    json_reader in{json};
    bool const value = in.boolean();
    if (!in.ok()) refuse(member, in.error());
    return value;
  }
  wall_time time_in(std::string_view member, std::string_view json) {
    std::string const text = string_in(member, json);
    if (refusal_) return {};
    auto const time = read_time_text(text);
    if (time) return *time;
    refuse(member, time.error());
    return {};
  }

  static constexpr bool is_there(std::string_view json) { return !json.empty() && json != "null"; }

  // What follows a bound that another side counts in, or out.
  std::optional<upper_end<token_type>> behind(std::string_view member, token_type const& token) {
    if constexpr (splittable_scheme<Scheme>) {
      return known_.scheme().successor(token);
    } else {
      refuse(member, errc::unsupported, "the scheme does not tell what follows a token");
      return std::nullopt;
    }
  }

  // From bounds in hexadecimal, either of which may be counted in or not.
  std::optional<range_type> between(std::string_view member, std::string_view min_text,
                                    std::string_view max_text, bool has_min, bool has_max) {
    if (refusal_) return std::nullopt;
    auto const first = known_.scheme().from_hex(min_text);
    auto const last = upper_end_from_hex(known_.scheme(), max_text);
    if (!first) refuse(member, first.error());
    if (!last) refuse(member, last.error());
    if (refusal_) return std::nullopt;
    std::optional<upper_end<token_type>> lower{*first};
    std::optional<upper_end<token_type>> upper{*last};
    if (!has_min) lower = behind(member, *first);
    if (has_max && !last->is_space_end()) upper = behind(member, last->at());
    if (refusal_) return std::nullopt;
    if (!lower->is_space_end()) {
      auto range = range_type::from(lower->at(), *upper);
      if (range) return *std::move(range);
      refuse(member, range.error());
      return std::nullopt;
    }
    refuse(member, errc::invalid_range, "no token lies behind the last one");
    return std::nullopt;
  }
  // {"min","max"}, and flags where a bound does not count as it does by itself.
  std::optional<range_type> range_of(std::string_view json, std::string_view member) {
    auto const found =
        members(member, json,
                std::array<std::string_view, 6>{"min", "max", "isMinInclusive", "isMaxInclusive",
                                                "IsMinInclusive", "IsMaxInclusive"});
    std::string const first = string_in("min", found["min"]);
    std::string const last = string_in("max", found["max"]);
    bool const has_min =
        flag_in("isMinInclusive", found["isMinInclusive"], found["IsMinInclusive"], true);
    bool const has_max =
        flag_in("isMaxInclusive", found["isMaxInclusive"], found["IsMaxInclusive"], false);
    return between(member, first, last, has_min, has_max);
  }
  std::optional<range_type> half_open(std::string_view member, std::string_view first_json,
                                      std::string_view last_json) {
    std::string const first = string_in("minInclusive", first_json);
    std::string const last = string_in("maxExclusive", last_json);
    return between(member, first, last, true, false);
  }

  scope scope_of_range(std::optional<range_type> range) {
    scope made;
    if (range) made.ranges.push_back(*std::move(range));
    return made;
  }

  scope scope_of_key(std::string_view member, partition_key key) {
    scope made;
    auto const& scheme = known_.scheme();
    if (paths_ == 0 || key.size() == paths_) {
      auto range = range_of_key(scheme, key);
      if (range) {
        made.ranges.push_back(*std::move(range));
      } else {
        refuse(member, range.error());
      }
      made.key = std::move(key);
      return made;
    }
    made.prefix = key_prefix{std::move(key), paths_};
    auto bounds = scope_of(scheme, feed_scope<token_type>{*made.prefix});
    if (bounds) {
      made.ranges.push_back(std::move(bounds->range));
    } else {
      refuse(member, bounds.error());
    }
    return made;
  }

  scope scope_of_key_json(std::string_view member, std::string_view json, key_text how) {
    if (refusal_) return {};
    if (how == key_text::text && json.starts_with('"')) {
      std::string const text = string_in(member, json);
      if (is_word(text, "none")) return scope_of_key(member, none_key(1));
      return scope_of_values(member, text);
    }
    if (json.starts_with('[')) return scope_of_values(member, json);
    json_reader in{json};
    key_value const value = read_key_value(in);
    if (in.ok()) return scope_of_key(member, partition_key{value});
    refuse(member, in.error());
    return {};
  }
  scope scope_of_values(std::string_view member, std::string_view json) {
    auto key = read_key_json(json);
    if (key) return scope_of_key(member, *std::move(key));
    refuse(member, key.error());
    return {};
  }

  // The partition, or where it is gone, all that descend from it.
  scope scope_of_id(std::string_view member, std::string_view json) {
    scope made{.ranges = {}, .key = {}, .prefix = {}, .is_by_id = true};
    std::string const id = string_in(member, json);
    if (refusal_) return made;
    if (partition_type const* const found = known_.find(id)) {
      made.ranges.push_back(found->range);
      return made;
    }
    if (descent_.empty()) learn_descent();
    auto const children = std::equal_range(
        descent_.begin(), descent_.end(), std::pair{std::string_view{id}, std::uint32_t{}},
        [](auto const& a, auto const& b) { return a.first < b.first; });
    for (auto child = children.first; child != children.second; ++child)
      made.ranges.push_back(known_.partitions()[child->second].range);
    if (made.ranges.empty())
      refuse(member, errc::unknown_range, "no partition has or had the id ", text_of_id(id));
    return made;
  }
  void learn_descent() {
    std::uint32_t i = 0;
    for (partition_type const& one : known_.partitions()) {
      for (std::string const& parent : one.parents) descent_.emplace_back(parent, i);
      ++i;
    }
    std::sort(descent_.begin(), descent_.end());
    descent_.erase(std::unique(descent_.begin(), descent_.end()), descent_.end());
  }

  // {"Range"} or {"PK"} or {"PKRangeId"}, and what JavaScript and Go have; nothing for none.
  std::optional<scope> scope_in(std::string_view json, key_text how) {
    auto const found = members(form_, json,
                               std::array<std::string_view, 5>{"Range", "PK", "PKRangeId",
                                                               "minInclusive", "maxExclusive"});
    if (refusal_) return std::nullopt;
    if (found.has("Range") + found.has("PK") + found.has("PKRangeId") > 1) {
      refuse(error{errc::malformed, form_, ": it has more than one of Range, PK and PKRangeId"});
      return std::nullopt;
    }
    if (found.has("Range")) return scope_of_range(range_of(found["Range"], "Range"));
    if (!found["PK"].empty()) return scope_of_key_json("PK", found["PK"], how);
    if (found.has("PKRangeId")) return scope_of_id("PKRangeId", found["PKRangeId"]);
    if (found.has("minInclusive"))
      return scope_of_range(half_open(form_, found["minInclusive"], found["maxExclusive"]));
    return std::nullopt;
  }
  // {"type","value"} of .NET, version 2.
  scope typed_scope(std::string_view json) {
    auto const found = members("FeedRange", json, std::array<std::string_view, 2>{"type", "value"});
    std::string const type = string_in("FeedRange.type", found["type"]);
    std::string_view const value = found["value"];
    if (refusal_) return {};
    if (is_word(type, "effectivepartitionkeyrange"))
      return scope_of_range(range_of(value, "FeedRange.value"));
    if (is_word(type, "logicalpartitionkey"))
      return scope_of_values("FeedRange.value", string_in("FeedRange.value", value));
    if (is_word(type, "physicalpartitionkeyrangeid")) return scope_of_id("FeedRange.value", value);
    refuse("FeedRange.type", errc::unsupported, "it is a key, a range or a partition's id, not ",
           inline_text<40>{type});
    return {};
  }

  // {"Type","PointInTimeMs"}, of Java and Python.
  start start_in(std::string_view member, std::string_view json) {
    start made;
    auto const found =
        members(member, json, std::array<std::string_view, 3>{"Type", "PointInTimeMs", "Etag"});
    std::string const type = string_in("Type", found["Type"]);
    if (refusal_) return made;
    if (is_word(type, "beginning")) return made;
    if (is_word(type, "now")) {
      made.from = from_now;
    } else if (is_word(type, "pointintime")) {
      auto const ms =
          std::chrono::milliseconds{integer_in("PointInTimeMs", found["PointInTimeMs"])};
      made.time = wall_time{ms};
      made.from = from_time{*made.time};
    } else if (is_word(type, "lease")) {
      std::string text = string_in("Etag", found["Etag"]);
      if (!text.empty()) made.from = continuation{std::move(text)};
    } else if (is_word(type, "legacycheckpoint")) {
      made.from.reset();  // good where every range has a text of its own
    } else {
      refuse(member, errc::unsupported, "its Type is none that is known: ", inline_text<40>{type});
    }
    return made;
  }

  // Where a range stands that has this text, if any.
  std::optional<continuation> continued(std::string_view member, std::string_view token,
                                        start const& begin) {
    std::string text;
    if (is_there(token)) text = string_in(member, token);
    if (refusal_) return std::nullopt;
    if (!text.empty() && begin.time) return continuation{from_time{*begin.time}, std::move(text)};
    if (!text.empty()) return continuation{std::move(text)};
    if (!begin.from)
      refuse(member, errc::unsupported, "a range was not read since a checkpoint of an old kind");
    return begin.from;
  }

  void read_rid(std::string_view member, std::string_view json) {
    made_.container = string_in(member, json);
    if (!refusal_ && made_.container.empty()) refuse(member, errc::malformed, "it is empty");
  }
  void see_same_rid(std::string_view member, std::string_view json) {
    if (!is_there(json)) return;
    std::string const other = string_in(member, json);
    if (!refusal_ && other != made_.container)
      refuse(member, errc::malformed, "the text names two containers, ",
             inline_text<20>{made_.container}, " and ", inline_text<20>{other});
  }
  void read_mode(std::string_view member, std::string_view json) {
    if (!is_there(json)) return;
    std::string const text = string_in(member, json);
    if (refusal_) return;
    if (auto const mode = foreign_mode(text)) {
      made_.mode = *mode;
    } else {
      refuse(member, errc::unsupported, "there is incremental and full fidelity, not ",
             inline_text<40>{text});
    }
  }

  void add(range_type range, std::optional<continuation> from) {
    if (!refusal_ && from) made_.parts.push_back({std::move(range), *std::move(from)});
  }
  void add_all(std::string_view member, scope const& what,
               std::optional<continuation> const& from) {
    for (range_type const& range : what.ranges) add(range, from);
    // Partitions by id are never more than there are, unless two of them claim the same.
    if (what.is_by_id && made_.parts.size() > known_.size())
      refuse(member, errc::overlap, "a partition is read twice");
  }

  // [{"token","range"}], the parts of a scope. Some SDKs keep all of a child's range after a split;
  // only what lies in the scope was asked for.
  void read_entries(std::string_view member, std::string_view json, std::optional<scope> whole,
                    start const& begin) {
    std::vector<entry> entries;
    elements(member, json, [&](std::string_view one) {
      auto const found = members(member, one, std::array<std::string_view, 2>{"token", "range"});
      entries.push_back({found["range"], found["token"]});
    });
    if (refusal_) return;
    bool const is_key = whole && whole->key;
    if (is_key) made_.key = whole->key;
    range_type const* const limit = whole && !whole->is_by_id ? &whole->ranges.front() : nullptr;
    if (entries.empty()) refuse(member, errc::malformed, "it is empty");
    for (entry const& one : entries) {
      auto from = continued("token", one.token, begin);
      if (is_key && entries.size() == 1) {
        add(*limit, std::move(from));
        return;
      }
      auto const range = range_of(one.range, "range");
      if (refusal_) return;
      if (limit == nullptr) {
        add(*range, std::move(from));
      } else if (auto const shared = intersection(*range, *limit)) {
        add(*shared, std::move(from));
      } else if (!is_key) {
        refuse("range", errc::invalid_range, "what begins at ", text_of_token(range->lower()),
               " lies outside of what is read");
      }
    }
    if (!refusal_ && made_.parts.empty())
      refuse(member, errc::invalid_range, "none of its ranges holds the key");
  }

  // {"V":2,"Rid","Continuation":[{"FeedRange","State"}]}, and the older form, where the array is as
  // in Java.
  void read_dotnet(std::string_view json) {
    form_ = ".NET";
    auto const top =
        members(form_, json, std::array<std::string_view, 3>{"V", "Rid", "Continuation"});
    std::int64_t const version = top.has("V") ? integer_in("V", top["V"]) : 0;
    if (version != 0 && version != 2)
      refuse("V", errc::unsupported, "versions 0 and 2 are read, this is ", version);
    read_rid("Rid", top["Rid"]);
    if (version == 0) {
      auto whole = scope_of_continuation(json, key_text::text);
      read_entries("Continuation", top["Continuation"], std::move(whole), {});
      return;
    }
    bool is_alone = true;
    elements("Continuation", top["Continuation"], [&](std::string_view one) {
      auto const found =
          members("Continuation", one, std::array<std::string_view, 2>{"FeedRange", "State"});
      if (refusal_) return;
      scope what = typed_scope(found["FeedRange"]);
      auto from = dotnet_state(found["State"]);
      if (refusal_) return;
      if ((what.key || made_.key) && !is_alone) {
        refuse("FeedRange", errc::unsupported, "a cursor reads one key, or ranges; this has more");
        return;
      }
      is_alone = false;
      made_.key = std::move(what.key);
      add_all("FeedRange", what, from);
    });
  }
  // A scope beside an array of ranges, which is only needed where it is narrower than they are.
  std::optional<scope> scope_of_continuation(std::string_view json, key_text how) {
    auto const found =
        members("Continuation", json, std::array<std::string_view, 2>{"Range", "PK"});
    if (refusal_ || (!found.has("Range") && found["PK"].empty())) return std::nullopt;
    return scope_in(json, how);
  }
  std::optional<continuation> dotnet_state(std::string_view json) {
    auto const found =
        members("State", json, std::array<std::string_view, 3>{"type", "value", "startTime"});
    std::string const type = string_in("State.type", found["type"]);
    if (refusal_) return std::nullopt;
    if (is_word(type, "beginning")) return from_beginning;
    if (is_word(type, "now")) return from_now;
    if (is_word(type, "time")) return from_time{time_in("State.value", found["value"])};
    if (!is_word(type, "continuation") && !is_word(type, "continuationandstarttime")) {
      refuse("State.type", errc::unsupported, "it is beginning, now, time or continuation, not ",
             inline_text<40>{type});
      return std::nullopt;
    }
    std::string text = string_in("State.value", found["value"]);
    if (!refusal_ && text.empty()) refuse("State.value", errc::malformed, "it is empty");
    if (refusal_) return std::nullopt;
    if (!found.has("startTime")) return continuation{std::move(text)};
    return continuation{from_time{time_in("State.startTime", found["startTime"])}, std::move(text)};
  }

  void see_java_version(std::string_view json) {
    if (std::int64_t const version = integer_in("V", json); !refusal_ && version != 1)
      refuse("V", errc::unsupported, "version 1 is read, this is ", version);
  }
  void see_python_version(std::string_view json) {
    if (std::string const version = string_in("v", json); !refusal_ && version != "v2")
      refuse("v", errc::unsupported, "version v2 is read, this is ", inline_text<20>{version});
  }

  // {"V":1,"Rid","Mode","StartFrom","Continuation":{"Rid","Continuation":[…],"Range"}}; where
  // nothing was read yet the range stands outside.
  void read_java(std::string_view json) {
    form_ = "Java";
    auto const top =
        members(form_, json,
                std::array<std::string_view, 5>{"V", "Rid", "Mode", "StartFrom", "Continuation"});
    see_java_version(top["V"]);
    read_rid("Rid", top["Rid"]);
    read_mode("Mode", top["Mode"]);
    start const begin = start_in("StartFrom", top["StartFrom"]);
    if (top.has("Continuation")) {
      read_continuation(top["Continuation"], "Rid", "Continuation", begin);
    } else {
      read_unread(json, begin);
    }
  }

  // {"v":"v2","containerRid","mode","startFrom","continuation":{"rid","continuation":[…],"Range"}}
  void read_python(std::string_view json) {
    form_ = "Python";
    auto const top = members(
        form_, json,
        std::array<std::string_view, 5>{"v", "containerRid", "mode", "startFrom", "continuation"});
    see_python_version(top["v"]);
    read_rid("containerRid", top["containerRid"]);
    read_mode("mode", top["mode"]);
    start const begin = start_in("startFrom", top["startFrom"]);
    read_continuation(top["continuation"], "rid", "continuation", begin);
  }

  void read_continuation(std::string_view json, std::string_view rid, std::string_view list,
                         start const& begin) {
    auto const found = members(list, json, std::array<std::string_view, 4>{rid, list, "V", "v"});
    if (found.has("V")) see_java_version(found["V"]);
    if (found.has("v")) see_python_version(found["v"]);
    see_same_rid(rid, found[rid]);
    if (refusal_) return;
    auto whole = scope_of_continuation(json, key_text::value);
    read_entries(list, found[list], std::move(whole), begin);
  }
  void read_unread(std::string_view json, start const& begin) {
    auto whole = scope_in(json, key_text::value);
    if (!whole) refuse("Continuation", errc::malformed, "it is missing, and no range stands there");
    auto const from = continued("StartFrom", {}, begin);
    if (refusal_) return;
    made_.key = whole->key;
    add_all("PKRangeId", *whole, from);
  }

  // {"rid","Continuation":[{"minInclusive","maxExclusive","continuationToken"}]}
  void read_javascript(std::string_view json) {
    form_ = "JavaScript";
    read_flat(json, "rid", "Continuation");
  }
  // {"version":1,"resourceId","continuation":[{"minInclusive","maxExclusive","continuationToken"}]}
  void read_go(std::string_view json) {
    form_ = "Go";
    auto const top = members(form_, json, std::array<std::string_view, 1>{"version"});
    if (top.has("version"))
      if (auto const version = integer_in("version", top["version"]);
          !refusal_ && version != 0 && version != 1)
        refuse("version", errc::unsupported, "version 1 is read, this is ", version);
    read_flat(json, "resourceId", "continuation");
  }
  // The two have one shape: of one key the text alone, else a list of ranges. A range that was not
  // read yet begins where these SDKs would begin, at the beginning.
  void read_flat(std::string_view json, std::string_view rid, std::string_view list) {
    auto const top =
        members(form_, json, std::array<std::string_view, 3>{rid, list, "partitionKey"});
    read_rid(rid, top[rid]);
    if (refusal_) return;
    if (!top["partitionKey"].empty()) {
      scope const what = scope_of_key_json("partitionKey", top["partitionKey"], key_text::value);
      auto const from = continued(list, top[list], {});
      made_.key = what.key;
      add_all(list, what, from);
      return;
    }
    elements(list, top[list], [&](std::string_view one) {
      auto const found = members(
          list, one,
          std::array<std::string_view, 5>{"minInclusive", "maxExclusive", "continuationToken",
                                          "epkMinHeader", "epkMaxHeader"});
      auto range = half_open(list, found["minInclusive"], found["maxExclusive"]);
      if (refusal_) return;
      // JavaScript keeps the whole partition's range, and beside it the part that is read.
      if (found.has("epkMinHeader") && found.has("epkMaxHeader")) {
        auto const part = half_open(list, found["epkMinHeader"], found["epkMaxHeader"]);
        if (refusal_) return;
        auto const shared = intersection(*range, *part);
        if (!shared)
          refuse("epkMinHeader", errc::invalid_range, "what begins at ",
                 text_of_token(part->lower()), " lies outside of its partition");
        range = shared;
      }
      auto from = continued("continuationToken", found["continuationToken"], {});
      if (!refusal_) add(*std::move(range), std::move(from));
    });
  }

  routing<Scheme> const& known_;
  std::size_t paths_;
  std::string_view form_ = "foreign text";
  bool is_decoded_ = false;
  std::string decoded_{};
  std::vector<std::pair<std::string_view, std::uint32_t>> descent_{};  // an ancestor, a descendant
  cursor_type made_{};
  std::optional<error> refusal_{};
};

}  // namespace detail

/// The position that a text of the .NET (both versions), Java, Python, JavaScript or Go SDK says,
/// as JSON or as base64 of it. `known` is who owns what now: a partition that is named by its id
/// and is gone becomes its descendants, each standing where it stood. `paths` is how many paths the
/// container's key has: a key of fewer values is then read as a prefix, which stands in `parts`
/// alone; 0 takes every key for a whole one.
///
/// `container` is the container's resource id. The mode is latest_version where the text does not
/// say it, as only those of Java and Python do: set it where it is another.
/// Requires that `paths` is not above 3.
/// Errors, with the form and the member: `malformed`, `unsupported` for versions and kinds that are
/// not known, `unknown_range` for an id, `invalid_range`, `overlap`, those of keys and tokens.
/// Complexity: that of sorting the parts, and with ids also the partitions' parents.
template <hex_scheme Scheme>
[[nodiscard]] result<composite_cursor<token_of_scheme<Scheme>>> foreign_cursor(
    routing<Scheme> const& known, std::string_view text, std::size_t paths = 0) {
  expects(paths <= max_key_values, "a container's key has at most three paths");
  return detail::foreign_reader<Scheme>{known, paths}.read_cursor(text);
}

/// The scope that a feed range of these SDKs says, or of Rust's: a range, a key, or with `paths` a
/// prefix. A partition's id becomes the range that it has or had. Else as `foreign_cursor`.
template <hex_scheme Scheme>
[[nodiscard]] result<feed_scope<token_of_scheme<Scheme>>> foreign_feed_range(
    routing<Scheme> const& known, std::string_view text, std::size_t paths = 0) {
  expects(paths <= max_key_values, "a container's key has at most three paths");
  return detail::foreign_reader<Scheme>{known, paths}.read_feed_range(text);
}

}  // namespace keyspan
