// test/fuzz/endpoint_fuzz.cpp — any text as the address of a service.
#include "fuzz.hpp"

#include <keyspan/transport/endpoint.hpp>

#include <algorithm>
#include <string_view>

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  using fuzz::require;
  using keyspan::service_endpoint;
  auto const text = fuzz::text_of(data, size);

  auto const read = service_endpoint::parse(text);
  if (!read) {
    require(read.error().position.offset <= text.size(), "an error lies in the text");
    require(!read.error().text.is_cut(), "a sentence is whole");
    return 0;
  }
  require(!read->host.empty() && read->port != 0, "there is a host and a port");
  require(std::all_of(read->host.begin(), read->host.end(),
                      [](char c) { return c > ' ' && c < 127 && c != '@' && c != '/'; }),
          "a host is plain");
  require(service_endpoint::parse(read->to_text()) == *read, "what is written is read");
  return 0;
}
