// test/key/key_component_test.cpp — what one value of a key can be taken from, and what cannot.
#include <keyspan/key/extractor.hpp>
#include <keyspan/key/key_component.hpp>

#include <support/allocations.hpp>
#include <support/check.hpp>

#include <boost/hana/adapt_adt.hpp>
#include <boost/hana/adapt_struct.hpp>

#include "tree.hpp"

#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

namespace {

enum class state : std::uint8_t { open = 4, closed };

struct address {
  std::string city;
  std::optional<std::string> street;
};
struct account {
  std::string name;
  std::optional<address> shipping;
  address const* billing = nullptr;
  std::unique_ptr<address> secret;
  test::tree_view extra{nullptr};
};
struct order {
  std::string id;
  std::string_view tenant;
  std::int64_t number = 0;
  bool is_paid = false;
  double price = 0;
  state current = state::open;
  std::optional<int> table;
  std::optional<state> last;
  address to;
  account by;
  char code[4] = "abc";
  keyspan::partition_key kept;

  std::string const& name() const { return id; }
  std::string copied_name() const { return id; }
  std::string_view viewed_name() const { return id; }
  int sum() const { return 3; }
};
struct by_value {
  address here() const { return {"London", {}}; }
};

}  // namespace

BOOST_HANA_ADAPT_STRUCT(address, city, street);
BOOST_HANA_ADAPT_STRUCT(account, name, shipping, billing, secret, extra);
BOOST_HANA_ADAPT_STRUCT(order, id, tenant, number, is_paid, price, current, table, last, to, by,
                        code, kept);
BOOST_HANA_ADAPT_ADT(by_value, (here, [](auto const& self) { return self.here(); }));

namespace {

using keyspan::errc;
using keyspan::key_component_of;
using keyspan::key_of;
using keyspan::key_path;
using keyspan::key_value;
using keyspan::partition_key;
using keyspan::partition_key_view;
using keyspan::path;
using keyspan::result;
using keyspan::undefined;
using test::check;
using test::tree;

template <class C, class Document = order>
constexpr bool is_component(C const&) {
  return key_component_of<C, Document>;
}

// What is good.
static_assert(is_component(&order::id) && is_component(&order::tenant) &&
              is_component(&order::number) && is_component(&order::is_paid) &&
              is_component(&order::price) && is_component(&order::table) &&
              is_component(&order::code) && is_component(&order::kept));
static_assert(is_component(&order::name) && is_component(&order::viewed_name) &&
              is_component(&order::sum));
static_assert(is_component(path<"/to/city">) && is_component(path<"/by/shipping/city">) &&
              is_component(path<"/by/billing/street">) && is_component(path<"/by/secret/city">) &&
              is_component(path<"/by/extra/anything/at/all">));
static_assert(is_component([](order const& o) -> auto const& { return o.to.city; }) &&
              is_component([](auto const& o) { return o.number % 8; }) &&
              is_component([](order const& o) { return keyspan::underlying(o.current); }) &&
              is_component([](order const&) { return keyspan::null; }) &&
              is_component([](order const& o) { return key_value::from(o.price); }) &&
              is_component([](order const& o) { return result<std::string_view>{o.tenant}; }) &&
              is_component([](order const& o) { return partition_key{o.id + "!"}; }) &&
              is_component([](order const& o) { return partition_key::from(o.id + "!"); }) &&
              is_component([](order const& o) { return partition_key_view{o.id}; }) &&
              is_component([](order const& o) { return o.by.billing; }) == false);
static_assert(is_component([](order const& o) { return &o.number; }) &&
              is_component([](order const& o) { return &o.table; }) &&
              is_component([](order const& o) { return &o.id; }) &&
              !is_component([](order const& o) { return &o.current; }));

// What is none: no key value, an enumerator, text that ends with the call, another document.
static_assert(!is_component(&order::to) && !is_component(&order::by));
static_assert(!is_component(&order::current) && !is_component(&order::last));
static_assert(!is_component(&order::copied_name));
static_assert(!is_component([](order const& o) { return o.id + "!"; }) &&
              !is_component([](order const& o) { return std::optional<std::string>{o.id}; }) &&
              !is_component([](order const& o) { return result<std::string>{o.id}; }) &&
              !is_component([](order const& o) { return std::make_unique<std::string>(o.id); }) &&
              !is_component([](order const&) {}) &&
              !is_component([](account const&) { return 1; }));
static_assert(!is_component(&account::name) && !is_component(path<"/too">) &&
              !is_component(path<"/to/citty">) && !is_component(path<"/to">) &&
              !is_component(path<"/id/size">) && !is_component(path<"/current">));
static_assert(!is_component("/to/city") && !is_component(5) && !is_component(nullptr));
static_assert(!key_component_of<key_path, order>, "a struct has no names at run time");
static_assert(key_component_of<key_path, tree>);
// A getter that makes a struct takes its text along.
static_assert(!is_component<decltype(path<"/here/city">), by_value>(path<"/here/city">));
static_assert(!is_component(key_of(&order::id, &order::number)), "two values are not one");
static_assert(is_component(key_of(&order::id)));

template <class C, class Document>
auto read(C const& component, Document const& document) {
  return keyspan::detail::result_of(keyspan::detail::read_component(component, document));
}

TEST_CASE("members and what functions return become the value of a key") {
  order one;
  one.id = "o1";
  one.tenant = "t";
  one.number = 17;
  one.price = 1.5;
  CHECK(*read(&order::id, one) == key_value{"o1"});
  CHECK(read(&order::id, one)->string().data() == one.id.data());
  CHECK(*read(&order::tenant, one) == key_value{"t"});
  CHECK(*read(&order::number, one) == key_value{17});
  CHECK(*read(&order::is_paid, one) == key_value{false});
  CHECK(*read(&order::price, one) == key_value{1.5});
  CHECK(*read(&order::code, one) == key_value{"abc"});
  CHECK(read(&order::name, one)->string().data() == one.id.data());
  CHECK(*read(&order::viewed_name, one) == key_value{"o1"});
  CHECK(*read(&order::sum, one) == key_value{3});
  CHECK(*read([](order const& o) { return keyspan::underlying(o.current); }, one) == key_value{4});
  CHECK(*read([](order const& o) { return partition_key{o.id + "!"}; }, one) ==
        partition_key{"o1!"});
  CHECK(*read([](order const& o) { return partition_key::from(o.id + "!"); }, one) ==
        partition_key{"o1!"});
}

TEST_CASE("what is absent is undefined, wherever on the way it is absent") {
  order one;
  CHECK(read(&order::table, one)->is_undefined());
  CHECK(read(path<"/table">, one)->is_undefined());
  CHECK(read(path<"/by/shipping/city">, one)->is_undefined());
  CHECK(read(path<"/by/billing/city">, one)->is_undefined());
  CHECK(read(path<"/by/secret/city">, one)->is_undefined());
  CHECK(read(path<"/to/street">, one)->is_undefined());
  one.table = 4;
  one.by.shipping = address{"Oslo", {}};
  one.by.billing = &*one.by.shipping;
  one.by.secret = std::make_unique<address>(address{"Rome", "Via"});
  CHECK(*read(&order::table, one) == key_value{4});
  CHECK(*read(path<"/by/shipping/city">, one) == key_value{"Oslo"});
  CHECK(read(path<"/by/shipping/street">, one)->is_undefined());
  CHECK(*read(path<"/by/billing/city">, one) == key_value{"Oslo"});
  CHECK(*read(path<"/by/secret/street">, one) == key_value{"Via"});
  CHECK(*read([](order const& o) { return &o.by.name; }, one) == key_value{""});  // looked through
}

TEST_CASE("a pointer that a function returns is looked through, a null one is undefined") {
  order one;
  one.id = "o1";
  one.number = 17;
  auto const number = [](order const& o) { return o.is_paid ? &o.number : nullptr; };
  auto const id = [](order const& o) { return o.is_paid ? &o.id : nullptr; };
  CHECK(read(number, one)->is_undefined());
  CHECK(read(id, one)->is_undefined());
  one.is_paid = true;
  CHECK(*read(number, one) == key_value{17});
  CHECK(read(id, one)->string().data() == one.id.data());
  CHECK(read([](order const& o) { return &o.table; }, one)->is_undefined());
}

constexpr bool a_key_that_was_not_made_is_a_key_of_undefined() {
  auto const made = [](int number) {
    return number > 0 ? std::optional<partition_key>{partition_key{number}} : std::nullopt;
  };
  check(*key_of(made)(5) == partition_key{5});
  check(key_of(made)(0)->size() == 1);
  check(*key_of(made)(0) == partition_key{undefined});
  check(*key_of(made, made)(0) == partition_key{undefined, undefined});
  return true;
}
CHECK_BOTH(a_key_that_was_not_made_is_a_key_of_undefined);

TEST_CASE("a struct can end in a document") {
  tree const inner[]{tree::leaf("b", 5)};
  tree const outer[]{tree::object("a", inner)};
  auto const document = tree::object("", outer);
  order one;
  one.by.extra = test::tree_view{&document};
  CHECK(*read(path<"/by/extra/a/b">, one) == key_value{5});
  CHECK(read(path<"/by/extra/a">, one).error().text == "at /by/extra/a: an object is no key value");
  CHECK(*read([](order const& o)
                  -> auto const& { return *o.by.extra.shown->members.data()->members.data(); },
              one) == key_value{5});
}

TEST_CASE("what is wrong with a value is said with its path") {
  order one;
  one.number = (std::int64_t{1} << 53) + 1;
  one.price = std::numeric_limits<double>::infinity();
  one.to.city = "Kr\xF6nung";
  auto const number = read(path<"/number">, one);
  CHECK(number.error().code == errc::not_representable);
  CHECK(number.error().text ==
        "at /number: 9007199254740993 is no number that a double holds exactly; make it a string");
  CHECK(read(path<"/price">, one).error().text == "at /price: infinity is no key value");
  auto const city = read(path<"/to/city">, one);
  CHECK(city.error().code == errc::invalid_utf8);
  CHECK(!city.error().position);  // which would be one in the value
  CHECK(city.error().text == "at /to/city: a key value is UTF-8, this text is not from byte 2 on");
  CHECK(read(&order::price, one).error().text == "infinity is no key value");  // has no path
}

TEST_CASE("a key of several values is no component at run time either") {
  order const one;
  auto const two = [](order const&) { return partition_key_view{1, 2}; };
  auto const refused = read(two, one);
  CHECK(refused.error().code == errc::key_mismatch);
  CHECK(refused.error().text == "a component gives one value, this one gave a key of 2");
  auto const none = [](order const&) { return partition_key{}; };
  CHECK(read(none, one).error().text == "a component gives one value, this one gave a key of 0");
}

TEST_CASE("a failed result of a function is passed on") {
  order const one;
  auto const fails = [](order const&) -> result<key_value> {
    return keyspan::fail(errc::unsupported, "not on Sundays");
  };
  CHECK(read(fails, one).error().text == "not on Sundays");
}

TEST_CASE("a path of run time and one of compile time find the same") {
  tree const inner[]{tree::leaf("b c", "found"), tree::leaf("", 1)};
  tree const outer[]{tree::object("a/", inner), tree::leaf("plain", true)};
  auto const document = tree::object("", outer);
  auto const same = [&](auto fixed, std::string_view text) {
    auto const parsed = key_path::parse(text);
    REQUIRE(parsed);
    CHECK(read(fixed, document) == read(*parsed, document));
    return read(*parsed, document);
  };
  CHECK(*same(path<R"(/"a/"/"b c")">, R"(/"a/"/"b c")") == key_value{"found"});
  CHECK(*same(path<R"(/"a/"/"")">, R"(/"a/"/"")") == key_value{1});
  CHECK(*same(path<"/plain">, "/plain") == key_value{true});
  CHECK(same(path<"/missing/x">, "/missing/x")->is_undefined());
  CHECK(same(path<R"(/"a/")">, R"(/"a/")").error().code == errc::not_a_key);
}

TEST_CASE("finding a value allocates nothing, whatever the length of its text") {
  order one;
  one.id.assign(1000, 'x');
  one.by.shipping = address{std::string(1000, 'y'), {}};
  tree const outer[]{tree::leaf("a", 1)};
  auto const document = tree::object("", outer);
  auto const at_run_time = *key_path::parse("/a/b/c/d");
  CHECK(test::allocations_in([&] {
          static_cast<void>(read(&order::id, one));
          static_cast<void>(read(path<"/by/shipping/city">, one));
          static_cast<void>(read(at_run_time, document));
        }) == 0);
}

}  // namespace
