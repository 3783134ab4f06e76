// keyspan/cosmos/document_json.hpp — documents of a user's type as the JSON that the service keeps.
//
//   nlohmann::json                      as it is
//   what nlohmann/json converts         by its to_json and from_json
//   a struct that Hana can list         an object of its members: {"id":"r-1","rating":5}
#pragma once

#include <keyspan/core/error.hpp>
#include <keyspan/core/json.hpp>
#include <keyspan/core/number.hpp>
#include <keyspan/core/result.hpp>
#include <keyspan/core/text.hpp>
#include <keyspan/core/utf8.hpp>
#include <keyspan/core/version.hpp>
#include <keyspan/key/described_member.hpp>

#include <boost/hana/accessors.hpp>
#include <boost/hana/pair.hpp>
#include <boost/hana/tuple.hpp>
#include <nlohmann/json.hpp>

#include <charconv>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <utility>
#include <vector>

namespace keyspan::cosmos {

/// A type that nlohmann/json converts both ways: by `to_json` and `from_json` beside it, by the
/// macros that write them, or by a specialisation of `adl_serializer`.
template <class T>
concept converted_by_nlohmann = std::constructible_from<nlohmann::json, T const&> &&
                                requires(nlohmann::json const& from, T& to) {
                                  nlohmann::adl_serializer<T>::from_json(from, to);
                                };

namespace detail {

template <class T>
inline constexpr bool is_optional = false;
template <class T>
inline constexpr bool is_optional<std::optional<T>> = true;
template <class T>
inline constexpr bool is_vector = false;
template <class T, class Allocator>
inline constexpr bool is_vector<std::vector<T, Allocator>> = true;

template <class T>
concept described_document =
    described_struct<T> && std::default_initializable<T> && !converted_by_nlohmann<T>;

template <class T>
inline constexpr bool is_described =
    std::same_as<T, nlohmann::json> || converted_by_nlohmann<T> || described_document<T>;

template <class T>
struct members_of_document;
template <class... Names, class... Getters>
struct members_of_document<boost::hana::tuple<boost::hana::pair<Names, Getters>...>> {
  template <class F>
  static void each(F&& f) {
    (f(std::string_view{Names::c_str()}, Getters{}), ...);
  }
};
template <class T, class F>
void each_member(F&& f) {
  members_of_document<std::remove_cvref_t<decltype(boost::hana::accessors<T>())>>::each(
      std::forward<F>(f));
}

}  // namespace detail

/// The sentence that a compiler shows for a type that nobody has described.
template <class T>
concept described_by_BOOST_HANA_ADAPT_STRUCT_or_to_nlohmann_json = detail::is_described<T>;

/// A type whose values the service can keep as documents: `nlohmann::json`, what nlohmann/json
/// converts, or a struct whose members Boost.Hana can list, such as BOOST_HANA_ADAPT_STRUCT tells
/// it. The members of such a struct are numbers, booleans, texts, whatever nlohmann/json converts,
/// other such structs, and vectors and optionals of these; what is not there is an optional that is
/// empty, and nothing else.
template <class T>
concept document_type =
    std::copyable<T> && described_by_BOOST_HANA_ADAPT_STRUCT_or_to_nlohmann_json<T>;

namespace detail {

template <class T>
nlohmann::json value_as_json(T const& value) {
  if constexpr (std::same_as<T, nlohmann::json>) {
    return value;
  } else if constexpr (described_document<T>) {
    auto made = nlohmann::json::object();
    each_member<T>([&](std::string_view name, auto get) {
      auto const& member = get(value);
      if constexpr (is_optional<std::remove_cvref_t<decltype(member)>>) {
        if (member) made[std::string{name}] = value_as_json(*member);
      } else {
        made[std::string{name}] = value_as_json(member);
      }
    });
    return made;
  } else if constexpr (is_optional<T>) {
    return value ? value_as_json(*value) : nlohmann::json{};
  } else if constexpr (is_vector<T>) {
    auto made = nlohmann::json::array();
    for (auto const& one : value) made.push_back(value_as_json(typename T::value_type(one)));
    return made;
  } else {
    static_assert(converted_by_nlohmann<T>,
                  "a member of a document is one that nlohmann/json converts, a struct whose "
                  "members Hana can list, or a vector or an optional of these");
    return nlohmann::json(value);
  }
}

// Characters are numbers to C++ alone.
template <class T>
concept whole_number_type = std::integral<T> && !std::same_as<T, bool> && !std::same_as<T, char> &&
                            !std::same_as<T, wchar_t> && !std::same_as<T, char8_t> &&
                            !std::same_as<T, char16_t> && !std::same_as<T, char32_t>;

inline unexpected no_such_value(std::string_view wanted, nlohmann::json const& found) {
  return fail(errc::malformed, wanted, " belongs there, not ", found.type_name());
}

template <class Number>
result<Number> integer_from(nlohmann::json const& from) {
  auto const in_range = [](auto value) -> result<Number> {
    if (std::in_range<Number>(value)) return static_cast<Number>(value);
    return fail(errc::not_representable, "a number is beyond what the member can hold");
  };
  if (auto const* const whole = from.get_ptr<nlohmann::json::number_unsigned_t const*>())
    return in_range(*whole);
  if (auto const* const whole = from.get_ptr<nlohmann::json::number_integer_t const*>())
    return in_range(*whole);
  // A service may write a whole number as 5.0.
  if (auto const* const real = from.get_ptr<nlohmann::json::number_float_t const*>()) {
    if (std::trunc(*real) == *real && std::abs(*real) <= 0x1p53)
      return in_range(static_cast<std::int64_t>(*real));
    return fail(errc::not_representable, "a whole number belongs there");
  }
  return no_such_value("a whole number", from);
}

template <class T>
result<T> value_from_json(nlohmann::json const& from);

// Into a member; the error names it.
template <class T>
result<void> member_from_json(nlohmann::json const& from, std::string_view name, T& to) {
  auto const found = from.find(name);
  if (found == from.end()) {
    if constexpr (is_optional<T>) {
      to.reset();
      return {};
    } else {
      return fail(errc::malformed, "member \"", name, "\" is not there");
    }
  }
  auto read = value_from_json<T>(*found);
  if (!read) {
    error const& why = read.error();
    return fail(why.code, "member \"", name, "\": ", why.text);
  }
  to = *std::move(read);
  return {};
}

// Whole numbers as integers where one holds them.
inline nlohmann::json number_at(json_reader& in) {
  std::string_view const text = in.number_text();
  char const* const end = text.data() + text.size();
  auto const is_read = [&](auto& value) {
    auto const [behind, why] = std::from_chars(text.data(), end, value);
    return why == std::errc{} && behind == end;
  };
  std::uint64_t positive = 0;
  if (is_read(positive)) return positive;
  std::int64_t negative = 0;
  if (is_read(negative)) return negative;
  auto const real = read_number(text);
  if (real) return *real;
  in.fail_here(real.error());
  return {};
}
// By the reader, which takes texts in eight bytes at a time. It goes as deep as it was told to.
inline nlohmann::json value_at(json_reader& in) {
  switch (in.peek()) {
    case json_kind::object: {
      nlohmann::json::object_t members;
      in.begin_object();
      for (std::string_view name; in.next_member(name);) members.emplace(name, value_at(in));
      return nlohmann::json(std::move(members));
    }
    case json_kind::array: {
      nlohmann::json::array_t elements;
      in.begin_array();
      while (in.next_element()) elements.push_back(value_at(in));
      return nlohmann::json(std::move(elements));
    }
    case json_kind::string:
      return nlohmann::json(std::string{in.string()});
    case json_kind::number:
      return number_at(in);
    case json_kind::boolean:
      return in.boolean();
    case json_kind::null:
      in.null();
      return {};
    case json_kind::end:
      break;
  }
  return {};
}

template <class T>
result<T> value_from_json(nlohmann::json const& from) {
  if constexpr (std::same_as<T, nlohmann::json>) {
    return from;
  } else if constexpr (described_document<T>) {
    if (!from.is_object()) return no_such_value("an object", from);
    T made{};
    result<void> read{};
    each_member<T>([&](std::string_view name, auto get) {
      if (read) read = member_from_json(from, name, get(made));
    });
    if (!read) return unexpected{read.error()};
    return made;
  } else if constexpr (is_optional<T>) {
    if (from.is_null()) return T{};
    auto read = value_from_json<typename T::value_type>(from);
    if (!read) return unexpected{read.error()};
    return T{*std::move(read)};
  } else if constexpr (is_vector<T>) {
    if (!from.is_array()) return no_such_value("an array", from);
    T made;
    made.reserve(from.size());
    for (auto const& one : from) {
      auto read = value_from_json<typename T::value_type>(one);
      if (!read) return unexpected{read.error()};
      made.push_back(*std::move(read));
    }
    return made;
  } else if constexpr (std::same_as<T, bool>) {
    if (auto const* const truth = from.get_ptr<bool const*>()) return *truth;
    return no_such_value("a boolean", from);
  } else if constexpr (whole_number_type<T>) {
    return integer_from<T>(from);
  } else if constexpr (std::floating_point<T>) {
    if (!from.is_number()) return no_such_value("a number", from);
    auto const number = from.template get<double>();
    if (std::abs(number) <= static_cast<double>((std::numeric_limits<T>::max)()))
      return static_cast<T>(number);
    return fail(errc::not_representable, "a number is beyond what the member can hold");
  } else if constexpr (std::same_as<T, std::string>) {
    if (auto const* const text = from.get_ptr<std::string const*>()) return *text;
    return no_such_value("a text", from);
  } else {
#if KEYSPAN_EXCEPTIONS
    try {
      return from.template get<T>();
    } catch (nlohmann::json::exception const& why) {
      // "[json.exception.out_of_range.403] key 'rating' not found": the number is for nobody.
      std::string_view const told{why.what()};
      auto const end = told.find("] ");
      return fail(errc::malformed, end == told.npos ? told : told.substr(end + 2));
    }
#else
    return from.template get<T>();
#endif
  }
}

}  // namespace detail

/// A document as JSON. Errors: `malformed` where it is no object.
template <document_type T>
[[nodiscard]] result<nlohmann::json> json_of(T const& document) {
  auto made = detail::value_as_json(document);
  if (made.is_object()) return made;
  return fail(errc::malformed, "a document is an object, this one is ", made.type_name());
}

namespace detail {

// What JSON has no words for: infinities would be written as null.
inline std::optional<error> unsayable_in(nlohmann::json const& value) {
  error const no_text{errc::invalid_utf8, "a text of the document is not well-formed UTF-8"};
  if (auto const* const real = value.get_ptr<nlohmann::json::number_float_t const*>()) {
    if (!std::isfinite(*real))
      return error{errc::not_representable,
                   "a number of the document is infinite or none, which JSON cannot say"};
  } else if (auto const* const text = value.get_ptr<std::string const*>()) {
    if (!is_utf8(*text)) return no_text;
  } else if (auto const* const members = value.get_ptr<nlohmann::json::object_t const*>()) {
    for (auto const& [name, member] : *members) {
      if (!is_utf8(name)) return no_text;
      if (auto why = unsayable_in(member)) return why;
    }
  } else if (auto const* const elements = value.get_ptr<nlohmann::json::array_t const*>()) {
    for (auto const& element : *elements)
      if (auto why = unsayable_in(element)) return why;
  }
  return std::nullopt;
}

}  // namespace detail

/// JSON as its text. Numbers are written so that they are read as the same ones. Errors:
/// `invalid_utf8`; `not_representable` for an infinity and for not-a-number.
[[nodiscard]] inline result<std::string> text_of(nlohmann::json const& document) {
  if (auto const why = detail::unsayable_in(document)) return unexpected{*why};
  return document.dump();
}

/// The JSON that a text is, its values of the kinds that nlohmann/json itself reads. Errors:
/// `malformed`, also for a name that comes twice in an object.
[[nodiscard]] inline result<nlohmann::json> json_from(std::string_view text) {
  json_reader in{text, {.max_depth = max_json_depth, .max_names = text.size() + 1}};
  auto made = detail::value_at(in);
  in.finish();
  if (in.ok()) return made;
  return fail(errc::malformed, in.error().text);
}

/// The document that JSON is. Whole numbers are read exactly or not at all. Errors: `malformed`
/// where a member is missing or of another kind, `not_representable` where a member cannot hold a
/// number; the member is named.
template <document_type T>
[[nodiscard]] result<T> document_from(nlohmann::json const& from) {
  return detail::value_from_json<T>(from);
}

}  // namespace keyspan::cosmos
