// test/support/enumerators.hpp — what the compiler itself calls enumerators, to hold the names that
// we give them against.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>
#include <utility>

namespace test {

namespace detail {

template <auto Value>
constexpr std::string_view signature_of() {
#if defined(__GNUC__)
  return __PRETTY_FUNCTION__;  // "… [with auto Value = space::e::name; …]", "… [Value = …]"
#else
  return __FUNCSIG__;  // "… signature_of<space::e::name>(void)"
#endif
}

}  // namespace detail

/// "open" for `lease_phase::open`, and an empty text for a value that no enumerator has.
template <auto Value>
constexpr std::string_view name_by_compiler() {
  std::string_view name = detail::signature_of<Value>();
#if defined(__GNUC__)
  name.remove_prefix(name.find("Value = ") + 8);
  name = name.substr(0, name.find_first_of(";]"));
#else
  name.remove_prefix(name.find("signature_of<") + 13);
  name = name.substr(0, name.rfind(">("));
#endif
  name.remove_prefix(name.find_last_of(":)") + 1);
  bool const is_number = name.front() >= '0' && name.front() <= '9';  // "(space::e)3"
  return is_number ? std::string_view{} : name;
}

/// The names of the values 0, 1, … of an enumeration.
template <class Enumeration, std::size_t Most = 64>
constexpr std::array<std::string_view, Most> names_by_compiler() {
  return []<std::size_t... Value>(std::index_sequence<Value...>) {
    return std::array<std::string_view, Most>{
        name_by_compiler<static_cast<Enumeration>(Value)>()...};
  }(std::make_index_sequence<Most>{});
}

/// Whether the values from 0 on that have enumerators are those below `count`, and `name_of` gives
/// each its own name.
template <class Enumeration>
constexpr bool are_named(std::size_t count) {
  constexpr auto names = names_by_compiler<Enumeration>();
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names[i].empty() != (i >= count)) return false;
    if (i < count && name_of(static_cast<Enumeration>(i)) != names[i]) return false;
  }
  return true;
}

}  // namespace test
