// keyspan/cosmos/cosmos_lease_store.hpp — leases as documents of a container, by point reads and
// writes under etags.
//
//   read     PUT, if-match "none"  -->  412, how far the container is     GET, as far as that
//   replace  PUT, if-match version -->  the next version, or 412
#pragma once

#include <keyspan/async/task.hpp>
#include <keyspan/core/error.hpp>
#include <keyspan/core/json.hpp>
#include <keyspan/core/result.hpp>
#include <keyspan/core/text.hpp>
#include <keyspan/core/utf8.hpp>
#include <keyspan/cosmos/account_answers.hpp>
#include <keyspan/cosmos/account_sender.hpp>
#include <keyspan/cosmos/address.hpp>
#include <keyspan/cosmos/container_answers.hpp>
#include <keyspan/cosmos/document_page.hpp>
#include <keyspan/cosmos/lease_document.hpp>
#include <keyspan/cosmos/open_container.hpp>
#include <keyspan/cosmos/record_document.hpp>
#include <keyspan/cosmos/service_errors.hpp>
#include <keyspan/cosmos/service_request.hpp>
#include <keyspan/feed/wall_time.hpp>
#include <keyspan/hash/any_scheme.hpp>
#include <keyspan/key/partition_key.hpp>
#include <keyspan/lease/lease_store.hpp>
#include <keyspan/transport/http_errors.hpp>
#include <keyspan/transport/message.hpp>
#include <keyspan/transport/retry_policy.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace keyspan::cosmos {

/// How leases are kept in a container.
struct lease_store_options {
  /// The scheme of the container whose changes are handled, `reviews->scheme()`: then documents of
  /// leases say in members of their own what people look for, and tools for the SDKs' processors.
  std::optional<any_scheme> scheme{};
  /// What the ids of the documents begin with, in a container that was taken over from a processor
  /// of the SDKs, up to the two dots; and with it the `lease_prefix` of the processors. See
  /// `record_names`.
  std::string document_prefix{};
  std::string lease_prefix{};
  /// Whether a read shows what any host has written before: two requests instead of one, but in an
  /// account whose default consistency is strong. Without it nothing may rely on the laws.
  bool reads_are_linearizable = true;
  /// An account may take writes in several regions, each of which would have owners of its own.
  /// Whether all hosts talk to one and the same of them.
  bool is_in_one_region = false;
  /// What time it is, for the documents' `timestamp`; the system's clock where it is empty.
  std::function<wall_time()> now{};
};

namespace detail {

// How long documents live by what a container says, in seconds; none where they live for ever.
inline std::optional<std::int64_t> time_to_live_in(response const& answer) {
  std::optional<std::int64_t> made;
  json_reader in{answer.body};
  in.begin_object();
  for (std::string_view name; in.next_member(name);) {
    if (name == "defaultTtl" && in.peek() == json_kind::number) {
      auto const seconds = in.integer<std::int64_t>();
      if (seconds > 0) made = seconds;
    } else {
      in.skip();
    }
  }
  return made;
}

// What all handles of a store share. All members may be called from any thread.
class lease_container : public std::enable_shared_from_this<lease_container> {
  struct only_here {};

 public:
  using pointer = std::shared_ptr<lease_container>;

  lease_container(only_here, service_door door, container_address address, record_names names,
                  lease_store_options options, any_scheme scheme)
      : door_{door},
        address_{std::move(address)},
        names_{std::move(names)},
        options_{std::move(options)},
        own_scheme_{scheme} {}

  static task<result<pointer>> opened(service_door door, container_address address,
                                      lease_store_options options) {
    auto names = record_names::from(options.document_prefix, options.lease_prefix);
    if (!names) co_return unexpected{names.error()};
    auto reading = door.send(read_container(address), answer_judge::by_service);
    auto const told = co_await std::move(reading);
    if (!told) co_return unexpected{told.error()};
    auto const known = container_in(*told);
    if (!known) co_return unexpected{known.error()};
    if (auto const fits = fit(address, *known, *told); !fits) co_return unexpected{fits.error()};
    auto asking = door.send(read_account(), answer_judge::by_service);
    auto const account = co_await std::move(asking);
    if (!account) co_return unexpected{account.error()};
    // An emulator need not say it, and a token for a container need not let it be read.
    auto how = account_in(*account);
    if (!how) {
      error const& why = how.error();
      bool const may_say_it_later =
          why.code != errc::bad_response && may_repeat(why, request_kind::read);
      if (may_say_it_later) co_return unexpected{why};
      how = account_properties{};
    }
    if (auto const fits = fit(*how, options); !fits) co_return unexpected{fits.error()};
    bool const is_strong = how->consistency == "Strong";
    auto made =
        std::make_shared<lease_container>(only_here{}, door, std::move(address), *std::move(names),
                                          std::move(options), known->scheme);
    if (is_strong) made->options_.reads_are_linearizable = false;
    co_return made;
  }

  container_address const& address() const noexcept { return address_; }
  record_names const& names() const noexcept { return names_; }

  // ---- the operations --------------------------------------------------------------------------

  static task<result<stored_record>> read(pointer at, std::string id, store_request within) {
    if (auto const why = no_record_id(id)) co_return unexpected{*why};
    std::string const document = at->names_.document_of(id);
    partition_key const key{document};
    constexpr int most_tries = 4;
    for (int tries = 1;; ++tries) {
      std::string session;
      if (at->wants_touch()) {
        auto touching = at->touched(document, within);
        auto touch = co_await std::move(touching);
        if (!touch) co_return unexpected{of_record(id, touch.error())};
        session = *std::move(touch);
      }
      auto question = read_document(at->address_, key, document, {.session_token = session});
      if (!session.empty()) {
        question.message.headers.add("x-ms-consistency-level", "Session");
      } else {  // without which some emulators fail where there is no such document
        question.message.headers.add("x-ms-documentdb-query-enablecrosspartition", "true");
      }
      auto asking = at->asked(std::move(question), within, answer_judge::by_key);
      auto const answer = co_await std::move(asking);
      if (answer) {
        auto const told = document_in(*answer);
        if (!told) co_return unexpected{of_record(id, told.error())};
        co_return at->record_from(id, *told, answer->headers.find("etag").value_or(""));
      }
      // The partition may have been split in between: then it is asked anew how far it has come.
      bool const is_behind = answer.error().code == errc::session_not_available;
      if (!is_behind || session.empty() || tries == most_tries)
        co_return unexpected{of_record(id, answer.error())};
    }
  }

  static task<result<std::string>> create(pointer at, std::string id, std::string body,
                                          store_request within) {
    auto text = at->text_for(id, body);
    if (!text) co_return unexpected{text.error()};
    partition_key const key{at->names_.document_of(id)};
    auto question = create_document(at->address_, key, *std::move(text));
    auto writing = at->written(std::move(id), std::move(question), within);
    co_return co_await std::move(writing);
  }

  static task<result<std::string>> replace(pointer at, std::string id, std::string body,
                                           std::string version, store_request within) {
    auto text = at->text_for(id, body);
    if (!text) co_return unexpected{text.error()};
    if (auto const why = no_version(id, version)) co_return unexpected{*why};
    std::string const document = at->names_.document_of(id);
    partition_key const key{document};
    auto question =
        replace_document(at->address_, key, document, *std::move(text), {.if_match = version});
    auto writing = at->written(std::move(id), std::move(question), within);
    co_return co_await std::move(writing);
  }

  static task<result<void>> remove(pointer at, std::string id, std::string version,
                                   store_request within) {
    if (auto const why = no_record_id(id)) co_return unexpected{*why};
    if (auto const why = no_version(id, version)) co_return unexpected{*why};
    std::string const document = at->names_.document_of(id);
    partition_key const key{document};
    auto question = remove_document(at->address_, key, document, {.if_match = version});
    auto asking = at->asked(std::move(question), within, answer_judge::write_by_key);
    auto const answer = co_await std::move(asking);
    if (!answer) co_return unexpected{of_write(id, answer.error())};
    co_return result<void>{};
  }

  static task<result<std::vector<stored_record>>> list(pointer at, std::string prefix,
                                                       store_request within) {
    constexpr int most_tries = 4;
    for (int tries = 1;; ++tries) {
      auto finding = at->partitions(within);
      auto const ids = co_await std::move(finding);
      if (!ids) co_return unexpected{ids.error()};
      std::map<std::string, stored_record> found;
      std::optional<error> why;
      for (std::string const& partition : **ids) {
        auto reading = at->read_partition(partition, prefix, found, within);
        auto const read = co_await std::move(reading);
        if (read) continue;
        why = read.error();
        break;
      }
      if (!why) {
        std::vector<stored_record> all;
        all.reserve(found.size());
        for (auto& [id, one] : found) all.push_back(std::move(one));
        co_return all;
      }
      if (why->code != errc::range_gone) co_return unexpected{*why};
      at->forget(*ids);
      if (tries == most_tries) {
        why->code = errc::unavailable;  // which it is to who has asked for no range
        co_return unexpected{*why};
      }
    }
  }

 private:
  using partition_ids = std::vector<std::string>;
  using partition_ids_pointer = std::shared_ptr<partition_ids const>;

  // ---- what there is ---------------------------------------------------------------------------

  static result<void> fit(container_address const& address, container_properties const& known,
                          response const& told) {
    auto const shown = inline_text<40>{std::string_view{address.container()}};
    bool const is_by_id = known.paths.size() == 1 && known.paths[0].to_text() == "/id";
    if (!is_by_id)
      return fail(errc::wrong_container, "container \"", shown,
                  "\" is not partitioned by /id: make one for the leases with the key path /id");
    if (auto const seconds = time_to_live_in(told))
      return fail(errc::wrong_container, "the documents of container \"", shown, "\" are gone ",
                  *seconds, " s after they were written: take its default time to live away");
    return {};
  }
  static result<void> fit(account_properties const& how, lease_store_options const& options) {
    if (how.regions.writes_everywhere && !options.is_in_one_region)
      return fail(errc::unsupported,
                  "the account takes writes in several regions: let all hosts talk to one of them, "
                  "and say is_in_one_region");
    bool const is_too_weak = how.consistency == "ConsistentPrefix" || how.consistency == "Eventual";
    if (is_too_weak && options.reads_are_linearizable)
      return fail(errc::unsupported, "the account's default consistency is ",
                  inline_text<24>{std::string_view{how.consistency}},
                  ", so reads may be old: let it be Session");
    return {};
  }
  static error of_record(std::string_view id, error const& why) {
    error made{why.code, "record \"", inline_text<60>{id}, "\": ", why.text};
    made.position = why.position;
    made.wire = why.wire;
    return made;
  }
  static std::optional<error> no_record_id(std::string_view id) {
    if (is_record_id(id)) return std::nullopt;
    return error{
        errc::invalid_options, "an id of a record is 1 to ",
        longest_record_id,     " letters, digits, '.', '-' and '_', no dot at its ends, not \"",
        inline_text<40>{id},   "\""};
  }
  // The one is no condition, and the other one that always holds.
  static std::optional<error> no_version(std::string_view id, std::string_view version) {
    if (!version.empty() && version != "*" && is_header_text(version)) return std::nullopt;
    return error{errc::precondition_failed, "record \"", inline_text<60>{id},
                 "\" has another version"};
  }
  static bool is_header_text(std::string_view text) {
    return std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c != '\x7F'; });
  }
  result<std::string> text_for(std::string_view id, std::string_view body) const {
    if (auto const why = no_record_id(id)) return unexpected{*why};
    if (body.size() > longest_body)
      return fail(errc::too_large, "record \"", inline_text<60>{id}, "\": a body has up to ",
                  longest_body, " bytes, not ", body.size());
    if (body.empty() || !is_utf8(body) || body.find('\0') != body.npos)
      return fail(errc::invalid_options, "record \"", inline_text<60>{id},
                  "\": a body is a text in UTF-8, not empty and without a NUL");
    wall_time const now =
        options_.now
            ? options_.now()
            : std::chrono::floor<std::chrono::milliseconds>(std::chrono::system_clock::now());
    return text_of_record(names_.document_of(id), body, options_.scheme, now);
  }

  // ---- asking ----------------------------------------------------------------------------------

  task<result<response>> asked(service_request what, store_request within, answer_judge judge) {
    auto const self = shared_from_this();
    what.message.deadline = within.deadline;
    what.message.stop = within.stop;
    auto sending = door_.send(std::move(what), judge);
    auto answer = co_await std::move(sending);
    if (!answer) co_return answer;
    if (auto const token = answer->headers.find("x-ms-session-token"); token && !token->empty())
      sessions_ = sessions::some;
    auto why = judging{judge}(*answer);
    if (!why) co_return answer;
    // A container that is gone is another thing than a record that is.
    if (why->code == errc::not_found && why->wire.substatus == no_parent) {
      why->code = errc::container_changed;
      why->text = inline_text<160>{"the container of the leases is gone"};
    }
    co_return unexpected{*why};
  }

  // How far the container is at this moment, as the replica that writes says it: to a write that
  // never can be done, since no document ever has that etag. Nothing where it does not say.
  // Errors: `not_found`.
  task<result<std::string>> touched(std::string document, store_request within) {
    auto const self = shared_from_this();
    std::string body;
    json_writer out{body};
    out.begin_object().name("id").string(document).end_object();
    partition_key const key{document};
    auto question = replace_document(address_, key, document, std::move(body),
                                     {.if_match = "\"00000000-0000-0000-0000-000000000000\""});
    // It goes where writes go, and changes nothing however often it is sent.
    question.message.kind = request_kind::repeatable_write;
    question.message.deadline = within.deadline;
    question.message.stop = within.stop;
    auto sending = door_.send(std::move(question), answer_judge::by_key);
    auto const answer = co_await std::move(sending);
    if (!answer) {
      error lost = answer.error();
      if (lost.code == errc::outcome_unknown) lost.code = errc::not_connected;  // of a read
      co_return unexpected{lost};
    }
    auto const why = judging{answer_judge::by_key}(*answer);
    if (!why)
      co_return fail(errc::unsupported,
                     "the service heeds no If-Match, so leases cannot be kept there");
    auto const token = answer->headers.find("x-ms-session-token").value_or(std::string_view{});
    if (why->code == errc::precondition_failed) {
      if (!token.empty()) {
        sessions_ = sessions::some;
      } else if (sessions_ == sessions::unknown) {
        sessions_ = sessions::none;
      }
      co_return std::string{token};
    }
    if (why->code == errc::not_found && why->wire.substatus == no_parent)
      co_return fail(errc::container_changed, "the container of the leases is gone");
    // What it is said to be is what a plain read is told.
    if (why->code == errc::bad_request) co_return std::string{};
    co_return unexpected{*why};
  }
  bool wants_touch() const {
    return options_.reads_are_linearizable && sessions_ != sessions::none;
  }

  // ---- what a document says --------------------------------------------------------------------

  result<stored_record> record_from(std::string_view id, document_text const& told,
                                    std::string_view etag_beside) const {
    auto said = record_in(told.json);
    if (!said) return unexpected{of_record(id, said.error())};
    if (said->is_foreign) return unexpected{foreign(id, *said)};
    if (!said->body)
      return fail(errc::malformed, "record \"", inline_text<60>{id},
                  "\": its document has no text \"keyspan\" in \"properties\"");
    std::string_view const version = told.etag.empty() ? etag_beside : std::string_view{told.etag};
    if (version.empty())
      return fail(errc::bad_response, "record \"", inline_text<60>{id},
                  "\": it came without an etag");
    return stored_record{std::string{id}, *std::move(said->body), std::string{version}};
  }
  static error foreign(std::string_view id, record_text const& said) {
    std::string const shown = shown_lease(id);
    if (!said.body)
      return error{errc::foreign_lease, "lease \"", shown, "\" is one of another processor, ",
                   "and was not taken over"};
    return error{errc::foreign_lease,
                 "lease \"",
                 shown,
                 "\" was written by another processor, \"",
                 inline_text<30>{std::string_view{said.owner}},
                 "\": stop that fleet, then take them over"};
  }

  task<result<std::string>> written(std::string id, service_request what, store_request within) {
    auto const self = shared_from_this();
    auto asking = asked(std::move(what), within, answer_judge::write_by_key);
    auto const answer = co_await std::move(asking);
    if (!answer) co_return unexpected{of_write(id, answer.error())};
    auto const told = document_in(*answer);
    std::string version = told ? told->etag : std::string{};
    if (version.empty()) version = answer->headers.find("etag").value_or(std::string_view{});
    if (!version.empty()) co_return version;
    error lost{errc::outcome_unknown, "record \"", inline_text<60>{id},
               "\": it was written, and the answer has no etag"};
    lost.wire = details_of(*answer);
    co_return unexpected{lost};
  }
  // What the account has sent more than once may have been done by an earlier sending: then that
  // one has broken the condition of the last.
  static error of_write(std::string_view id, error const& why) {
    bool const is_broken = why.code == errc::precondition_failed ||
                           why.code == errc::already_exists || why.code == errc::not_found;
    error made = of_record(id, why);
    if (!is_broken || why.wire.attempts < 2) return made;
    made = error{errc::outcome_unknown, "record \"",       inline_text<60>{id},
                 "\": sent ",           why.wire.attempts, " times, and refused by ",
                 name_of(why.code)};
    made.wire = why.wire;
    return made;
  }

  // ---- lists -----------------------------------------------------------------------------------

  // Those of the container, by their ids; one without a name is all of it.
  task<result<partition_ids_pointer>> partitions(store_request within) {
    auto const self = shared_from_this();
    if (auto known = partitions_known()) co_return known;
    auto asking = asked(read_partitions(address_), within, answer_judge::by_service);
    auto const answer = co_await std::move(asking);
    if (!answer) co_return unexpected{answer.error()};
    partition_ids ids;
    if (auto const page = partitions_in(own_scheme_, *answer)) {
      std::set<std::string> gone;
      for (auto const& one : page->partitions) gone.insert(one.parents.begin(), one.parents.end());
      for (auto const& one : page->partitions)
        if (!gone.contains(one.id)) ids.push_back(one.id);
    }
    if (ids.empty()) ids.emplace_back();
    auto made = std::make_shared<partition_ids const>(std::move(ids));
    std::lock_guard const lock{mutex_};
    partitions_ = made;
    co_return made;
  }
  partition_ids_pointer partitions_known() const {
    std::lock_guard const lock{mutex_};
    return partitions_;
  }
  void forget(partition_ids_pointer const& stale) {
    std::lock_guard const lock{mutex_};
    if (partitions_ == stale) partitions_.reset();
  }

  task<result<void>> read_partition(std::string partition, std::string_view prefix,
                                    std::map<std::string, stored_record>& found,
                                    store_request within) {
    auto const self = shared_from_this();
    std::string behind;
    for (;;) {
      page_target const target{.partition = partition};
      auto question = read_documents(address_, target, {.continuation = behind});
      auto asking = asked(std::move(question), within, answer_judge::by_range);
      auto const answer = co_await std::move(asking);
      if (!answer) co_return unexpected{answer.error()};
      auto page = documents_in(*answer);
      if (!page) co_return unexpected{page.error()};
      for (document_text const& one : page->documents)
        if (auto const taken = take(one, prefix, found); !taken) co_return taken;
      std::string next = std::move(page->details.continuation);
      if (next.empty()) co_return result<void>{};
      if (next == behind)
        co_return fail(errc::bad_response, "a page of documents leads to itself again");
      behind = std::move(next);
    }
  }
  result<void> take(document_text const& told, std::string_view prefix,
                    std::map<std::string, stored_record>& found) const {
    auto const id = names_.record_of(told.id);
    if (!id) {
      // A lease of theirs by the id of a partition: somebody has come back.
      if (!names_.is_lease_of_theirs(told.id)) return {};
      auto const said = record_in(told.json);
      if (said && said->is_foreign) return unexpected{foreign(told.id, *said)};
      return {};
    }
    if (!id->starts_with(prefix)) return {};
    auto one = record_from(*id, told, {});
    if (one) {
      found.insert_or_assign(*id, *std::move(one));
    } else if (one.error().code != errc::malformed) {
      return unexpected{one.error()};  // what is no record, `read` tells
    }
    return {};
  }

  static constexpr std::size_t longest_body = 60'000;
  static constexpr std::uint16_t no_parent = 1003;  // behind a 404

  // Whether the service tells how far it is.
  enum class sessions : std::uint8_t { unknown, none, some };

  service_door door_;
  container_address address_;
  record_names names_;
  lease_store_options options_;
  any_scheme own_scheme_;
  std::atomic<sessions> sessions_{sessions::unknown};
  mutable std::mutex mutex_{};  // of what follows
  partition_ids_pointer partitions_{};
};

}  // namespace detail

/// A `lease_store` whose records are documents of a container that is partitioned by `/id`: each of
/// them is a logical partition of its own, and its version is the etag.
///
///   auto leases = co_await cosmos_lease_store::open(account, "shop", "leases");
///   processor work{*reviews, *leases, clock, {.lease_prefix = "orders."}};
///
/// A handle: copies share what they know, and the account outlives all of them and whatever is
/// under way. All members may be called from any thread.
///
/// Errors of all: those of the concept, of `service_errors` and of the transport, with the id of
/// the record; `container_changed` where the container is gone; `foreign_lease` where a processor
/// of the SDKs has written a lease since this library did.
///
/// Cancellation: by the request's stop token. Destruction: that of a task that awaits the
/// transport.
class cosmos_lease_store {
 public:
  template <class T>
  using answering = task<result<T>>;

  /// The store in a container. Asks two questions: of the container and of the account. Errors:
  /// `invalid_options` for names and prefixes that nothing may have; `wrong_container` for one that
  /// is partitioned otherwise, or whose documents run out; `unsupported` for an account whose reads
  /// or writes cannot keep the laws; `not_found`.
  template <class Account>
  [[nodiscard]] static task<result<cosmos_lease_store>> open(Account& account, std::string database,
                                                             std::string container,
                                                             lease_store_options options = {}) {
    auto address = container_address::from(database, container);
    if (!address) co_return unexpected{address.error()};
    auto const door = detail::account_door::of(account);
    auto opening = detail::lease_container::opened(door, *std::move(address), std::move(options));
    auto opened = co_await std::move(opening);
    if (!opened) co_return unexpected{opened.error()};
    co_return cosmos_lease_store{*std::move(opened)};
  }

  container_address const& address() const noexcept { return core_->address(); }
  /// Which document has which record.
  record_names const& names() const noexcept { return core_->names(); }

  /// All records of a prefix, by a walk through the container; documents that are no records are
  /// left out. Complexity: a request a page of the container, and one more the first time.
  answering<std::vector<stored_record>> list(std::string_view prefix,
                                             store_request const& request) const {
    return core::list(core_, std::string{prefix}, request);
  }
  /// Errors: `malformed` where the document holds no record.
  answering<stored_record> read(std::string_view id, store_request const& request) const {
    return core::read(core_, std::string{id}, request);
  }
  /// Errors of all writes: `outcome_unknown` also where the account has sent it more than once and
  /// the last sending was refused. Of those with a body: `too_large`, `invalid_options`.
  answering<std::string> create(std::string_view id, std::string_view body,
                                store_request const& request) const {
    return core::create(core_, std::string{id}, std::string{body}, request);
  }
  answering<std::string> replace(std::string_view id, std::string_view body,
                                 std::string_view version, store_request const& request) const {
    return core::replace(core_, std::string{id}, std::string{body}, std::string{version}, request);
  }
  answering<void> remove(std::string_view id, std::string_view version,
                         store_request const& request) const {
    return core::remove(core_, std::string{id}, std::string{version}, request);
  }

 private:
  using core = detail::lease_container;

  explicit cosmos_lease_store(core::pointer opened) : core_{std::move(opened)} {}

  core::pointer core_;
};

static_assert(lease_store<cosmos_lease_store>);

}  // namespace keyspan::cosmos
