// test/house/planted.hpp — small trees with a fault in them, to see that a check can fail.
#pragma once

#include "complaint.hpp"
#include "files.hpp"

#include <catch2/catch_message.hpp>
#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <string>
#include <string_view>

namespace house {

/// The tree that is tested for good.
inline std::filesystem::path const real_tree = HOUSE_ROOT;

/// A folder of its own that goes when the test ends.
class planted_tree {
 public:
  planted_tree() {
    static std::atomic<unsigned> count = 0;
    auto const now = std::chrono::steady_clock::now().time_since_epoch().count();
    root_ = std::filesystem::temp_directory_path() /
            ("keyspan-house-" + std::to_string(now) + "-" + std::to_string(++count));
    std::filesystem::create_directories(root_);
  }
  ~planted_tree() {
    std::error_code ignored;
    std::filesystem::remove_all(root_, ignored);
  }
  planted_tree(planted_tree const&) = delete;
  planted_tree& operator=(planted_tree const&) = delete;

  planted_tree& with(std::string_view file, std::string_view text) {
    write_text(root_ / file, text);
    return *this;
  }
  planted_tree& without(std::string_view file) {
    std::filesystem::remove_all(root_ / file);
    return *this;
  }
  std::filesystem::path const& root() const { return root_; }
  operator std::filesystem::path const&() const { return root_; }

 private:
  std::filesystem::path root_;
};

inline std::string all_of(complaints const& found) {
  std::string text;
  for (auto const& one : found) text += "\n" + to_text(one);
  return text.empty() ? "\n(no complaint)" : text;
}

/// Every complaint is a failure of its own.
inline void check_content(complaints const& found) {
  for (auto const& one : found) FAIL_CHECK(to_text(one));
  if (found.empty()) SUCCEED();
}

/// Exactly one complaint, about this place, whose text has `piece` in it.
inline void check_only_complaint(complaints const& found, std::string_view file, std::size_t line,
                                 std::string_view piece) {
  INFO("expected: " << file << ":" << line << ": …" << piece << "…\nfound:" << all_of(found));
  CHECK(found.size() == 1);
  CHECK(std::ranges::any_of(found, [&](complaint const& one) {
    return one.file == file && one.line == line && to_text(one).find(piece) != std::string::npos;
  }));
}

}  // namespace house
