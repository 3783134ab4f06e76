// test/house/docs.hpp — README and docs against the code they speak of.
//
// In C++ sources a region is `// [region: name]` … `// [end: name]`. In Markdown a mark stands on
// the line before a fence: `<!-- code: docs/example/x.cpp#name -->` says that the fence shows that
// region,
// `<!-- signatures: include/keyspan/core/x.hpp -->` that every declaration in it stands in that
// header. Between `<!-- generated: errc -->` and `<!-- end -->` stands a table made from the code.
#pragma once

#include "complaint.hpp"

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace house {

/// README.md and docs/**/*.md: fences, marks, links, anchors, generated tables, ./dev commands.
complaints docs(std::filesystem::path const& root);

/// Copies regions and generated tables into the pages; returns the pages that changed.
std::vector<std::string> write_docs(std::filesystem::path const& root);

/// What GitHub makes of a heading, to link to it: "Two commands, one tree" is
/// `two-commands-one-tree`.
std::string anchor_of(std::string_view heading);

/// The declarations in `signatures` that do not stand in `header`, white space and comments aside.
std::vector<std::string> missing_declarations(std::string_view signatures, std::string_view header);

}  // namespace house
