// keyspan/key/extractor.hpp — from a document to its partition key.
//
// An extractor is any function of a document that gives a partition key, or a result of one. key_of
// makes one out of members, paths and functions; its keys borrow their text from the document.
#pragma once

#include <keyspan/core/error.hpp>
#include <keyspan/core/result.hpp>
#include <keyspan/key/key_component.hpp>
#include <keyspan/key/key_value.hpp>
#include <keyspan/key/partition_key.hpp>

#include <array>
#include <concepts>
#include <cstddef>
#include <span>
#include <tuple>
#include <type_traits>
#include <utility>

namespace keyspan {

namespace detail {

template <class T>
inline constexpr bool is_key_or_result =
    key_like<T> || std::same_as<std::remove_cvref_t<T>, result<partition_key_view>> ||
    std::same_as<std::remove_cvref_t<T>, result<partition_key>>;
template <class T>
concept key_or_result = is_key_or_result<T>;

template <class E, class Document>
using extracted = std::invoke_result_t<E const&, Document const&>;

// Keeps `key_of<review>(…)` from naming the first component.
enum class no_document {};

}  // namespace detail

/// Gives the partition key of a document: a key, or a `result` of one, owned or borrowed from the
/// document.
///
/// Laws: the document alone decides, and equal documents have equal keys; borrowed text stays where
/// it is while the document does.
template <class E, class Document>
concept key_extractor = std::invocable<E const&, Document const&> &&
                        detail::key_or_result<detail::extracted<E, Document>>;

/// The sentence that a compiler shows where a key would borrow from a document that ends with the
/// expression: give the document a name.
template <class Document, class... Components>
concept document_outlives_its_key =
    std::is_lvalue_reference_v<Document> ||
    !(detail::borrows_from<Components, std::remove_cvref_t<Document>> || ...);

/// What `key_of` returns: the values of its components, in their order.
template <class... Components>
class composed_extractor {
 public:
  constexpr explicit composed_extractor(Components... components)
      : components_{std::move(components)...} {}

  /// How many values the key has.
  static constexpr std::size_t value_count() noexcept { return sizeof...(Components); }

  /// The key of a document: a `result<partition_key>` where a component makes new text, otherwise a
  /// `result<partition_key_view>` into the document. Allocates only for new text of more than 64
  /// bytes. Errors: those of the components, with the path that led there.
  template <class Document>
    requires detail::components_fit<std::remove_cvref_t<Document>, Components...> &&
             document_outlives_its_key<Document, Components...>
  [[nodiscard]] constexpr auto operator()(Document&& document) const {
    using type = std::remove_cvref_t<Document>;
    std::array<key_value, value_count()> values;
    if constexpr ((detail::makes_key<Components, type> || ...)) {
      return read<partition_key, 0>(std::as_const(document), values);
    } else {
      return read<partition_key_view, 0>(std::as_const(document), values);
    }
  }

  constexpr std::tuple<Components...> const& components() const noexcept { return components_; }

 private:
  using value_array = std::array<key_value, sizeof...(Components)>;

  // What a component made is kept alive until the key has copied all of it. No result is made
  // before it is known: an empty one is larger than a key.
  template <class Key, std::size_t At, class Document>
  constexpr result<Key> read(Document const& document, value_array& values) const {
    if constexpr (At == sizeof...(Components)) {
      return Key{partition_key_view{std::span<key_value const>{values}}};
    } else if constexpr (sizeof...(Components) == 1 && std::same_as<Key, partition_key>) {
      return detail::make_key(std::get<0>(components_), document);
    } else {
      auto const part = detail::read_component(std::get<At>(components_), document);
      if (!part) [[unlikely]] {
        if constexpr (sizeof...(Components) == 1) return unexpected{part.error()};
        using component = std::tuple_element_t<At, std::tuple<Components...>>;
        return unexpected{detail::of_component<component>("value", At + 1, part.error())};
      }
      values[At] = detail::value_in(part);
      return read<Key, At + 1>(document, values);
    }
  }

  std::tuple<Components...> components_;
};

/// The extractor that these components make, one to three of them: member pointers, paths,
/// functions of the document, and other extractors of one value.
///
///   key_of(&review::article_id)
///   key_of(path<"/tenant">, path<"/user/id">)
///
/// A member pointer is checked here, everything else when a document comes.
template <detail::no_document = detail::no_document{}, class... Components>
  requires(sizeof...(Components) > 0 && at_most_three_key_values<Components...> &&
           detail::components_can_fit<Components...>)
[[nodiscard]] constexpr composed_extractor<Components...> key_of(Components... components) {
  return composed_extractor<Components...>{std::move(components)...};
}

/// The same, every component checked here against the type of the documents:
/// `key_of<review>(path<"/article_id">)`.
template <class Document, class... Components>
  requires(sizeof...(Components) > 0 && at_most_three_key_values<Components...> &&
           detail::components_fit<Document, Components...>)
[[nodiscard]] constexpr composed_extractor<Components...> key_of(Components... components) {
  return composed_extractor<Components...>{std::move(components)...};
}

}  // namespace keyspan
