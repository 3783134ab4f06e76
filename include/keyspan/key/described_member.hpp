// keyspan/key/described_member.hpp — the members of a struct by their names, as Boost.Hana knows
// them.
//
// A struct is described once, outside of it and without changing it: include
// <boost/hana/adapt_struct.hpp> and write BOOST_HANA_ADAPT_STRUCT(review, id, article_id, rating).
#pragma once

#include <keyspan/key/key_path.hpp>

#include <boost/hana/accessors.hpp>
#include <boost/hana/concept/struct.hpp>
#include <boost/hana/pair.hpp>
#include <boost/hana/string.hpp>
#include <boost/hana/tuple.hpp>

#include <cstddef>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

namespace keyspan {

namespace detail {

inline constexpr std::size_t no_member = static_cast<std::size_t>(-1);

// What Hana says about a struct: a pair of a name and of a function for each member.
template <class>
struct members_in {
  static constexpr std::size_t find(std::string_view) { return no_member; }
};

template <class... Names, class... Getters>
struct members_in<boost::hana::tuple<boost::hana::pair<Names, Getters>...>> {
  static constexpr std::size_t find([[maybe_unused]] std::string_view name) {
    std::size_t place = 0;
    bool const found = ((std::string_view{Names::c_str()} == name || (++place, false)) || ...);
    return found ? place : no_member;
  }
  template <std::size_t At>
  using getter = std::tuple_element_t<At, std::tuple<Getters...>>;
};

template <class T>
struct members_of : members_in<void> {};
template <class T>
  requires(boost::hana::Struct<T>::value)
struct members_of<T> : members_in<std::remove_cvref_t<decltype(boost::hana::accessors<T>())>> {};

template <fixed_string Name>
struct named {
  static constexpr auto name = Name;
  static constexpr std::string_view text = name.view();
};

// A name inside of a type is what g++ 12 shows in letters.
template <class T, class Name>
concept has_member_named = members_of<T>::find(Name::text) != no_member;

}  // namespace detail

/// A struct whose members Hana can list.
template <class T>
concept described_struct = std::is_class_v<T> && bool(boost::hana::Struct<T>::value);

/// Whether the description of the struct `T` has a member of this name: the sentence that a
/// compiler shows where a path leads nowhere.
template <class T, fixed_string Name>
concept has_member_named = detail::has_member_named<T, detail::named<Name>>;

/// The member of this name, or what its getter returns.
template <fixed_string Name, class T>
  requires has_member_named<T, Name>
[[nodiscard]] constexpr decltype(auto) member_named(T const& of) {
  using members = detail::members_of<T>;
  return typename members::template getter<members::find(Name.view())>{}(of);
}

}  // namespace keyspan
