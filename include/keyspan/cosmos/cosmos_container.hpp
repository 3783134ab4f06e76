// keyspan/cosmos/cosmos_container.hpp — a container of Azure Cosmos DB, read and written by the
// same words as one in memory.
//
//   create upsert replace remove patch execute     writes, with etags
//   read_item  read_many  read (a page_source)     point reads and change feeds
#pragma once

#include <keyspan/async/task.hpp>
#include <keyspan/async/when_all.hpp>
#include <keyspan/core/contract.hpp>
#include <keyspan/core/error.hpp>
#include <keyspan/core/result.hpp>
#include <keyspan/core/text.hpp>
#include <keyspan/cosmos/address.hpp>
#include <keyspan/cosmos/container_answers.hpp>
#include <keyspan/cosmos/document_json.hpp>
#include <keyspan/cosmos/document_page.hpp>
#include <keyspan/cosmos/open_container.hpp>
#include <keyspan/cosmos/service_errors.hpp>
#include <keyspan/cosmos/service_request.hpp>
#include <keyspan/feed/continuation.hpp>
#include <keyspan/feed/feed_mode.hpp>
#include <keyspan/feed/page.hpp>
#include <keyspan/feed/page_source.hpp>
#include <keyspan/feed/read_request.hpp>
#include <keyspan/hash/any_scheme.hpp>
#include <keyspan/hash/hash_scheme.hpp>
#include <keyspan/key/key_value.hpp>
#include <keyspan/key/partition_key.hpp>
#include <keyspan/range/routing_refresh.hpp>
#include <keyspan/range/token_range.hpp>
#include <keyspan/transport/http_errors.hpp>
#include <keyspan/transport/item_batch.hpp>
#include <keyspan/transport/item_id.hpp>
#include <keyspan/transport/message.hpp>
#include <keyspan/transport/stored.hpp>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace keyspan::cosmos {

namespace detail {
// What an account alone does with a container; not a template, which clang 16 takes for no friend.
struct container_opening {
  template <class Container>
  static task<result<Container>> at(service_door door, container_address address,
                                    container_options options) {
    return Container::open_at(door, std::move(address), options);
  }
};
}  // namespace detail

/// Documents of type `T` in a container of an account: what `cosmos_account::open` gives. It has
/// the operations of `memory_container`, each awaited, and is a `page_source`, so that feeds,
/// merges and processors read it. Keys are found in the document's own JSON, where the container's
/// definition says.
///
///   auto reviews = co_await account.open<review>("shop", "reviews");
///   co_await reviews->create(review{"r-1", "redmond", 5});
///   feed changes{*reviews};
///
/// Whatever it has seen, by a write or a read, later reads through it show at least (its session).
/// Where the service says that the container was defined anew, its definition is read again and the
/// operation on documents repeated, once; positions in its feed are then of another container, and
/// reading on from them is `container_changed`.
///
/// A handle: copies and what is in flight share one session, and the account outlives all of them.
/// All members may be called from any thread.
///
/// Errors of all: those of `service_errors` and of the transport; `bad_response` for what the
/// service does not say, whatever its status.
///
/// Cancellation: feeds and point reads, by the token of their request. Destruction: that of a task
/// that awaits the transport.
template <document_type T, service_scheme Scheme = any_scheme>
class cosmos_container {
 public:
  using scheme_type = Scheme;
  using token_type = token_of_scheme<Scheme>;
  using range_type = token_range<token_type>;
  using document_type = T;
  using item_type = change<T>;
  using page_type = page<change<T>>;
  using answer_type = item_answer<T>;

  Scheme const& scheme() const noexcept { return core_->scheme(); }
  /// Its id in the service: another one once it was deleted and made anew.
  std::string const& container() const noexcept { return core_->container(); }
  container_address const& address() const noexcept { return core_->address(); }
  /// How its keys are made, as it was read last.
  container_properties properties() const { return *core_->properties(); }
  /// What a reader elsewhere gives as its session token, to see what was seen here.
  std::string session_token() const { return core_->session_token(); }

  // ---- one document ----------------------------------------------------------------------------

  /// Writes a document that is new. Errors of all writes: `malformed` for a document that is no
  /// object, and `not_representable` where it has no id that the service takes; `not_a_key` for an
  /// object or an array where its key is; `too_large`. Of this one: `already_exists`.
  task<result<answer_type>> create(T document) {
    return written(core_, what::create, std::move(document), {});
  }
  /// Writes a document, new or not. Errors: `precondition_failed`.
  task<result<answer_type>> upsert(T document, write_options options = {}) {
    return written(core_, what::upsert, std::move(document), options);
  }
  /// Writes a document that is there. Errors: `precondition_failed`; `not_found`.
  task<result<answer_type>> replace(T document, write_options options = {}) {
    return written(core_, what::replace, std::move(document), options);
  }
  /// Takes a document away; the service does not say what it was. Errors: `not_found`;
  /// `precondition_failed`.
  template <keyspan::detail::views_as_key Key, key_input Id>
  task<result<answer_type>> remove(Key const& key, Id const& id, write_options options = {}) {
    return removed(core_, owned_place(key, id), options);
  }
  /// Changes a document by a function of it, which may return a `result<void>` whose error is
  /// returned: reads it, and writes it where nobody else has written it meanwhile, else again.
  /// Errors: those of `replace`; `key_mismatch` where it changes the
  /// key or the id.
  template <keyspan::detail::views_as_key Key, key_input Id, patch_of<T> F>
  task<result<answer_type>> patch(Key const& key, Id const& id, F f, write_options options = {}) {
    return patched<F>(core_, owned_place(key, id), std::move(f), options, {});
  }
  /// A soft delete: marks a document by a function of it, so that feeds tell of it, and lets the
  /// service take it away after a while, in whole seconds. The container has a time to live, its
  /// own or that of its documents. Errors: those of `patch`.
  template <keyspan::detail::views_as_key Key, key_input Id, patch_of<T> F>
  task<result<answer_type>> remove_softly(Key const& key, Id const& id, F mark,
                                          std::chrono::milliseconds after,
                                          write_options options = {}) {
    return patched<F>(core_, owned_place(key, id), std::move(mark), options, after);
  }
  /// The document. Errors: `not_found`; `session_not_available`; `malformed` where it is no `T`.
  template <keyspan::detail::views_as_key Key, key_input Id>
  task<result<answer_type>> read_item(Key const& key, Id const& id, read_options options = {}) {
    return read_one(core_, owned_place(key, id), std::string{options.session_token.view()},
                    {options.deadline, std::move(options.stop)});
  }

  // ---- many documents --------------------------------------------------------------------------

  /// Does all of a batch or nothing. Errors of the whole: `too_large` for more than 100 operations;
  /// `invalid_options` for none; `key_mismatch` for a key that is not whole. What a document or an
  /// operation says alone, another key among it, is the error of that operation. What is patched is
  /// read first, and the batch tried again where somebody else has written it meanwhile.
  task<result<batch_answer<T>>> execute(item_batch<T> work) {
    return executed(core_, std::move(work));
  }
  /// The documents of these ids, by point reads, some at a time: the cheapest way there is. Each is
  /// as it was at a moment, not all at the same. Errors: those of `read_item`, naming the item;
  /// what is not there is none.
  task<result<items_answer<T>>> read_many(std::span<item_id const> ids) {
    return read_all(core_, std::vector<item_id>(ids.begin(), ids.end()));
  }

  // ---- a page_source ---------------------------------------------------------------------------

  /// The changes of a range, from a position on. A feed of latest versions does not tell whether a
  /// document is new: all are `replaced` there. In one of all versions a document that is gone is
  /// what it was last, where the service still knows, else its id and key alone, where a `T` can be
  /// made of these, else nothing. Errors: `range_gone`; `container_changed`; `malformed` for a
  /// document that is no `T`, naming it; `unsupported`; `stopped`; `timed_out`.
  task<result<page_type>> read(range_type const& range, continuation const& from,
                               read_request const& request) {
    return page_of(core_, range, from, request);
  }
  /// The partitions that are new since the version known.
  task<result<partition_page<token_type>>> topology(std::string const& known) {
    return core_->partitions_since(known);
  }
  /// The same, by the deadline and the stop token of a request.
  task<result<partition_page<token_type>>> topology(std::string const& known,
                                                    read_request const& request) {
    return core_->partitions_since(known, {request.deadline, request.stop});
  }

 private:
  using core = detail::open_container<Scheme>;
  using core_pointer = std::shared_ptr<core>;
  using what = keyspan::detail::item_operation;

  friend detail::container_opening;

  explicit cosmos_container(core_pointer opened) : core_{std::move(opened)} {}

  static task<result<cosmos_container>> open_at(detail::service_door door,
                                                container_address address,
                                                container_options options) {
    auto opening = core::opened(door, std::move(address), options);
    auto opened = co_await std::move(opening);
    if (!opened) co_return unexpected{opened.error()};
    co_return cosmos_container{*std::move(opened)};
  }

  // ---- documents and where they are ------------------------------------------------------------

  // A key and an id, with texts of their own.
  struct place {
    partition_key key{};
    std::string id{};
    bool is_id = false;  // a text that the service takes
  };
  template <class Key, class Id>
  static place owned_place(Key const& key, Id const& id) {
    place made{.key = partition_key{keyspan::detail::view_of_key(key)}};
    key_value const value(id);
    if (value.is_string()) made.id = std::string{value.string()};
    made.is_id = value.is_string() && is_document_id(made.id);
    return made;
  }
  static result<void> checked(container_properties const& known, place const& where) {
    if (!where.is_id) return detail::no_document_id();
    if (where.key.size() == known.paths.size() || known.is_system_key) return {};
    return unexpected{not_whole(known, where.key)};
  }
  static error not_whole(container_properties const& known, partition_key const& key) {
    return error{errc::key_mismatch,
                 "too ",
                 key.size() < known.paths.size() ? "few" : "many",
                 " values: the key has ",
                 key.size(),
                 ", the container has ",
                 known.paths.size(),
                 known.paths.size() == 1 ? " path" : " paths"};
  }
  static result<place> place_in(container_properties const& known, nlohmann::json const& document) {
    place made;
    auto const id = document.find("id");
    if (id == document.end() || !id->is_string()) return detail::no_document_id();
    made.id = id->template get<std::string>();
    made.is_id = is_document_id(made.id);
    if (!made.is_id) return detail::no_document_id();
    auto key = detail::key_in(known, document);
    if (!key) return unexpected{key.error()};
    made.key = *std::move(key);
    return made;
  }

  static stored<T> stored_as(T document, partition_key const& key,
                             detail::known_version const& of) {
    keyspan::detail::item_name const name{partition_key_view{key}, key_value{of.id}};
    keyspan::detail::stored_version<T> made{.document = std::move(document)};
    made.name.reserve(name.view().size() + of.etag.size());
    made.name.append(name.view()).append(of.etag);
    made.lsn = of.lsn;
    made.at = of.changed_at;
    return stored<T>{std::make_shared<keyspan::detail::stored_version<T> const>(std::move(made))};
  }
  static unexpected named(std::string_view id, error const& why) {
    return fail(why.code, "document \"", inline_text<60>{id}, "\": ", why.text);
  }
  // A document as the service tells it. Errors: `malformed`, naming it.
  static result<stored<T>> stored_in(container_properties const& known, document_text const& told) {
    auto json = json_from(told.json);
    if (!json) return named(told.id, json.error());
    auto const key = detail::key_in(known, *json);
    if (!key) return named(told.id, key.error());
    auto const version = detail::known_version::of(told);
    if (!version) return unexpected{version.error()};
    auto document = detail::taken_from<T>(*std::move(json));
    if (!document) return named(told.id, document.error());
    return stored_as(*std::move(document), *key, *version);
  }

  static answer_type answer_about(response const& from) {
    answer_type made;
    made.status = from.status;
    made.attempts = from.attempts;
    auto const details = keyspan::cosmos::detail::details_of_page(from);
    made.charge = details.wire.charge;
    made.partition = inline_text<24>{std::string_view{details.partition}};
    made.session_token = details.session_token;
    return made;
  }

  // ---- asking ----------------------------------------------------------------------------------

  struct known_answer {
    typename core::properties_pointer known;
    response answer;
  };
  // What depends on the definition: where the service says that it has become another one, it is
  // read again, and `make(definition, session)` makes the question anew, once. A key is given where
  // the answer is to show what the session has seen of it.
  template <class Make>
  static task<result<known_answer>> asked(core_pointer at, Make make,
                                          std::optional<partition_key> key,
                                          detail::answer_judge judge,
                                          detail::request_limits limits = {}) {
    for (bool is_again = false;; is_again = true) {
      auto const known = at->properties();
      std::string session;
      if (key) {
        auto seen = at->session_for(*key, limits);
        session = co_await std::move(seen);
      }
      result<service_request> question = make(*known, std::move(session));
      if (!question) co_return unexpected{question.error()};
      question->message.deadline = limits.deadline;
      question->message.stop = limits.stop;
      auto asking = at->ask(*std::move(question), judge);
      auto answer = co_await std::move(asking);
      if (answer) {
        known_answer made{known, *std::move(answer)};
        co_return made;
      }
      if (is_again || !detail::may_be_redefined(answer.error()))
        co_return unexpected{answer.error()};
      auto refreshing = at->refreshed(known, answer.error());
      auto const refreshed = co_await std::move(refreshing);
      if (!refreshed) co_return unexpected{refreshed.error()};
      // Positions are of the container that they were given by.
      bool const is_another = at->properties()->resource_id != at->container();
      if (is_another && judge == detail::answer_judge::by_range)
        co_return unexpected{answer.error()};
    }
  }

  // ---- writing ---------------------------------------------------------------------------------

  static service_request asked_to_write(core const& at, what kind, place const& where,
                                        std::string text, std::string_view if_match) {
    document_options const how{.if_match = if_match};
    if (kind == what::create) return create_document(at.address(), where.key, std::move(text), how);
    if (kind == what::upsert) return upsert_document(at.address(), where.key, std::move(text), how);
    return replace_document(at.address(), where.key, where.id, std::move(text), how);
  }

  static task<result<answer_type>> written(core_pointer at, what kind, T document,
                                           write_options options) {
    auto json = json_of(document);
    if (!json) co_return unexpected{json.error()};
    auto writing = written_as(at, kind, *std::move(json), std::move(document), options);
    co_return co_await std::move(writing);
  }
  // The document is what is answered where the service says nothing that is a `T`.
  static task<result<answer_type>> written_as(core_pointer at, what kind, nlohmann::json json,
                                              T document, write_options options) {
    auto const text = text_of(json);
    if (!text) co_return unexpected{text.error()};
    auto const make = [&](container_properties const& known,
                          std::string const&) -> result<service_request> {
      auto const where = place_in(known, json);
      if (!where) return unexpected{where.error()};
      return asked_to_write(*at, kind, *where, *text, options.if_match);
    };
    auto asking = asked(at, make, std::nullopt, detail::answer_judge::by_key);
    auto const got = co_await std::move(asking);
    if (!got) co_return unexpected{got.error()};
    response const& answer = got->answer;
    answer_type made = answer_about(answer);
    auto const told = document_in(answer);
    if (!told) co_return unexpected{told.error()};
    auto const etag = answer.headers.find("etag");
    if (!told->is_there() && !etag)
      co_return detail::not_understood(
          answer, error{errc::bad_response, "a write is answered by a document or its etag"});
    if (told->is_there()) {
      if (auto read = stored_in(*got->known, *told)) {
        made.item = *std::move(read);
        co_return made;
      }
    }
    // It was written, also where what the service tells of it is no `T`.
    auto const where = place_in(*got->known, json);
    if (!where) co_return unexpected{where.error()};
    detail::known_version version{.id = where->id};
    if (etag && etag->size() <= inline_text<64>::capacity()) version.etag = std::string{*etag};
    made.item = stored_as(std::move(document), where->key, version);
    co_return made;
  }

  static task<result<answer_type>> removed(core_pointer at, place where, write_options options) {
    auto const make = [&](container_properties const& known,
                          std::string const&) -> result<service_request> {
      if (auto const good = checked(known, where); !good) return unexpected{good.error()};
      document_options const how{.if_match = options.if_match};
      return remove_document(at->address(), where.key, where.id, how);
    };
    auto asking = asked(at, make, std::nullopt, detail::answer_judge::by_key);
    auto const got = co_await std::move(asking);
    if (!got) co_return unexpected{got.error()};
    // Somebody in between says 200 to whatever he is asked.
    if (got->answer.status != 204) {
      auto const told = document_in(got->answer);
      if (!told) co_return unexpected{told.error()};
      if (!told->is_there())
        co_return detail::not_understood(
            got->answer, error{errc::bad_response, "a removal is answered by status 204"});
    }
    co_return answer_about(got->answer);
  }

  // A document as JSON, changed by a function of the `T` that it is: what a `T` does not know of it
  // stays as it was.
  template <class F>
  static result<T> patch_json(nlohmann::json& json, F& f) {
    auto document = document_from<T>(json);
    if (!document) return document;
    auto const before = json_of(*document);
    if (!before) return unexpected{before.error()};
    if (auto const done = keyspan::detail::patched(*document, f); !done)
      return unexpected{done.error()};
    auto after = json_of(*document);
    if (!after) return unexpected{after.error()};
    detail::lay_over(json, *before, *std::move(after));
    return document;
  }

  template <class F>
  static task<result<answer_type>> patched(core_pointer at, place where, F f, write_options options,
                                           std::optional<std::chrono::milliseconds> lives) {
    double charge = 0;
    // Each time somebody else has written it; but not for ever.
    for (int tries = 0;; ++tries) {
      auto reading = read_raw(at, where, {});
      auto seen = co_await std::move(reading);
      if (!seen) co_return unexpected{seen.error()};
      charge += seen->about.charge;
      auto const etag = seen->version.etag;
      if (etag.empty())
        co_return fail(errc::unsupported,
                       "the service gives no etags, without which nobody can patch safely");
      if (!options.if_match.empty() && options.if_match != std::string_view{etag})
        co_return fail(errc::precondition_failed,
                       "the document was changed meanwhile: its etag is ", std::string_view{etag});
      auto changed = patch_json(seen->json, f);
      if (!changed) co_return unexpected{changed.error()};
      if (lives) seen->json["ttl"] = detail::whole_seconds(*lives);
      auto const now = place_in(*seen->known, seen->json);
      if (!now) co_return unexpected{now.error()};
      if (now->id != where.id || now->key != where.key)
        co_return fail(errc::key_mismatch,
                       "a patch changed the partition key or the id: remove the document and "
                       "create it anew");
      write_options const unchanged{.if_match = inline_text<64>{std::string_view{etag}}};
      auto writing =
          written_as(at, what::replace, std::move(seen->json), *std::move(changed), unchanged);
      auto answer = co_await std::move(writing);
      charge += answer ? answer->charge : answer.error().wire.charge;
      bool const is_overtaken =
          !answer && options.if_match.empty() && answer.error().code == errc::precondition_failed;
      if (is_overtaken && tries < most_tries) continue;
      if (answer) {
        answer->charge = charge;
        co_return answer;
      }
      error why = answer.error();
      why.wire.charge = charge;
      co_return unexpected{why};
    }
  }

  // ---- reading ---------------------------------------------------------------------------------

  // A document as JSON, and what is known of it.
  struct raw_document {
    typename core::properties_pointer known;
    answer_type about;
    nlohmann::json json;
    partition_key key;
    detail::known_version version;
  };
  static task<result<raw_document>> read_raw(core_pointer at, place where, std::string session,
                                             detail::request_limits limits = {}) {
    auto const make = [&](container_properties const& known,
                          std::string own) -> result<service_request> {
      if (auto const good = checked(known, where); !good) return unexpected{good.error()};
      document_options const how{.session_token = session.empty() ? own : session};
      return read_document(at->address(), where.key, where.id, how);
    };
    auto key = session.empty() && checked(*at->properties(), where) ? std::optional{where.key}
                                                                    : std::nullopt;
    auto asking = asked(at, make, std::move(key), detail::answer_judge::by_key, std::move(limits));
    auto const got = co_await std::move(asking);
    if (!got) co_return unexpected{got.error()};
    auto const told = document_in(got->answer);
    if (!told) co_return unexpected{told.error()};
    if (!told->is_there())
      co_return detail::not_understood(
          got->answer, error{errc::bad_response, "a read is answered by a document"});
    auto json = json_from(told->json);
    if (!json) co_return named(told->id, json.error());
    auto own_key = detail::key_in(*got->known, *json);
    if (!own_key) co_return named(told->id, own_key.error());
    auto version = detail::known_version::of(*told);
    if (!version) co_return unexpected{version.error()};
    raw_document made{got->known, answer_about(got->answer), *std::move(json), *std::move(own_key),
                      *std::move(version)};
    co_return made;
  }
  static task<result<answer_type>> read_one(core_pointer at, place where, std::string session,
                                            detail::request_limits limits = {}) {
    auto reading = read_raw(at, std::move(where), std::move(session), std::move(limits));
    auto raw = co_await std::move(reading);
    if (!raw) co_return unexpected{raw.error()};
    auto document = detail::taken_from<T>(std::move(raw->json));
    if (!document) co_return named(raw->version.id, document.error());
    answer_type made = std::move(raw->about);
    made.item = stored_as(*std::move(document), raw->key, raw->version);
    co_return made;
  }

  struct reading_many {
    std::vector<item_id> ids;
    items_answer<T> answer{};
    std::size_t next = 0;
    std::optional<error> why{};
    std::mutex mutex{};
  };
  // One of some that read what is left.
  static task<void> read_what_is_left(core_pointer at, reading_many& all) {
    for (;;) {
      std::size_t i = 0;
      {
        std::lock_guard const lock{all.mutex};
        if (all.why || all.next == all.ids.size()) co_return;
        i = all.next++;
      }
      place where{.key = all.ids[i].key, .id = all.ids[i].id};
      where.is_id = is_document_id(where.id);
      auto reading = read_one(at, std::move(where), {});
      auto one = co_await std::move(reading);
      std::lock_guard const lock{all.mutex};
      if (one) {
        all.answer.charge += one->charge;
        all.answer.items[i] = std::move(one->item);
        continue;
      }
      all.answer.charge += one.error().wire.charge;
      if (one.error().code == errc::not_found || all.why) continue;
      all.why = one.error();
      all.why->text = inline_text<160>{"item ", i, ": ", one.error().text};
    }
  }
  static task<result<items_answer<T>>> read_all(core_pointer at, std::vector<item_id> ids) {
    reading_many all{.ids = std::move(ids)};
    all.answer.items.resize(all.ids.size());
    std::vector<task<void>> readers;
    std::size_t const count = (std::min)(all.ids.size(), std::size_t{at->options().reads_at_once});
    for (std::size_t i = 0; i < count; ++i) readers.push_back(read_what_is_left(at, all));
    auto reading = when_all(std::move(readers));
    co_await std::move(reading);
    if (all.why) {
      all.why->wire.charge = all.answer.charge;
      co_return unexpected{*all.why};
    }
    co_return std::move(all.answer);
  }

  // ---- batches ---------------------------------------------------------------------------------

  // A batch as it is asked for, or which of its operations cannot be.
  struct planned_batch {
    nlohmann::json operations = nlohmann::json::array();
    std::vector<bool> may_be_overtaken{};
    std::optional<std::pair<std::size_t, error>> refused{};
    double charge = 0;  // of what was read for it
  };

  static task<planned_batch> planned(core_pointer at, item_batch<T> const& work) {
    planned_batch made;
    auto const known = at->properties();
    std::map<std::string, nlohmann::json> seen;  // what the batch itself has written by then
    for (std::size_t i = 0; i < work.size(); ++i) {
      auto const& one = work.operations()[i];
      made.may_be_overtaken.push_back(false);
      auto const refuse = [&](error const& why) { made.refused.emplace(i, why); };
      auto operation = nlohmann::json::object();
      if (!one.if_match.empty()) operation["ifMatch"] = std::string{one.if_match.view()};
      place where{.key = work.key()};
      if (!one.document) {
        auto const named = owned_place(work.key(), one.id[0]);
        if (!named.is_id) {
          refuse(detail::no_document_id_error());
          co_return made;
        }
        where = named;
      }
      std::optional<nlohmann::json> json;
      if (one.what == what::patch) {
        if (auto const own = seen.find(where.id); own != seen.end()) {
          json = own->second;
        } else {
          auto reading = read_raw(at, where, {});
          auto read = co_await std::move(reading);
          if (!read) {
            refuse(read.error());
            co_return made;
          }
          made.charge += read->about.charge;
          made.may_be_overtaken.back() = one.if_match.empty();
          if (one.if_match.empty()) operation["ifMatch"] = read->version.etag;
          json = std::move(read->json);
        }
        if (auto const changed = patch_json(*json, one.patch); !changed) {
          refuse(changed.error());
          co_return made;
        }
      } else if (one.document) {
        auto whole = json_of(*one.document);
        if (!whole) {
          refuse(whole.error());
          co_return made;
        }
        json = *std::move(whole);
      }
      if (json) {
        auto const is_at = place_in(*known, *json);
        if (!is_at) {
          refuse(is_at.error());
          co_return made;
        }
        if (is_at->key != work.key() || (one.what == what::patch && is_at->id != where.id)) {
          refuse(error{errc::key_mismatch, "document \"",
                       inline_text<60>{std::string_view{is_at->id}},
                       "\" has another key than the batch, or a patch changed its id"});
          co_return made;
        }
        where.id = is_at->id;
        seen.insert_or_assign(where.id, *json);
        operation["resourceBody"] = *std::move(json);
      } else if (one.what == what::remove) {
        seen.erase(where.id);
      }
      operation["operationType"] = detail::batch_name_of(one.what);
      if (one.what != what::create && one.what != what::upsert) operation["id"] = where.id;
      made.operations.push_back(std::move(operation));
    }
    co_return made;
  }

  static batch_answer<T> refused_batch(std::size_t size, std::size_t which, error const& why) {
    batch_answer<T> made;
    auto const others = fail(errc::not_attempted, "operation ", which,
                             " of the same batch failed: ", name_of(why.code));
    made.operations.assign(size, result<answer_type>{others});
    error told = why;
    told.text = inline_text<160>{"operation ", which, ": ", why.text};
    made.operations[which] = unexpected{told};
    return made;
  }

  // What was done is told as done, also where its document is no `T`.
  static result<answer_type> answer_of(partition_key const& key, nlohmann::json const& told,
                                       std::size_t number) {
    auto const outcome = detail::batch_outcome_in(told, number);
    if (!outcome) return unexpected{outcome.error()};
    answer_type made;
    made.status = outcome->status;
    made.charge = outcome->charge;
    auto const body = told.find("resourceBody");
    if (body == told.end() || !body->is_object()) return made;
    auto const version = detail::known_version::of(*body, outcome->etag);
    auto document = detail::taken_from<T>(nlohmann::json(*body));
    if (version && document) made.item = stored_as(*std::move(document), key, *version);
    return made;
  }

  static task<result<batch_answer<T>>> executed(core_pointer at, item_batch<T> work) {
    if (work.empty()) co_return fail(errc::invalid_options, "a batch has an operation at least");
    if (work.size() > detail::most_operations)
      co_return fail(errc::too_large, "a batch has ", detail::most_operations,
                     " operations at most, this one ", work.size());
    place const where{.key = work.key(), .id = "any", .is_id = true};
    double charge = 0;
    for (int tries = 0;; ++tries) {
      if (auto const good = checked(*at->properties(), where); !good)
        co_return unexpected{good.error()};
      auto planning = planned(at, work);
      auto plan = co_await std::move(planning);
      charge += plan.charge;
      if (plan.refused) {
        auto refused = refused_batch(work.size(), plan.refused->first, plan.refused->second);
        refused.charge = charge + plan.refused->second.wire.charge;
        co_return refused;
      }
      auto const text = text_of(plan.operations);
      if (!text) co_return unexpected{text.error()};
      auto const make = [&](container_properties const& known,
                            std::string const&) -> result<service_request> {
        if (auto const good = checked(known, where); !good) return unexpected{good.error()};
        return execute_batch(at->address(), work.key(), *text);
      };
      auto asking = asked(at, make, std::nullopt, detail::answer_judge::by_key);
      auto const got = co_await std::move(asking);
      if (!got) co_return unexpected{got.error()};
      auto const list = json_from(got->answer.body);
      if (!list || !list->is_array() || list->size() != work.size())
        co_return detail::not_understood(
            got->answer, error{errc::bad_response, "a batch of ", work.size(),
                               " operations is answered by a list of so many outcomes"});
      batch_answer<T> made;
      auto const about = answer_about(got->answer);
      charge += about.charge;
      made.charge = charge;
      bool is_overtaken = false;
      for (std::size_t i = 0; i < work.size(); ++i) {
        auto one = answer_of(work.key(), (*list)[i], i);
        if (one) {
          one->partition = about.partition;
          one->session_token = about.session_token;
          one->attempts = about.attempts;
        } else if (one.error().code == errc::precondition_failed && plan.may_be_overtaken[i]) {
          is_overtaken = true;
        }
        made.operations.push_back(std::move(one));
      }
      if (!is_overtaken || tries == most_tries) co_return made;
    }
  }

  // ---- feeds -----------------------------------------------------------------------------------

  static task<result<page_type>> page_of(core_pointer at, range_type range, continuation from,
                                         read_request request) {
    if (request.mode == feed_mode::all_versions_and_deletes && from.is_start() &&
        from.start() != start_kind::now)
      co_return fail(errc::unsupported,
                     "a feed of all versions begins from now, or where one was left");
    auto const known = at->properties();
    bool const is_of_one_key = request.key != nullptr && request.key->size() == known->paths.size();
    // A prefix of a hierarchical key is the range that it was asked for with.
    bool const is_prefix = request.key != nullptr && request.key->size() < known->paths.size() &&
                           known->scheme.scheme() == cosmos_scheme::multihash;
    if (request.key != nullptr && !is_of_one_key && !is_prefix && !known->is_system_key)
      co_return unexpected{not_whole(*known, *request.key)};
    detail::request_limits const limits{request.deadline, request.stop};
    page_target target{.container = at->container()};
    std::string partition{request.partition};
    std::optional<partition_key> key;  // whose session counts, where nobody says which
    if (is_of_one_key) {
      target.key = request.key;
      if (request.session_token.empty()) key = *request.key;
    } else {
      bool is_whole = request.is_whole_partition;
      if (partition.empty()) {
        auto finding = at->owner_of(range, limits);
        auto owner = co_await std::move(finding);
        if (!owner) co_return unexpected{owner.error()};
        partition = std::move(owner->id);
        is_whole = owner->range == range;
      }
      if (auto const good = at->check_owner(partition, range); !good)
        co_return unexpected{good.error()};
      target.partition = partition;
      if (!is_whole) target.part = detail::epk_range_of(range);
    }
    auto const make = [&](container_properties const&,
                          std::string session) -> result<service_request> {
      if (!request.session_token.empty()) {
        session = request.session_token;
      } else if (!is_of_one_key) {
        session = at->session_for_partition(partition);
      }
      page_options const how{.most = request.page_size, .session_token = session};
      return read_changes(at->address(), target, from, request.mode, how);
    };
    auto asking = asked(at, make, std::move(key), detail::answer_judge::by_range, limits);
    auto const got = co_await std::move(asking);
    if (!got) co_return unexpected{got.error()};
    if (request.mode == feed_mode::all_versions_and_deletes) {
      auto const told = changes_in(got->answer);
      if (!told) co_return unexpected{told.error()};
      co_return page_from(*got->known, got->answer, *told, from);
    }
    auto const told = documents_in(got->answer);
    if (!told) co_return unexpected{told.error()};
    co_return page_from(*got->known, got->answer, *told, from);
  }

  template <class Text>
  static result<page_type> page_from(container_properties const& known, response const& answer,
                                     text_page<Text> const& told, continuation const& from) {
    page_details const& details = told.details;
    // Where nothing is new, nobody has moved.
    bool const stays = details.etag.empty() && details.not_modified && !from.is_start();
    if (details.etag.empty() && !stays)
      return detail::not_understood(
          answer, error{errc::bad_response,
                        "a page of changes came without an etag, so nothing can follow it"});
    page_type made;
    made.items.reserve(told.documents.size());
    for (Text const& one : told.documents) {
      auto item = change_in(known, one);
      if (!item) return unexpected{item.error()};
      made.items.push_back(*std::move(item));
    }
    made.continuation = stays ? from.text() : details.etag;
    made.nothing_new = details.not_modified;
    made.attempts = answer.attempts;
    made.charge = details.wire.charge;
    made.lsn = details.lsn;
    made.activity_id = details.wire.activity_id;
    made.endpoint = details.wire.endpoint;
    made.session_token = details.session_token;
    return made;
  }
  static result<item_type> change_in(container_properties const& known, document_text const& told) {
    auto item = stored_in(known, told);
    if (!item) return unexpected{item.error()};
    item_type made{.kind = change_kind::replaced, .item = *std::move(item), .lsn = told.lsn};
    made.at = told.changed_at;
    return made;
  }
  static result<item_type> change_in(container_properties const& known, change_text const& told) {
    item_type made{.lsn = told.lsn};
    made.at = told.changed_at;
    if (told.previous.is_there()) {
      auto before = stored_in(known, told.previous);
      if (!before) return unexpected{before.error()};
      made.before = *std::move(before);
    }
    bool const is_gone = told.operation == "delete" || !told.current.is_there();
    if (!is_gone) {
      made.kind = told.operation == "create" ? change_kind::created : change_kind::replaced;
      auto item = stored_in(known, told.current);
      if (!item) return unexpected{item.error()};
      made.item = *std::move(item);
      return made;
    }
    made.kind = told.is_expired ? change_kind::expired : change_kind::removed;
    made.item = std::exchange(made.before, {});
    if (made.item) return made;
    auto json = detail::what_is_left(known, told.id, told.partition_key);
    if (!json) return unexpected{json.error()};
    auto const key = detail::key_in(known, *json);
    if (!key) return unexpected{key.error()};
    detail::known_version version{.id = told.id, .lsn = told.lsn};
    version.changed_at = told.changed_at;
    if (auto document = detail::taken_from<T>(*std::move(json)))
      made.item = stored_as(*std::move(document), *key, version);
    return made;
  }

  static constexpr int most_tries = 64;

  core_pointer core_;
};

static_assert(page_source<cosmos_container<nlohmann::json>>);

}  // namespace keyspan::cosmos
