// test/vectors/check_vectors.cpp — holds keyspan to the lines that generate.mjs prints:
//
//   check_vectors < LINES
//
// The token of every key, read from JSON and once more from the header's text; that text, written;
// and the key, read back from it. What differs is printed, and how much was compared.
#include "../../docs/example/epk.hpp"

#include <keyspan/core.hpp>
#include <keyspan/core/print.hpp>
#include <keyspan/hash.hpp>
#include <keyspan/key.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <iostream>
#include <map>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace {

struct row {
  std::string key;
  std::string scheme;
  std::string token;
  std::string header;
  std::string deviations;  // the client's, none in most rows
  std::string clients_token;
};

class comparison {
 public:
  void compare(row const& r) {
    row_ = &r;
    if (r.scheme.starts_with("none_")) {
      auto const none = keyspan::none_key(r.scheme == "none_0" ? 0 : 1);
      same("what is sent for no key", keyspan::to_key_json(none.values()), r.header);
      ++counts_["documents without a key"];
      return;
    }
    if (r.scheme == "v1") compare_tokens(keyspan::cosmos_v1);
    if (r.scheme == "v2") compare_tokens(keyspan::cosmos_v2);
    if (r.scheme == "multihash") compare_tokens(keyspan::cosmos_multihash);
    compare_header();
    ++counts_["tokens of " + r.scheme];
    if (r.deviations.empty()) return;
    holds("the client strays here", r.clients_token != r.token);
    std::istringstream names{r.deviations};
    for (std::string name; names >> name;) ++counts_["client: " + name];
  }

  // Whether all was well, and enough was seen to say so.
  bool report(std::ostream& out) const {
    for (auto const& [what, count] : counts_) out << what << ": " << count << '\n';
    bool seen = true;
    for (auto const* what :
         {"documents without a key", "headers", "tokens of v1", "tokens of v2",
          "tokens of multihash", "tokens that are too long", "client: first_value_only",
          "client: string_not_cut", "client: last_zero_of_number_missing",
          "client: last_zero_of_hash_missing"})
      if (!counts_.contains(what)) {
        out << "nothing was seen of: " << what << '\n';
        seen = false;
      }
    out << "differences: " << differences_ << '\n';
    return seen && differences_ == 0;
  }

 private:
  template <keyspan::hash_scheme Scheme>
  void compare_tokens(Scheme const& scheme) {
    epk::answering answering{scheme, epk::any_number};
    for (std::string_view const text : {row_->key, row_->header}) {
      auto const token = answering.token_of_line(text);
      same("the token", token ? std::string{keyspan::to_hex(*token)} : "error", row_->token);
      if (token) continue;
      holds("the token is too long", token.error().code == keyspan::errc::too_large);
      ++counts_["tokens that are too long"];
    }
  }

  void compare_header() {
    auto const key = keyspan::read_key_json(row_->key);
    if (!key) {  // version 1 and 2 take more values than a key of ours has
      holds("a key of four values is refused", key.error().code == keyspan::errc::too_large);
      return;
    }
    auto const same_key = keyspan::read_key_json(row_->header);
    holds("the header's text is read as the key", same_key && *same_key == *key);
    same("the header's text", with_small_digits(keyspan::to_key_json(key->values())), row_->header);
    ++counts_["headers"];
  }

  // The client writes \u00e9 and we \u00E9, which is the same to who reads it.
  static std::string with_small_digits(std::string text) {
    for (std::size_t i = 0; i + 1 < text.size(); ++i) {
      if (text[i] != '\\') continue;
      if (text[++i] != 'u') continue;
      for (std::size_t end = std::min(i + 5, text.size()); i + 1 < end; ++i)
        if (text[i + 1] >= 'A' && text[i + 1] <= 'F') text[i + 1] += 'a' - 'A';
    }
    return text;
  }

  void same(std::string_view what, std::string_view ours, std::string_view theirs) {
    if (ours == theirs) return;
    differ(what);
    std::cout << "  ours:   " << ours << "\n  theirs: " << theirs << '\n';
  }
  void holds(std::string_view what, bool does) {
    if (!does) differ(what);
  }
  void differ(std::string_view what) {
    ++differences_;
    std::cout << row_->scheme << ' ' << row_->key.substr(0, 400) << "\n  not so: " << what << '\n';
  }

  row const* row_ = nullptr;
  std::map<std::string, std::size_t> counts_;
  std::size_t differences_ = 0;
};

}  // namespace

int main() {
  comparison all;
  std::size_t number = 0;
  for (std::string line; std::getline(std::cin, line);) {
    ++number;
    row r;
    std::array fields{&r.key, &r.scheme, &r.token, &r.header, &r.deviations, &r.clients_token};
    std::istringstream in{line};
    std::size_t count = 0;
    while (count < fields.size() && std::getline(in, *fields[count], '\t')) ++count;
    if (count != 4 && count != fields.size()) {
      std::cout << "line " << number << " has " << count << " fields\n";
      return 1;
    }
    all.compare(r);
  }
  return all.report(std::cout) ? 0 : 1;
}
