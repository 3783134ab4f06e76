// test/fuzz/session_token_fuzz.cpp — any text as what a response says of sessions, and any two as
// tokens to merge.
#include "fuzz.hpp"

#include <keyspan/cosmos/session_token.hpp>

#include <string>
#include <string_view>

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  using fuzz::require;
  using keyspan::cosmos::range_session;
  using keyspan::cosmos::session_tokens;
  auto const text = fuzz::text_of(data, size);

  session_tokens seen;
  if (auto const taken = seen.take(text)) {
    std::string const written = seen.to_text();
    session_tokens again;
    require(again.take(written).has_value(), "what is written is read");
    require(again.to_text() == written, "and written alike");
    require(again.take(written).has_value() && again.to_text() == written,
            "what was seen twice is seen as far");
  } else {
    require(seen.empty(), "what cannot be read is not taken");
    require(taken.error().position.offset <= text.size(), "an error lies in the text");
  }

  auto const first = text.substr(0, text.find('|'));
  auto const second = first.size() < text.size() ? text.substr(first.size() + 1) : text;
  auto const a = range_session::from_text(first);
  auto const b = range_session::from_text(second);
  if (!a) require(a.error().position.offset <= first.size(), "an error lies in the text");
  if (!a || !b) return 0;
  require(range_session::from_text(a->to_text()) == *a, "what is written is read");
  require(range_session::merged(*a, *a) == *a, "merged with itself a token stays");
  auto const both = range_session::merged(*a, *b);
  require(both == range_session::merged(*b, *a), "merging has no order");
  if (both) require(range_session::merged(*both, *a) == *both, "what is in it adds nothing");
  return 0;
}
