// test/key/tree.hpp — documents without a library: trees that exist in constant expressions too.
#pragma once

#include <keyspan/key/document_traits.hpp>

#include <optional>
#include <span>
#include <string_view>

namespace test {

/// A value, or an object of named ones.
struct tree {
  std::string_view name{};
  keyspan::key_value value{};
  std::span<tree const> members{};
  bool is_object = false;

  static constexpr tree leaf(std::string_view name, keyspan::key_value value) {
    return {.name = name, .value = value};
  }
  static constexpr tree object(std::string_view name, std::span<tree const> members) {
    return {.name = name, .members = members, .is_object = true};
  }
};

/// The same as a handle, which is no more than a view.
struct tree_view {
  tree const* shown;
};

}  // namespace test

template <>
struct keyspan::document_traits<test::tree> {
  static constexpr test::tree const* member(test::tree const& object, std::string_view name) {
    for (auto const& one : object.members)
      if (one.name == name) return &one;
    return nullptr;
  }
  static constexpr result<key_value> value(test::tree const& document) {
    if (document.is_object) return fail(errc::not_a_key, "an object is no key value");
    return document.value;
  }
};

template <>
struct keyspan::document_traits<test::tree_view> {
  static constexpr bool is_view = true;
  static constexpr std::optional<test::tree_view> member(test::tree_view object,
                                                         std::string_view name) {
    auto const* const found = document_traits<test::tree>::member(*object.shown, name);
    if (!found) return std::nullopt;
    return test::tree_view{found};
  }
  static constexpr result<key_value> value(test::tree_view document) {
    return document_traits<test::tree>::value(*document.shown);
  }
};
