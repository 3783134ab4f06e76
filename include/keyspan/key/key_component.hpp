// keyspan/key/key_component.hpp — what one value of a key is taken from.
//
//   &review::article_id      a member, or a member function
//   path<"/user/id">         a path through described structs, or through documents
//   a key_path               the same, known at run time, through documents
//   a function               returns a value, a result of one, or a key that it made
#pragma once

#include <keyspan/core/error.hpp>
#include <keyspan/core/result.hpp>
#include <keyspan/key/described_member.hpp>
#include <keyspan/key/document_traits.hpp>
#include <keyspan/key/key_path.hpp>
#include <keyspan/key/key_value.hpp>
#include <keyspan/key/partition_key.hpp>

#include <concepts>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace keyspan {

namespace detail {

template <class T>
inline constexpr bool is_static_path = false;
template <fixed_string Text>
inline constexpr bool is_static_path<static_path<Text>> = true;

struct no_path {
  static constexpr std::size_t size() { return 0; }
};

template <std::size_t Size>
struct segment_characters {
  char bytes[Size]{};

  constexpr explicit segment_characters(std::string_view segment) {
    segment.copy(bytes, segment.size());
  }
};
template <class Path, std::size_t At>
inline constexpr segment_characters<Path::template segment<At>().size() + 1> characters_of_segment{
    Path::template segment<At>()};
template <class Path, std::size_t At>
inline constexpr fixed_string segment_name{characters_of_segment<Path, At>.bytes};
template <class Path, std::size_t At>
using segment_of = named<segment_name<Path, At>>;

// What may be absent and stands for something else: an optional of a struct, a pointer. Absent, it
// is undefined.
template <class T>
concept looked_through = !key_input<T> && !is_result<T> && requires(T const& t) {
  static_cast<bool>(t);
  *t;
};

// Where a component leads. Types are rvalue references where the value ends with the call.

template <class T>
struct leads_to {
  using type = T;
};
template <class Document, class T>
struct leads_into {  // a document, which knows the rest of the way
  using type = T;
};
template <class T, class Name>
struct leads_astray {
  using type = void;
};
struct leads_nowhere {
  using type = void;
};

template <class From, class To>
using going_on =
    std::conditional_t<std::is_lvalue_reference_v<From> && std::is_lvalue_reference_v<To>, To,
                       std::remove_reference_t<To>&&>;
template <class From, class To>
using looking_through =
    std::conditional_t<std::is_pointer_v<std::remove_cvref_t<From>>, To, going_on<From, To>>;
// A document that ends with the call takes its text along, as a std::string would.
template <class Here>
using looking_into =
    std::conditional_t<std::is_lvalue_reference_v<Here> || view_document<std::remove_cvref_t<Here>>,
                       key_value&&, std::string&&>;

template <class Path, std::size_t At, class Here>
constexpr auto route() {
  using type = std::remove_cvref_t<Here>;
  if constexpr (partition_document<type>) {
    return leads_into<type, looking_into<Here>>{};
  } else if constexpr (looked_through<type>) {
    using next = decltype(*std::declval<type const&>());
    return route<Path, At, looking_through<Here, next>>();
  } else if constexpr (At == Path::size()) {
    return leads_to<Here>{};
  } else if constexpr (!has_member_named<type, segment_of<Path, At>>) {
    return leads_astray<type, segment_of<Path, At>>{};
  } else {
    using next =
        decltype(keyspan::member_named<segment_name<Path, At>>(std::declval<type const&>()));
    return route<Path, At + 1, going_on<Here, next>>();
  }
}

template <class C, class Document>
concept gives_something = std::invocable<C const&, Document const&> &&
                          !std::is_void_v<std::invoke_result_t<C const&, Document const&>>;

template <class C, class Document>
constexpr auto route_of() {
  if constexpr (is_static_path<C>) {
    return route<C, 0, Document const&>();
  } else if constexpr (std::same_as<C, key_path>) {
    return leads_into<Document, key_value&&>{};
  } else if constexpr (!gives_something<C, Document>) {
    return leads_nowhere{};
  } else {
    return route<no_path, 0, std::invoke_result_t<C const&, Document const&>&&>();
  }
}

// What a result is of.
template <class T>
struct content {
  using type = T;
};
template <class T>
struct content<result<T>&&> {
  using type = T&&;
};
template <class T>
struct content<result<T> const&&> {
  using type = T&&;
};
template <class T>
struct content<result<T>&> {
  using type = T const&;
};
template <class T>
struct content<result<T> const&> {
  using type = T const&;
};

template <class C, class Document>
using component_route = decltype(route_of<C, Document>());
template <class C, class Document>
using component_value = typename content<typename component_route<C, Document>::type>::type;

// A key that owns its text and is handed over.
template <class T>
concept made_key =
    std::is_rvalue_reference_v<T> && std::same_as<std::remove_cvref_t<T>, partition_key>;

template <class T>
inline constexpr bool gives_a_key_value = key_input<T> || key_like<T>;
template <class T>
inline constexpr bool is_temporary_text =
    !std::is_lvalue_reference_v<T> && owns_key_text<std::remove_cvref_t<T>>::value;

}  // namespace detail

/// The sentence that a compiler shows where an enumerator would become a key: give its `underlying`
/// value, in a function of the document.
template <class T>
concept enumerator_by_its_underlying_value = !std::is_enum_v<std::remove_cvref_t<T>>;

/// The sentence that a compiler shows where something else than a key value is given, a struct for
/// example. Good are a `key_input`, a partition key of one value, and a `result` of either.
template <class T>
concept key_value_or_key_of_one_value = detail::gives_a_key_value<T>;

/// The sentence that a compiler shows where a function returns text that ends with the call: return
/// a `std::string_view` of the document, or make new text with `joined`, or return a
/// `partition_key`, which owns its text.
template <class T>
concept text_viewed_or_joined = !detail::is_temporary_text<T>;

/// What a component may give.
template <class T>
concept key_component_value = enumerator_by_its_underlying_value<T> &&
                              key_value_or_key_of_one_value<T> && text_viewed_or_joined<T>;

namespace detail {

// Answers yes where a question is not for this kind of component.
struct no_question {
  static constexpr bool text = true;
  template <class T>
  bool operator()(T const&) const;
};
template <>
struct members_of<no_question> {
  static constexpr std::size_t find(bool) { return 0; }
};

// Asked for the member that is missing where a path leads astray.
template <class Route>
struct missing_member {
  using owner = no_question;
  using name = no_question;
};
template <class T, class Name>
struct missing_member<leads_astray<T, Name>> {
  using owner = T;
  using name = Name;
};
// The commonest reason for a missing member is that nobody has described the struct.
template <class T>
concept described_struct_or_document = std::same_as<T, no_question> || described_struct<T>;
template <class Route>
concept leads_from_member_to_member =
    described_struct_or_document<typename missing_member<Route>::owner> &&
    has_member_named<typename missing_member<Route>::owner, typename missing_member<Route>::name>;

template <class C, class Document>
using document_asked = std::conditional_t<std::same_as<C, key_path>, Document, no_question>;
template <class C>
using function_asked =
    std::conditional_t<is_static_path<C> || std::same_as<C, key_path>, no_question, C>;

template <class C>
inline constexpr bool can_be_component = std::is_member_pointer_v<C> || std::is_class_v<C> ||
                                         std::is_function_v<std::remove_pointer_t<C>>;
template <class C>
inline constexpr std::size_t values_given = 1;
template <class C>
  requires requires { C::value_count(); }
inline constexpr std::size_t values_given<C> = C::value_count();

}  // namespace detail

template <>
struct document_traits<detail::no_question> {
  static detail::no_question const* member(detail::no_question const&, std::string_view);
  static result<key_value> value(detail::no_question const&);
};

/// What a component can be: a member pointer, a path, or a function.
template <class C>
concept member_path_or_function = detail::can_be_component<C>;

/// Whether a component gives one value. A key of several values is no component; its own ones are.
template <class C>
concept component_of_one_value = detail::values_given<C> == 1;

/// Finds one value of a key in a document of this type: a member pointer, a path, or a function of
/// the document. For a `key_path` the document is a `partition_document`.
template <class C, class Document>
concept key_component_of =
    member_path_or_function<C> && component_of_one_value<C> &&
    detail::leads_from_member_to_member<detail::component_route<C, Document>> &&
    partition_document<detail::document_asked<C, Document>> &&
    std::invocable<detail::function_asked<C> const&, Document const&> &&
    key_component_value<detail::component_value<C, Document>>;

namespace detail {

// Compilers look into a conjunction, and not into a fold expression: the first component that does
// not fit is asked for alone.
template <class Document, class... Cs>
struct first_misfit {
  using type = no_question;
};
template <class Document, class First, class... Rest>
struct first_misfit<Document, First, Rest...> : first_misfit<Document, Rest...> {};
template <class Document, class First, class... Rest>
  requires(!key_component_of<First, Document>)
struct first_misfit<Document, First, Rest...> {
  using type = First;
};

template <class Document, class... Cs>
concept components_fit = key_component_of<typename first_misfit<Document, Cs...>::type, Document>;

template <class C, class Document>
inline constexpr bool makes_key = made_key<component_value<C, Document>>;

template <class T>
inline constexpr bool has_text = key_text<T> || std::same_as<T, key_value> || key_like<T>;
template <class T>
inline constexpr bool has_text<std::optional<T>> = has_text<T>;

// Whether what a component gives is gone when the document is.
template <class C, class Document, class Route>
struct borrows_along {
  using type = std::remove_cvref_t<component_value<C, Document>>;
  static constexpr bool is_stored = is_static_path<C> || std::is_member_object_pointer_v<C>;
  static constexpr bool value = has_text<type> && !made_key<component_value<C, Document>> &&
                                (!is_stored || owns_key_text<type>::value ||
                                 std::is_array_v<type> || std::same_as<type, partition_key>);
};
template <class C, class Document, class Node, class T>
struct borrows_along<C, Document, leads_into<Node, T>> {
  static constexpr bool value = !view_document<Node>;
};
template <class C, class Document>
inline constexpr bool borrows_from =
    !view_document<Document> && borrows_along<C, Document, component_route<C, Document>>::value;

// Why nothing was read. Empty it costs nothing, which an empty `result` would.
using refusal = std::optional<error>;

template <class Key>
constexpr bool has_one_value(Key const& key, refusal& why) {
  if (key.size() == 1) [[likely]]
    return true;
  why.emplace(errc::key_mismatch, "a component gives one value, this one gave a key of ",
              key.size());
  return false;
}

constexpr bool take_value(result<key_value> const& value, key_value& out, refusal& why) {
  if (value) [[likely]] {
    out = *value;
    return true;
  }
  why.emplace(value.error());
  return false;
}

// A document along the rest of a path that the compiler knows.
template <class Path, std::size_t At, class Document>
constexpr bool read_document(Document const& document, key_value& out, refusal& why) {
  if constexpr (At == Path::size()) {
    return take_value(document_traits<Document>::value(document), out, why);
  } else {
    auto const& member = document_traits<Document>::member(document, Path::template segment<At>());
    return !member || read_document<Path, At + 1>(*member, out, why);
  }
}

template <class Document>
constexpr bool read_document(Document const& document, key_path const& path, std::size_t i,
                             key_value& out, refusal& why) {
  if (i == path.size()) return take_value(document_traits<Document>::value(document), out, why);
  auto const& member = document_traits<Document>::member(document, path[i]);
  return !member || read_document(*member, path, i + 1, out, why);
}

// `out` is undefined as it comes. It is a key value, a place for a key that was made, or something
// else that is made of the value at the end.
template <class Path, std::size_t At, class T, class Out>
constexpr bool read_along(T&& here, Out& out, refusal& why) {
  using type = std::remove_cvref_t<T>;
  if constexpr (partition_document<type>) {
    return read_document<Path, At>(here, out, why);
  } else if constexpr (looked_through<type>) {
    return !here || read_along<Path, At>(*here, out, why);
  } else if constexpr (At != Path::size()) {
    return read_along<Path, At + 1>(keyspan::member_named<segment_name<Path, At>>(here), out, why);
  } else if constexpr (is_result<type>) {
    if (here) [[likely]]
      return read_along<Path, At>(*std::forward<T>(here), out, why);
    why.emplace(here.error());
    return false;
  } else if constexpr (std::same_as<Out, std::optional<partition_key>>) {
    if (!has_one_value(here, why)) return false;
    out.emplace(std::forward<T>(here));
    return true;
  } else if constexpr (key_like<type>) {
    if (!has_one_value(here, why)) return false;
    out = here[0];
    return true;
  } else if constexpr (std::same_as<Out, key_value>) {
    return take_value(key_value::from(here), out, why);
  } else {
    out = here;
    return true;
  }
}

// An error of one of several components; a path says by itself which one it is.
template <class C>
constexpr error of_component(std::string_view what, std::size_t number, error const& why) {
  if constexpr (is_static_path<C> || std::same_as<C, key_path>) {
    return why;
  } else {
    return error{why.code, what, " ", number, " of the key: ", why.text};
  }
}

template <class C, class Document, class Out>
constexpr bool read_component_into(C const& component, Document const& document, Out& out,
                                   refusal& why) {
  if constexpr (is_static_path<C>) {
    if (read_along<C, 0>(document, out, why)) [[likely]]
      return true;
    why = at_path(component.text(), *why);
    return false;
  } else if constexpr (std::same_as<C, key_path>) {
    if (read_document(document, component, 0, out, why)) [[likely]]
      return true;
    why = at_path(component.to_text(), *why);
    return false;
  } else {
    return read_along<no_path, 0>(std::invoke(component, document), out, why);
  }
}

// What a component found in a document, or why it found nothing.
template <class C, class Document>
class borrowed_value {
 public:
  constexpr borrowed_value(C const& component, Document const& document)
      : is_good_{read_component_into(component, document, value_, why_)} {}

  constexpr explicit operator bool() const { return is_good_; }
  constexpr key_value const& operator*() const { return value_; }
  constexpr keyspan::error const& error() const { return *why_; }

 private:
  key_value value_;
  refusal why_;
  bool is_good_;
};

template <class C, class Document>
constexpr result<partition_key> make_key(C const& component, Document const& document) {
  using given = std::invoke_result_t<function_asked<C> const&, Document const&>;
  if constexpr (std::same_as<given, result<partition_key>> && requires { C::value_count(); }) {
    return std::invoke(component, document);
  } else {
    std::optional<partition_key> made;
    refusal why;
    if (!read_component_into(component, document, made, why)) return unexpected{*why};
    if (!made) return partition_key{undefined};
    return *std::move(made);
  }
}

// What a component gives for a document. It is kept where it is read, with the key that was made
// for it, while its value is looked at.
template <class C, class Document>
constexpr auto read_component(C const& component, Document const& document) {
  if constexpr (makes_key<C, Document>) {
    return make_key(component, document);
  } else {
    return borrowed_value<C, Document>{component, document};
  }
}

template <class C, class Document>
constexpr key_value const& value_in(borrowed_value<C, Document> const& read) {
  return *read;
}
constexpr key_value const& value_in(result<partition_key> const& read) { return (*read)[0]; }

template <class C, class Document>
constexpr result<key_value> result_of(borrowed_value<C, Document> const& read) {
  if (!read) return unexpected{read.error()};
  return *read;
}
constexpr result<partition_key> result_of(result<partition_key> read) { return read; }

template <class C>
struct owner_of_member {
  using type = no_question;
};
template <class M, class Owner>
struct owner_of_member<M Owner::*> {
  using type = Owner;
};

// The document of a member pointer is known without being named.
template <class... Cs>
struct first_plain_misfit {
  using component = no_question;
  using owner = no_question;
};
template <class First, class... Rest>
struct first_plain_misfit<First, Rest...> : first_plain_misfit<Rest...> {};
template <class First, class... Rest>
  requires(!component_of_one_value<First> || !member_path_or_function<First> ||
           (std::is_member_pointer_v<First> &&
            !key_component_of<First, typename owner_of_member<First>::type>))
struct first_plain_misfit<First, Rest...> {
  using component = First;
  using owner = typename owner_of_member<First>::type;
};

// What can be said about components before there is a document.
template <class... Cs>
concept components_can_fit = key_component_of<typename first_plain_misfit<Cs...>::component,
                                              typename first_plain_misfit<Cs...>::owner>;

}  // namespace detail

}  // namespace keyspan
