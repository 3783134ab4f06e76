// test/fuzz/key_path_fuzz.cpp — any bytes as a path: an error with a place, or names that are read
// again from the path's own text and that other readers of such a path see too.
#include "fuzz.hpp"

#include <keyspan/core/utf8.hpp>
#include <keyspan/key/key_path.hpp>

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace {

using fuzz::require;
using keyspan::key_path;

// As the service's own clients take a path apart: at slashes, quotes kept together, a quote behind
// a backslash not counted, the backslash left where it is.
std::vector<std::string> names_for_others(std::string_view text) {
  std::vector<std::string> names;
  while (!text.empty()) {
    text.remove_prefix(1);
    std::size_t end = text.find('/');
    bool const is_quoted = text.front() == '"' || text.front() == '\'';
    if (is_quoted)
      for (end = text.find(text.front(), 1); text[end - 1] == '\\';)
        end = text.find(text.front(), end + 1);
    names.emplace_back(is_quoted ? text.substr(1, end - 1) : text.substr(0, end));
    text.remove_prefix(end == text.npos ? text.size() : end + is_quoted);
  }
  return names;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  auto const text = fuzz::text_of(data, size);
  auto const path = key_path::parse(text);
  if (!path) {
    auto const& error = path.error();
    require(error.position.line == 1 && error.position.offset <= size, "an error lies in the text");
    require(error.position.column >= 1 && error.position.column - 1 <= error.position.offset,
            "no character is less than a byte");
    require(!error.text.empty() && !error.text.is_cut(), "an error says what was wrong");
    return 0;
  }
  require(path->size() >= 1 && path->size() <= keyspan::max_path_segments,
          "a path has a name, and not too many");
  std::vector<std::string> const names(path->begin(), path->end());
  for (auto const& name : names) require(keyspan::is_utf8(name), "what is taken is UTF-8");

  auto const own = path->to_text();
  auto const again = key_path::parse(own);
  require(again.has_value() && *again == *path, "its text is the same path");
  require(again->to_text() == own, "and has the same text");
  require((*again <=> *path) == 0, "equal paths are equal in their order");
  std::hash<key_path> const hash;
  require(hash(*again) == hash(*path), "equal paths hash alike");
  if (text.find('\\') == text.npos)
    require(names == names_for_others(text), "others see the same names");
  return 0;
}
