// docs/example/epk.hpp — what the program epk does with its lines: a key comes in, its token goes
// out.
#pragma once

#include <keyspan/core.hpp>
#include <keyspan/hash.hpp>
#include <keyspan/key.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

namespace epk {

// Where and why a line has no token. Lines and columns count from 1, columns in characters.
struct refusal {
  std::uint64_t line;
  std::size_t column;
  keyspan::error why;
};

inline constexpr std::size_t any_number = std::numeric_limits<std::size_t>::max();

// [region: answer]
// Answers lines that hold a key each: with its token in hexadecimal, or with the word error.
template <keyspan::hash_scheme Scheme>
class answering {
 public:
  using token_type = keyspan::token_of_scheme<Scheme>;

  explicit answering(Scheme scheme, std::size_t most_values)
      : scheme_{scheme}, most_values_{most_values} {}

  keyspan::result<token_type> token_of_line(std::string_view line) {
    keyspan::json_reader in{line};
    values_.clear();
    in.begin_array();
    while (in.next_element()) {
      values_.push_back(keyspan::read_key_value(in));
      if (values_.size() > most_values_)
        in.fail_here(keyspan::error{keyspan::errc::too_large, "such a key has at most ",
                                    most_values_, " values"});
    }
    in.finish();
    if (!in.ok()) return keyspan::unexpected{in.error()};
    keyspan::result<token_type> const token = keyspan::token_of(scheme_, values_);
    if (token) return token;
    in.fail_here(token.error());  // the place of a key that is refused as a whole is its end
    return keyspan::unexpected{in.error()};
  }

  // Adds an answer for every line of `text`, and calls `refused` for those that hold no key. The
  // last line may come without its end.
  template <class Refused>
  void answer(std::string_view text, std::string& answers, Refused refused) {
    while (!text.empty()) {
      auto const end = text.find('\n');
      auto line = text.substr(0, end);
      text.remove_prefix(end == text.npos ? text.size() : end + 1);
      if (line.ends_with('\r')) line.remove_suffix(1);
      ++lines_;
      if (auto const token = token_of_line(line)) {
        answers += keyspan::to_hex(*token);
      } else {
        answers += "error";
        // Counted here: to JSON a carriage return inside the line would begin another one.
        auto const before = line.substr(0, token.error().position.offset);
        refused(refusal{lines_, keyspan::count_characters(before) + 1, token.error().at({})});
      }
      answers += '\n';
    }
  }

 private:
  Scheme scheme_;
  std::size_t most_values_;
  std::vector<keyspan::key_value> values_;  // of one line, whose strings they borrow
  std::uint64_t lines_ = 0;
};
// [end: answer]

}  // namespace epk
