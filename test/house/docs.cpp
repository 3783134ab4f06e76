#include "docs.hpp"

#include "commands.hpp"
#include "files.hpp"
#include "layers.hpp"
#include "text.hpp"

#include <keyspan/core/error.hpp>
#include <keyspan/lease/lease_table.hpp>
#include <keyspan/lease/member_machine.hpp>

#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <set>

namespace house {

namespace fs = std::filesystem;

namespace {

struct fence {
  std::size_t open;   // index of the line of the opening ```
  std::size_t close;  // and of the closing one
  std::string language;
  std::string indent;
};

struct page {
  std::string file;
  std::vector<std::string> lines;
  std::vector<fence> fences;
  std::vector<bool> in_fence;
};

std::size_t backticks_of(std::string_view line) {
  for (char const c : {'`', '~'}) {
    auto const end = std::min(line.find_first_not_of(c), line.size());
    if (end >= 3) return end;
  }
  return 0;
}

page read_page(fs::path const& root, std::string const& file, complaints& found) {
  page read{.file = file, .lines = {}, .fences = {}, .in_fence = {}};
  auto const text = text_of(root / file);
  for (auto const line : lines_of(text)) read.lines.emplace_back(line);
  read.in_fence.resize(read.lines.size());
  for (std::size_t i = 0; i < read.lines.size(); ++i) {
    auto const line = trimmed(read.lines[i]);
    auto const width = backticks_of(line);
    if (width == 0 || line.substr(width).find('`') != std::string_view::npos) continue;
    auto const language = trimmed(line.substr(width));
    auto const is_end = [&](std::string_view other) {
      other = trimmed(other);
      return backticks_of(other) >= width &&
             other.find_first_not_of(line[0]) == std::string_view::npos;
    };
    std::size_t close = i + 1;
    while (close < read.lines.size() && !is_end(read.lines[close])) ++close;
    if (close == read.lines.size()) {
      found.push_back({file, i + 1, "the fence opened here is not closed", "close it with ```"});
      std::fill(read.in_fence.begin() + static_cast<std::ptrdiff_t>(i), read.in_fence.end(), true);
      break;
    }
    read.fences.push_back({i, close, std::string{language.substr(0, language.find(' '))},
                           read.lines[i].substr(0, read.lines[i].find_first_not_of(" \t"))});
    for (auto inside = i; inside <= close; ++inside) read.in_fence[inside] = true;
    i = close;
  }
  return read;
}

std::vector<std::string> pages_of(fs::path const& root) {
  auto pages = files_under(root, "docs", {".md"});
  if (fs::exists(root / "README.md")) pages.insert(pages.begin(), "README.md");
  return pages;
}

// `<!-- code: x -->` is {"code", "x"}.
struct mark {
  std::string kind;
  std::string target;
};

std::optional<mark> mark_of(std::string_view line) {
  line = trimmed(line);
  if (!line.starts_with("<!--") || !line.ends_with("-->")) return {};
  line = trimmed(line.substr(4, line.size() - 7));
  auto const colon = line.find(':');
  if (colon == std::string_view::npos) {
    if (line == "end") return mark{"end", ""};
    return {};
  }
  mark read{std::string{trimmed(line.substr(0, colon))},
            std::string{trimmed(line.substr(colon + 1))}};
  if (read.kind != "code" && read.kind != "signatures" && read.kind != "generated") return {};
  return read;
}

// The lines of a region with their common indentation taken off, or why there is none.
struct region {
  std::vector<std::string> lines;
  std::string failure;
};

region region_of(fs::path const& root, std::string const& target) {
  auto const hash = target.find('#');
  auto const file = target.substr(0, hash);
  auto const name = hash == std::string::npos ? std::string{} : target.substr(hash + 1);
  if (name.empty()) return {{}, "the mark names no region: write " + file + "#name"};
  if (!fs::is_regular_file(root / file)) return {{}, file + " does not exist"};
  auto const text = text_of(root / file);
  auto const is_marker = [](std::string_view line, std::string const& marker) {
    line = trimmed(line);
    return line == "// " + marker || line == "# " + marker;
  };
  region read;
  std::size_t begins = 0;
  std::size_t ends = 0;
  for (auto const line : lines_of(text)) {
    auto const blank = trimmed(line);
    if (is_marker(line, "[region: " + name + "]")) {
      ++begins;
    } else if (is_marker(line, "[end: " + name + "]")) {
      ++ends;
    } else if (begins > ends && !blank.starts_with("// [region: ") &&
               !blank.starts_with("// [end: ") && !blank.starts_with("# [region: ") &&
               !blank.starts_with("# [end: ")) {
      read.lines.emplace_back(line);
    }
  }
  if (begins != 1 || ends != 1)
    return {{},
            file + " has " + std::to_string(begins) + " lines `[region: " + name + "]` and " +
                std::to_string(ends) + " lines `[end: " + name + "]`, one each is needed"};
  auto const is_blank = [](std::string const& line) { return trimmed(line).empty(); };
  while (!read.lines.empty() && is_blank(read.lines.back())) read.lines.pop_back();
  read.lines.erase(read.lines.begin(), std::ranges::find_if_not(read.lines, is_blank));
  if (read.lines.empty()) return {{}, "the region " + name + " of " + file + " is empty"};
  std::size_t common = std::string::npos;
  for (auto const& line : read.lines)
    if (!is_blank(line)) common = std::min(common, line.find_first_not_of(' '));
  for (auto& line : read.lines) line = is_blank(line) ? "" : line.substr(common);
  return read;
}

std::vector<std::string> indented(std::vector<std::string> lines, std::string const& indent) {
  for (auto& line : lines)
    if (!line.empty()) line = indent + line;
  return lines;
}

std::string cell(std::string_view text) {
  std::string out;
  for (char const c : text) out += c == '|' ? std::string{"\\|"} : std::string{c};
  return out;
}

std::string errc_rows() {
  std::string text = "| errc | meaning | what to do |\n|---|---|---|\n";
  for (auto const& one : keyspan::detail::errc_table)
    text += "| `" + cell(one.name) + "` | " + cell(one.meaning) + " | " + cell(one.advice) + " |\n";
  return text;
}

// "stop_reading" is "stop reading".
std::string words_of(std::string_view name) {
  std::string text{name};
  std::ranges::replace(text, '_', ' ');
  return text;
}

// Whether this is all that a pair of a state and an event has: nothing happens.
bool is_nothing(keyspan::lease_row const& row) {
  return row.when == keyspan::lease_condition::always && row.stays &&
         row.does[0] == keyspan::lease_action::none;
}

std::string lease_rows_of(keyspan::lease_state state, keyspan::lease_event_kind event) {
  std::vector<keyspan::lease_row> rows;
  for (auto const& row : keyspan::lease_table)
    if (row.is_for(state) && row.event == event) rows.push_back(row);
  if (is_nothing(rows[0])) return {};
  std::string text;
  for (auto const& row : rows) {
    bool const is_always = row.when == keyspan::lease_condition::always;
    std::string const always = rows.size() == 1 ? "always" : "otherwise";
    std::string does;
    for (auto const one : row.does)
      if (one != keyspan::lease_action::none)
        does += (does.empty() ? "" : ", ") + words_of(name_of(one));
    text += "| `" + std::string{name_of(event)} + "` | " +
            (is_always ? always : words_of(name_of(row.when))) + " | " +
            (does.empty() ? "-" : does) + " | " +
            (row.stays ? "-" : "`" + std::string{name_of(row.to)} + "`") + " |\n";
  }
  return text;
}

std::string lease_chart() {
  std::string text;
  for (std::size_t state = 0; state < keyspan::lease_states; ++state) {
    auto const in = static_cast<keyspan::lease_state>(state);
    text += (text.empty() ? "### " : "\n### ") + std::string{name_of(in)} +
            "\n\n| event | where | does | goes to |\n|---|---|---|---|\n";
    for (std::size_t event = 0; event < keyspan::lease_events; ++event)
      text += lease_rows_of(in, static_cast<keyspan::lease_event_kind>(event));
  }
  return text;
}

std::string member_rows() {
  std::string text = "| |";
  std::string line = "|---|";
  for (std::size_t event = 0; event < keyspan::member_events; ++event) {
    text += " `" + std::string{name_of(static_cast<keyspan::member_event_kind>(event))} + "` |";
    line += "---|";
  }
  text += "\n" + line + "\n";
  for (std::size_t state = 0; state < keyspan::member_states; ++state) {
    text += "| `" + std::string{name_of(static_cast<keyspan::member_state>(state))} + "` |";
    for (auto const rule : keyspan::member_table[state])
      text += " " + (rule == keyspan::member_rule::stay ? "-" : words_of(name_of(rule))) + " |";
    text += "\n";
  }
  return text;
}

std::optional<std::vector<std::string>> generated_lines(std::string_view name) {
  std::string text;
  if (name == "errc") {
    text = errc_rows();
  } else if (name == "layers") {
    text = layers_table();
  } else if (name == "lease table") {
    text = lease_chart();
  } else if (name == "member table") {
    text = member_rows();
  } else {
    return {};
  }
  std::vector<std::string> lines{""};
  for (auto const line : lines_of(text)) lines.emplace_back(line);
  lines.emplace_back("");
  return lines;
}

std::vector<std::string> slice(std::vector<std::string> const& lines, std::size_t from,
                               std::size_t to) {
  return {lines.begin() + static_cast<std::ptrdiff_t>(from),
          lines.begin() + static_cast<std::ptrdiff_t>(to)};
}

std::size_t first_difference(std::vector<std::string> const& a, std::vector<std::string> const& b) {
  return static_cast<std::size_t>(std::ranges::mismatch(a, b).in1 - a.begin());
}

std::size_t end_of_generated(page const& one, std::size_t from) {
  for (auto i = from + 1; i < one.lines.size(); ++i) {
    auto const read = one.in_fence[i] ? std::nullopt : mark_of(one.lines[i]);
    if (read && read->kind == "end") return i;
    if (read && read->kind == "generated") break;
  }
  return one.lines.size();
}

bool is_cpp(std::string_view language) {
  for (auto const name : {"cpp", "c++", "cc", "cxx", "hpp", "C++", "CPP", "c"})
    if (language == name) return true;
  return false;
}

void check_fences(complaints& found, fs::path const& root, page const& one) {
  std::set<std::size_t> used_marks;
  for (auto const& each : one.fences) {
    auto const marked = each.open == 0 ? std::nullopt : mark_of(one.lines[each.open - 1]);
    bool const has_mark = marked && (marked->kind == "code" || marked->kind == "signatures");
    auto const line = each.open + 1;
    if (!has_mark) {
      if (is_cpp(each.language))
        found.push_back(
            {one.file, line, "C++ that no compiler has seen",
             "put <!-- code: FILE#REGION --> or <!-- signatures: HEADER --> on the line before "
             "the fence"});
      continue;
    }
    used_marks.insert(each.open - 1);
    auto const body = slice(one.lines, each.open + 1, each.close);
    if (marked->kind == "code") {
      auto const wanted = region_of(root, marked->target);
      if (!wanted.failure.empty()) {
        found.push_back({one.file, each.open, wanted.failure, "correct the mark or the source"});
      } else if (auto const lines = indented(wanted.lines, each.indent); lines != body) {
        found.push_back({one.file, line + 1 + first_difference(body, lines),
                         "the code differs from " + marked->target, "./dev docs copies it"});
      }
      continue;
    }
    if (!fs::is_regular_file(root / marked->target)) {
      found.push_back(
          {one.file, each.open, marked->target + " does not exist", "correct the mark"});
      continue;
    }
    std::string signatures;
    for (auto const& text : body) signatures += text + "\n";
    auto const header = text_of(root / marked->target);
    if (trimmed(without_comments(signatures)).empty())
      found.push_back(
          {one.file, line, "the fence shows no declaration", "show one, or remove the fence"});
    for (auto const& missing : missing_declarations(signatures, header))
      found.push_back({one.file, line,
                       "`" + missing + "` does not stand in " + marked->target + " any more",
                       "show the declaration as the header has it"});
  }
  for (std::size_t i = 0; i < one.lines.size(); ++i) {
    if (one.in_fence[i]) continue;
    auto const read = mark_of(one.lines[i]);
    if (read && (read->kind == "code" || read->kind == "signatures") && !used_marks.contains(i))
      found.push_back({one.file, i + 1, "the mark stands before no fence",
                       "let ```cpp follow on the next line, or remove the mark"});
  }
}

void check_generated(complaints& found, page const& one) {
  for (std::size_t i = 0; i < one.lines.size(); ++i) {
    auto const read = one.in_fence[i] ? std::nullopt : mark_of(one.lines[i]);
    if (!read || read->kind != "generated") continue;
    auto const wanted = generated_lines(read->target);
    auto const end = end_of_generated(one, i);
    if (!wanted) {
      found.push_back({one.file, i + 1, "nothing is generated under the name " + read->target,
                       "the names are errc, layers, lease table and member table"});
    } else if (end == one.lines.size()) {
      found.push_back(
          {one.file, i + 1, "the generated part has no end", "write <!-- end --> behind it"});
    } else if (auto const lines = slice(one.lines, i + 1, end); lines != *wanted) {
      found.push_back({one.file, i + 2 + first_difference(lines, *wanted),
                       "the table differs from the one in the code", "./dev docs copies it"});
    }
  }
}

// Code spans become blanks: what looks like a link in them is none.
std::string without_code_spans(std::string_view line) {
  std::string out{line};
  for (std::size_t at = 0; at < out.size(); ++at) {
    if (out[at] != '`') continue;
    auto const width = std::min(out.find_first_not_of('`', at), out.size()) - at;
    auto const end = out.find(std::string(width, '`'), at + width);
    if (end == std::string::npos) {
      at += width - 1;
      continue;
    }
    std::fill(out.begin() + static_cast<std::ptrdiff_t>(at),
              out.begin() + static_cast<std::ptrdiff_t>(end + width), ' ');
    at = end + width - 1;
  }
  return out;
}

// "(guide/x.md "A title")" is guide/x.md.
std::string without_title(std::string_view target) {
  target = trimmed(target);
  if (target.starts_with('<')) return std::string{target.substr(1, target.find('>') - 1)};
  return std::string{target.substr(0, target.find_first_of(" \t"))};
}

std::vector<std::string> targets_in(std::string_view source_line) {
  std::vector<std::string> targets;
  auto const line = without_code_spans(source_line);
  for (auto at = line.find("]("); at != std::string::npos; at = line.find("](", at + 2)) {
    std::size_t depth = 0;
    auto end = at + 1;
    for (; end < line.size(); ++end) {
      if (line[end] == '(') ++depth;
      if (line[end] == ')' && --depth == 0) break;
    }
    targets.push_back(without_title(std::string_view{line}.substr(at + 2, end - at - 2)));
  }
  for (std::string_view const attribute : {"src=\"", "href=\"", "srcset=\""})
    for (auto at = line.find(attribute); at != std::string::npos;
         at = line.find(attribute, at + 1)) {
      auto const from = at + attribute.size();
      targets.push_back(
          without_title(std::string_view{line}.substr(from, line.find('"', from) - from)));
    }
  auto const text = trimmed(line);
  if (text.starts_with('['))
    if (auto const end = text.find("]:"); end != std::string_view::npos)
      targets.push_back(without_title(text.substr(end + 2)));
  return targets;
}

std::set<std::string> anchors_of(page const& one) {
  std::set<std::string> anchors;
  std::map<std::string, int> count;
  for (std::size_t i = 0; i < one.lines.size(); ++i) {
    if (one.in_fence[i]) continue;
    std::string_view const line = one.lines[i];
    auto const depth = line.find_first_not_of('#');
    if (depth != std::string_view::npos && depth >= 1 && depth <= 6 && line[depth] == ' ') {
      auto const anchor = anchor_of(line.substr(depth));
      auto const before = count[anchor]++;
      anchors.insert(before == 0 ? anchor : anchor + "-" + std::to_string(before));
    }
    for (std::string_view const attribute : {"id=\"", "name=\""})
      if (auto const at = line.find(attribute); at != std::string_view::npos) {
        auto const from = at + attribute.size();
        anchors.emplace(line.substr(from, line.find('"', from) - from));
      }
  }
  return anchors;
}

bool leads_elsewhere(std::string_view target) {
  auto const colon = target.find(':');
  return colon != std::string_view::npos &&
         target.substr(0, colon).find('/') == std::string_view::npos;
}

void check_links(complaints& found, fs::path const& root, page const& one) {
  for (std::size_t i = 0; i < one.lines.size(); ++i) {
    if (one.in_fence[i]) continue;
    for (auto const& target : targets_in(one.lines[i])) {
      if (leads_elsewhere(target)) continue;
      auto const hash = target.find('#');
      auto const path = target.substr(0, hash);
      auto const file = path.empty() ? fs::path{one.file}
                                     : (fs::path{one.file}.parent_path() / path).lexically_normal();
      if (path.starts_with('/') || file.generic_string().starts_with("..") ||
          !fs::exists(root / file)) {
        found.push_back({one.file, i + 1, "the link " + target + " leads nowhere",
                         "there is no " + file.generic_string()});
      } else if (hash != std::string::npos && file.extension() == ".md") {
        complaints ignored;
        auto const anchors = anchors_of(read_page(root, file.generic_string(), ignored));
        if (!anchors.contains(target.substr(hash + 1)))
          found.push_back({one.file, i + 1, "the link " + target + " leads nowhere",
                           file.generic_string() + " has no heading " + target.substr(hash)});
      }
    }
  }
}

// ./dev lines of fences, and `./dev …` in the running text.
void check_commands(complaints& found, fs::path const& root, page const& one) {
  auto const check = [&](std::string_view command, std::size_t line) {
    for (auto const& wrong : dev_command(root, command))
      found.push_back({one.file, line, wrong.what, wrong.advice});
  };
  for (std::size_t i = 0; i < one.lines.size(); ++i) {
    std::string_view line = one.lines[i];
    if (one.in_fence[i]) {
      line = trimmed(line);
      if (line.starts_with("$ ")) line = trimmed(line.substr(2));
      if (line.starts_with("./dev")) check(line, i + 1);
    } else {
      for (auto at = line.find("`./dev"); at != std::string_view::npos;
           at = line.find("`./dev", at + 1))
        check(line.substr(at + 1, line.find('`', at + 1) - at - 1), i + 1);
    }
  }
}

}  // namespace

std::string anchor_of(std::string_view heading) {
  std::string out;
  heading = trimmed(heading);
  for (std::size_t i = 0; i < heading.size(); ++i) {
    char const c = heading[i];
    if (c == ']' && i + 1 < heading.size() && heading[i + 1] == '(') {
      i = std::min(heading.find(')', i), heading.size());
    } else if (c == ' ') {
      out += '-';
    } else if (c >= 'A' && c <= 'Z') {
      out += static_cast<char>(c - 'A' + 'a');
    } else if (is_word_character(c) || c == '-') {
      out += c;
    } else if (static_cast<unsigned char>(c) == 0xE2 && i + 2 < heading.size()) {
      i += 2;  // dashes, arrows and other signs of the general punctuation
    } else if (static_cast<unsigned char>(c) >= 0x80) {
      out += c;
    }
  }
  return out;
}

complaints docs(fs::path const& root) {
  complaints found;
  auto const pages = pages_of(root);
  if (pages.empty())
    return {{"README.md", 0, "there is no page to check", "the check looks in the wrong place"}};
  for (auto const& file : pages) {
    auto const one = read_page(root, file, found);
    check_fences(found, root, one);
    check_generated(found, one);
    check_links(found, root, one);
    check_commands(found, root, one);
  }
  return found;
}

std::vector<std::string> write_docs(fs::path const& root) {
  std::vector<std::string> changed;
  for (auto const& file : pages_of(root)) {
    complaints ignored;
    auto const one = read_page(root, file, ignored);
    std::string text;
    auto const add = [&](std::vector<std::string> const& lines) {
      for (auto const& line : lines) text += line + "\n";
    };
    for (std::size_t i = 0; i < one.lines.size(); ++i) {
      add({one.lines[i]});
      if (one.in_fence[i]) {
        auto const each = std::ranges::find(one.fences, i, &fence::open);
        if (each == one.fences.end() || i == 0) continue;
        auto const marked = mark_of(one.lines[i - 1]);
        if (!marked || marked->kind != "code") continue;
        auto const wanted = region_of(root, marked->target);
        if (!wanted.failure.empty()) continue;
        add(indented(wanted.lines, each->indent));
        i = each->close - 1;
      } else if (auto const marked = mark_of(one.lines[i]); marked && marked->kind == "generated") {
        auto const wanted = generated_lines(marked->target);
        auto const end = end_of_generated(one, i);
        if (!wanted || end == one.lines.size()) continue;
        add(*wanted);
        i = end - 1;
      }
    }
    if (text != text_of(root / file)) {
      write_text(root / file, text);
      changed.push_back(file);
    }
  }
  return changed;
}

}  // namespace house
