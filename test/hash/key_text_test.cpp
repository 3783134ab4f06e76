// test/hash/key_text_test.cpp — which keys are one text, and what is said of the others.
#include <keyspan/hash/key_text.hpp>

#include <keyspan/key/partition_key.hpp>

#include <support/check.hpp>

#include <string_view>

namespace {

using keyspan::errc;
using keyspan::fail;
using keyspan::number_form;
using keyspan::partition_key_view;
using test::check;

constexpr bool the_example_of_key_text_reads_as_it_should() {
  // [region: example]
  char room[keyspan::max_number_text]{};
  check(keyspan::key_text(partition_key_view{"redmond"}.values(), room) ==
        std::string_view{"redmond"});
  check(keyspan::key_text(partition_key_view{1.5}.values(), room) == std::string_view{"1.5"});
  check(keyspan::key_text(partition_key_view{"city", "day"}.values(), room).error().to_text() ==
        "key_mismatch: here a key is one value, this one has 2; join them into one string");
  // [end: example]
  return true;
}
CHECK_BOTH(the_example_of_key_text_reads_as_it_should);

constexpr bool a_string_is_its_own_bytes() {
  char room[keyspan::max_number_text]{};
  for (std::string_view const text :
       {std::string_view{}, std::string_view{"a\0b", 3}, std::string_view{"\xF0\x9F\x98\x80"}}) {
    auto const found = keyspan::key_text(partition_key_view{text}.values(), room);
    check(found->data() == text.data() && found->size() == text.size());
  }
  return true;
}
CHECK_BOTH(a_string_is_its_own_bytes);

constexpr bool a_number_is_in_the_form_that_is_asked_for() {
  char room[keyspan::max_number_text]{};
  partition_key_view const five{5};
  check(keyspan::key_text(five.values(), room) == std::string_view{"5"});
  check(keyspan::key_text(partition_key_view{-0.0}.values(), room) == std::string_view{"0"});
  check(keyspan::key_text(five.values(), room, number_form::int32) ==
        std::string_view{"\0\0\0\5", 4});
  check(keyspan::key_text(partition_key_view{0.5}.values(), room, number_form::int32) ==
        fail(errc::not_representable, "the number of the key is no whole number of 32 bits"));
  return true;
}
CHECK_BOTH(a_number_is_in_the_form_that_is_asked_for);

constexpr bool what_has_no_agreed_text_is_refused() {
  char room[keyspan::max_number_text]{};
  auto const refusal = [&](auto const&... values) {
    return keyspan::key_text(partition_key_view{values...}.values(), room);
  };
  check(refusal(true) ==
        fail(errc::not_representable,
             "here a key is a string or a number, this one is true; make it a string"));
  check(refusal(false).error().text.view().find("is false;") != std::string_view::npos);
  check(refusal(keyspan::null).error().text.view().find("is null;") != std::string_view::npos);
  check(refusal(keyspan::undefined).error().text.view().find("is undefined;") !=
        std::string_view::npos);
  check(refusal("a", "b").error().code == errc::key_mismatch);
  check(keyspan::key_text({}, room).error().code == errc::key_mismatch);
  return true;
}
CHECK_BOTH(what_has_no_agreed_text_is_refused);

}  // namespace
