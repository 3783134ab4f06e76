// test/fuzz/document_page_fuzz.cpp — any body as a page of documents, of changes, and as one
// document.
#include "fuzz.hpp"

#include <keyspan/core/error.hpp>
#include <keyspan/core/json.hpp>
#include <keyspan/cosmos/document_page.hpp>
#include <keyspan/transport/message.hpp>

#include <string>
#include <string_view>

namespace {

using fuzz::require;
using keyspan::cosmos::document_text;

void stands_in(document_text const& one, std::string const& body) {
  if (!one.is_there()) return;
  require(one.json.data() >= body.data() &&
              one.json.data() + one.json.size() <= body.data() + body.size(),
          "a document stands in the body");
  keyspan::json_reader in{one.json, {.max_depth = keyspan::max_json_depth}};
  require(in.peek() == keyspan::json_kind::object, "a document is an object");
  in.skip();
  in.finish();
  require(in.ok(), "a document is well-formed");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  keyspan::response answer;
  answer.body = std::string{fuzz::text_of(data, size)};
  if (auto const page = keyspan::cosmos::documents_in(answer)) {
    for (auto const& one : page->documents) stands_in(one, answer.body);
  } else {
    require(page.error().code == keyspan::errc::bad_response, "a body alone is no other error");
    require(page.error().position.offset <= answer.body.size(), "an error lies in the text");
  }
  if (auto const page = keyspan::cosmos::changes_in(answer))
    for (auto const& one : page->documents) {
      stands_in(one.current, answer.body);
      stands_in(one.previous, answer.body);
    }
  if (auto const one = keyspan::cosmos::document_in(answer)) stands_in(*one, answer.body);
  return 0;
}
