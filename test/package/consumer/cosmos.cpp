// test/package/consumer/cosmos.cpp — a program that uses keyspan::cosmos.
#include <keyspan/cosmos/session_token.hpp>

#include <nlohmann/json.hpp>

#include <iostream>

int main() {
  std::cout << "keyspan::cosmos works with " << nlohmann::json{{"id", "r-1"}}.dump() << '\n';
}
