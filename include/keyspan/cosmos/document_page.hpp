// keyspan/cosmos/document_page.hpp — the documents and changes of an answer, each as the text that
// it is: who reads them into types of his own does so where they stand.
//
//   {"_rid":"…","Documents":[{…},{…}],"_count":2}
//                            ^---^ ^---^
#pragma once

#include <keyspan/core/error.hpp>
#include <keyspan/core/json.hpp>
#include <keyspan/core/result.hpp>
#include <keyspan/cosmos/container_answers.hpp>
#include <keyspan/cosmos/service_errors.hpp>
#include <keyspan/transport/http_errors.hpp>
#include <keyspan/transport/message.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace keyspan::cosmos {

/// A document, as text in the body that it came in, and what the service has written into it.
struct document_text {
  std::string_view json{};
  std::string id{};
  std::string etag{};
  /// The position in the log of its partition, in a feed; 0 where it is not told.
  std::uint64_t lsn = 0;
  std::chrono::sys_seconds changed_at{};

  bool is_there() const noexcept { return !json.empty(); }
  friend bool operator==(document_text const&, document_text const&) = default;
};

/// A change of a feed of all versions.
struct change_text {
  /// "create", "replace" or "delete"; another word for what came later.
  std::string operation{};
  /// What the document is, and was; not there where it is told of no more, or was not.
  document_text current{};
  document_text previous{};
  /// Of one that is gone: its id, and its partition key as text, an array or an object of it.
  std::string id{};
  std::string_view partition_key{};
  std::uint64_t lsn = 0;
  std::chrono::sys_seconds changed_at{};
  bool is_expired = false;

  friend bool operator==(change_text const&, change_text const&) = default;
};

/// What an answer says beside its documents.
struct page_details {
  /// Of a feed of changes: where the next page begins, also where nothing is new.
  std::string etag{};
  /// Of a list or a query: the same, and nothing behind the last page.
  std::string continuation{};
  std::string session_token{};
  /// Which partition has answered.
  std::string partition{};
  /// How far the partition's log goes; 0 where it is not told.
  std::uint64_t lsn = 0;
  /// Status 304: there is nothing new for now.
  bool not_modified = false;
  wire_details wire{};

  friend bool operator==(page_details const&, page_details const&) = default;
};

/// Documents or changes of a page.
template <class Text>
struct text_page {
  std::vector<Text> documents{};
  page_details details{};
};

namespace detail {

inline page_details details_of_page(response const& answer) {
  page_details made;
  auto const text = [&](std::string_view name) {
    return std::string{answer.headers.find(name).value_or(std::string_view{})};
  };
  made.etag = text("etag");
  made.continuation = text("x-ms-continuation");
  made.session_token = text("x-ms-session-token");
  made.partition = text("x-ms-documentdb-partitionkeyrangeid");
  double const lsn = keyspan::detail::amount_in(answer.headers, "lsn");
  made.lsn = lsn < 0x1p53 ? static_cast<std::uint64_t>(lsn) : 0;
  made.not_modified = answer.status == 304;
  made.wire = details_of(answer);
  return made;
}

// A document has up to 128 levels, and an answer some around it; and as many members as it has room
// for.
inline constexpr json_reader_options answer_with_documents{.max_depth = 192,
                                                           .max_names = std::size_t{1} << 24};

// A whole number that a double holds; 0 for any other.
inline std::int64_t whole_number(json_reader& in) {
  double const value = in.number();
  return value >= 0 && value < 0x1p53 ? static_cast<std::int64_t>(value) : 0;
}
inline std::chrono::sys_seconds moment_at(json_reader& in) {
  return std::chrono::sys_seconds{std::chrono::seconds{whole_number(in)}};
}

// The members that the service has written; what is the user's own may be of any kind. Walked once:
// the text of the whole is what lies between its brackets.
inline document_text document_at(json_reader& in) {
  document_text made;
  if (in.peek() != json_kind::object) {
    in.fail_here("a document is an object");
    return made;
  }
  std::string_view const from = in.rest();
  in.begin_object();
  for (std::string_view name; in.next_member(name);) {
    auto const kind = in.peek();
    if (name == "id" && kind == json_kind::string) {
      made.id = in.string();
    } else if (name == "_etag" && kind == json_kind::string) {
      made.etag = in.string();
    } else if (name == "_lsn" && kind == json_kind::number) {
      made.lsn = static_cast<std::uint64_t>(whole_number(in));
    } else if (name == "_ts" && kind == json_kind::number) {
      made.changed_at = moment_at(in);
    } else {
      in.skip();
    }
  }
  made.json = from.substr(0, from.size() - in.rest().size());
  return made;
}

inline void read_metadata(json_reader& in, change_text& to) {
  in.begin_object();
  for (std::string_view name; in.next_member(name);) {
    if (name == "operationType") {
      to.operation = in.string();
    } else if (name == "lsn") {
      to.lsn = static_cast<std::uint64_t>(whole_number(in));
    } else if (name == "crts") {
      to.changed_at = moment_at(in);
    } else if (name == "timeToLiveExpired") {
      to.is_expired = in.boolean();
    } else if (name == "id") {
      to.id = in.string();
    } else if (name == "partitionKey") {
      to.partition_key = in.skip();
    } else {
      in.skip();
    }
  }
}
// An object that may be empty, null or absent.
inline document_text document_if_any(json_reader& in) {
  if (in.peek() == json_kind::null) {
    in.null();
    return {};
  }
  auto one = document_at(in);
  if (in.ok() && one.json.find_first_not_of("{} \t\r\n") == std::string_view::npos) return {};
  return one;
}
inline change_text change_at(json_reader& in) {
  change_text made;
  bool has_metadata = false;
  in.begin_object();
  for (std::string_view name; in.next_member(name);) {
    if (name == "current") {
      made.current = document_if_any(in);
    } else if (name == "previous") {
      made.previous = document_if_any(in);
    } else if (name == "metadata") {
      has_metadata = true;
      read_metadata(in, made);
    } else {
      in.skip();
    }
  }
  keyspan::detail::expect_member(in, has_metadata, "metadata");
  return made;
}

template <class Text, class ReadOne>
result<text_page<Text>> page_in(response const& answer, ReadOne read_one) {
  if (auto const why = service_errors{}(answer)) return unexpected{*why};
  text_page<Text> made;
  made.details = details_of_page(answer);
  if (made.details.not_modified) return made;
  json_reader in{answer.body, detail::answer_with_documents};
  bool has_list = false;
  in.begin_object();
  for (std::string_view name; in.next_member(name);) {
    if (name != "Documents") {
      in.skip();
      continue;
    }
    has_list = true;
    in.begin_array();
    while (in.next_element()) made.documents.push_back(read_one(in));
  }
  keyspan::detail::expect_member(in, has_list, "Documents");
  in.finish();
  if (!in.ok()) return not_understood(answer, in.error());
  return made;
}

}  // namespace detail

/// The document of an answer to a question about one: created, written or read. Its text stands in
/// the body of the answer, which outlives it. Not there where the answer has no body: 304, or a
/// write that was told to answer nothing. Errors: those of `service_errors`; `bad_response`.
[[nodiscard]] inline result<document_text> document_in(response const& answer) {
  if (auto const why = service_errors{}(answer)) return unexpected{*why};
  if (answer.status == 304 || answer.body.empty()) return document_text{};
  json_reader in{answer.body, detail::answer_with_documents};
  auto made = detail::document_at(in);
  in.finish();
  if (!in.ok()) return detail::not_understood(answer, in.error());
  return made;
}
void document_in(response&&) = delete;

/// The documents of a page: of a list, a query, or the changes of a feed of latest versions. Their
/// texts stand in the body of the answer, which outlives them. Errors: those of `service_errors`;
/// `bad_response` for a body that is none of the service's.
[[nodiscard]] inline result<text_page<document_text>> documents_in(response const& answer) {
  return detail::page_in<document_text>(answer,
                                        [](json_reader& in) { return detail::document_at(in); });
}
void documents_in(response&&) = delete;

/// The changes of a page of a feed of all versions, likewise.
[[nodiscard]] inline result<text_page<change_text>> changes_in(response const& answer) {
  return detail::page_in<change_text>(answer,
                                      [](json_reader& in) { return detail::change_at(in); });
}
void changes_in(response&&) = delete;

}  // namespace keyspan::cosmos
