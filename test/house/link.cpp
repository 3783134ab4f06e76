// Two translation units that include everything, and one for each header alone, make one program.

#include "everything.hpp"

#include <cstdio>

int main() {
  if (house::addresses_in_first() == house::addresses_in_second()) return 0;
  std::fprintf(stderr,
               "two translation units have different copies of what is inline: a header holds\n"
               "something that is static, const or in an unnamed namespace\n");
  return 1;
}
