// docs/example/cosmos_service_writing.hpp — requests that write documents: one, or several
// together.
#pragma once

#include "cosmos_service_document.hpp"
#include "cosmos_service_store.hpp"
#include "cosmos_service_wire.hpp"

#include <keyspan/core/error.hpp>
#include <keyspan/core/json.hpp>
#include <keyspan/core/result.hpp>
#include <keyspan/core/text.hpp>
#include <keyspan/key/partition_key.hpp>
#include <keyspan/transport/item_batch.hpp>
#include <keyspan/transport/message.hpp>
#include <keyspan/transport/stored.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cosmos_server {

enum class write_kind : std::uint8_t { create, upsert, replace };

/// One operation of a batch; its body lies in that of the request.
struct operation {
  std::string kind{};
  std::string id{};
  std::string_view body{};
  std::string if_match{};
  std::string if_none_match{};
  std::optional<std::string> key{};  // where operations of several keys come together
};
inline result<std::vector<operation>> read_operations(std::string_view body) {
  std::vector<operation> made;
  keyspan::json_reader in{body, document_options};
  in.begin_array();
  while (in.next_element()) {
    operation one;
    in.begin_object();
    for (std::string_view name; in.next_member(name);) {
      if (name == "operationType") {
        one.kind = in.string();
      } else if (name == "id") {
        one.id = in.string();
      } else if (name == "resourceBody") {
        one.body = in.skip();
      } else if (name == "ifMatch") {
        one.if_match = in.string();
      } else if (name == "ifNoneMatch") {
        one.if_none_match = in.string();
      } else if (name == "partitionKey") {
        one.key = in.string();
      } else {
        in.skip();
      }
    }
    made.push_back(std::move(one));
    if (made.size() > 1000) in.fail_here(error{errc::too_large, "too many operations"});
  }
  in.finish();
  if (!in.ok()) return keyspan::unexpected{in.error()};
  return made;
}

/// Writes documents as requests ask.
class document_writing {
 public:
  explicit document_writing(container_store& store) : store_{store} {}

  response write(request const& asked, write_kind kind, std::string_view id) {
    auto const key = store_.whole_key(asked);
    if (!key) return refused(key.error());
    if (auto refusal = store_.no_room_for(asked.body.size())) return *std::move(refusal);
    container_store::new_numbers numbers{store_};
    auto read = store_.read_body(asked.body, kind == write_kind::create);
    if (!read) return refused(read.error());
    if (read->key != *key)
      return refused(400,
                     "PartitionKey extracted from document doesn't match the one specified in the "
                     "header",
                     1001);
    if (kind == write_kind::replace && read->id != id)
      return refused(400, "the id of the document is not the one of the path");
    keyspan::write_options const options{.if_match = etag_asked(asked)};
    auto const done = kind == write_kind::create ? store_.container.create(*std::move(read)).value
                      : kind == write_kind::upsert
                          ? store_.container.upsert(*std::move(read), options).value
                          : store_.container.replace(*std::move(read), options).value;
    if (!done) return store_.with_session(refused(done.error()), *key);
    numbers.keep();
    store_.remember(done->item);
    bool const is_silent = is_same_word(header(asked, "prefer"), "return=minimal");
    std::string body;
    if (!is_silent) body = text_of(done->item, store_.owner);
    return store_.about(answered(done->status, std::move(body)), *done);
  }

  response batch(request const& asked) {
    if (auto refusal = store_.no_room_for(asked.body.size())) return *std::move(refusal);
    auto const operations = read_operations(asked.body);
    if (!operations) return refused(operations.error());
    if (auto const id = header(asked, "x-ms-documentdb-partitionkeyrangeid"); !id.empty()) {
      auto const all = store_.container.partitions();
      if (std::none_of(all.begin(), all.end(), [&](auto const& one) { return one.id == id; }))
        return refused(410, "there is no such partition key range now", 1002);
    }
    if (says_true(asked, "x-ms-cosmos-batch-atomic")) return done_together(asked, *operations);
    return done_apart(asked, *operations);
  }

 private:
  response done_together(request const& asked, std::vector<operation> const& operations) {
    auto const key = store_.whole_key(asked);
    if (!key) return refused(key.error());
    keyspan::item_batch<document> work{*key};
    container_store::new_numbers numbers{store_};
    for (std::size_t i = 0; i < operations.size(); ++i) {
      auto const& one = operations[i];
      keyspan::write_options const options{.if_match = keyspan::inline_text<64>{one.if_match}};
      if (one.kind == "Read") {
        work.read(one.id);
      } else if (one.kind == "Delete") {
        work.remove(one.id, options);
      } else if (one.kind == "Create" || one.kind == "Upsert" || one.kind == "Replace") {
        auto read = store_.read_body(one.body, one.kind == "Create");
        if (!read) return refused(in_operation(i, read.error()));
        if (one.kind == "Replace" && read->id != one.id)
          return refused(
              in_operation(i, error{errc::bad_request, "the id is not the one of the document"}));
        if (one.kind == "Create") {
          work.create(*std::move(read));
        } else if (one.kind == "Upsert") {
          work.upsert(*std::move(read), options);
        } else {
          work.replace(*std::move(read), options);
        }
      } else {
        return refused(
            in_operation(i, error{errc::bad_request,
                                  "operations are Create, Upsert, Read, Replace and Delete here"}));
      }
    }
    auto const done = store_.container.execute(work).value;
    if (!done) return refused(done.error());
    if (done->is_done()) numbers.keep();
    std::string body{"["};
    for (std::size_t i = 0; i < done->operations.size(); ++i) {
      if (i != 0) body.push_back(',');
      append_outcome(body, done->operations[i], operations[i], asked);
      if (done->is_done()) follow(done->operations[i], operations[i], *key);
    }
    response made = answered(done->is_done() ? 200 : 207, body.append("]"));
    made.charge = done->charge;
    if (done->is_done())
      say_partition(made, done->operations[0]->partition, done->operations[0]->session_token);
    return made;
  }
  // Each for itself, as bulk clients ask.
  response done_apart(request const& asked, std::vector<operation> const& operations) {
    std::string body{"["};
    double charge = 0;
    for (auto const& one : operations) {
      if (body.size() > 1) body.push_back(',');
      auto const done = done_alone(asked, one);
      charge += done ? done->charge : done.error().wire.charge;
      append_outcome(body, done, one, asked);
    }
    response made = answered(operations.empty() ? 400 : 207, body.append("]"));
    if (operations.empty()) return refused(400, "a batch has an operation at least");
    made.charge = charge;
    return made;
  }
  result<keyspan::item_answer<document>> done_alone(request const& asked, operation const& one) {
    request own{.headers = asked.headers};
    if (one.key) own.headers.set("x-ms-documentdb-partitionkey", *one.key);
    auto const key = store_.whole_key(own);
    if (!key) return keyspan::unexpected{key.error()};
    keyspan::write_options const options{.if_match = keyspan::inline_text<64>{one.if_match}};
    if (one.kind == "Read") return store_.container.read_item(*key, one.id).value;
    if (one.kind == "Delete") {
      auto done = store_.container.remove(*key, one.id, options).value;
      if (done) follow(done, one, *key);
      return done;
    }
    if (one.kind != "Create" && one.kind != "Upsert" && one.kind != "Replace")
      return keyspan::fail(errc::bad_request,
                           "operations are Create, Upsert, Read, Replace and Delete here");
    container_store::new_numbers numbers{store_};
    auto read = store_.read_body(one.body, one.kind == "Create");
    if (!read) return keyspan::unexpected{read.error()};
    if (read->key != *key)
      return keyspan::fail(errc::key_mismatch, "the document has another partition key");
    if (one.kind == "Replace" && read->id != one.id)
      return keyspan::fail(errc::bad_request, "the id is not the one of the document");
    auto done = one.kind == "Create"   ? store_.container.create(*std::move(read)).value
                : one.kind == "Upsert" ? store_.container.upsert(*std::move(read), options).value
                                       : store_.container.replace(*std::move(read), options).value;
    if (!done) return done;
    numbers.keep();
    follow(done, one, *key);
    return done;
  }
  static error in_operation(std::size_t number, error const& why) {
    error made{why.code, "operation ", number, ": ", why.text};
    made.wire = why.wire;
    return made;
  }
  void follow(result<keyspan::item_answer<document>> const& done, operation const& one,
              keyspan::partition_key const& key) {
    if (one.kind == "Delete") {
      store_.index.erase(key, one.id);
    } else if (one.kind != "Read") {
      store_.remember(done->item);
    }
  }
  void append_outcome(std::string& to, result<keyspan::item_answer<document>> const& done,
                      operation const& one, request const& asked) const {
    to.append("{\"statusCode\":");
    if (!done) {
      auto const& why = done.error();
      auto const status = status_of(why);
      to.append(std::to_string(status)).append(",\"subStatusCode\":");
      to.append(std::to_string(substatus_of(why))).append(",\"requestCharge\":");
      append_number(to, why.wire.charge);
      if (status == 429)
        to.append(",\"retryAfterMilliseconds\":").append(std::to_string(why.wire.retry_after_ms));
      to.push_back('}');
      return;
    }
    bool const is_read = one.kind == "Read";
    bool const is_known =
        is_read && !one.if_none_match.empty() && done->item.etag().view() == one.if_none_match;
    bool const is_silent = !is_read && is_same_word(header(asked, "prefer"), "return=minimal");
    to.append(std::to_string(is_known ? 304 : done->status));
    to.append(",\"subStatusCode\":0,\"requestCharge\":");
    append_number(to, done->charge);
    if (done->status != 204) {
      to.append(",\"eTag\":");
      append_json(to, done->item.etag());
      if (!is_known && !is_silent) {
        to.append(",\"resourceBody\":");
        append_document(to, done->item, store_.owner);
      }
    }
    to.push_back('}');
  }

  container_store& store_;
};

}  // namespace cosmos_server
