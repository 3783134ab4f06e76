// test/key/document_traits_test.cpp — documents of any kind, described by one trait.
#include <keyspan/key/document_traits.hpp>
#include <keyspan/key/extractor.hpp>

#include <support/check.hpp>

#include "tree.hpp"

#include <map>
#include <string>
#include <string_view>
#include <variant>

// [region: example]
// A document of a program's own: text and numbers by name.
struct row {
  std::map<std::string, std::variant<double, std::string>, std::less<>> fields;
};
struct field {
  std::variant<double, std::string> const* held;
};

template <>
struct keyspan::document_traits<row> {
  static std::optional<field> member(row const& document, std::string_view name) {
    auto const found = document.fields.find(name);
    if (found == document.fields.end()) return std::nullopt;
    return field{&found->second};
  }
  static result<key_value> value(row const&) {
    return fail(errc::not_a_key, "a row is no key value");
  }
};

template <>
struct keyspan::document_traits<field> {
  static field const* member(field const&, std::string_view) { return nullptr; }
  static result<key_value> value(field const& document) {
    if (auto const* number = std::get_if<double>(document.held)) return key_value::from(*number);
    return key_value::from(*std::get_if<std::string>(document.held));
  }
};
// [end: example]

namespace {

using keyspan::errc;
using keyspan::key_of;
using keyspan::partition_document;
using keyspan::path;
using keyspan::undefined;
using keyspan::view_document;
using test::check;
using test::tree;
using test::tree_view;

static_assert(partition_document<row> && partition_document<field>);
static_assert(partition_document<tree> && partition_document<tree_view>);
static_assert(!partition_document<std::string> && !partition_document<int>);
static_assert(!partition_document<tree*>);
static_assert(view_document<tree_view> && view_document<tree const*> &&
              view_document<std::string_view>);
static_assert(!view_document<tree> && !view_document<row> && !view_document<std::string>);

struct half {};
struct no_handle {};
struct false_view {};

}  // namespace

template <>
struct keyspan::document_traits<half> {
  static half const* member(half const&, std::string_view);
};
template <>
struct keyspan::document_traits<no_handle> {
  static int member(no_handle const&, std::string_view);
  static result<key_value> value(no_handle const&);
};
template <>
struct keyspan::document_traits<false_view> {
  static constexpr bool is_view = false;
};

namespace {

static_assert(!partition_document<half>, "a document has a value");
static_assert(!partition_document<no_handle>, "a member is found through a handle");
static_assert(!view_document<false_view>);

TEST_CASE("a document of a program's own is asked through its trait") {
  row const document{{{"city", std::string{"London"}}, {"year", 2026.0}}};
  auto const key = key_of(path<"/city">, path<"/year">, path<"/street">)(document);
  REQUIRE(key);
  CHECK(*key == keyspan::partition_key_view{"London", 2026, undefined});
  CHECK((*key)[0].string().data() ==
        std::get<std::string>(document.fields.at("city")).data());  // borrowed, not copied
  CHECK(*key_of(path<"/city/name">)(document) == keyspan::partition_key_view{undefined});
}

constexpr bool documents_are_read_in_constant_expressions() {
  tree const inner[]{tree::leaf("id", "u1"), tree::leaf("nothing", keyspan::null)};
  tree const outer[]{tree::leaf("tenant", "t"), tree::object("user", inner)};
  auto const document = tree::object("", outer);
  auto const at = [&](auto route) { return key_of(route)(document); };
  check(*at(path<"/tenant">) == keyspan::partition_key_view{"t"});
  check(*at(path<"/user/id">) == keyspan::partition_key_view{"u1"});
  check(*at(path<"/user/nothing">) == keyspan::partition_key_view{keyspan::null});
  check(*at(path<"/user/missing">) == keyspan::partition_key_view{undefined});
  check(*at(path<"/tenant/beyond/a/value">) == keyspan::partition_key_view{undefined});
  check(*at(path<"/missing/altogether">) == keyspan::partition_key_view{undefined});
  auto const object = at(path<"/user">);
  check(object.error().code == errc::not_a_key);
  check(object.error().text == "at /user: an object is no key value");
  return true;
}
CHECK_BOTH(documents_are_read_in_constant_expressions);

constexpr bool a_handle_by_value_serves_as_well_as_a_pointer() {
  tree const inner[]{tree::leaf("id", "u1")};
  tree const outer[]{tree::object("user", inner)};
  auto const document = tree::object("", outer);
  // The document is a view, so a key outlives it.
  auto const key = key_of(path<"/user/id">)(tree_view{&document});
  check(*key == keyspan::partition_key_view{"u1"});
  return true;
}
CHECK_BOTH(a_handle_by_value_serves_as_well_as_a_pointer);

}  // namespace
