// keyspan/cosmos/open_container.hpp — what is known of a container while it is used: its
// definition, its partitions, and how far its session has seen each of them.
//
//   cosmos_container  -->  open_container  --door-->  cosmos_account
#pragma once

#include <keyspan/async/clock.hpp>
#include <keyspan/async/completion.hpp>
#include <keyspan/async/stop_token.hpp>
#include <keyspan/async/task.hpp>
#include <keyspan/core/contract.hpp>
#include <keyspan/core/error.hpp>
#include <keyspan/core/result.hpp>
#include <keyspan/core/text.hpp>
#include <keyspan/core/utf8.hpp>
#include <keyspan/cosmos/address.hpp>
#include <keyspan/cosmos/container_answers.hpp>
#include <keyspan/cosmos/document_json.hpp>
#include <keyspan/cosmos/document_page.hpp>
#include <keyspan/cosmos/service_errors.hpp>
#include <keyspan/cosmos/service_request.hpp>
#include <keyspan/cosmos/session_token.hpp>
#include <keyspan/hash/any_scheme.hpp>
#include <keyspan/hash/hash_scheme.hpp>
#include <keyspan/key/container_definition.hpp>
#include <keyspan/key/json_documents.hpp>
#include <keyspan/key/partition_key.hpp>
#include <keyspan/range/partition.hpp>
#include <keyspan/range/routing.hpp>
#include <keyspan/range/routing_refresh.hpp>
#include <keyspan/range/token_range.hpp>
#include <keyspan/transport/http_errors.hpp>
#include <keyspan/transport/item_batch.hpp>
#include <keyspan/transport/message.hpp>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <utility>
#include <vector>

namespace keyspan::cosmos {

/// The schemes by which the service hashes keys: one that the program knows, or `any_scheme`, which
/// takes whichever the container has.
template <class S>
concept service_scheme =
    std::same_as<S, any_scheme> || std::same_as<S, cosmos_v1_scheme> ||
    std::same_as<S, cosmos_v2_scheme> || std::same_as<S, cosmos_multihash_scheme>;

/// How many bytes the id of a document has at most.
inline constexpr std::size_t longest_document_id = 1023;

/// Whether a document may have this id: UTF-8 of 1 to `longest_document_id` bytes without '/',
/// '\\',
/// '?', '#' and control characters, and neither "." nor "..".
[[nodiscard]] constexpr bool is_document_id(std::string_view id) {
  return !id.empty() && id.size() <= longest_document_id && is_utf8(id) && id != "." &&
         id != ".." &&  // which some on the way take for folders
         std::none_of(id.begin(), id.end(), [](char c) {
           return static_cast<unsigned char>(c) < 0x20 || c == '\x7F' || c == '/' || c == '\\' ||
                  c == '?' || c == '#';
         });
}

/// How a container is used.
struct container_options {
  /// Whether reads show at least what was seen before, by the session tokens of what was answered.
  bool keeps_session = true;
  /// How many point reads `read_many` has under way at the same time. Requires 1 or more.
  std::uint16_t reads_at_once = 16;
};

namespace detail {

// How long somebody waits for a question, and what is asked for it.
struct request_limits {
  std::optional<instant> deadline{};
  stop_token stop{};
};

// ---- the way to the account --------------------------------------------------------------------

// What an answer is judged as. Somebody who asks by key is sent on by the service to whichever
// partition has it, so a partition that is being split is waited for; who asks by range is told
// that it is gone, but for the moment in which its successors are not there yet. A write by key
// that must not be done twice was refused only where the service itself says so: what stands in
// between, or a replica that is gone, may have passed it on.
enum class answer_judge : std::uint8_t { by_service, by_key, by_range, write_by_key };

struct judging {
  std::optional<error> operator()(response const& answer) const {
    auto why = service_errors{}(answer);
    if (why && leaves_full_region && why->wire.substatus == substatus::region_is_full &&
        why->code == errc::throttled)
      why->code = errc::unavailable;
    if (!why || how == answer_judge::by_service) return why;
    if (how == answer_judge::write_by_key && why->code == errc::unavailable && !is_refusal(answer))
      why->code = errc::service_failed;
    if (why->code != errc::range_gone) return why;
    if (how != answer_judge::by_range || why->wire.substatus == substatus::completing_split ||
        why->wire.substatus == substatus::completing_migration)
      why->code = errc::unavailable;
    return why;
  }

  // Whether what is not available said itself that it has taken nothing.
  static bool is_refusal(response const& answer) {
    if (answer.status != 503) return answer.status != 410;
    auto const said = read_complaint(answer.body);
    return said && !said->code.empty();
  }

  answer_judge how = answer_judge::by_service;
  // Whether another region may take what this one has no room for.
  bool leaves_full_region = false;
};

struct service_door {
  task<result<response>> send(service_request what, answer_judge judge) const {
    return send_to(account, std::move(what), judge);
  }

  void* account;
  task<result<response>> (*send_to)(void* account, service_request what, answer_judge judge);
};

// ---- documents ---------------------------------------------------------------------------------

inline error no_document_id_error() {
  return error{errc::not_representable, "the id of a document is a text of 1 to ",
               longest_document_id, " bytes without / \\ ? # and control characters"};
}
inline unexpected no_document_id() { return unexpected{no_document_id_error()}; }

// A key whose texts are its own. Where the service has put the paths itself, a document that has
// nothing there has no key.
inline result<partition_key> key_in(container_properties const& known,
                                    nlohmann::json const& document) {
  auto const key = known.paths(document);
  if (!key) return unexpected{key.error()};
  if (known.is_system_key && std::all_of(key->begin(), key->end(),
                                         [](key_value const& one) { return one.is_undefined(); }))
    return partition_key{};
  return partition_key{*key};
}

template <document_type T>
result<T> taken_from(nlohmann::json&& json) {
  if constexpr (std::same_as<T, nlohmann::json>) {
    return std::move(json);
  } else {
    return document_from<T>(json);
  }
}

// What the service knows of a version.
struct known_version {
  static result<known_version> of(document_text const& told) {
    return checked({told.id, told.etag, told.lsn, told.changed_at});
  }
  static result<known_version> of(nlohmann::json const& told, std::string etag) {
    known_version made{.etag = std::move(etag)};
    if (auto const id = told.find("id"); id != told.end() && id->is_string())
      made.id = id->get<std::string>();
    if (auto const own = told.find("_etag"); own != told.end() && own->is_string())
      made.etag = own->get<std::string>();
    if (auto const at = told.find("_ts"); at != told.end() && at->is_number_unsigned())
      made.changed_at = std::chrono::sys_seconds{
          std::chrono::seconds{(std::min)(at->get<std::uint64_t>(), std::uint64_t{1} << 40)}};
    return checked(std::move(made));
  }
  static result<known_version> checked(known_version made) {
    if (made.etag.size() <= inline_text<64>::capacity()) return made;
    return fail(errc::bad_response, "an etag has ", inline_text<64>::capacity(),
                " bytes at most, this one ", made.etag.size());
  }

  std::string id{};
  std::string etag{};
  std::uint64_t lsn = 0;
  std::chrono::sys_seconds changed_at{};
};

// Of a document that is gone and of which the service tells nothing else: its id and its key, which
// stands there as an array of values, or as an object of names and values.
inline result<nlohmann::json> what_is_left(container_properties const& known, std::string_view id,
                                           std::string_view key_text) {
  auto made = nlohmann::json::object();
  made["id"] = std::string{id};
  if (key_text.empty()) return made;
  auto const key = json_from(key_text);
  if (!key) return unexpected{key.error()};
  for (std::size_t i = 0; i < known.paths.size(); ++i) {
    key_path const& path = known.paths[i];
    nlohmann::json const* value = nullptr;
    if (key->is_array() && i < key->size()) {
      value = &(*key)[i];
    } else if (key->is_object()) {
      // By its path, or by its last name where no other path has that.
      auto const last = path[path.size() - 1];
      bool const is_alone =
          std::count_if(known.paths.begin(), known.paths.end(),
                        [&](key_path const& one) { return one[one.size() - 1] == last; }) == 1;
      if (auto const found = key->find(path.to_text()); found != key->end()) {
        value = &*found;
      } else if (auto const own = key->find(std::string{last}); own != key->end() && is_alone) {
        value = &*own;
      }
    }
    // An object in its place stands for a value that the document did not have.
    if (value == nullptr || value->is_structured()) continue;
    auto* at = &made;
    for (std::string_view const name : path) {
      if (!at->is_object() && !at->is_null())
        return fail(errc::bad_response, "the paths of the key contradict each other");
      at = &(*at)[std::string{name}];
    }
    *at = *value;
  }
  return made;
}

constexpr std::int64_t whole_seconds(std::chrono::milliseconds time) {
  auto const seconds = std::chrono::ceil<std::chrono::seconds>(time).count();
  return (std::max)(std::int64_t{1}, std::int64_t{seconds});
}

// ---- batches -----------------------------------------------------------------------------------

inline constexpr std::size_t most_operations = 100;

constexpr std::string_view batch_name_of(keyspan::detail::item_operation what) {
  using operation = keyspan::detail::item_operation;
  switch (what) {
    case operation::read:
      return "Read";
    case operation::create:
      return "Create";
    case operation::upsert:
      return "Upsert";
    case operation::remove:
      return "Delete";
    case operation::replace:
    case operation::patch:
      break;
  }
  return "Replace";
}

struct batch_outcome {
  std::uint16_t status = 200;
  double charge = 0;
  std::string etag{};
};
inline result<batch_outcome> batch_outcome_in(nlohmann::json const& told, std::size_t number) {
  auto const number_in = [&](char const* name) {
    auto const found = told.is_object() ? told.find(name) : told.end();
    return found != told.end() && found->is_number() ? found->get<double>() : 0.0;
  };
  double const status = number_in("statusCode");
  if (!(status >= 100 && status < 1000))
    return fail(errc::bad_response, "operation ", number, " of the batch came without its status");
  batch_outcome made{.status = static_cast<std::uint16_t>(status),
                     .charge = number_in("requestCharge")};
  if (auto const etag = told.find("eTag"); etag != told.end() && etag->is_string())
    made.etag = etag->get<std::string>();
  if (made.status >= 200 && made.status < 300) return made;
  double const sub = number_in("subStatusCode");
  error why{errc::not_attempted, "operation ", number,
            ": another operation of the same batch failed"};
  if (made.status != 424) {
    why =
        error{errc_of(made.status, static_cast<std::uint16_t>(sub > 0 && sub < 65'536 ? sub : 0))};
    why.text.append("operation ", number, ": ", meaning_of(why.code));
  }
  why.wire.status = made.status;
  if (sub > 0 && sub < 65'536) why.wire.substatus = static_cast<std::uint16_t>(sub);
  return unexpected{why};
}

// ---- changing what is there ---------------------------------------------------------------------

// Lays what has become of `before` over `to`, which may have members of which neither knows.
inline void lay_over(nlohmann::json& to, nlohmann::json const& before, nlohmann::json after) {
  if (!to.is_object() || !before.is_object() || !after.is_object()) {
    to = std::move(after);
    return;
  }
  for (auto const& [name, value] : before.items())
    if (!after.contains(name)) to.erase(name);
  for (auto& [name, value] : after.items()) {
    auto const was = before.find(name);
    if (was != before.end() && *was == value) continue;  // as it is there, to the letter
    if (was != before.end() && to.contains(name)) {
      lay_over(to[name], *was, std::move(value));
    } else {
      to[name] = std::move(value);
    }
  }
}

// ---- what the service says of definitions ------------------------------------------------------

// Whether the reason may be that the definition which is known has become another one.
inline bool may_be_redefined(error const& why) {
  return why.wire.status != 0 &&
         (why.code == errc::container_changed || why.code == errc::key_mismatch ||
          why.code == errc::session_not_available);  // of one that has the name no more
}

// As the service takes it: never empty, which some refuse, and "00" is the same place.
template <class Range>
epk_range epk_range_of(Range const& range) {
  epk_range made{std::string{std::string_view{range.lower().to_hex()}},
                 std::string{std::string_view{range.upper().to_hex()}}};
  if (made.lower.empty()) made.lower = "00";
  return made;
}

template <class Scheme>
result<Scheme> scheme_in(container_properties const& known) {
  if constexpr (std::same_as<Scheme, any_scheme>) {
    return known.scheme;
  } else {
    if (known.scheme.scheme() == any_scheme{Scheme{}}.scheme()) return Scheme{};
    return fail(errc::scheme_mismatch, "the container is hashed by ", known.scheme.name(), ", not ",
                any_scheme{Scheme{}}.name());
  }
}

// All members may be called from any thread; coroutines share what they are about.
template <service_scheme Scheme>
class open_container : public std::enable_shared_from_this<open_container<Scheme>> {
  struct only_here {};

 public:
  using token_type = token_of_scheme<Scheme>;
  using range_type = token_range<token_type>;
  using pointer = std::shared_ptr<open_container>;
  using properties_pointer = std::shared_ptr<container_properties const>;
  using routing_pointer = std::shared_ptr<routing<Scheme> const>;

  open_container(only_here, service_door door, container_address address, container_options options,
                 container_properties known, Scheme scheme)
      : door_{door},
        address_{std::move(address)},
        options_{options},
        scheme_{std::move(scheme)},
        container_{known.resource_id},
        properties_{std::make_shared<container_properties const>(std::move(known))} {}

  static task<result<pointer>> opened(service_door door, container_address address,
                                      container_options options) {
    expects(options.reads_at_once > 0, "a container reads one document at a time at least");
    auto asking = door.send(read_container(address), answer_judge::by_service);
    auto const answer = co_await std::move(asking);
    if (!answer) co_return unexpected{answer.error()};
    auto known = container_in(*answer);
    if (!known) co_return unexpected{known.error()};
    auto scheme = scheme_in<Scheme>(*known);
    if (!scheme) co_return unexpected{scheme.error()};
    co_return std::make_shared<open_container>(only_here{}, door, std::move(address), options,
                                               *std::move(known), *std::move(scheme));
  }

  Scheme const& scheme() const noexcept { return scheme_; }
  std::string const& container() const noexcept { return container_; }
  container_address const& address() const noexcept { return address_; }
  container_options const& options() const noexcept { return options_; }
  properties_pointer properties() const {
    std::lock_guard const lock{mutex_};
    return properties_;
  }
  std::string session_token() const {
    std::lock_guard const lock{mutex_};
    return tokens_.to_text();
  }

  // Asks, remembers what the session has seen, and gives errors as errors.
  task<result<response>> ask(service_request what, answer_judge judge) {
    auto const self = this->shared_from_this();
    auto const known = properties();
    auto asking = door_.send(std::move(what), judge);
    auto answer = co_await std::move(asking);
    if (!answer) co_return answer;
    auto const why = judging{judge}(*answer);
    notice(*answer, *known);
    if (why) co_return unexpected{*why};
    co_return answer;
  }

  // Reads the definition again, because of this error, unless somebody else has done so since
  // `known`. Fails by the error itself where nothing has changed that could mend it.
  task<result<void>> refreshed(properties_pointer known, error why) {
    auto const self = this->shared_from_this();
    if (properties() != known) co_return {};
    auto asking = door_.send(read_container(address_), answer_judge::by_service);
    auto const answer = co_await std::move(asking);
    if (!answer) co_return unexpected{answer.error()};
    auto now = container_in(*answer);
    if (!now) co_return unexpected{now.error()};
    if (auto const same = scheme_in<Scheme>(*now); !same) co_return unexpected{same.error()};
    if (now->scheme != known->scheme)
      co_return fail(errc::scheme_mismatch, "the container was made anew, and is hashed by ",
                     now->scheme.name(), " now: open it again");
    // Only a name that is taken for an old one is worth another try then.
    if (*now == *known && why.code != errc::container_changed) co_return unexpected{why};
    std::lock_guard const lock{mutex_};
    if (now->resource_id != properties_->resource_id) {
      tokens_.clear();
      listed_.clear();
      hidden_.clear();
      routing_.reset();
      is_stale_ = false;
    }
    properties_ = std::make_shared<container_properties const>(*std::move(now));
    co_return {};
  }

  // ---- partitions ------------------------------------------------------------------------------

  task<result<partition_page<token_type>>> partitions_since(std::string known,
                                                            request_limits limits = {}) {
    return listed(this->shared_from_this(), std::move(known), std::move(limits));
  }

  // Who owns what, as far as it is known here; where nothing is, or it has changed since, the
  // service is asked: by one at a time, and whoever comes meanwhile has the same outcome.
  task<result<routing_pointer>> routed(request_limits limits, routing_pointer stale = nullptr) {
    auto const self = this->shared_from_this();
    for (;;) {
      auto const seen = routing_known();
      if (seen != nullptr && seen != stale && !is_stale()) co_return seen;
      listing const turn{*self};
      if (turn.has_begun()) {
        auto asking = asked_for_routing(seen, std::move(limits));
        auto outcome = co_await std::move(asking);
        std::lock_guard const lock{mutex_};
        why_not_listed_.reset();
        if (outcome) {
          routing_ = *outcome;
          is_stale_ = false;
        } else {
          why_not_listed_ = outcome.error();
        }
        co_return outcome;
      }
      auto const begin = [self](completer<void> done) { self->wait_for_list(std::move(done)); };
      auto waiting = abandonable_completion_of<void>(begin);
      co_await std::move(waiting);
      // The patience of somebody else is not this one's.
      auto const why = why_not_listed();
      if (why && why->code != errc::stopped && why->code != errc::timed_out)
        co_return unexpected{*why};
    }
  }

  // The one partition that a range lies in. Errors: `range_gone` where there is none.
  task<result<partition<token_type>>> owner_of(range_type range, request_limits limits) {
    auto const self = this->shared_from_this();
    routing_pointer stale;
    for (int i = 0; i < 2; ++i) {
      auto routing = routed(limits, stale);
      auto const now = co_await std::move(routing);
      if (!now) co_return unexpected{now.error()};
      auto const& owner = (*now)->at(range.lower());
      if (owner.range.contains(range)) co_return owner;
      stale = *now;
    }
    co_return unexpected{gone()};
  }
  // Whether a range lies in a partition, as far as it is known here: the service itself would give
  // the part of it that does. Errors: `range_gone`.
  result<void> check_owner(std::string_view id, range_type const& range) const {
    std::lock_guard const lock{mutex_};
    auto const found = listed_.find(id);
    if (found == listed_.end() || found->second.range.contains(range)) return {};
    return unexpected{gone()};
  }

  // ---- the session -----------------------------------------------------------------------------

  // What a read of a key is to show; nothing where nothing was seen.
  task<std::string> session_for(partition_key key, request_limits limits = {}) {
    auto const self = this->shared_from_this();
    if (!has_session()) co_return std::string{};
    if (!lists_partitions()) co_return session_token();
    auto routing = routed(std::move(limits));
    auto const now = co_await std::move(routing);
    // Of all partitions, where it is not known which one it is.
    if (!now) {
      if (now.error().code == errc::bad_response) list_no_partitions();
      co_return session_token();
    }
    auto const token = token_of(scheme_, key);
    if constexpr (std::same_as<decltype(token), token_type const>) {
      co_return session_for_partition((*now)->at(token).id);
    } else {
      if (!token) co_return session_token();
      co_return session_for_partition((*now)->at(*token).id);
    }
  }
  std::string session_for_partition(std::string_view id) const {
    std::lock_guard const lock{mutex_};
    if (!options_.keeps_session || tokens_.empty()) return {};
    // Whoever answers for a partition that is gone elsewhere has to have seen what came of it: also
    // where nobody knows what did, since it was news to who was asked for the list.
    std::vector<std::string> later;
    for (auto const& [name, one] : listed_)
      if (std::find(one.parents.begin(), one.parents.end(), id) != one.parents.end())
        later.push_back(name);
    later.insert(later.end(), hidden_.begin(), hidden_.end());
    auto const found = listed_.find(id);
    auto const token = tokens_.token_for(
        id, found == listed_.end() ? std::span<std::string const>{} : found->second.parents, later);
    return token ? *token : std::string{};
  }

 private:
  // As the service says it.
  static error gone() {
    error why{errc::range_gone, "the range lies in more partitions than one"};
    why.wire.status = 410;
    why.wire.substatus = substatus::range_gone;
    return why;
  }
  // Whether its session token tells of something that was seen.
  static bool shows_progress(response const& answer) {
    if (answer.status < 400) return true;
    bool const is_behind =
        answer.status == 404 && details_of(answer).substatus == substatus::session_not_available;
    return !is_behind && (answer.status == 404 || answer.status == 409 || answer.status == 412);
  }
  // What an answer tells beside what was asked. One of before the container was made anew tells
  // nothing; a session token that cannot be read, or merged with what is known, promises nothing.
  void notice(response const& answer, container_properties const& known) {
    std::lock_guard const lock{mutex_};
    if (known.resource_id != properties_->resource_id) return;
    auto const details = details_of(answer);
    auto const partition = answer.headers.find("x-ms-documentdb-partitionkeyrangeid");
    bool const is_gone = answer.status == 410 && details.substatus != substatus::name_cache_stale;
    bool const is_elsewhere = partition && *partition != unlisted_ && routing_ != nullptr &&
                              routing_->find(*partition) == nullptr;
    if (is_gone || is_elsewhere) is_stale_ = true;
    // Asked for once: a service may name what it does not list.
    if (is_elsewhere) unlisted_ = std::string{*partition};
    auto const token = answer.headers.find("x-ms-session-token");
    if (options_.keeps_session && token && !token->empty() && shows_progress(answer))
      static_cast<void>(tokens_.take(*token));
  }
  // Whether a partition is younger than all that were listed: ids are numbers, each greater than
  // those before it.
  bool is_news(std::string_view name) const {
    auto const number = number_of(name);
    return number && !listed_.empty() &&
           std::all_of(listed_.begin(), listed_.end(), [&](auto const& one) {
             auto const other = number_of(one.first);
             return other && *other < *number;
           });
  }
  static std::optional<std::uint64_t> number_of(std::string_view id) {
    std::uint64_t number = 0;
    auto const [end, why] = std::from_chars(id.data(), id.data() + id.size(), number);
    if (why != std::errc{} || end != id.data() + id.size()) return std::nullopt;
    return number;
  }
  std::vector<std::string> news() const {
    std::lock_guard const lock{mutex_};
    auto all = tokens_.ranges();
    std::erase_if(all, [&](std::string const& name) { return !is_news(name); });
    return all;
  }
  bool is_stale() const {
    std::lock_guard const lock{mutex_};
    return is_stale_;
  }

  // The turn of who asks for the list. Where that is over, or given up, those go on who wait.
  class listing {
   public:
    explicit listing(open_container& of) : of_{of} {
      std::lock_guard const lock{of_.mutex_};
      has_begun_ = !std::exchange(of_.is_listing_, true);
    }
    listing(listing const&) = delete;
    listing& operator=(listing const&) = delete;
    ~listing() {
      if (!has_begun_) return;
      std::vector<completer<void>> waiting;
      {
        std::lock_guard const lock{of_.mutex_};
        of_.is_listing_ = false;
        waiting.swap(of_.waiting_for_list_);
      }
      for (auto const& one : waiting) one();
    }
    bool has_begun() const noexcept { return has_begun_; }

   private:
    open_container& of_;
    bool has_begun_ = false;
  };
  void wait_for_list(completer<void> done) {
    {
      std::lock_guard const lock{mutex_};
      if (is_listing_) {
        waiting_for_list_.push_back(std::move(done));
        return;
      }
    }
    done();
  }
  std::optional<error> why_not_listed() const {
    std::lock_guard const lock{mutex_};
    return why_not_listed_;
  }
  task<result<routing_pointer>> asked_for_routing(routing_pointer seen, request_limits limits) {
    auto const self = this->shared_from_this();
    auto refresh = seen ? routing_refresh<Scheme>{seen} : routing_refresh<Scheme>{scheme_};
    while (refresh.wants_page()) {
      auto asking = partitions_since(refresh.version(), limits);
      auto page = co_await std::move(asking);
      if (!page) co_return unexpected{page.error()};
      refresh.take(*std::move(page));
    }
    co_return refresh.outcome();
  }
  static task<result<partition_page<token_type>>> listed(pointer self, std::string known,
                                                         request_limits limits) {
    auto const news = self->news();
    auto question = read_partitions(self->address_, known);
    question.message.deadline = limits.deadline;
    question.message.stop = limits.stop;
    auto asking = self->ask(std::move(question), answer_judge::by_service);
    auto const answer = co_await std::move(asking);
    if (!answer) co_return unexpected{answer.error()};
    auto page = partitions_in(self->scheme_, *answer);
    if (!page) co_return page;
    std::lock_guard const lock{self->mutex_};
    for (auto const& one : page->partitions) {
      self->listed_.insert_or_assign(one.id, one);
      if (self->routing_ != nullptr && self->routing_->find(one.id) == nullptr)
        self->is_stale_ = true;
    }
    if (page->not_modified) {
      self->hidden_.clear();
      for (auto const& name : news)
        if (self->is_news(name)) self->hidden_.push_back(name);
    }
    co_return page;
  }
  bool has_session() const {
    std::lock_guard const lock{mutex_};
    return options_.keeps_session && !tokens_.empty();
  }
  // An emulator's list may be one that nobody can follow; it is not asked for at every read.
  bool lists_partitions() const {
    std::lock_guard const lock{mutex_};
    return lists_partitions_;
  }
  void list_no_partitions() {
    std::lock_guard const lock{mutex_};
    lists_partitions_ = false;
  }
  routing_pointer routing_known() const {
    std::lock_guard const lock{mutex_};
    return routing_;
  }

  service_door door_;
  container_address address_;
  container_options options_;
  Scheme scheme_;
  std::string container_;
  mutable std::mutex mutex_{};  // of what follows
  properties_pointer properties_;
  routing_pointer routing_{};
  bool lists_partitions_ = true;
  bool is_stale_ = false;  // the routing: partitions have come or gone since
  std::string unlisted_{};
  bool is_listing_ = false;
  std::vector<completer<void>> waiting_for_list_{};
  std::optional<error> why_not_listed_{};  // by who asked last
  // Every partition that was listed once, also those that are gone by now.
  std::map<std::string, partition<token_type>, std::less<>> listed_{};
  session_tokens tokens_{};
  // Those that the session has seen, and a whole list that was asked for since did not show.
  std::vector<std::string> hidden_{};
};

}  // namespace detail

}  // namespace keyspan::cosmos
