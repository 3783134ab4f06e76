// keyspan/key/container_definition.hpp — where the items of a container have their two keys.
//
//   documents_container<"/tenant", "/user/id">()   one to three paths, the row key is id
//   mongodb_container<"address.city">()            a shard key, the row key is _id
//   graph_container<"city">()                      a property, the row key is id
//   table_container()                              PartitionKey and RowKey
#pragma once

#include <keyspan/core/contract.hpp>
#include <keyspan/core/error.hpp>
#include <keyspan/core/result.hpp>
#include <keyspan/key/document_traits.hpp>
#include <keyspan/key/extractor.hpp>
#include <keyspan/key/key_component.hpp>
#include <keyspan/key/key_path.hpp>
#include <keyspan/key/key_value.hpp>
#include <keyspan/key/partition_key.hpp>

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace keyspan {

/// The API by which a container's items are written; it decides what their row key is called.
enum class container_api : std::uint8_t { documents, mongodb, graph, table };

/// No to three paths that are known at run time, and the extractor that they make.
class key_paths {
 public:
  /// Of a container without a partition key.
  constexpr key_paths() = default;

  /// Requires three paths at most.
  constexpr explicit key_paths(std::vector<key_path> paths) : paths_{std::move(paths)} {
    expects(paths_.size() <= max_key_values, "a partition key has three paths at most");
  }

  /// The paths that these texts are. Errors: those of `key_path::parse`; `too_large` for more than
  /// three.
  [[nodiscard]] static constexpr result<key_paths> parse(std::span<std::string_view const> texts) {
    if (texts.size() > max_key_values)
      return fail(errc::too_large, "a partition key has three paths at most, not ", texts.size());
    key_paths read;
    for (std::string_view const text : texts) {
      auto path = key_path::parse(text);
      if (!path) {
        auto const& why = path.error();
        error const told{why.code, "path ", read.size() + 1, ": ", why.text};
        return unexpected{told.at(why.position)};
      }
      read.paths_.push_back(*std::move(path));
    }
    return read;
  }

  constexpr std::size_t size() const noexcept { return paths_.size(); }
  /// Requires `i < size()`.
  constexpr key_path const& operator[](std::size_t i) const {
    expects(i < size(), "there is a path of this number");
    return paths_[i];
  }
  constexpr auto begin() const noexcept { return paths_.begin(); }
  constexpr auto end() const noexcept { return paths_.end(); }

  /// The key of a document, its text borrowed from it. Allocates nothing.
  template <class Document>
    requires partition_document<std::remove_cvref_t<Document>> &&
             document_outlives_its_key<Document, key_path>
  [[nodiscard]] constexpr result<partition_key_view> operator()(Document&& document) const {
    std::array<key_value, max_key_values> values;
    for (std::size_t i = 0; i < size(); ++i) {
      auto const value = detail::read_component(paths_[i], std::as_const(document));
      if (!value) [[unlikely]]
        return unexpected{value.error()};
      values[i] = *value;
    }
    return partition_key_view{std::span<key_value const>{values}.first(size())};
  }

  friend constexpr bool operator==(key_paths const&, key_paths const&) = default;

 private:
  std::vector<key_path> paths_;
};

namespace detail {

template <container_api Api>
constexpr auto row_path() {
  if constexpr (Api == container_api::mongodb) {
    return path<"/_id">;
  } else if constexpr (Api == container_api::table) {
    return path<"/RowKey">;
  } else {
    return path<"/id">;
  }
}

template <class>
inline constexpr bool is_composed_of_paths = false;
template <class... Components>
inline constexpr bool is_composed_of_paths<composed_extractor<Components...>> =
    ((is_static_path<Components> || std::same_as<Components, key_path>) && ...);

// So that a compiler looks for the component at fault, and not at a call alone.
template <class Key, class Document>
struct misfit_in {
  using type = no_question;
};
template <class... Components, class Document>
struct misfit_in<composed_extractor<Components...>, Document>
    : first_misfit<Document, Components...> {};
template <class Key, class Document>
concept key_fits = key_component_of<typename misfit_in<Key, std::remove_cvref_t<Document>>::type,
                                    std::remove_cvref_t<Document>> &&
                   std::invocable<Key const&, Document>;

// Names with dots between them as a path: "address.city" is /address/city. An empty name stays
// empty, which no path allows.
template <class Put>
constexpr void write_dotted_as_path(std::string_view dotted, Put put) {
  for (;;) {
    std::size_t size = 0;  // not by find(): under a sanitizer g++ 12 refuses it in constants
    while (size < dotted.size() && dotted[size] != '.') ++size;
    auto const name = dotted.substr(0, size);
    bool const is_quoted = !name.empty() && !is_plain_path_name(name);
    put('/');
    if (is_quoted) put('"');
    for (char const c : name) {
      if (c == '"' || c == '\\') put('\\');
      put(c);
    }
    if (is_quoted) put('"');
    if (size == dotted.size()) return;
    dotted.remove_prefix(size + 1);
  }
}

template <fixed_string Dotted>
constexpr std::size_t path_size_of_dotted() {
  std::size_t size = 0;
  write_dotted_as_path(Dotted.view(), [&size](char) { ++size; });
  return size;
}
template <fixed_string Dotted>
struct path_of_dotted {
  char bytes[path_size_of_dotted<Dotted>() + 1]{};

  constexpr path_of_dotted() {
    std::size_t size = 0;
    write_dotted_as_path(Dotted.view(), [&](char byte) { bytes[size++] = byte; });
  }
};
template <fixed_string Dotted>
inline constexpr path_of_dotted<Dotted> bytes_of_dotted{};
template <fixed_string Dotted>
using dotted_path = static_path<fixed_string{bytes_of_dotted<Dotted>.bytes}>;

}  // namespace detail

/// The path of what a user of MongoDB calls "address.city". Errors: those of `key_path::parse`;
/// places are those of the path.
[[nodiscard]] constexpr result<key_path> key_path_of_shard_key(std::string_view dotted) {
  if (dotted.starts_with('/'))
    return unexpected{
        error{errc::malformed, "a shard key is names with dots between them, this is a path"}.at(
            {.line = 1, .column = 1, .offset = 0})};
  std::vector<char> text;
  detail::write_dotted_as_path(dotted, [&](char byte) { text.push_back(byte); });
  return key_path::parse({text.data(), text.size()});
}

/// Where the items of a container have their keys. Made by the functions below.
template <container_api Api, class Key, class RowKey>
class container_definition {
 public:
  constexpr explicit container_definition(Key key, RowKey row_key)
      : key_{std::move(key)}, row_key_{std::move(row_key)} {}

  static constexpr container_api api() noexcept { return Api; }

  /// How many values a whole key has.
  constexpr std::size_t path_count() const noexcept {
    if constexpr (std::same_as<Key, key_paths>) {
      return key_.size();
    } else {
      return Key::value_count();
    }
  }

  /// The paths of the partition key, in their order. Not where it is taken from member pointers or
  /// functions, which have no names.
  constexpr key_paths paths() const
    requires(std::same_as<Key, key_paths> || detail::is_composed_of_paths<Key>)
  {
    if constexpr (std::same_as<Key, key_paths>) {
      return key_;
    } else {
      return std::apply(
          [](auto const&... components) {
            std::vector<key_path> paths;
            (paths.push_back(key_path{components}), ...);
            return key_paths{std::move(paths)};
          },
          key_.components());
    }
  }

  /// What the row key is called: "/id", "/_id", "/RowKey".
  static constexpr std::string_view row_key_path() noexcept
    requires detail::is_static_path<RowKey>
  {
    return RowKey::text();
  }

  /// The partition key of a document, owned where the definition makes new text, otherwise
  /// borrowed. Errors: those of the extractor; `not_representable` for a table's key that is no
  /// string.
  template <class Document>
    requires detail::key_fits<Key, Document>
  [[nodiscard]] constexpr auto key(Document&& document) const {
    auto key = key_(std::forward<Document>(document));
    if constexpr (Api == container_api::table)
      if (key && !(*key)[0].is_string())
        key = fail(errc::not_representable, "the PartitionKey of a table is a string, not ",
                   words_for((*key)[0]));
    return key;
  }

  /// What tells the document from the others of its partition. Errors: `not_representable` unless
  /// it is a string that is not empty; with MongoDB, where it is undefined.
  template <class Document>
    requires key_component_of<RowKey, std::remove_cvref_t<Document>> &&
             document_outlives_its_key<Document, RowKey>
  [[nodiscard]] constexpr auto row_key(Document&& document) const {
    auto row = detail::read_component(row_key_, std::as_const(document));
    using answer = decltype(detail::result_of(std::move(row)));
    if (!row) return answer{unexpected{row.error()}};
    key_value const& value = detail::value_in(row);
    if constexpr (Api == container_api::mongodb) {
      if (value.is_undefined())
        return answer{fail(errc::not_representable, row_key_in_words(), " is undefined")};
    } else if (!value.is_string() || value.string().empty()) {
      return answer{fail(errc::not_representable, row_key_in_words(),
                         " is a string that is not empty; this one is ", words_for(value))};
    }
    return detail::result_of(std::move(row));
  }

  /// The key of a document that names none.
  constexpr partition_key none_key() const { return keyspan::none_key(path_count()); }

  /// Whether the key is shorter than a whole one, and so stands for all keys that begin with it.
  /// Only hierarchical keys have prefixes.
  template <key_like PartitionKey>
  [[nodiscard]] constexpr bool is_prefix(PartitionKey const& key) const noexcept {
    return path_count() > 1 && key.size() < path_count();
  }

  /// Whether this is a whole key of the container. Errors: `key_mismatch`, saying how many values
  /// are too few or too many.
  template <key_like PartitionKey>
  [[nodiscard]] constexpr result<void> fits(PartitionKey const& key) const {
    if (key.size() == path_count()) return {};
    return fail(errc::key_mismatch, "too ", key.size() < path_count() ? "few" : "many",
                " values: the key has ", key.size(), ", the container has ", path_count(),
                path_count() == 1 ? " path" : " paths",
                is_prefix(key) ? "; a prefix is for queries and feeds" : "");
  }
  /// Whether this is the key of that document. Errors: those of `key`; `key_mismatch`.
  template <key_like PartitionKey, class Document>
    requires detail::key_fits<Key, Document const&>
  [[nodiscard]] constexpr result<void> fits(PartitionKey const& key,
                                            Document const& document) const {
    if (auto const whole = fits(key); !whole) return whole;
    auto const own = this->key(document);
    if (!own) return unexpected{own.error()};
    for (std::size_t i = 0; i < key.size(); ++i)
      if (key[i] != (*own)[i])
        return fail(errc::key_mismatch, "value ", i + 1,
                    " of the key is not the one that the document has");
    return {};
  }

  /// The same container, the row key taken from elsewhere: for structs that have it under another
  /// name, or whose members have none.
  template <class Component>
  [[nodiscard]] constexpr container_definition<Api, Key, Component> with_row_key(
      Component component) const {
    return container_definition<Api, Key, Component>{key_, std::move(component)};
  }

 private:
  constexpr inline_text<96> row_key_in_words() const {
    inline_text<96> words{std::string_view{"the row key"}};
    if constexpr (detail::is_static_path<RowKey>) {
      words.append(" at ", row_key_.text());
    } else if constexpr (std::same_as<RowKey, key_path>) {
      words.append(" at ", row_key_.to_text());
    }
    return words;
  }

  static constexpr std::string_view words_for(key_value const& value) {
    return value.is_string() ? "empty" : detail::words_of(value.kind());
  }

  Key key_;
  RowKey row_key_;
};

namespace detail {

template <container_api Api, class... Components>
constexpr auto define(Components... components) {
  using key = composed_extractor<Components...>;
  constexpr auto row = row_path<Api>();
  return container_definition<Api, key, std::remove_const_t<decltype(row)>>{
      key{std::move(components)...}, row};
}
template <container_api Api>
constexpr auto define_at(key_paths paths) {
  constexpr auto row = row_path<Api>();
  return container_definition<Api, key_paths, std::remove_const_t<decltype(row)>>{std::move(paths),
                                                                                  row};
}

}  // namespace detail

/// A container of documents. Its key has up to three components, as those of `key_of`; none at all
/// for a container without a partition key.
template <class... Components>
  requires(at_most_three_key_values<Components...> && detail::components_can_fit<Components...>)
[[nodiscard]] constexpr auto documents_container(Components... components) {
  return detail::define<container_api::documents>(std::move(components)...);
}
/// The same, with paths in the program's text: `documents_container<"/tenant", "/user/id">()`.
template <fixed_string First, fixed_string... Rest>
  requires(sizeof...(Rest) < max_key_values)
[[nodiscard]] constexpr auto documents_container() {
  return detail::define<container_api::documents>(path<First>, path<Rest>...);
}
/// The same, with paths that are known at run time.
[[nodiscard]] constexpr auto documents_container(key_paths paths) {
  return detail::define_at<container_api::documents>(std::move(paths));
}

/// A collection of MongoDB, its shard key as it is written there:
/// `mongodb_container<"address.city">()`.
template <fixed_string ShardKey>
[[nodiscard]] constexpr auto mongodb_container() {
  static_assert(!ShardKey.view().starts_with('/'),
                "a shard key is names with dots between them, this is a path");
  return detail::define<container_api::mongodb>(detail::dotted_path<ShardKey>{});
}
/// The same, its shard key taken from a component; at run time, from `key_path_of_shard_key`.
template <class Component>
  requires detail::components_can_fit<Component>
[[nodiscard]] constexpr auto mongodb_container(Component shard_key) {
  return detail::define<container_api::mongodb>(std::move(shard_key));
}

/// A graph, partitioned by a property of its vertices: `graph_container<"city">()`; "/city" says
/// the same.
template <fixed_string Property>
[[nodiscard]] constexpr auto graph_container() {
  if constexpr (Property.view().starts_with('/')) {
    static_assert(static_path<Property>::size() == 1, "a graph is partitioned by one property");
    return detail::define<container_api::graph>(path<Property>);
  } else {
    static_assert(detail::dotted_path<Property>::size() == 1,
                  "a graph is partitioned by one property");
    return detail::define<container_api::graph>(detail::dotted_path<Property>{});
  }
}
/// The same, the property taken from a component.
template <class Component>
  requires detail::components_can_fit<Component>
[[nodiscard]] constexpr auto graph_container(Component property) {
  return detail::define<container_api::graph>(std::move(property));
}

/// A table.
[[nodiscard]] constexpr auto table_container() {
  return detail::define<container_api::table>(path<"/PartitionKey">);
}

}  // namespace keyspan
