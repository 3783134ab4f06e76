// keyspan/key/document_traits.hpp — how the members of a document are found whose shape is known
// at run time only.
//
// A program that keeps its documents in a JSON library of its own says once, here, how to ask it.
// For nlohmann/json that is done already: key/json_documents.hpp.
#pragma once

#include <keyspan/core/error.hpp>
#include <keyspan/core/result.hpp>
#include <keyspan/key/key_value.hpp>

#include <concepts>
#include <cstddef>
#include <string_view>
#include <type_traits>
#include <utility>

namespace keyspan {

/// Described for a type of documents by a specialisation with these members:
///
///   static handle member(Document const& document, std::string_view name);
///     What the object has under this name: something that is false where there is no such member
///     or `document` is no object, and that `*` makes a document of, of this type or of another
///     one: a pointer, or an optional.
///   static result<key_value> value(Document const& document);
///     The value, its text borrowed from where it is. Errors: `not_a_key` for an object and for an
///     array, naming it; those of `key_value::from`.
///   static constexpr bool is_view = true;
///     Only where a document is no more than a view: text in it outlives the document.
///
/// Laws: neither changes anything; text stays where it is while the document does, even if the
/// handle through which it was reached is gone.
template <class Document>
struct document_traits;

namespace detail {

template <class Document>
using member_of_document = decltype(document_traits<Document>::member(
    std::declval<Document const&>(), std::string_view{}));

}  // namespace detail

/// A document whose members are found by name at run time.
template <class T>
concept partition_document =
    requires(T const& document, detail::member_of_document<T> const& handle) {
      { document_traits<T>::value(document) } -> std::same_as<result<key_value>>;
      static_cast<bool>(handle);
      {
        document_traits<std::remove_cvref_t<decltype(*handle)>>::value(*handle)
      } -> std::same_as<result<key_value>>;
    };

/// A document that borrows what it shows, so that a key taken from it outlives it.
template <class T>
concept view_document = std::is_pointer_v<T> || std::same_as<T, std::string_view> ||
                        requires { requires bool(document_traits<T>::is_view); };

namespace detail {

// An error about a value, with the path that led to it. The place in the value's own text is left
// out: it would be taken for one in the document.
constexpr error at_path(std::string_view path, error const& what) {
  return error{what.code, "at ", path, ": ", what.text};
}

}  // namespace detail

}  // namespace keyspan
