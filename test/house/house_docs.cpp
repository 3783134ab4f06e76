// Compares README and docs with the code they speak of, or copies the code into them.

#include "docs.hpp"

#include <cstdio>
#include <string_view>

int main(int count, char** arguments) {
  std::string_view const action = count == 3 ? arguments[1] : "";
  if (action == "--check") {
    auto const found = house::docs(arguments[2]);
    for (auto const& one : found) std::printf("%s\n", house::to_text(one).c_str());
    return found.empty() ? 0 : 1;
  }
  if (action == "--write") {
    for (auto const& page : house::write_docs(arguments[2])) std::printf("%s\n", page.c_str());
    return 0;
  }
  std::fprintf(
      stderr,
      "usage: house_docs --check ROOT   lists what is wrong, exit status 1 if anything is\n"
      "       house_docs --write ROOT   copies code into the pages, lists those that changed\n");
  return 2;
}
