// test/fuzz/service_errors_fuzz.cpp — any body, status and substatus as a response of the service.
#include "fuzz.hpp"

#include <keyspan/cosmos/service_errors.hpp>
#include <keyspan/transport/message.hpp>

#include <algorithm>
#include <string>
#include <string_view>

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  using fuzz::require;
  auto const text = fuzz::text_of(data, size);
  keyspan::response answer;
  answer.status = static_cast<std::uint16_t>(size < 2 ? 500 : data[0] << 8 | data[1]);
  auto const rest = text.substr((std::min)(text.size(), std::size_t{2}));
  auto const line = rest.substr(0, rest.find('\n'));
  answer.headers.set("x-ms-substatus", line);
  answer.headers.set("x-ms-retry-after-ms", line);
  answer.headers.set("x-ms-request-charge", line);
  answer.headers.set("x-ms-activity-id", line);
  answer.body = std::string{line.size() < rest.size() ? rest.substr(line.size() + 1) : rest};

  auto const why = keyspan::cosmos::service_errors{}(answer);
  bool const is_good = (answer.status >= 200 && answer.status < 300) || answer.status == 304;
  require(why.has_value() == !is_good, "the status alone says whether it is an error");
  if (!why) return 0;
  require(why->wire.status == answer.status, "the status is kept");
  require(std::none_of(why->text.view().begin(), why->text.view().end(),
                       [](char c) { return static_cast<unsigned char>(c) < 0x20; }),
          "the text is one line");
  return 0;
}
