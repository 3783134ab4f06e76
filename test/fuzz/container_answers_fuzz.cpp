// test/fuzz/container_answers_fuzz.cpp — any body as what the service says of a container.
#include "fuzz.hpp"

#include <keyspan/core/error.hpp>
#include <keyspan/cosmos/container_answers.hpp>
#include <keyspan/hash/cosmos_multihash.hpp>
#include <keyspan/hash/cosmos_v1.hpp>
#include <keyspan/hash/cosmos_v2.hpp>
#include <keyspan/transport/message.hpp>

#include <string>

namespace {

template <class Scheme>
void as_partitions(Scheme const& scheme, keyspan::response const& answer) {
  using fuzz::require;
  auto const made = keyspan::cosmos::partitions_in(scheme, answer);
  if (!made) {
    require(made.error().code == keyspan::errc::bad_response, "a body alone is no other error");
    require(made.error().position.offset <= answer.body.size(), "an error lies in the text");
    return;
  }
  for (auto const& one : made->partitions) {
    require(!one.id.empty(), "a partition has an id");
    require(one.range.lower() < one.range.upper(), "a range encloses something");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  keyspan::response answer;
  answer.body = std::string{fuzz::text_of(data, size)};
  as_partitions(keyspan::cosmos_v1, answer);
  as_partitions(keyspan::cosmos_v2, answer);
  as_partitions(keyspan::cosmos_multihash, answer);
  auto const container = keyspan::cosmos::container_in(answer);
  if (container)
    fuzz::require(!container->id.empty() && !container->resource_id.empty(),
                  "a container has an id and a resource id");
  return 0;
}
