// docs/example/cosmos_service.hpp — a service that speaks the REST protocol of Azure Cosmos DB over
// containers in memory: for developing and testing, without an account. It does no I/O: it is given
// requests and gives answers.
//
//   cosmos_service service{{.key = *keyspan::cosmos::master_key::from("…")}};
//   keyspan::response answer = service.answer(request);
//
// It has databases, containers of V1, V2 and hierarchical keys, documents, batches, lists, changes
// of both modes over several partition key ranges, and partitions that are split and merged:
//
//   POST /_control/dbs/D/colls/C/split/RANGE?at=EPK    POST /_control/dbs/D/colls/C/merge/A/B
//   GET  /_control/dbs/D/colls/C
//
// It has no queries but "SELECT * FROM c", no stored procedures, triggers, users and permissions,
// no patches, and keeps nothing when it ends; cosmos_service_journal.hpp does. What begins with
// /_control is not signed: whoever can reach the service may split its ranges, so it is to be
// reached from its own machine alone.
#pragma once

#include "cosmos_service_container.hpp"
#include "cosmos_service_wire.hpp"

#include <keyspan/async/clock.hpp>
#include <keyspan/async/ready.hpp>
#include <keyspan/core/json.hpp>
#include <keyspan/core/result.hpp>
#include <keyspan/cosmos/address.hpp>
#include <keyspan/cosmos/container_answers.hpp>
#include <keyspan/cosmos/credential.hpp>
#include <keyspan/feed/wall_time.hpp>
#include <keyspan/transport/message.hpp>
#include <keyspan/transport/transport.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cosmos_server {

/// How a service is set up.
struct cosmos_service_options {
  /// What requests are signed with.
  keyspan::cosmos::master_key key;
  /// Where clients find it, as the account says.
  std::string endpoint{"http://127.0.0.1/"};
  /// How many partition key ranges a new container has; more where its throughput needs them.
  std::size_t partitions = 1;
  /// The same seed and requests at the same times give the same ids and etags.
  std::uint64_t seed = 0;
  /// What time it is; the system's clock where it is empty.
  std::function<keyspan::wall_time()> now{};
  /// How far feeds of all versions go back, where a container's changeFeedPolicy does not say.
  std::chrono::milliseconds keeps_versions{std::chrono::minutes{10}};

  std::size_t most_databases = 100;
  std::size_t most_containers = 100;         ///< of all databases
  std::size_t most_bytes = 1'073'741'824;    ///< of all documents and their kept versions
  std::size_t largest_document = 2'097'152;  ///< in bytes; of a batch as well
  std::size_t largest_body = 4'194'304;      ///< of a request, and about of a page
};

/// The service. One thread at a time uses it.
class cosmos_service {
 public:
  explicit cosmos_service(cosmos_service_options options) : options_{std::move(options)} {
    if (!options_.now)
      options_.now = [] {
        return std::chrono::floor<std::chrono::milliseconds>(std::chrono::system_clock::now());
      };
  }

  /// What the service says to a request: always an answer, with a body of JSON unless its status
  /// says that there is none.
  response answer(request const& asked) { return completed(answered_by(asked, false)); }
  /// The same for a request that was answered in an earlier life of the service: nobody signs it
  /// again.
  response answer_again(request const& asked) { return completed(answered_by(asked, true)); }
  /// The service as a `keyspan::transport` of its own process.
  keyspan::ready<result<response>> send(request const& what) {
    if (auto const why = keyspan::refusal_of(what, std::chrono::steady_clock::now()))
      return {result<response>{keyspan::unexpected{*why}}};
    auto made = answer(what);
    std::string_view host{options_.endpoint};
    if (auto const scheme = host.find("//"); scheme != host.npos) host.remove_prefix(scheme + 2);
    made.endpoint = keyspan::inline_text<80>{host.substr(0, host.find('/'))};
    return {result<response>{std::move(made)}};
  }

  /// How many bytes all documents take, about.
  std::size_t bytes() const noexcept { return *meter_; }
  /// Grows whenever something is no longer as it was, be it that a document came to its end when
  /// it was read. The requests that it grew with, at their times, make the same service again.
  std::uint64_t changes() const noexcept { return *changes_; }

 private:
  struct database {
    std::vector<std::uint32_t> rid{};
    std::string etag{};
    keyspan::wall_time created_at{};
    std::string members{};
    std::map<std::string, std::unique_ptr<served_container>, std::less<>> containers{};
  };

  // ---- who answers -----------------------------------------------------------------------------

  response completed(response made) {
    ++requests_;
    made.headers.set("x-ms-activity-id", activity_id());
    if (!made.body.empty()) made.headers.set("content-type", "application/json");
    std::string charge;
    append_number(charge, made.charge);
    made.headers.set("x-ms-request-charge", charge);
    made.headers.set("x-ms-version", "2020-07-15");
    made.headers.set("x-ms-gatewayversion", "version=2.14.0");
    made.charge = 0;  // whoever reads the header knows it
    return made;
  }
  response answered_by(request const& asked, bool is_known) {
    if (asked.body.size() > options_.largest_body) return refused(413, "Request size is too large");
    auto const path = read_path(asked.target);
    if (!path) return refused(400, "the path of the request is not well-formed");
    if (path->size() > 0 && (*path)[0] == "_control") return controlled(asked, *path);
    if (!is_known)
      if (auto refusal = unauthorized(asked, *path)) return *std::move(refusal);
    constexpr std::string_view methods[]{"GET", "POST", "PUT", "DELETE"};
    if (std::find(std::begin(methods), std::end(methods), asked.method) == std::end(methods))
      return not_allowed(asked);
    if (path->size() == 0) return asked.method == "GET" ? account() : not_allowed(asked);
    if ((*path)[0] != "dbs")
      return refused(is_known_kind((*path)[0]) ? 501 : 404, "this server does not serve that");
    if (path->size() <= 2) return databases(asked, *path);
    auto const found = databases_.find((*path)[1]);
    if (found == databases_.end()) return no_such("database", 1003);
    if ((*path)[2] != "colls")
      return refused(is_known_kind((*path)[2]) ? 501 : 404, "this server does not serve that");
    if (path->size() <= 4) return containers(asked, *path, found->second);
    auto const container = found->second.containers.find((*path)[3]);
    if (container == found->second.containers.end()) return no_such("container", 1003);
    return in_container(asked, *path, *container->second);
  }

  response in_container(request const& asked, asked_path const& path, served_container& at) {
    if (auto const intended = header(asked, "x-ms-cosmos-intended-collection-rid");
        !intended.empty() && intended != at.rid())
      return refused(400, "the container was created anew since the client has read it", 1024);
    std::string_view const method = asked.method;
    if (path[4] == "pkranges" && path.size() == 5)
      return method == "GET" ? at.partitions(asked) : not_allowed(asked);
    if (path[4] == "docs" && path.size() == 5) {
      if (method == "GET") return at.list_or_changes(asked);
      return method == "POST" ? at.posted(asked) : not_allowed(asked);
    }
    if (path[4] == "docs" && path.size() == 6) {
      if (method == "GET") return at.read(asked, path[5]);
      if (method == "PUT") return at.replace(asked, path[5]);
      return method == "DELETE" ? at.remove(asked, path[5]) : not_allowed(asked);
    }
    return refused(is_known_kind(path[4]) ? 501 : 404, "this server does not serve that");
  }

  static response not_allowed(request const& asked) {
    if (asked.method == "PATCH")
      return refused(501, "this server makes no patches: read, change and replace");
    return refused(405, "the resource does not know this method");
  }
  static response no_such(std::string_view what, std::uint16_t substatus = 0) {
    std::string message{"Resource Not Found: there is no such "};
    return refused(404, message.append(what), substatus);
  }
  static bool is_known_kind(std::string_view name) {
    constexpr std::string_view names[]{
        "sprocs", "triggers",    "udfs",      "users",
        "offers", "permissions", "conflicts", "clientencryptionkeys"};
    return std::find(std::begin(names), std::end(names), name) != std::end(names);
  }

  std::string activity_id() const {
    auto const digits = [](std::uint64_t number, std::size_t count) {
      std::string text(count, '0');
      for (std::size_t i = count; i-- > 0; number >>= 4) text[i] = "0123456789abcdef"[number & 15];
      return text;
    };
    return digits(options_.seed, 8) + "-0000-4000-8000-" + digits(requests_, 12);
  }

  // ---- authorization ---------------------------------------------------------------------------

  std::optional<response> unauthorized(request const& asked, asked_path const& path) const {
    auto const given = header(asked, "authorization");
    if (given.empty())
      return refused(401,
                     "Required Header authorization is missing. Ensure a valid Authorization token "
                     "is passed.");
    auto const plain = keyspan::cosmos::percent_decoded(given);
    if (!plain || !plain->starts_with("type=master&ver=1.0&sig="))
      return refused(401,
                     "The format of the authorization header is not valid: this server knows "
                     "signatures by the master key, type=master&ver=1.0&sig=…");
    auto const own_date = header(asked, "x-ms-date");
    auto const date = own_date.empty() ? header(asked, "date") : own_date;
    auto const text = text_to_sign(asked, path, own_date, date);
    auto const wanted = keyspan::cosmos::percent_decoded(options_.key.authorization(text));
    if (!is_same_secret(*plain, *wanted)) {
      std::string message{
          "The input authorization token can't serve the request. The wrong key is being used or "
          "the expected payload is not built as per the protocol. Server used the following "
          "payload to sign: '"};
      return refused(401, message.append(text).append("'"));
    }
    auto const at = read_http_date(date);
    auto const now = options_.now();
    if (!at || *at < now - std::chrono::minutes{15} || *at > now + std::chrono::minutes{15}) {
      std::string message{
          "The authorization token is not valid at the current time. Current server time: "};
      return refused(403, message.append(keyspan::cosmos::http_date(now).view()));
    }
    return std::nullopt;
  }
  static std::string text_to_sign(request const& asked, asked_path const& path,
                                  std::string_view own_date, std::string_view date) {
    auto const lower = [](std::string_view text) {
      std::string made{text};
      for (char& c : made)
        if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
      return made;
    };
    // What is listed or created has the link of what it belongs to.
    std::size_t const count = path.size();
    std::string const kind = count == 0 ? "" : count % 2 == 1 ? path[count - 1] : path[count - 2];
    std::string text = lower(asked.method) + '\n' + lower(kind) + '\n';
    text.append(path.link(count % 2 == 1 ? count - 1 : count)).push_back('\n');
    text.append(lower(own_date)).push_back('\n');
    if (own_date.empty()) text.append(lower(date));
    text.push_back('\n');
    return text;
  }
  // Takes the same time wherever they differ.
  static bool is_same_secret(std::string_view given, std::string_view wanted) {
    unsigned differ = given.size() == wanted.size() ? 0 : 1;
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      char const c = i < given.size() ? given[i] : '\0';
      differ |= static_cast<unsigned>(c != wanted[i]);
    }
    return differ == 0;
  }

  // ---- the account and its databases -----------------------------------------------------------

  response account() const {
    std::string location{"[{\"name\":\"Local\",\"databaseAccountEndpoint\":"};
    append_json(location, options_.endpoint);
    location.append("}]");
    std::string body{
        "{\"id\":\"local\",\"_self\":\"\",\"_rid\":\"local\",\"media\":\"//media/\","
        "\"addresses\":\"//addresses/\",\"_dbs\":\"//dbs/\",\"writableLocations\":"};
    body.append(location).append(",\"readableLocations\":").append(location);
    body.append(
        ",\"enableMultipleWriteLocations\":false,"
        "\"userConsistencyPolicy\":{\"defaultConsistencyLevel\":\"Session\"},"
        "\"userReplicationPolicy\":{\"asyncReplication\":false,\"minReplicaSetSize\":1,"
        "\"maxReplicasetSize\":1},\"systemReplicationPolicy\":{\"minReplicaSetSize\":1,"
        "\"maxReplicasetSize\":1},\"readPolicy\":{\"primaryReadCoefficient\":1,"
        "\"secondaryReadCoefficient\":1},\"queryEngineConfiguration\":"
        "\"{\\\"maxSqlQueryInputLength\\\":262144,\\\"maxJoinsPerSqlQuery\\\":5}\"}");
    return answered(200, std::move(body));
  }

  response databases(request const& asked, asked_path const& path) {
    if (path.size() == 1) {
      if (asked.method == "POST") return create_database(asked);
      if (asked.method != "GET") return not_allowed(asked);
      std::string items;
      for (auto const& [name, one] : databases_) {
        if (!items.empty()) items.push_back(',');
        items.append(text_of(one));
      }
      return listed("", "Databases", items, databases_.size());
    }
    auto const found = databases_.find(path[1]);
    if (found == databases_.end()) return no_such("database");
    if (asked.method == "GET") return described(200, found->second);
    if (asked.method != "DELETE") return not_allowed(asked);
    databases_.erase(found);
    ++*changes_;
    return answered(204);
  }

  // A definition: its own members, and what it is called.
  struct definition {
    std::string id{};
    std::string members{};
    bool has_key = false;
    std::optional<std::int64_t> time_to_live{};
    std::chrono::milliseconds keeps_versions{};
  };
  result<definition> read_definition(std::string_view body) const {
    definition made{.keeps_versions = options_.keeps_versions};
    bool is_bad = false;
    keyspan::json_reader in{body, document_options};
    if (in.peek() != keyspan::json_kind::object)
      return keyspan::fail(errc::bad_request, "a definition is a JSON object");
    made.members = members_of(
        in, [](std::string_view name) { return name.starts_with('_'); },
        [&](std::string_view name, keyspan::json_kind kind, std::string_view value) {
          keyspan::json_reader own{value, document_options};
          if (name == "id" && kind == keyspan::json_kind::string) {
            made.id = own.string();
          } else if (name == "partitionKey" && kind == keyspan::json_kind::object) {
            made.has_key = true;
          } else if (name == "defaultTtl" && kind != keyspan::json_kind::null) {
            made.time_to_live = own.integer<std::int32_t>();
            is_bad |= !own.ok() || *made.time_to_live == 0 || *made.time_to_live < -1;
          } else if (name == "changeFeedPolicy" && kind == keyspan::json_kind::object) {
            own.begin_object();
            for (std::string_view part; own.next_member(part);) {
              if (part == "retentionDuration" && own.peek() == keyspan::json_kind::number) {
                auto const minutes = own.integer<std::int32_t>();
                is_bad |= !own.ok() || minutes < 0;
                made.keeps_versions = std::chrono::minutes{minutes};
              } else {
                own.skip();
              }
            }
          }
        });
    in.finish();
    if (!in.ok()) return keyspan::unexpected{in.error()};
    if (!keyspan::cosmos::is_name(made.id))
      return keyspan::fail(errc::bad_request, "id is a name of 1 to ",
                           keyspan::cosmos::longest_name, " bytes without / \\ ? #");
    if (is_bad)
      return keyspan::fail(errc::bad_request, "defaultTtl is a number of seconds, or -1, and ",
                           "retentionDuration a number of minutes");
    return made;
  }

  response create_database(request const& asked) {
    auto made = read_definition(asked.body);
    if (!made) return refused(made.error());
    if (databases_.contains(made->id))
      return refused(409, "Resource with specified id or name already exists.");
    if (databases_.size() >= options_.most_databases)
      return refused(403, "the server has no room for one more database", 1014);
    database one{.rid = {new_number()},
                 .etag = new_etag(),
                 .created_at = options_.now(),
                 .members = std::move(made->members)};
    auto const at = databases_.emplace(std::move(made->id), std::move(one)).first;
    ++*changes_;
    return described(201, at->second);
  }
  static std::string text_of(database const& one) {
    std::string const rid = rid_of(one.rid);
    std::string made{"{"};
    made.append(one.members).append(",\"_rid\":\"").append(rid);
    made.append("\",\"_self\":\"dbs/").append(rid).append("/\",\"_etag\":");
    append_json(made, one.etag);
    made.append(",\"_colls\":\"colls/\",\"_users\":\"users/\",\"_ts\":");
    return made.append(std::to_string(seconds_of(one.created_at))).append("}");
  }
  static response described(std::uint16_t status, database const& one) {
    response made = answered(status, text_of(one));
    made.headers.set("etag", one.etag);
    made.charge = 1;
    return made;
  }
  static response listed(std::string_view rid, std::string_view name, std::string_view items,
                         std::size_t count) {
    std::string body{"{\"_rid\":\""};
    body.append(rid).append("\",\"").append(name).append("\":[").append(items);
    body.append("],\"_count\":").append(std::to_string(count)).append("}");
    response made = answered(200, std::move(body));
    made.headers.set("x-ms-item-count", std::to_string(count));
    made.charge = 1;
    return made;
  }

  // Numbers of resource ids: each is another one, and none says how many there were.
  std::uint32_t new_number() {
    ++*changes_;  // also where nothing comes of it
    auto const count = static_cast<std::uint32_t>(++resources_);
    return (count + static_cast<std::uint32_t>(options_.seed)) * 0x9E37'79B1U;
  }
  std::string new_etag() {
    std::string text{"\"0000000000000000\""};
    std::uint64_t number = ++etags_;
    for (std::size_t i = 16; number != 0; --i, number >>= 4)
      text[i] = "0123456789abcdef"[number & 15];
    return text;
  }

  // ---- containers ------------------------------------------------------------------------------

  response containers(request const& asked, asked_path const& path, database& in) {
    if (path.size() == 3) {
      if (asked.method == "POST") return create_container(asked, in);
      if (asked.method != "GET") return not_allowed(asked);
      std::string items;
      for (auto const& [name, one] : in.containers) {
        if (!items.empty()) items.push_back(',');
        items.append(one->to_text());
      }
      return listed(rid_of(in.rid), "DocumentCollections", items, in.containers.size());
    }
    auto const found = in.containers.find(path[3]);
    if (found == in.containers.end()) return no_such("container");
    if (asked.method == "GET") return found->second->described(200);
    if (asked.method == "PUT")
      return refused(501, "this server does not change containers: delete it and create another");
    if (asked.method != "DELETE") return not_allowed(asked);
    in.containers.erase(found);
    ++*changes_;
    return answered(204);
  }

  // Request units a second that a new container is to have; 0 for no limit.
  static result<std::uint64_t> throughput_asked(request const& asked) {
    auto const fixed = header(asked, "x-ms-offer-throughput");
    auto const automatic = header(asked, "x-ms-cosmos-offer-autopilot-settings");
    std::uint64_t units = 0;
    if (!fixed.empty()) {
      units = number_in<std::uint64_t>(fixed).value_or(0);
    } else if (!automatic.empty()) {
      keyspan::json_reader in{automatic};
      in.begin_object();
      for (std::string_view name; in.next_member(name);) {
        if (name == "maxThroughput") {
          units = in.integer<std::uint64_t>();
        } else {
          in.skip();
        }
      }
      in.finish();
      if (!in.ok()) units = 0;
    } else {
      return units;
    }
    if (units < 400 || units > 1'000'000)
      return keyspan::fail(errc::bad_request, "throughput is 400 to 1000000 request units");
    return units;
  }

  response create_container(request const& asked, database& in) {
    auto made = read_definition(asked.body);
    if (!made) return refused(made.error());
    if (!made->has_key) return refused(400, "the definition of a container has a partitionKey");
    auto const units = throughput_asked(asked);
    if (!units) return refused(units.error());
    if (in.containers.contains(made->id))
      return refused(409, "Resource with specified id or name already exists.");
    std::size_t count = 0;
    for (auto const& [name, one] : databases_) count += one.containers.size();
    if (count >= options_.most_containers)
      return refused(403, "the server has no room for one more container", 1014);
    container_settings settings;
    settings.members = std::move(made->members);
    settings.rid = {in.rid[0], new_number()};
    // A client would read of it what is read here.
    response const own =
        answered(200, "{" + settings.members + ",\"_rid\":\"" + rid_of(settings.rid) + "\"}");
    auto properties = keyspan::cosmos::container_in(own);
    if (!properties) return refused(400, properties.error().text);
    if (properties->paths.size() == 0) return refused(400, "a partition key has one path at least");
    settings.properties = *std::move(properties);
    settings.database_rid = rid_of(in.rid);
    settings.etag = new_etag();
    settings.partitions =
        (std::max)(options_.partitions, static_cast<std::size_t>((*units + 9'999) / 10'000));
    settings.request_units = *units;
    settings.seed = options_.seed + resources_;
    settings.has_time_to_live = made->time_to_live.has_value();
    if (made->time_to_live && *made->time_to_live > 0)
      settings.time_to_live = std::chrono::seconds{*made->time_to_live};
    settings.keeps_versions = made->keeps_versions;
    settings.now = options_.now;
    settings.meter = meter_;
    settings.changes = changes_;
    settings.most_bytes = options_.most_bytes;
    settings.largest_document = options_.largest_document;
    settings.largest_page = options_.largest_body;
    auto one = std::make_unique<served_container>(std::move(settings));
    auto const at = in.containers.emplace(std::move(made->id), std::move(one)).first;
    ++*changes_;
    return at->second->described(201);
  }

  // ---- control ---------------------------------------------------------------------------------

  response controlled(request const& asked, asked_path const& path) {
    bool const is_container = path.size() >= 5 && path[1] == "dbs" && path[3] == "colls";
    if (!is_container)
      return refused(404, "/_control/dbs/D/colls/C is followed by nothing, split/RANGE, merge/A/B");
    auto const found = databases_.find(path[2]);
    if (found == databases_.end()) return no_such("database");
    auto const at = found->second.containers.find(path[4]);
    if (at == found->second.containers.end()) return no_such("container");
    served_container& container = *at->second;
    if (path.size() == 5) return asked.method == "GET" ? container.looked_at() : not_allowed(asked);
    if (asked.method != "POST") return not_allowed(asked);
    if (path.size() == 7 && path[5] == "split") {
      std::optional<std::string_view> token;
      if (!path.query.empty()) {
        if (!path.query.starts_with("at=")) return refused(400, "a split is told at=EPK alone");
        token = std::string_view{path.query}.substr(3);
      }
      if (container.partition_count() >= most_ranges)
        return refused(403, "the container has as many partition key ranges as it may have");
      return container.split(path[6], token);
    }
    if (path.size() == 8 && path[5] == "merge") return container.merge(path[6], path[7]);
    return refused(404, "/_control/dbs/D/colls/C is followed by nothing, split/RANGE, merge/A/B");
  }

  static constexpr std::size_t most_ranges = 1000;

  cosmos_service_options options_;
  std::shared_ptr<std::size_t> meter_ = std::make_shared<std::size_t>(0);
  std::shared_ptr<std::uint64_t> changes_ = std::make_shared<std::uint64_t>(0);
  std::map<std::string, database, std::less<>> databases_{};
  std::uint64_t requests_ = 0;
  std::uint64_t resources_ = 0;
  std::uint64_t etags_ = 0;
};

static_assert(keyspan::transport<cosmos_service>);

}  // namespace cosmos_server
