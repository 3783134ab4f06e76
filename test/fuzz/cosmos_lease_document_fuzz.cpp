// test/fuzz/cosmos_lease_document_fuzz.cpp — any text as a lease of the SDKs' processors.
#include "fuzz.hpp"

#include <keyspan/core/error.hpp>
#include <keyspan/core/utf8.hpp>
#include <keyspan/cosmos/document_json.hpp>
#include <keyspan/cosmos/lease_document.hpp>

#include <string>
#include <string_view>

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  using fuzz::require;
  using keyspan::errc;
  using keyspan::cosmos::lease_document;
  using keyspan::cosmos::lease_version;
  auto const text = fuzz::text_of(data, size);

  auto const json = keyspan::cosmos::json_from(text);
  auto const lease = lease_document::from_text(text);
  if (!json) {
    require(!lease, "what is no JSON is no lease");
    return 0;
  }
  if (!lease) {
    auto const& why = lease.error();
    require(why.code == errc::malformed || why.code == errc::unsupported ||
                why.code == errc::not_representable,
            "an error of a lease is one of three");
    require(keyspan::is_utf8(why.text.view()), "an error is text");
    bool const says_where = why.text.view().find("lease \"") != std::string_view::npos &&
                            why.text.view().find("member \"") != std::string_view::npos;
    require(says_where || !json->is_object(), "an error names the lease and the member");
    return 0;
  }
  require(!lease->id.empty() && !lease->lease_token.empty(),
          "a lease has an id, and is of something");
  require(lease->version == lease_version::partition || lease->range.has_value(),
          "a lease of a range has one");
  auto const written = lease->to_json();
  auto const again = lease_document::from_json(written);
  require(again && *again == *lease, "what is written is read");
  for (auto const& [name, value] : json->items())
    require(written.contains(name) || value.is_null() || value == "" || name == "version" ||
                name == "PartitionId" || name == "LeaseToken",
            "no member is lost");
  return 0;
}
