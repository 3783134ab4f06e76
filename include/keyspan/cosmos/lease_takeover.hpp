// keyspan/cosmos/lease_takeover.hpp — the leases of a change feed processor of the SDKs become
// those of a processor here, and those become theirs again.
//
//   their fleet, stopped   P..0  P..1  P.info
//   take_over_leases       P..-7FFF  P..7FFF-FF  layout     positions and ranges stay
//   give_back_leases       P..0  P..1  P.info               or by ranges
#pragma once

#include <keyspan/async/clock.hpp>
#include <keyspan/async/instant.hpp>
#include <keyspan/async/stop_token.hpp>
#include <keyspan/async/task.hpp>
#include <keyspan/core/base64.hpp>
#include <keyspan/core/contract.hpp>
#include <keyspan/core/error.hpp>
#include <keyspan/core/json.hpp>
#include <keyspan/core/result.hpp>
#include <keyspan/core/text.hpp>
#include <keyspan/core/utf8.hpp>
#include <keyspan/cosmos/address.hpp>
#include <keyspan/cosmos/container_answers.hpp>
#include <keyspan/cosmos/document_json.hpp>
#include <keyspan/cosmos/document_page.hpp>
#include <keyspan/cosmos/lease_document.hpp>
#include <keyspan/cosmos/open_container.hpp>
#include <keyspan/cosmos/record_document.hpp>
#include <keyspan/cosmos/service_request.hpp>
#include <keyspan/feed/continuation.hpp>
#include <keyspan/feed/cursor.hpp>
#include <keyspan/feed/feed_mode.hpp>
#include <keyspan/feed/feed_request.hpp>
#include <keyspan/feed/foreign_cursor.hpp>
#include <keyspan/feed/page_source.hpp>
#include <keyspan/feed/wall_time.hpp>
#include <keyspan/hash/token.hpp>
#include <keyspan/key/key_path.hpp>
#include <keyspan/key/key_value.hpp>
#include <keyspan/key/partition_key.hpp>
#include <keyspan/lease/lease_facts.hpp>
#include <keyspan/lease/lease_ids.hpp>
#include <keyspan/lease/lease_record.hpp>
#include <keyspan/processor/lease_control.hpp>
#include <keyspan/range/cover.hpp>
#include <keyspan/range/partition.hpp>
#include <keyspan/range/routing.hpp>
#include <keyspan/range/routing_refresh.hpp>
#include <keyspan/range/token_range.hpp>
#include <keyspan/transport/message.hpp>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace keyspan::cosmos {

/// How leases are told apart by the processors that go on with them.
enum class lease_form : std::uint8_t {
  range,         ///< by range, as .NET 3 writes it
  java_range,    ///< by range, as Java writes it: positions are states of its own
  partition,     ///< by the id of the partition, as .NET 3 and Java write it
  partition_id,  ///< the same, as .NET 2 writes it
};

/// The enumerator's own name: "java_range".
constexpr std::string_view name_of(lease_form form) {
  switch (form) {
    case lease_form::range:
      return "range";
    case lease_form::java_range:
      return "java_range";
    case lease_form::partition:
      return "partition";
    case lease_form::partition_id:
      return "partition_id";
  }
  expects(false, "a lease_form is one of the enumerators");
  return {};
}

/// What is taken over, and how.
struct takeover_options {
  /// What stands in front of the two dots in the ids of their leases: the name of the processor,
  /// the host of the account, and the resource ids of the database and the container that is read,
  /// "shopcontoso.documents.azure.com_AbCdAA==_AbCdAOkLmNo=".
  std::string document_prefix{};
  /// The `lease_prefix` of the processors that go on.
  std::string lease_prefix{};
  /// For how long a lease of theirs holds that nobody writes: their lease expiration interval.
  instant::duration expiry = std::chrono::seconds{60};
  /// Where a lease is read from that was not read yet, as their option of where to start says it:
  /// from the beginning, from now, or from a moment.
  std::optional<continuation> start{};
  stop_token stop{};
};

/// What is given back, and how.
struct give_back_options {
  /// As in `takeover_options`.
  std::string document_prefix{};
  std::string lease_prefix{};
  /// The form that they are to have; that which was taken over, or by range, where nothing is said.
  std::optional<lease_form> form{};
  /// The processors' lease expiration interval, at least.
  instant::duration expiry = std::chrono::seconds{60};
  stop_token stop{};
};

/// What was done.
struct takeover_outcome {
  /// It was as it should be already: nothing was written.
  bool was_done = false;
  /// How many leases there are now, and how many documents of leases were written and removed.
  std::size_t leases = 0;
  std::size_t written = 0;
  std::size_t removed = 0;

  friend bool operator==(takeover_outcome const&, takeover_outcome const&) = default;
};

namespace detail {

// ---- the documents of one fleet ----------------------------------------------------------------

// Which document of theirs one was made of, and as of which etag.
inline constexpr std::string_view origin_property = "keyspan_from";
inline constexpr std::string_view origin_etag_property = "keyspan_from_etag";
inline constexpr std::string_view returned_property = "keyspan_returned";
// Of the lease that was given back: whoever takes it over again goes on from there.
inline constexpr std::string_view epoch_property = "keyspan_epoch";

inline std::uint64_t epoch_in(lease_document const& lease) {
  std::uint64_t epoch = 0;
  auto const text = lease.property(epoch_property).value_or(std::string{});
  auto const read = std::from_chars(text.data(), text.data() + text.size(), epoch);
  return read.ec == std::errc{} ? epoch : 0;
}

// Under which ids documents stand in a container of another fleet, and records among them.
class lease_places {
 public:
  static result<lease_places> from(std::string prefix, std::string lease_prefix) {
    if (prefix.empty())
      return fail(errc::invalid_options,
                  "document_prefix is what stands before the two dots in the ids of their leases");
    auto names = record_names::from(prefix, lease_prefix);
    if (!names) return unexpected{names.error()};
    return lease_places{std::move(prefix), *std::move(names), lease_ids{std::move(lease_prefix)}};
  }

  std::string const& prefix() const noexcept { return prefix_; }
  std::string all() const { return prefix_ + '.'; }
  std::string lease(std::string_view token) const { return prefix_ + ".." + std::string{token}; }
  template <token Token>
  std::string lease(std::string_view scheme, token_range<Token> const& range) const {
    return names_.document_of(ids_.lease(scheme, range));
  }
  std::string layout() const { return names_.document_of(ids_.layout()); }
  std::string marker() const { return prefix_ + ".takeover"; }
  std::string info() const { return prefix_ + ".info"; }

  bool is_lease(std::string_view document) const {
    return names_.is_lease_of_theirs(document) || kind_of(document) == record_kind::lease;
  }
  // A record of ours that other processors have there, whose leases these are.
  std::optional<error> strange_record(std::string_view document) const {
    auto const record = names_.record_of(document);
    if (!record || ids_.kind_of(*record)) return std::nullopt;
    return error{errc::invalid_options, "the leases are those of another lease_prefix: there is ",
                 inline_text<80>{*record}};
  }
  // Of which record it is the document, if of one.
  std::optional<record_kind> kind_of(std::string_view document) const {
    auto const record = names_.record_of(document);
    if (!record) return std::nullopt;
    return ids_.kind_of(*record);
  }

 private:
  lease_places(std::string prefix, record_names names, lease_ids ids)
      : prefix_{std::move(prefix)}, names_{std::move(names)}, ids_{std::move(ids)} {}

  std::string prefix_;
  record_names names_;
  lease_ids ids_;
};

// What is kept in the marker.
enum class takeover_stage : std::uint8_t { watching, writing, done, returning, removing };

constexpr std::string_view name_of(takeover_stage stage) {
  switch (stage) {
    case takeover_stage::watching:
      return "watching";
    case takeover_stage::writing:
      return "writing";
    case takeover_stage::done:
      return "done";
    case takeover_stage::returning:
      return "returning";
    case takeover_stage::removing:
      return "removing";
  }
  expects(false, "a takeover_stage is one of the enumerators");
  return {};
}

struct takeover_marker {
  static constexpr std::string_view member = "keyspan.takeover";

  static result<takeover_marker> from_json(nlohmann::json const& document) {
    takeover_marker made;
    auto const told = document.find(member);
    if (told != document.end() && told->is_object()) {
      made.form = named<lease_form>(*told, "form",
                                    {lease_form::range, lease_form::java_range,
                                     lease_form::partition, lease_form::partition_id});
      auto const stage = named<takeover_stage>(
          *told, "stage",
          {takeover_stage::watching, takeover_stage::writing, takeover_stage::done,
           takeover_stage::returning, takeover_stage::removing});
      if (stage) {
        made.stage = *stage;
        return made;
      }
    }
    return fail(errc::malformed, "the document of the takeover does not say how far it is");
  }
  nlohmann::json to_json(std::string const& id) const {
    auto made = nlohmann::json::object();
    made["id"] = id;
    made[std::string{member}]["stage"] = std::string{name_of(stage)};
    if (form) made[std::string{member}]["form"] = std::string{keyspan::cosmos::name_of(*form)};
    return made;
  }

  takeover_stage stage = takeover_stage::watching;
  std::optional<lease_form> form{};

 private:
  template <class Enum>
  static std::optional<Enum> named(nlohmann::json const& in, std::string_view name,
                                   std::initializer_list<Enum> all) {
    auto const found = in.find(name);
    if (found == in.end() || !found->is_string()) return std::nullopt;
    for (Enum const one : all)
      if (found->get_ref<std::string const&>() == name_of(one)) return one;
    return std::nullopt;
  }
};

// What the service says of a document that it has.
struct kept_document {
  std::string id{};
  std::string etag{};
  std::int64_t changed_at = 0;
  nlohmann::json json{};

  static std::optional<kept_document> of(nlohmann::json document) {
    kept_document made;
    auto const text = [&](std::string_view name) {
      auto const found = document.find(name);
      return found != document.end() && found->is_string() ? found->get<std::string>()
                                                           : std::string{};
    };
    if (!document.is_object()) return std::nullopt;
    made.id = text("id");
    made.etag = text("_etag");
    if (auto const at = document.find("_ts"); at != document.end() && at->is_number())
      made.changed_at = at->get<std::int64_t>();
    made.json = std::move(document);
    return made;
  }
  std::optional<std::string> property(std::string_view name) const {
    auto const found = json.find("properties");
    if (found == json.end() || !found->is_object()) return std::nullopt;
    auto const value = found->find(name);
    if (value == found->end() || !value->is_string()) return std::nullopt;
    return value->get<std::string>();
  }
};

// Point operations on the documents of a container whose key is /id, and a list of some of them.
template <class Account>
class takeover_documents {
 public:
  takeover_documents(Account& account, container_address where, stop_token stop)
      : account_{account}, where_{std::move(where)}, stop_{std::move(stop)} {}

  // That each document is a key of its own.
  task<result<void>> check_key() {
    auto asked = with_stop(read_container(where_));
    auto asking = account_.ask(std::move(asked));
    auto const answer = co_await std::move(asking);
    if (!answer) co_return unexpected{answer.error()};
    auto const known = container_in(*answer);
    if (!known) co_return unexpected{known.error()};
    if (known->paths.size() == 1 && known->paths[0].to_text() == "/id") co_return result<void>{};
    co_return fail(errc::wrong_container,
                   "leases are taken over in a container whose key is /id; copy them into such a "
                   "one first");
  }

  // None where there is no such document.
  task<result<std::optional<kept_document>>> read(std::string id) {
    partition_key const key{id};
    auto asked = with_stop(read_document(where_, key, id));
    asked.message.headers.add("x-ms-documentdb-query-enablecrosspartition", "True");
    auto asking = account_.ask(std::move(asked));
    auto const answer = co_await std::move(asking);
    if (!answer && answer.error().code == errc::not_found) co_return std::optional<kept_document>{};
    if (!answer) co_return unexpected{answer.error()};
    auto json = json_from(answer->body);
    if (!json) co_return unexpected{json.error()};
    co_return kept_document::of(*std::move(json));
  }

  // All whose ids begin so.
  task<result<std::vector<kept_document>>> list(std::string prefix) {
    std::vector<kept_document> found;
    std::string behind;
    do {
      page_options how;
      how.continuation = behind;
      auto asked = with_stop(read_documents(where_, {}, how));
      asked.message.headers.add("x-ms-documentdb-query-enablecrosspartition", "True");
      auto asking = account_.ask(std::move(asked));
      auto const answer = co_await std::move(asking);
      if (!answer) co_return unexpected{answer.error()};
      auto const page = documents_in(*answer);
      if (!page) co_return unexpected{page.error()};
      for (auto const& one : page->documents) {
        if (!one.id.starts_with(prefix)) continue;
        auto json = json_from(one.json);
        if (!json) co_return lease_refused(one.id, json.error().code, json.error().text);
        auto kept = kept_document::of(*std::move(json));
        if (kept) found.push_back(*std::move(kept));
      }
      behind = page->details.continuation;
    } while (!behind.empty());
    std::sort(found.begin(), found.end(),
              [](kept_document const& a, kept_document const& b) { return a.id < b.id; });
    auto const twice =
        std::unique(found.begin(), found.end(),
                    [](kept_document const& a, kept_document const& b) { return a.id == b.id; });
    found.erase(twice, found.end());
    co_return found;
  }

  // Writes a document that is new where there is no etag; what it is by then.
  task<result<kept_document>> write(nlohmann::json document, std::string etag = {}) {
    std::string const id = document.at("id").template get<std::string>();
    for (auto const* const name : {"_rid", "_self", "_etag", "_attachments", "_ts"})
      document.erase(name);
    auto text = text_of(document);
    if (!text) co_return unexpected{text.error()};
    partition_key const key{id};
    document_options how;
    how.if_match = etag;
    auto asked = with_stop(etag.empty() ? create_document(where_, key, *std::move(text))
                                        : replace_document(where_, key, id, *std::move(text), how));
    auto asking = account_.ask(std::move(asked));
    auto const answer = co_await std::move(asking);
    if (!answer) co_return unexpected{answer.error()};
    auto json = json_from(answer->body);
    std::optional<kept_document> made;
    if (json) made = kept_document::of(*std::move(json));
    if (made && !made->etag.empty() && made->changed_at != 0) co_return *std::move(made);
    // An answer may be short.
    auto reading = read(id);
    auto found = co_await std::move(reading);
    if (!found) co_return unexpected{found.error()};
    if (!*found) co_return fail(errc::contended, "what was written is gone");
    co_return **std::move(found);
  }

  // Where it still has this etag; whether it had.
  task<result<void>> remove(std::string id, std::string etag) {
    partition_key const key{id};
    document_options how;
    how.if_match = etag;
    auto asked = with_stop(remove_document(where_, key, id, how));
    auto asking = account_.ask(std::move(asked));
    auto const answer = co_await std::move(asking);
    if (!answer && answer.error().code != errc::not_found) co_return unexpected{answer.error()};
    co_return result<void>{};
  }

 private:
  service_request with_stop(service_request what) const {
    what.message.stop = stop_;
    return what;
  }

  Account& account_;
  container_address where_;
  stop_token stop_;
};

// ---- what both ways have in common -------------------------------------------------------------

inline bool is_conflict(error const& why) {
  return why.code == errc::precondition_failed || why.code == errc::already_exists ||
         why.code == errc::not_found || why.code == errc::contended;
}

// Hexadecimal as the service writes the bounds of ranges.
template <token Token>
epk_range epk_of(token_range<Token> const& range) {
  return {std::string{std::string_view{range.lower().to_hex()}},
          std::string{std::string_view{range.upper().to_hex()}}};
}

// A position that is one text of the service, for the document's own members.
template <token Token>
std::string told_continuation(composite_cursor<Token> const& position) {
  if (position.parts.size() != 1 || !is_utf8(position.parts.front().from.text())) return {};
  return position.parts.front().from.text();
}

// What a processor of Java keeps where others keep a text of the service.
template <token Token>
std::string java_state(std::string_view container, feed_mode mode, token_range<Token> const& range,
                       continuation const& from) {
  auto const write_range = [&](json_writer& out) {
    auto const bounds = epk_of(range);
    out.name("min").string(bounds.lower).name("max").string(bounds.upper).end_object();
  };
  std::string json;
  json_writer out{json};
  out.begin_object().name("V").integer(1).name("Rid").string(container).name("Mode");
  out.string(mode == feed_mode::latest_version ? "INCREMENTAL" : "FULL_FIDELITY");
  out.name("StartFrom").begin_object().name("Type");
  if (from.start() == start_kind::time) {
    auto const ms = from.time().time_since_epoch().count();
    out.string("POINT_IN_TIME").name("PointInTimeMs").integer(std::int64_t{ms});
  } else {
    out.string(from.start() == start_kind::now ? "NOW" : "BEGINNING");
  }
  out.end_object();
  if (!from.is_start()) {
    out.name("Continuation").begin_object().name("V").integer(1).name("Rid").string(container);
    out.name("Continuation").begin_array().begin_object().name("token").string(from.text());
    out.name("range").begin_object();
    write_range(out);
    out.end_object().end_array();
  }
  out.name("Range").begin_object();
  write_range(out);
  if (!from.is_start()) out.end_object();
  out.end_object();
  std::string text(base64_size(json.size()), '=');
  text.resize(encode_base64(std::span{json.data(), json.size()}, std::span{text}).size());
  return text;
}
// Whether a text is such a state, and none of the service's own.
inline bool is_state(std::string_view text) {
  if (text.starts_with('{')) return true;
  std::string bytes(text.size(), '\0');
  auto const size = decode_base64(text, std::span{bytes});
  return size && bytes.starts_with('{');
}

// The resource id of a container that a prefix of leases ends with; nothing where it is none.
inline std::string_view container_of(std::string_view prefix) {
  std::string_view const last = prefix.substr(prefix.rfind('_') + 1);
  bool const is_id = last.size() == 12 && last.ends_with('=') && last.size() < prefix.size();
  return is_id ? last : std::string_view{};
}

inline instant::duration whole_expiry(instant::duration expiry) {
  // The service tells whole seconds: one more for either moment.
  return std::chrono::ceil<std::chrono::seconds>(expiry) + std::chrono::seconds{2};
}

template <class Account, page_source Source, clock Clock>
class lease_moving {
 public:
  using scheme_type = typename Source::scheme_type;
  using token_type = token_of_source<Source>;
  using range_type = token_range<token_type>;
  using cursor_type = composite_cursor<token_type>;
  using record_type = lease_record<token_type>;

  lease_moving(Account& account, container_address where, Source& source, Clock& clock,
               lease_places places, instant::duration expiry, stop_token stop)
      : documents_{account, std::move(where), stop},
        source_{source},
        clock_{clock},
        places_{std::move(places)},
        expiry_{expiry},
        stop_{std::move(stop)} {}

 protected:
  // Again and again while another host does the same.
  template <class Once>
  task<result<takeover_outcome>> repeated(Once once) {
    std::string_view const own{source_.container()};
    if (auto const named = container_of(places_.prefix()); !named.empty() && named != own)
      co_return fail(errc::wrong_container, "document_prefix is of leases of the container ",
                     inline_text<24>{named}, ", not of ", inline_text<24>{own});
    constexpr int most_rounds = 50;
    for (int round = 0;; ++round) {
      auto trying = once();
      auto outcome = co_await std::move(trying);
      if (outcome) co_return outcome;
      if (!is_conflict_ || round == most_rounds) co_return outcome;
      if (has_to_wait_) {
        has_to_wait_ = false;
        continue;
      }
      auto waiting = clock_.wait_until(
          instant_after(clock_.now(), std::chrono::milliseconds{20} * (round + 1)), stop_);
      result<void> const waited = co_await std::move(waiting);
      if (!waited) co_return unexpected{waited.error()};
    }
  }
  // Somebody else has written meanwhile: all is read anew.
  unexpected conflict(error const& why) {
    is_conflict_ = is_conflict(why);
    if (!is_conflict_) return unexpected{why};
    return fail(errc::contended, "another host writes the same leases: repeat it");
  }

  task<result<void>> read_marker() {
    auto reading = documents_.read(places_.marker());
    auto found = co_await std::move(reading);
    if (!found) co_return unexpected{found.error()};
    marker_etag_.clear();
    marker_ = {};
    has_marker_ = found->has_value();
    if (!has_marker_) co_return result<void>{};
    auto told = takeover_marker::from_json((*found)->json);
    if (!told) co_return unexpected{told.error()};
    marker_ = *told;
    marker_etag_ = (*found)->etag;
    co_return result<void>{};
  }
  // Writes how far this is. Returns what time it is for the service.
  task<result<std::int64_t>> write_marker(takeover_stage stage) {
    marker_.stage = stage;
    auto writing = documents_.write(marker_.to_json(places_.marker()), marker_etag_);
    auto const written = co_await std::move(writing);
    if (!written) co_return conflict(written.error());
    marker_etag_ = written->etag;
    has_marker_ = true;
    now_ = written->changed_at;
    co_return now_;
  }

  // What is not to move: each was seen with this etag, and has to have it later.
  struct watched {
    std::string id{};
    std::string etag{};
    std::int64_t changed_at = 0;
    std::string owner{};
  };
  // Whether what is watched stands as it stood when it was seen first.
  result<void> see_still(std::vector<watched> const& all, std::string_view still) {
    if (!has_begun_) {
      for (auto const& one : all) seen_.emplace(one.id, one.etag);
      has_begun_ = true;
    }
    for (auto const& one : all) {
      auto const known = seen_.find(one.id);
      if (known == seen_.end() || known->second != one.etag) return moves(one, still);
    }
    return {};
  }
  // Whether it stands still for long enough. By the clock of the service alone where it has for so
  // long; else by waiting here, and looking again.
  task<result<void>> watch(std::vector<watched> const& all) {
    if (has_watched_) co_return result<void>{};
    // Its stage stays: whoever is refused has changed nothing for the others.
    auto marking = write_marker(marker_.stage);
    auto const now = co_await std::move(marking);
    if (!now) co_return unexpected{now.error()};
    has_watched_ = true;
    auto const enough = std::chrono::duration_cast<std::chrono::seconds>(whole_expiry(expiry_));
    std::chrono::seconds longest{0};
    for (auto const& one : all) {
      std::chrono::seconds const age{(std::max)(std::int64_t{0}, *now - one.changed_at)};
      longest = (std::max)(longest, enough - age);
    }
    if (longest <= std::chrono::seconds{0}) co_return result<void>{};
    auto waiting = clock_.wait_until(instant_after(clock_.now(), longest), stop_);
    result<void> const waited = co_await std::move(waiting);
    if (!waited) co_return unexpected{waited.error()};
    // Not a conflict, but all is read anew.
    is_conflict_ = has_to_wait_ = true;
    co_return fail(errc::contended, "the leases are looked at once more");
  }
  static unexpected moves(watched const& one, std::string_view still) {
    if (one.owner.empty())
      return lease_refused(one.id, errc::foreign_lease, "it still moves: stop ", still,
                           ", then repeat this");
    return lease_refused(one.id, errc::foreign_lease, inline_text<40>{one.owner},
                         " still moves it: stop ", still, ", then repeat this");
  }

  task<result<void>> read_routing() {
    if (known_) co_return result<void>{};
    routing_refresh<scheme_type> refresh{source_.scheme()};
    while (refresh.wants_page()) {
      auto&& asked = source_.topology(refresh.version());
      result<partition_page<token_type>> page = co_await std::forward<decltype(asked)>(asked);
      if (!page) co_return unexpected{page.error()};
      refresh.take(*std::move(page));
    }
    if (!refresh.outcome()) co_return unexpected{refresh.outcome().error()};
    known_ = *refresh.outcome();
    co_return result<void>{};
  }

  // Whether ranges share the space out; who claims what twice is named.
  struct piece {
    range_type range;
    std::string id{};
  };
  result<void> see_cover(std::vector<piece> pieces) const {
    std::sort(pieces.begin(), pieces.end(),
              [](piece const& a, piece const& b) { return a.range < b.range; });
    auto const exact =
        covers_exactly(pieces, whole_space(source_.scheme()),
                       [](piece const& one) -> range_type const& { return one.range; });
    if (exact) return {};
    for (std::size_t i = 1; exact.error().code == errc::overlap && i < pieces.size(); ++i) {
      if (!overlaps(pieces[i - 1].range, pieces[i].range)) continue;
      std::string const other = shown_lease(pieces[i - 1].id);
      return lease_refused(pieces[i].id, errc::overlap, "\"", other, "\" has a part of it, too");
    }
    return fail(exact.error().code, "the leases: ", exact.error().text);
  }

  wall_time service_time() const {
    return wall_time{std::chrono::seconds{(std::max)(std::int64_t{0}, now_)}};
  }
  std::string scheme_name() const { return std::string{std::string_view{source_.scheme().name()}}; }

  takeover_documents<Account> documents_;
  Source& source_;
  Clock& clock_;
  lease_places places_;
  instant::duration expiry_;
  stop_token stop_;
  takeover_marker marker_{};
  std::string marker_etag_{};
  std::int64_t now_ = 0;  // by the service's clock, when the marker was written last
  bool has_marker_ = false;
  bool is_conflict_ = false;
  bool has_to_wait_ = false;
  bool has_begun_ = false;
  bool has_watched_ = false;
  std::map<std::string, std::string> seen_{};
  std::shared_ptr<routing<scheme_type> const> known_{};
  takeover_outcome outcome_{};
};

// ---- there -------------------------------------------------------------------------------------

template <class Account, page_source Source, clock Clock>
class lease_taking : lease_moving<Account, Source, Clock> {
  using base = lease_moving<Account, Source, Clock>;
  using base::clock_, base::documents_, base::expiry_, base::has_marker_, base::is_conflict_,
      base::known_, base::marker_, base::now_, base::outcome_, base::places_, base::source_;
  using typename base::cursor_type;
  using typename base::piece;
  using typename base::range_type;
  using typename base::record_type;
  using typename base::watched;

 public:
  lease_taking(Account& account, container_address where, Source& source, Clock& clock,
               takeover_options options, lease_places places)
      : base{account,           std::move(where), source,      clock,
             std::move(places), options.expiry,   options.stop},
        start_{std::move(options.start)} {}

  task<result<takeover_outcome>> run() {
    auto working = this->repeated([this] { return once(); });
    co_return co_await std::move(working);
  }

 private:
  // A lease as it was found.
  struct found_lease {
    lease_document document{};
    /// Our record in it, and whether the document says what it says.
    std::optional<record_type> record{};
    bool is_ours = false;
    bool is_stale = false;  // made of another one that has moved since

    // Whether it is the one that has its range; one that has ended has none.
    bool owns() const { return record && is_ours && !is_stale && !has_ended(); }
    bool has_ended() const { return record && record->facts.phase == lease_phase::ended; }
  };
  // What becomes of one that is not ours.
  struct conversion {
    std::size_t of = 0;
    std::vector<cursor_type> positions{};  // one for each new lease
    bool is_ended = false;                 // what stood there is written again
  };

  task<result<takeover_outcome>> once() {
    is_conflict_ = false;
    auto reading = this->read_marker();
    auto const marked = co_await std::move(reading);
    if (!marked) co_return unexpected{marked.error()};
    is_again_ = has_marker_ && marker_.stage == takeover_stage::done;
    if (marker_.stage == takeover_stage::returning || marker_.stage == takeover_stage::removing)
      co_return fail(errc::invalid_options,
                     "these leases are being given back: finish that before, by give_back_leases");
    if (!has_checked_ && !is_again_) {
      auto checking = documents_.check_key();
      auto const checked = co_await std::move(checking);
      if (!checked) co_return unexpected{checked.error()};
      has_checked_ = true;
    }

    auto looking = look();
    auto const looked = co_await std::move(looking);
    if (!looked) co_return unexpected{looked.error()};
    bool const is_all_ours = std::all_of(found_.begin(), found_.end(),
                                         [](found_lease const& one) { return one.is_ours; });
    is_again_ = is_again_ || (!has_marker_ && has_layout_);
    if (is_again_ && is_all_ours) co_return was_done();
    // Each of its writes is a step from one whole state to another: the stage stays.
    if (is_again_) marker_.stage = takeover_stage::done;

    std::vector<watched> theirs;
    for (auto const& one : found_) {
      auto const& document = one.document;
      if (!one.is_ours)
        theirs.push_back(
            {document.id, document.etag, document.changed_at.value_or(0), document.owner});
    }
    if (auto const still = this->see_still(theirs, "that fleet"); !still)
      co_return unexpected{still.error()};
    auto planning = plan();
    auto planned = co_await std::move(planning);
    if (!planned) co_return unexpected{planned.error()};
    auto watching = this->watch(theirs);
    auto const still = co_await std::move(watching);
    if (!still) co_return unexpected{still.error()};

    if (!is_again_) {
      auto marking = this->write_marker(takeover_stage::writing);
      auto const begun = co_await std::move(marking);
      if (!begun) co_return unexpected{begun.error()};
    }
    for (auto const& one : found_) {
      if (!one.is_stale) continue;
      auto removing = documents_.remove(one.document.id, one.document.etag);
      auto const removed = co_await std::move(removing);
      if (!removed) co_return this->conflict(removed.error());
    }
    for (auto const& one : *planned) {
      auto converting = convert(one);
      auto const converted = co_await std::move(converting);
      if (!converted) co_return unexpected{converted.error()};
    }
    auto finishing = finish();
    co_return co_await std::move(finishing);
  }
  takeover_outcome was_done() {
    outcome_.leases = static_cast<std::size_t>(
        std::count_if(found_.begin(), found_.end(), [](auto const& one) { return one.owns(); }));
    outcome_.was_done = outcome_.written == 0 && outcome_.removed == 0;
    return outcome_;
  }

  // All leases, and whether a processor of ours has begun.
  task<result<void>> look() {
    auto listing = documents_.list({});
    auto const listed = co_await std::move(listing);
    if (!listed) co_return unexpected{listed.error()};
    found_.clear();
    has_layout_ = false;
    std::string others;
    std::string const layout = places_.layout();
    for (auto const& one : *listed) {
      if (one.id == layout) has_layout_ = true;
      if (auto const strange = places_.strange_record(one.id)) co_return unexpected{*strange};
      if (!places_.is_lease(one.id)) {
        if (auto const dots = one.id.find(".."); dots != one.id.npos && others.empty())
          others = one.id.substr(0, dots);
        continue;
      }
      auto document = lease_document::from_json(one.json);
      if (!document && one.property(record_member)) document = bare_document(one);
      if (!document) co_return unexpected{document.error()};
      found_lease made{.document = *std::move(document)};
      auto recorded = see_record(made, one.json);
      if (!recorded) co_return unexpected{recorded.error()};
      found_.push_back(std::move(made));
    }
    if (found_.empty() && !is_again_) co_return nothing_found(others);
    bool const is_first = !is_again_ && (has_marker_ || !has_layout_);
    for (auto& one : found_) {
      if (!is_first) break;
      auto const origin = one.document.property(origin_property);
      if (!one.is_ours || !origin) continue;
      for (auto const& other : found_)
        if (!other.is_ours && other.document.id == *origin)
          one.is_stale = one.document.property(origin_etag_property) != other.document.etag;
    }
    outcome_.leases = found_.size();
    co_return result<void>{};
  }
  // Of a store that was not told the scheme: the record alone.
  static lease_document bare_document(kept_document const& one) {
    lease_document made;
    made.id = one.id;
    made.etag = one.etag;
    made.changed_at = one.changed_at;
    made.properties = one.json.at("properties");
    return made;
  }
  unexpected nothing_found(std::string const& other) const {
    std::string const prefix = shown_lease(places_.prefix());
    if (other.empty())
      return fail(errc::not_found, "there is no lease of \"", prefix, "\" in the container");
    std::string const shown = shown_lease(other);
    return fail(errc::not_found, "there is no lease of \"", prefix, "\", but of \"", shown, "\"");
  }
  // Whether a document holds a record of ours that nobody has overwritten.
  result<void> see_record(found_lease& one, nlohmann::json const& json) const {
    auto const body = one.document.property(record_member);
    if (!body) return {};
    auto record = record_type::from_text(source_.scheme(), *body);
    if (!record)
      return lease_refused(one.document.id, record.error().code,
                           "member \"properties.keyspan\": ", record.error().text);
    auto const told = record_in(json.dump());
    one.is_ours = told && !told->is_foreign;
    one.record = *std::move(record);
    return {};
  }

  // What is to be written, so that every token has one lease, or why that cannot be.
  task<result<std::vector<conversion>>> plan() {
    std::vector<conversion> all;
    std::vector<piece> pieces;
    for (auto const& one : found_)
      if (one.owns()) pieces.push_back({one.record->range, one.document.id});
    std::optional<feed_mode> mode;
    for (std::size_t i = 0; i < found_.size(); ++i) {
      auto const& one = found_[i];
      if (one.is_ours) {
        if (!one.is_stale && !mode) mode = one.record->position.mode;
        continue;
      }
      if (one.has_ended()) {
        all.push_back({i, {}, true});
        continue;
      }
      auto finding = ranges_of(one.document);
      auto ranges = co_await std::move(finding);
      if (!ranges) co_return unexpected{ranges.error()};
      auto placing = positions_of(one, without_done(one, *std::move(ranges)));
      auto positions = co_await std::move(placing);
      if (!positions) co_return unexpected{positions.error()};
      for (auto const& position : *positions) {
        range_type const range{position.parts.front().range.lower(),
                               position.parts.back().range.upper()};
        pieces.push_back({range, one.document.id});
        if (!mode) mode = position.mode;
        if (*mode != position.mode)
          co_return lease_refused(one.document.id, errc::unsupported,
                                  "some leases are of full fidelity, and some are not");
      }
      all.push_back({i, *std::move(positions)});
    }
    outcome_.leases = pieces.size();
    auto const whole = this->see_cover(std::move(pieces));
    // Processors of ours fill the holes that they leave, in the middle of a split among others.
    bool const is_filled = is_again_ && !whole && whole.error().code == errc::gap;
    if (!whole && !is_filled) co_return unexpected{whole.error()};
    co_return all;
  }

  // What of the ranges of a lease has no new lease yet. Of one that was made beside leases that
  // had been taken over already, what none of these is of.
  std::vector<range_type> without_done(found_lease const& of,
                                       std::vector<range_type> ranges) const {
    if (is_again_ && of.record) return ranges;
    std::vector<range_type> done;
    for (auto const& one : found_) {
      bool const is_made_of_it =
          one.is_ours && !one.is_stale && one.document.property(origin_property) == of.document.id;
      if (is_again_ ? one.record.has_value() : is_made_of_it) done.push_back(one.record->range);
    }
    std::sort(done.begin(), done.end());
    std::vector<range_type> left;
    for (auto const& range : ranges) {
      std::optional<range_type> rest = range;
      for (auto const& part : done) {
        if (!rest || !overlaps(*rest, part)) continue;
        if (rest->lower() < part.lower()) left.emplace_back(rest->lower(), part.lower());
        if (part.upper() < rest->upper()) {
          rest = range_type{part.upper().at(), rest->upper()};
        } else {
          rest.reset();
        }
      }
      if (rest) left.push_back(*std::move(rest));
    }
    return left;
  }

  task<result<std::vector<range_type>>> ranges_of(lease_document const& lease) {
    std::vector<range_type> made;
    if (lease.range) {
      auto const range = range_from_hex(source_.scheme(), lease.range->lower, lease.range->upper);
      if (!range)
        co_return lease_refused(lease.id, range.error().code,
                                "member \"FeedRange\": ", range.error().text);
      made.push_back(*range);
      co_return made;
    }
    auto reading = this->read_routing();
    auto const read = co_await std::move(reading);
    if (!read) co_return unexpected{read.error()};
    if (auto const* const own = known_->find(lease.lease_token)) {
      made.push_back(own->range);
      co_return made;
    }
    for (auto const& one : known_->partitions())
      if (std::find(one.parents.begin(), one.parents.end(), lease.lease_token) != one.parents.end())
        made.push_back(one.range);
    if (made.empty())
      co_return lease_refused(lease.id, errc::unknown_range, "no partition has or had the id ",
                              inline_text<24>{lease.lease_token});
    co_return made;
  }

  // Where each of the ranges is read on from.
  task<result<std::vector<cursor_type>>> positions_of(found_lease const& one,
                                                      std::vector<range_type> ranges) {
    lease_document const& lease = one.document;
    cursor_type blank;
    blank.container = std::string{std::string_view{source_.container()}};
    blank.scheme = this->scheme_name();
    if (!lease.mode.empty()) {
      auto const mode = keyspan::detail::foreign_mode(lease.mode);
      if (!mode)
        co_return lease_refused(lease.id, errc::unsupported, "member \"Mode\": it is ",
                                inline_text<40>{lease.mode});
      blank.mode = *mode;
    }
    std::vector<cursor<keyspan::token_of_source<Source>>> told;
    // What only we know, where they have not moved it since.
    if (one.record && is_unmoved(one)) {
      blank.mode = one.record->position.mode;
      told = one.record->position.parts;
    } else if (lease.version == lease_version::range && is_state(lease.continuation)) {
      auto reading = this->read_routing();
      auto const read = co_await std::move(reading);
      if (!read) co_return unexpected{read.error()};
      auto state = foreign_cursor(*known_, lease.continuation);
      if (!state)
        co_return lease_refused(lease.id, state.error().code,
                                "member \"ContinuationToken\": ", state.error().text);
      if (state->container != blank.container)
        co_return lease_refused(lease.id, errc::wrong_container, "it is of the container ",
                                inline_text<24>{state->container}, ", not ",
                                inline_text<24>{blank.container});
      blank.mode = state->mode;
      told = std::move(state->parts);
    }
    std::vector<cursor_type> made;
    for (auto const& range : ranges) {
      cursor_type position = blank;
      if (told.empty()) {
        if (lease.continuation.empty() && !start_)
          co_return lease_refused(lease.id, errc::invalid_options,
                                  "it was not read yet: say where from, by start");
        auto from = lease.continuation.empty() ? *start_ : continuation{lease.continuation};
        position.parts.push_back({range, std::move(from)});
      }
      for (auto const& part : told)
        if (auto const shared = intersection(part.range, range))
          position.parts.push_back({*shared, part.from});
      std::sort(position.parts.begin(), position.parts.end(),
                [](auto const& a, auto const& b) { return a.range < b.range; });
      auto const exact = covers_exactly(
          position.parts, range, [](auto const& part) -> range_type const& { return part.range; });
      if (!exact)
        co_return lease_refused(lease.id, exact.error().code,
                                "member \"ContinuationToken\": ", exact.error().text);
      auto fixing = fixed(std::move(position));
      auto settled = co_await std::move(fixing);
      if (!settled) co_return lease_refused(lease.id, settled.error().code, settled.error().text);
      made.push_back(*std::move(settled));
    }
    co_return made;
  }
  // *Now* is the moment of this: what comes between it and the first reading is not lost.
  task<result<cursor_type>> fixed(cursor_type position) {
    cursor_type made = position;
    made.parts.clear();
    for (auto const& part : position.parts) {
      if (position.mode == feed_mode::all_versions_and_deletes && part.from.is_start() &&
          part.from.start() != start_kind::now)
        co_return fail(errc::unsupported, "it was not read yet, and all versions begin now");
      if (!part.from.is_start() || part.from.start() != start_kind::now) {
        made.parts.push_back(part);
        continue;
      }
      feed_request<keyspan::token_of_source<Source>> asked;
      asked.start = from_now;
      asked.mode = position.mode;
      asked.scope = part.range;
      auto opening = keyspan::detail::position_of_start(source_, std::move(asked));
      auto opened = co_await std::move(opening);
      if (!opened) co_return unexpected{opened.error()};
      made.parts.insert(made.parts.end(), opened->parts.begin(), opened->parts.end());
    }
    co_return made;
  }

  // Whether a lease that had been ours stands where we have left it.
  static bool is_unmoved(found_lease const& one) {
    return one.document.continuation == told_continuation(one.record->position);
  }
  // What is known of a lease that had been ours goes on: an owner that may be at work is asked to
  // go where the other fleet has come to, as `lease_control::reset` asks it.
  record_type record_of(found_lease const& of, range_type const& range,
                        cursor_type const& position) const {
    if (!of.record || of.record->range != range) {
      record_type made{range};
      made.facts.stamp = {departed_session, 0};
      made.facts.held_for = expiry_;
      made.facts.epoch = epoch_in(of.document);
      if (of.record) made.facts.epoch = (std::max)(made.facts.epoch, of.record->facts.epoch);
      made.position = position;
      return made;
    }
    record_type made = *of.record;
    if (made.facts.phase == lease_phase::ended || is_unmoved(of)) return made;
    if (made.facts.owner) {
      made.reset = position;
    } else {
      made.reset.reset();
      made.position = position;
      ++made.facts.sequence;
    }
    return made;
  }
  // A document of theirs as one of ours. What the service has not told stays the other fleet's.
  lease_document made_of(found_lease const& of, range_type const& range,
                         cursor_type const& position) const {
    record_type const record = record_of(of, range, position);
    lease_document made = of.document;
    made.version = lease_version::range;
    made.naming = lease_naming::lease_token;
    made.id = places_.lease(this->scheme_name(), range);
    made.range = epk_of(range);
    made.lease_token = lease_token_of(*made.range);
    made.owner.clear();
    if (record.facts.owner) {
      made.owner = is_utf8(record.owner_name) ? record.owner_name : std::string{};
      if (made.owner.empty()) made.owner = record.facts.owner.to_text().view();
    }
    made.continuation = told_continuation(record.position);
    say_state(made.others, record);
    put_record(made, record.to_text());
    made.properties.erase(std::string{returned_property});
    made.properties.erase(std::string{origin_property});
    made.properties.erase(std::string{origin_etag_property});
    return made;
  }
  task<result<void>> convert(conversion const& what) {
    found_lease const& of = found_[what.of];
    lease_document const& from = of.document;
    see_form(from);
    if (what.is_ended) {
      lease_document const made = made_of(of, of.record->range, of.record->position);
      auto writing = documents_.write(made.to_json(), from.etag);
      auto const written = co_await std::move(writing);
      if (!written) co_return this->conflict(written.error());
      ++outcome_.written;
      co_return result<void>{};
    }
    for (auto const& position : what.positions) {
      range_type const range{position.parts.front().range.lower(),
                             position.parts.back().range.upper()};
      lease_document made = made_of(of, range, position);
      bool const is_in_place = made.id == from.id;
      if (!is_in_place) {
        made.properties[std::string{origin_property}] = from.id;
        made.properties[std::string{origin_etag_property}] = from.etag;
        auto const others = std::exchange(made.others, nlohmann::json::object());
        for (auto const* const name : state_members)
          if (others.contains(name)) made.others[name] = others[name];
      }
      auto writing = documents_.write(made.to_json(), is_in_place ? from.etag : std::string{});
      auto const written = co_await std::move(writing);
      if (!written) co_return this->conflict(written.error());
      ++outcome_.written;
      if (is_in_place) co_return result<void>{};
    }
    auto removing = documents_.remove(from.id, from.etag);
    auto const removed = co_await std::move(removing);
    if (!removed) co_return this->conflict(removed.error());
    ++outcome_.removed;
    co_return result<void>{};
  }
  // For the way back.
  void see_form(lease_document const& from) {
    if (marker_.form) return;
    if (from.version == lease_version::range) {
      marker_.form = is_state(from.continuation) ? lease_form::java_range : lease_form::range;
    } else {
      marker_.form = from.naming == lease_naming::partition_id ? lease_form::partition_id
                                                               : lease_form::partition;
    }
  }

  task<result<takeover_outcome>> finish() {
    if (!has_layout_) {
      auto const text =
          text_of_record(places_.layout(), layout_record{1}.to_text(), {}, this->service_time());
      auto document = json_from(text.value());
      auto writing = documents_.write(*std::move(document));
      auto const written = co_await std::move(writing);
      if (!written && written.error().code != errc::already_exists)
        co_return this->conflict(written.error());
    }
    auto marking = this->write_marker(takeover_stage::done);
    auto const marked = co_await std::move(marking);
    if (!marked) co_return unexpected{marked.error()};
    co_return outcome_;
  }

  std::optional<continuation> start_;
  bool has_checked_ = false;
  std::vector<found_lease> found_{};
  bool has_layout_ = false;
  bool is_again_ = false;  // they were taken over, and that fleet has come back since
};

// ---- and back ----------------------------------------------------------------------------------

template <class Account, page_source Source, clock Clock>
class lease_returning : lease_moving<Account, Source, Clock> {
  using base = lease_moving<Account, Source, Clock>;
  using base::clock_, base::documents_, base::expiry_, base::has_marker_, base::is_conflict_,
      base::known_, base::marker_, base::marker_etag_, base::now_, base::outcome_, base::places_,
      base::source_;
  using typename base::cursor_type;
  using typename base::piece;
  using typename base::range_type;
  using typename base::record_type;
  using typename base::watched;

 public:
  lease_returning(Account& account, container_address where, Source& source, Clock& clock,
                  give_back_options options, lease_places places)
      : base{account,           std::move(where), source,      clock,
             std::move(places), options.expiry,   options.stop},
        form_{options.form} {}

  task<result<takeover_outcome>> run() {
    auto working = this->repeated([this] { return once(); });
    co_return co_await std::move(working);
  }

 private:
  // A lease of ours.
  struct own_lease {
    kept_document document{};
    record_type record;
  };
  // What is written in the place of one of ours, or of all.
  struct returned {
    std::optional<std::size_t> of{};
    std::vector<lease_document> leases{};
  };

  task<result<takeover_outcome>> once() {
    is_conflict_ = false;
    auto reading = this->read_marker();
    auto const marked = co_await std::move(reading);
    if (!marked) co_return unexpected{marked.error()};
    if (!has_checked_) {
      auto checking = documents_.check_key();
      auto const checked = co_await std::move(checking);
      if (!checked) co_return unexpected{checked.error()};
      has_checked_ = true;
    }
    auto looking = look();
    auto const looked = co_await std::move(looking);
    if (!looked) co_return unexpected{looked.error()};
    if (!has_marker_ && records_.empty()) co_return nothing_left();

    bool const is_begun =
        marker_.stage == takeover_stage::returning || marker_.stage == takeover_stage::removing;
    for (auto const& one : theirs_)
      if (!is_begun && !one.property(returned_property))
        co_return lease_refused(one.id, errc::foreign_lease,
                                "it is one of a processor of the SDKs: stop that fleet, then take "
                                "its leases over");
    if (!has_marker_) marker_.stage = takeover_stage::done;

    std::vector<watched> movers = members_;
    for (auto const& one : leases_)
      if (one.record.facts.owner) movers.push_back(watched_of(one));
    if (auto const still = this->see_still(movers, "every processor of these leases"); !still)
      co_return unexpected{still.error()};
    auto watching = this->watch(movers);
    auto const still = co_await std::move(watching);
    if (!still) co_return unexpected{still.error()};

    if (marker_.stage != takeover_stage::removing) {
      auto writing = write_theirs();
      auto const written = co_await std::move(writing);
      if (!written) co_return unexpected{written.error()};
      auto again = look();
      auto const seen = co_await std::move(again);
      if (!seen) co_return unexpected{seen.error()};
    }
    auto removing = remove_ours();
    co_return co_await std::move(removing);
  }
  result<takeover_outcome> nothing_left() {
    if (theirs_.empty()) {
      std::string const prefix = shown_lease(places_.prefix());
      return fail(errc::not_found, "there is no lease of \"", prefix, "\" in the container");
    }
    outcome_.leases = theirs_.size();
    outcome_.was_done = outcome_.written == 0 && outcome_.removed == 0;
    return outcome_;
  }
  static watched watched_of(own_lease const& one) {
    std::string owner = one.record.owner_name;
    if (owner.empty()) owner = one.record.facts.owner.to_text().view();
    return {one.document.id, one.document.etag, one.document.changed_at, std::move(owner)};
  }

  // All that stands there.
  task<result<void>> look() {
    auto listing = documents_.list(places_.all());
    auto listed = co_await std::move(listing);
    if (!listed) co_return unexpected{listed.error()};
    leases_.clear();
    members_.clear();
    records_.clear();
    theirs_.clear();
    has_info_ = false;
    for (auto& one : *listed) {
      if (one.id == places_.info()) has_info_ = true;
      if (auto const seen = see(one); !seen) co_return unexpected{seen.error()};
    }
    co_return result<void>{};
  }
  result<void> see(kept_document const& one) {
    auto const body = one.property(record_member);
    if (!body) {
      if (places_.is_lease(one.id)) theirs_.push_back(one);
      return {};
    }
    if (auto const strange = places_.strange_record(one.id)) return unexpected{*strange};
    records_.push_back(one);
    if (auto const told = record_in(one.json.dump()); !told || told->is_foreign)
      return lease_refused(one.id, errc::foreign_lease,
                           "a processor of the SDKs has written it: stop that fleet, then take "
                           "its leases over again");
    if (places_.is_lease(one.id)) {
      auto record = record_type::from_text(source_.scheme(), *body);
      if (!record) return lease_refused(one.id, record.error().code, record.error().text);
      expiry_ = (std::max)(expiry_, record->facts.held_for);
      leases_.push_back({one, *std::move(record)});
    } else if (auto const member = member_record::from_text(*body)) {
      bool const is_gone =
          member->phase == member_phase::fenced || member->phase == member_phase::away;
      if (is_gone) return {};
      expiry_ = (std::max)(expiry_, member->held_for);
      std::string name = member->name;
      if (name.empty()) name = member->session.to_text().view();
      members_.push_back({one.id, one.etag, one.changed_at, std::move(name)});
    }
    return {};
  }

  task<result<void>> write_theirs() {
    bool const goes_on = marker_.stage == takeover_stage::returning;
    lease_form form = form_.value_or(marker_.form.value_or(lease_form::range));
    if (goes_on && marker_.form) form = *marker_.form;
    if (!goes_on) {
      std::vector<piece> pieces;
      for (auto const& one : leases_)
        if (one.record.facts.phase == lease_phase::open)
          pieces.push_back({one.record.range, one.document.id});
      auto const whole = this->see_cover(std::move(pieces));
      if (!whole)
        co_return fail(whole.error().code, whole.error().text,
                       "; let a processor run until it is whole");
    }
    bool const is_by_range = form == lease_form::range || form == lease_form::java_range;
    std::vector<returned> plan;
    if (is_by_range) {
      auto planned = by_range(form);
      if (!planned) co_return unexpected{planned.error()};
      plan = *std::move(planned);
    } else {
      auto reading = this->read_routing();
      auto const read = co_await std::move(reading);
      if (!read) co_return unexpected{read.error()};
      auto planned = by_partition(form);
      if (!planned) co_return unexpected{planned.error()};
      plan.push_back(*std::move(planned));
    }
    marker_.form = form;
    auto marking = this->write_marker(takeover_stage::returning);
    auto const begun = co_await std::move(marking);
    if (!begun) co_return unexpected{begun.error()};
    for (auto const& one : plan) {
      auto giving = give(one);
      auto const given = co_await std::move(giving);
      if (!given) co_return unexpected{given.error()};
    }
    if (!is_by_range) {
      // Of partitions that were split since this was begun.
      for (auto const& one : theirs_) {
        auto const& now = plan.front().leases;
        bool const is_planned =
            std::any_of(now.begin(), now.end(),
                        [&](lease_document const& lease) { return lease.id == one.id; });
        if (is_planned || !one.property(returned_property)) continue;
        auto removing = documents_.remove(one.id, one.etag);
        auto const removed = co_await std::move(removing);
        if (!removed) co_return this->conflict(removed.error());
      }
    }
    auto ending = this->write_marker(takeover_stage::removing);
    auto const ended = co_await std::move(ending);
    if (!ended) co_return unexpected{ended.error()};
    co_return result<void>{};
  }

  static cursor_type const& position_of(record_type const& record) {
    return record.reset ? *record.reset : record.position;
  }
  result<std::vector<returned>> by_range(lease_form form) const {
    std::vector<returned> plan;
    for (std::size_t i = 0; i < leases_.size(); ++i) {
      auto const& record = leases_[i].record;
      if (record.facts.phase != lease_phase::open) continue;
      returned made{.of = i};
      auto const& position = position_of(record);
      for (auto const& part : position.parts) {
        auto lease = made_of(form, part.range, part.from, record);
        if (!lease) return unexpected{lease.error()};
        made.leases.push_back(*std::move(lease));
      }
      plan.push_back(std::move(made));
    }
    return plan;
  }
  result<returned> by_partition(lease_form form) const {
    returned plan;
    for (auto const& one : known_->partitions()) {
      std::optional<lease_document> lease;
      for (auto const& own : leases_) {
        if (own.record.facts.phase != lease_phase::open) continue;
        auto const& position = position_of(own.record);
        for (auto const& part : position.parts) {
          if (intersection(part.range, one.range) != one.range) continue;
          auto made = made_of(form, one.range, part.from, own.record);
          if (!made) return unexpected{made.error()};
          lease = *std::move(made);
        }
      }
      if (!lease)
        return fail(errc::unsupported, "partition ", inline_text<24>{one.id},
                    " is read in parts: give the leases back by range");
      lease->lease_token = one.id;
      lease->id = places_.lease(one.id);
      if (form == lease_form::partition_id) lease->others["gremlincompatid"] = lease->id;
      plan.leases.push_back(*std::move(lease));
    }
    return plan;
  }
  result<lease_document> made_of(lease_form form, range_type const& range, continuation const& from,
                                 record_type const& of) const {
    feed_mode const mode = of.position.mode;
    bool const is_by_range = form == lease_form::range || form == lease_form::java_range;
    lease_document made;
    made.version = is_by_range ? lease_version::range : lease_version::partition;
    made.range = epk_of(range);
    made.lease_token = lease_token_of(*made.range);
    made.id = places_.lease(made.lease_token);
    if (!is_utf8(from.text()))
      return lease_refused(made.id, errc::not_representable, "its continuation is no text");
    made.continuation = from.text();
    if (form == lease_form::java_range)
      made.continuation = java_state(std::string_view{source_.container()}, mode, range, from);
    if (form == lease_form::partition_id) {
      made.naming = lease_naming::partition_id;
      made.range.reset();
    } else {
      made.mode = mode == feed_mode::latest_version ? "Incremental Feed" : "Full-Fidelity Feed";
    }
    made.timestamp = time_text(this->service_time()).view();
    made.properties[std::string{returned_property}] = "yes";
    made.properties[std::string{epoch_property}] = std::to_string(of.facts.epoch);
    return made;
  }

  // Writes leases of theirs, then takes the one of ours away that they are in the place of.
  task<result<void>> give(returned const& what) {
    bool is_in_place = false;
    for (auto const& lease : what.leases) {
      auto const etag = etag_of(lease);
      if (!etag) continue;
      if (what.of && leases_[*what.of].document.id == lease.id) is_in_place = true;
      auto writing = documents_.write(lease.to_json(), *etag);
      auto const written = co_await std::move(writing);
      if (!written) co_return this->conflict(written.error());
      ++outcome_.written;
    }
    if (!what.of || is_in_place) co_return result<void>{};
    auto const& own = leases_[*what.of].document;
    auto removing = documents_.remove(own.id, own.etag);
    auto const removed = co_await std::move(removing);
    if (!removed) co_return this->conflict(removed.error());
    ++outcome_.removed;
    co_return result<void>{};
  }
  // As of which etag a lease of theirs is to be written; empty for a new one, none for one that
  // stands there.
  std::optional<std::string> etag_of(lease_document const& lease) const {
    for (auto const& one : records_)
      if (one.id == lease.id) return one.etag;
    for (auto const& one : theirs_) {
      if (one.id != lease.id) continue;
      auto const found = lease_document::from_json(one.json);
      if (found && found->continuation == lease.continuation) return std::nullopt;
      return one.etag;
    }
    return std::string{};
  }

  task<result<takeover_outcome>> remove_ours() {
    for (auto const& one : records_) {
      auto removing = documents_.remove(one.id, one.etag);
      auto const removed = co_await std::move(removing);
      if (!removed) co_return this->conflict(removed.error());
      if (places_.is_lease(one.id)) ++outcome_.removed;
    }
    if (!has_info_) {
      auto document = nlohmann::json::object();
      document["id"] = places_.info();
      auto writing = documents_.write(std::move(document));
      auto const written = co_await std::move(writing);
      if (!written && written.error().code != errc::already_exists)
        co_return this->conflict(written.error());
    }
    auto removing = documents_.remove(places_.marker(), marker_etag_);
    auto const removed = co_await std::move(removing);
    if (!removed) co_return this->conflict(removed.error());
    outcome_.leases = theirs_.size();
    co_return outcome_;
  }

  std::optional<lease_form> form_;
  bool has_checked_ = false;
  bool has_info_ = false;
  std::vector<own_lease> leases_{};
  std::vector<watched> members_{};
  std::vector<kept_document> records_{};  // all of ours, leases among them
  std::vector<kept_document> theirs_{};
};

}  // namespace detail

/// Takes over the leases that a fleet of the SDKs' change feed processors has left in a container,
/// for processors over a `cosmos_lease_store` of the same `document_prefix` and `lease_prefix`:
/// they go on with the same ranges from the same positions. Call it on every host, before its
/// processor runs: one does it, the others find it done, and where it is done already it reads one
/// document and lists the leases.
///
///   take_over_leases(account, leases, reviews, clock, options)
///
/// That fleet has to be stopped. Leases that were written within `expiry`, by the clock of the
/// service, are watched for so long first; where one moves it is `foreign_lease`, and nothing was
/// changed, or at most some leases that this can be repeated over. All ranges are looked at before
/// the first write. It may break off at any write, and is repeated then.
///
/// Where that fleet comes back afterwards, call it again once it is stopped: leases that it has
/// moved are read on from there, and those that it has made beside the ones of ours go.
///
/// `source` is the container whose changes are handled: partitions that were split since are read
/// by what they became. The account, the source and the clock outlive the task.
///
/// Errors: `foreign_lease`, with the lease and its owner; `not_found` where there are no such
/// leases; `gap` and `overlap` where they do not share the space out; `invalid_options` for a lease
/// that was not read yet where no start is given; `malformed`, `unsupported`, `unknown_range`,
/// `wrong_container` for what a lease says, which is named; `wrong_container` for leases in a
/// container whose key is not `/id`; `contended`; those of the account and of the source.
template <class Account, page_source Source, clock Clock>
  requires hex_scheme<typename Source::scheme_type>
[[nodiscard]] task<result<takeover_outcome>> take_over_leases(Account& account,
                                                              container_address leases,
                                                              Source& source, Clock& clock,
                                                              takeover_options options) {
  auto places = detail::lease_places::from(options.document_prefix, options.lease_prefix);
  if (!places) co_return unexpected{places.error()};
  detail::lease_taking<Account, Source, Clock> taking{
      account, std::move(leases), source, clock, std::move(options), *std::move(places)};
  auto working = taking.run();
  co_return co_await std::move(working);
}

/// The way back: leases of processors over a `cosmos_lease_store` as a fleet of the SDKs reads
/// them, with the positions that they have, and nothing of ours beside them: their `.info` is
/// there, and `Owner` is nobody.
///
/// All processors of these leases have to be stopped. Those that are still there, or have left
/// without a word, are watched for as long as they hold what they have; where one moves it is
/// `foreign_lease`, and nothing was changed. It may break off at any write, and is repeated then.
///
/// By range, a position of several parts becomes as many leases. By partitions, each of them has to
/// lie in one part. A lease that was not read yet is given back as such: where it is read from is
/// what that fleet is told to begin with.
///
/// Errors: `foreign_lease`; `not_found`; `gap` and `overlap` while a split is under way, which a
/// processor ends; `unsupported` where the ranges fit no partitions; `invalid_options`;
/// `wrong_container`; `contended`; those of the account and of the source.
template <class Account, page_source Source, clock Clock>
  requires hex_scheme<typename Source::scheme_type>
[[nodiscard]] task<result<takeover_outcome>> give_back_leases(Account& account,
                                                              container_address leases,
                                                              Source& source, Clock& clock,
                                                              give_back_options options) {
  auto places = detail::lease_places::from(options.document_prefix, options.lease_prefix);
  if (!places) co_return unexpected{places.error()};
  detail::lease_returning<Account, Source, Clock> returning{
      account, std::move(leases), source, clock, std::move(options), *std::move(places)};
  auto working = returning.run();
  co_return co_await std::move(working);
}

}  // namespace keyspan::cosmos
