// keyspan/key/json_documents.hpp — partition keys out of nlohmann::json documents.
//
// nlohmann/json reads every double exactly, which not all JSON libraries do: a double that is off
// by one bit has another token. This header is in no umbrella; include it where that library is
// used.
#pragma once

#include <keyspan/core/error.hpp>
#include <keyspan/core/number.hpp>
#include <keyspan/core/result.hpp>
#include <keyspan/core/text.hpp>
#include <keyspan/key/document_traits.hpp>
#include <keyspan/key/key_value.hpp>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <concepts>
#include <string_view>
#include <type_traits>

namespace keyspan {

/// Any `nlohmann::basic_json`: `json`, `ordered_json`, and those with other containers, strings or
/// integers.
template <class T>
concept nlohmann_document = requires(T const& document) {
  typename T::object_t;
  { document.type() } -> std::same_as<nlohmann::json::value_t>;
};

/// The sentence that a compiler shows for a `basic_json` whose numbers are `float` or `long
/// double`: it holds other numbers than its text does, and they have other tokens.
template <class T>
concept numbers_are_doubles = std::same_as<typename T::number_float_t, double>;

namespace detail {

// A map that is asked by a view without making a string of it.
template <class Object>
concept finds_by_view =
    requires(Object const& object, typename Object::key_type const& key, std::string_view name) {
      typename Object::key_compare::is_transparent;
      { key < name } -> std::convertible_to<bool>;
      { name < key } -> std::convertible_to<bool>;
      object.find(name);
    };

}  // namespace detail

/// Members that are missing are `undefined`, as is what lies beyond a number or a string.
template <nlohmann_document Document>
  requires numbers_are_doubles<Document>
struct document_traits<Document> {
  /// The member, or null. Allocates nothing.
  static Document const* member(Document const& document, std::string_view name) {
    auto const* const object = document.template get_ptr<typename Document::object_t const*>();
    if (object == nullptr) return nullptr;
    if constexpr (detail::finds_by_view<typename Document::object_t>) {
      auto const found = object->find(name);
      return found == object->end() ? nullptr : &found->second;
    } else {
      auto const found = std::find_if(object->begin(), object->end(), [name](auto const& one) {
        return text_of(one.first) == name;
      });
      return found == object->end() ? nullptr : &found->second;
    }
  }

  /// An integer is a number that a double holds exactly, or the text that a large double has.
  /// Errors: `not_a_key` for an object, an array and binary data, those of `key_value::from`.
  static result<key_value> value(Document const& document) {
    using kind = nlohmann::json::value_t;
    switch (document.type()) {
      case kind::null:
        return key_value{null};
      case kind::boolean:
        return key_value{get<typename Document::boolean_t>(document)};
      case kind::string:
        return key_value::from(text_of(get<typename Document::string_t>(document)));
      case kind::number_integer:
        return integer(get<typename Document::number_integer_t>(document));
      case kind::number_unsigned:
        return integer(get<typename Document::number_unsigned_t>(document));
      case kind::number_float:
        return key_value::from(get<typename Document::number_float_t>(document));
      case kind::object:
        return no_key("an object");
      case kind::array:
        return no_key("an array");
      case kind::binary:
        return no_key("binary data");
      default:
        return no_key("what the parser has discarded");
    }
  }

 private:
  // A large double is written without a fraction, in the fewest digits that tell it from others:
  // 1234567890123456800 for ...768. Read as an integer it is a double all the same.
  template <class Integer>
  static result<key_value> integer(Integer value) {
    auto const exact = key_value::from(value);
    if (exact) return exact;
    char digits[max_number_text];
    auto const nearest = static_cast<double>(value);
    return *write_number(nearest, digits) == inline_text<24>{value} ? key_value::from(nearest)
                                                                    : exact;
  }
  template <class T>
  static T const& get(Document const& document) {
    return *document.template get_ptr<T const*>();
  }
  template <class String>
  static std::string_view text_of(String const& text) {
    return {text.data(), text.size()};
  }
  static unexpected no_key(std::string_view what) {
    return fail(errc::not_a_key, what, " is no key value; choose a path that leads to one");
  }
};

static_assert(partition_document<nlohmann::json> && partition_document<nlohmann::ordered_json>);

}  // namespace keyspan
