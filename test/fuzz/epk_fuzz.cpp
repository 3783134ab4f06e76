// test/fuzz/epk_fuzz.cpp — any bytes as the lines that the example epk reads.
#include "fuzz.hpp"

#include <keyspan/core.hpp>
#include <keyspan/hash.hpp>
#include <keyspan/key.hpp>

#include "../../docs/example/epk.hpp"

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace {

using fuzz::require;

struct answered {
  std::string text;
  std::vector<epk::refusal> refused;

  bool has_token(std::size_t line) const {
    return std::none_of(refused.begin(), refused.end(),
                        [&](epk::refusal const& r) { return r.line == line; });
  }
};

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    auto const size = std::min(text.find('\n'), text.size());
    lines.push_back(text.substr(0, size));
    text.remove_prefix(std::min(size + 1, text.size()));
  }
  return lines;
}

// The text as a whole, or with its first `cut` bytes, which end with a line, by themselves.
template <keyspan::hash_scheme Scheme>
answered answers_to(Scheme const& scheme, std::size_t most_values, std::string_view text,
                    std::size_t cut) {
  answered all;
  epk::answering answering{scheme, most_values};
  auto const refused = [&](epk::refusal const& r) { all.refused.push_back(r); };
  answering.answer(text.substr(0, cut), all.text, refused);
  answering.answer(text.substr(cut), all.text, refused);
  return all;
}

template <keyspan::hash_scheme Scheme>
answered check(Scheme const& scheme, std::size_t most_values, std::string_view text) {
  auto const all = answers_to(scheme, most_values, text, 0);
  auto const in_parts = answers_to(scheme, most_values, text, text.rfind('\n') + 1);
  require(all.text == in_parts.text && all.refused.size() == in_parts.refused.size(),
          "it makes no difference how much of the lines comes at once");

  auto const lines = lines_of(text);
  auto const answers = lines_of(all.text);
  require(answers.size() == lines.size() && (all.text.empty() || all.text.back() == '\n'),
          "every line has one answer");
  auto refusal = all.refused.begin();
  for (std::size_t i = 0; i < lines.size(); ++i) {
    auto const key = keyspan::read_key_json(lines[i]);
    if (answers[i] == "error") {
      require(refusal != all.refused.end() && refusal->line == i + 1, "an error has a reason");
      require(refusal->column >= 1 && refusal->column <= lines[i].size() + 1,
              "an error lies in its line, or behind it");
      require(!refusal->why.position && !refusal->why.to_text().empty(), "a reason has words");
      // Three values are short enough for every scheme.
      require(!key.has_value(), "a key of up to three values has a token");
      ++refusal;
    } else {
      auto const token = keyspan::from_hex<typename Scheme::token_type>(answers[i]);
      require(token.has_value(), "an answer is a token");
      if (!key) {
        require(key.error().code == keyspan::errc::too_large,
                "what has a token is a key, maybe of more values than three");
        continue;
      }
      keyspan::result<typename Scheme::token_type> const same = keyspan::token_of(scheme, *key);
      require(same.has_value() && *same == *token, "the token is that of the key in the line");
    }
  }
  require(refusal == all.refused.end(), "a reason belongs to an error");
  return all;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  auto const text = fuzz::text_of(data, size);
  auto const v1 = check(keyspan::cosmos_v1, epk::any_number, text);
  auto const v2 = check(keyspan::cosmos_v2, epk::any_number, text);
  auto const multihash = check(keyspan::cosmos_multihash, keyspan::max_key_values, text);
  for (std::size_t line = 1; line <= lines_of(text).size(); ++line)
    require(v2.has_token(line) || (!v1.has_token(line) && !multihash.has_token(line)),
            "version 2 takes every key that the others take");
  return 0;
}
