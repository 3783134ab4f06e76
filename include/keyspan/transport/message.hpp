// keyspan/transport/message.hpp — a request and its response, as plain values.
//
//   request   GET /dbs/shop/colls/reviews/docs    headers, body, deadline, stop
//   response  200                                 headers, body, attempts, charge, endpoint
#pragma once

#include <keyspan/async/clock.hpp>
#include <keyspan/async/stop_token.hpp>
#include <keyspan/core/text.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace keyspan {

/// One header of a message.
struct header_field {
  std::string name;
  std::string value;

  friend bool operator==(header_field const&, header_field const&) = default;
};

namespace detail {

constexpr char lower_case(char c) noexcept {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

constexpr bool is_same_name(std::string_view a, std::string_view b) noexcept {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](char x, char y) { return lower_case(x) == lower_case(y); });
}

}  // namespace detail

/// The headers of a message, in their order. Names are compared without regard to case, as HTTP
/// has it, and are kept as they were written.
class header_list {
 public:
  header_list() = default;
  header_list(std::initializer_list<header_field> fields) : fields_{fields} {}

  /// The value of the first header of this name; none where there is no such header.
  /// Complexity: linear.
  [[nodiscard]] std::optional<std::string_view> find(std::string_view name) const& {
    for (header_field const& field : fields_)
      if (detail::is_same_name(field.name, name)) return field.value;
    return std::nullopt;
  }
  void find(std::string_view) const&& = delete;

  /// Gives the header this value, in the place of all that it had.
  void set(std::string_view name, std::string_view value) {
    header_field made{std::string{name}, std::string{value}};  // before any of them goes
    remove(made.name);
    make_room();
    fields_.push_back(std::move(made));
  }
  /// Adds a header behind the others, also where one of this name is there.
  void add(std::string_view name, std::string_view value) {
    make_room();
    fields_.push_back({std::string{name}, std::string{value}});
  }
  /// Takes all headers of this name away. Returns how many there were.
  std::size_t remove(std::string_view name) {
    return std::erase_if(
        fields_, [&](header_field const& field) { return detail::is_same_name(field.name, name); });
  }

  std::size_t size() const noexcept { return fields_.size(); }
  bool empty() const noexcept { return fields_.empty(); }
  auto begin() const& noexcept { return fields_.begin(); }
  auto end() const& noexcept { return fields_.end(); }
  void begin() const&& = delete;
  void end() const&& = delete;

  /// The same fields in the same order, their names spelt alike.
  friend bool operator==(header_list const&, header_list const&) = default;

 private:
  // Few messages have more; growing by doubles from one on would move the first ones three times.
  void make_room() {
    if (fields_.capacity() == 0) fields_.reserve(8);
  }

  std::vector<header_field> fields_{};
};

/// What a request does to whom it is sent to, and so when it may be sent once more.
enum class request_kind : std::uint8_t {
  read,              ///< changes nothing
  repeatable_write,  ///< done twice it leaves what it leaves when it is done once
  write,             ///< done twice it may do more
};

/// What is asked of a service.
struct request {
  std::string method{"GET"};
  /// Path and query, as they stand in the message: "/dbs/shop/colls/reviews/docs".
  std::string target{"/"};
  header_list headers{};
  std::string body{};
  request_kind kind = request_kind::read;
  /// When the caller gives up; `errc::timed_out` then.
  std::optional<instant> deadline{};
  /// Stopped when the caller no longer wants the answer; `errc::stopped` then.
  stop_token stop{};

  friend bool operator==(request const&, request const&) = default;
};

/// What a service answered, whatever its status says.
struct response {
  std::uint16_t status = 200;
  header_list headers{};
  std::string body{};
  /// How often the request was sent until this came.
  std::uint16_t attempts = 1;
  /// In request units, of all attempts; 0 where nobody has read it.
  double charge = 0;
  /// Host and port of who answered, never a path, a query or a credential.
  inline_text<80> endpoint{};

  friend bool operator==(response const&, response const&) = default;
};

}  // namespace keyspan
