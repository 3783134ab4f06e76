// Reads two documents strictly; the second one is wrong, and the error says where and why.
// [region: quick_start]
#include <keyspan/keyspan.hpp>

#include <iostream>
#include <string>
#include <string_view>

struct reading {
  std::string device;
  double value = 0;
};

keyspan::result<reading> parse_reading(std::string_view text) {
  keyspan::json_reader in{text};
  reading out;
  in.begin_object();
  for (std::string_view name; in.next_member(name);) {
    if (name == "device") {
      out.device = in.string();
    } else if (name == "value") {
      out.value = in.number();
    } else {
      in.skip();
    }
  }
  return in.finish(out);
}

int main() {
  for (std::string_view text : {R"({"device": "pump-7", "value": 0.1})",  //
                                R"({"device": "pump-8", "value": 01})"}) {
    keyspan::result<reading> const r = parse_reading(text);
    if (r) {
      std::cout << r->device << " sent " << r->value << '\n';
    } else {
      std::cout << r.error() << '\n';
    }
  }
}
// [end: quick_start]
