// test/sim/sim.cpp — plays the simulated worlds: sim [--seeds N] [--first S] [WORLD]
#include "player.hpp"

#include <iostream>
#include <string_view>
#include <vector>

int main(int count, char** words) {
  std::vector<std::string_view> const arguments(words + 1, words + count);
  return sim::command(arguments, std::cout, std::cerr);
}
