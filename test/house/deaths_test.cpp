#include "planted.hpp"
#include "run.hpp"

#include <csignal>

using namespace house;

namespace {

outcome end_of(std::string const& program, std::string const& way) {
  return run("exec " + shell_quoted(program) + " " + shell_quoted(way) + " 2>&1");
}

// It ends by a signal, and says this first.
void check_death(outcome const& end, std::vector<std::string> const& pieces) {
  INFO("status " << end.status << ", signal " << end.signal << ", output:\n" << end.output);
  CHECK(end.signal == SIGABRT);
  CHECK(end.output.find("still alive") == std::string::npos);
  for (auto const& piece : pieces) {
    INFO("expected: " << piece);
    CHECK(end.output.find(piece) != std::string::npos);
  }
}

constexpr auto with = HOUSE_DEATHS;
constexpr auto without = HOUSE_DEATHS_WITHOUT_EXCEPTIONS;

}  // namespace

TEST_CASE("core works without exceptions and RTTI") {
  for (auto const program : {with, without}) {
    auto const end = end_of(program, "live");
    INFO(end.output);
    CHECK(end.status == 0);
  }
}
TEST_CASE("a broken promise names itself and the caller's place, and ends the program") {
  for (auto const program : {with, without})
    check_death(
        end_of(program, "promise"),
        {"keyspan: broken promise: nobody breaks this promise\n", "deaths.cpp:", ": in ", "main"});
}
TEST_CASE("a contract handler that returns does not save the program") {
  for (auto const program : {with, without}) {
    auto const end = end_of(program, "handler that returns");
    check_death(end, {"heard\n"});
    CHECK(end.output.find("broken promise") == std::string::npos);
  }
}
TEST_CASE("without exceptions the value of an error ends in the contract handler") {
  check_death(end_of(without, "value"),
              {"keyspan: broken promise: not_representable: 7 has no half\n"});
  check_death(end_of(without, "void value"), {"keyspan: broken promise: lease_lost: lease 9\n"});
}
TEST_CASE("with exceptions the value of an error is thrown, past the contract handler") {
  auto const end = end_of(with, "value");
  check_death(end, {"failed", "not_representable: 7 has no half"});
  CHECK(end.output.find("broken promise") == std::string::npos);
}
TEST_CASE("a program that lives on is seen to live") {
  auto const end = end_of(with, "another way");
  CHECK(end.status == 0);
  CHECK(end.signal == 0);
  CHECK(end.output == "still alive\n");
}
