// keyspan/key/joined.hpp — one value of a key made of several: "London-2026-11-18".
#pragma once

#include <keyspan/core/contract.hpp>
#include <keyspan/core/number.hpp>
#include <keyspan/core/result.hpp>
#include <keyspan/core/text.hpp>
#include <keyspan/core/utf8.hpp>
#include <keyspan/key/key_component.hpp>
#include <keyspan/key/key_value.hpp>
#include <keyspan/key/partition_key.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

namespace keyspan {

namespace detail {

// Text as it is, numbers and truth values as JSON writes them.
constexpr std::string_view text_of_part(key_value const& part,
                                        std::array<char, max_number_text>& room) {
  switch (part.kind()) {
    case key_kind::string:
      return part.string();
    case key_kind::number:
      return *write_number(part.number(), room);
    case key_kind::boolean:
      return part.boolean() ? "true" : "false";
    default:
      return {};
  }
}

constexpr bool is_missing(key_value const& value) {
  return value.is_undefined() || value.is_null();
}

template <std::size_t Count>
constexpr partition_key key_of_texts(std::array<std::string_view, Count> const& texts,
                                     std::string_view separator) {
  std::size_t size = separator.size() * (Count - 1);
  for (std::string_view const text : texts) size += text.size();
  key_characters characters{size};
  char* at = characters.data();
  for (std::size_t i = 0; i < Count; ++i) {
    if (i != 0) at = std::copy(separator.begin(), separator.end(), at);
    at = std::copy(texts[i].begin(), texts[i].end(), at);
  }
  return partition_key{std::string_view{characters.data(), size}};
}

}  // namespace detail

/// What `joined` returns: an extractor of one text, and a component of `key_of`.
template <class... Components>
class joined_extractor {
 public:
  /// Requires a separator of at most 16 bytes of well-formed UTF-8.
  constexpr explicit joined_extractor(std::string_view separator, Components... components)
      : separator_{separator}, components_{std::move(components)...} {
    expects(separator.size() <= separator_.capacity() && is_utf8(separator),
            "a separator has at most 16 bytes, and is UTF-8");
  }

  static constexpr std::size_t value_count() noexcept { return 1; }
  constexpr std::string_view separator() const noexcept { return separator_; }

  /// The text of the parts, one after another. Where a part is undefined or null, so is the key:
  /// the first such part decides. Allocates only where the text has more than 64 bytes. Errors:
  /// those of the parts.
  template <class Document>
    requires detail::components_fit<Document, Components...>
  [[nodiscard]] constexpr result<partition_key> operator()(Document const& document) const {
    std::array<std::string_view, sizeof...(Components)> texts;
    return join<0>(document, texts);
  }

 private:
  // Every part is kept alive until the text has been made of all of them.
  template <std::size_t At, class Document>
  constexpr result<partition_key> join(
      Document const& document, std::array<std::string_view, sizeof...(Components)>& texts) const {
    if constexpr (At == sizeof...(Components)) {
      return detail::key_of_texts(texts, separator_);
    } else {
      auto const part = detail::read_component(std::get<At>(components_), document);
      if (!part) [[unlikely]] {
        using component = std::tuple_element_t<At, std::tuple<Components...>>;
        return unexpected{detail::of_component<component>("part", At + 1, part.error())};
      }
      key_value const& value = detail::value_in(part);
      if (detail::is_missing(value)) return partition_key{value};
      std::array<char, max_number_text> room;
      texts[At] = detail::text_of_part(value, room);
      return join<At + 1>(document, texts);
    }
  }

  inline_text<16> separator_;
  std::tuple<Components...> components_;
};

/// One text of several parts: `joined("-", &sale::city, time_bucket(&sale::at, time_unit::day))`
/// gives "London-2026-11-18". A part is whatever is a component of `key_of`; numbers and truth
/// values appear as in JSON.
///
/// Parts that contain the separator make two lists of parts look alike, which then share a
/// partition: where the parts are to be told apart again, choose a separator that they do not have.
template <class... Components>
  requires(sizeof...(Components) > 0 && detail::components_can_fit<Components...>)
[[nodiscard]] constexpr joined_extractor<Components...> joined(std::string_view separator,
                                                               Components... components) {
  return joined_extractor<Components...>{separator, std::move(components)...};
}

}  // namespace keyspan
