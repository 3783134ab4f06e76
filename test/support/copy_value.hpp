// test/support/copy_value.hpp — whatever a JSON reader has next, to a writer.
#pragma once

#include <keyspan/core/json.hpp>

#include <string_view>

namespace test {

/// Nothing more is written once the reader has refused something.
inline void copy_value(keyspan::json_reader& in, keyspan::json_writer& out) {
  using keyspan::json_kind;
  switch (in.peek()) {
    case json_kind::end:
      return;
    case json_kind::null:
      in.null();
      return void(out.null());
    case json_kind::boolean:
      return void(out.boolean(in.boolean()));
    case json_kind::number:
      return void(out.number(in.number()));
    case json_kind::string:
      return void(out.string(in.string()));
    case json_kind::array:
      in.begin_array();
      out.begin_array();
      while (in.next_element()) copy_value(in, out);
      if (in.ok()) out.end_array();
      return;
    case json_kind::object:
      in.begin_object();
      out.begin_object();
      for (std::string_view name; in.next_member(name);) {
        out.name(name);
        copy_value(in, out);
      }
      if (in.ok()) out.end_object();
  }
}

}  // namespace test
