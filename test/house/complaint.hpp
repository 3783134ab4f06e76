// test/house/complaint.hpp — what a check of the house says: where, what is wrong, what to do about
// it.
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace house {

struct complaint {
  std::string file;  ///< relative to the root of the tree
  std::size_t line;  ///< from 1; 0 where it is about the file as a whole
  std::string what;
  std::string advice;
};

using complaints = std::vector<complaint>;

/// "include/keyspan/core/x.hpp:12: core may not include range: move it up, or …"
inline std::string to_text(complaint const& one) {
  std::string text = one.file;
  if (one.line != 0) text += ":" + std::to_string(one.line);
  text += ": " + one.what;
  if (!one.advice.empty()) text += "\n    " + one.advice;
  return text;
}

inline complaints operator+(complaints all, complaints more) {
  for (auto& one : more) all.push_back(std::move(one));
  return all;
}

}  // namespace house
