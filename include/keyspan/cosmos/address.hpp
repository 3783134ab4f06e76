// keyspan/cosmos/address.hpp — what databases, containers and documents are called: in links, which
// are signed, and in paths, which are sent.
//
//   dbs/shop/colls/reviews/docs/é 1        a link: the names as they are
//   /dbs/shop/colls/reviews/docs/%C3%A9%201    a path: each name percent-encoded
#pragma once

#include <keyspan/core/error.hpp>
#include <keyspan/core/result.hpp>
#include <keyspan/core/text.hpp>
#include <keyspan/core/utf8.hpp>
#include <keyspan/cosmos/credential.hpp>

#include <cstddef>
#include <string>
#include <string_view>

namespace keyspan::cosmos {

/// How many bytes a name has at most.
inline constexpr std::size_t longest_name = 255;

/// Whether something may be called so: UTF-8 of 1 to `longest_name` bytes, without '/', '\\', '?'
/// and '#', without control characters, and without a blank at its end; neither "." nor "..".
[[nodiscard]] constexpr bool is_name(std::string_view name) {
  if (name.empty() || name.size() > longest_name || name.back() == ' ' || !is_utf8(name))
    return false;
  if (name == "." || name == "..") return false;  // which some on the way take for folders
  for (char const c : name) {
    auto const byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7F || c == '/' || c == '\\' || c == '?' || c == '#') return false;
  }
  return true;
}

/// A container of an account.
class container_address {
 public:
  /// Errors: `invalid_options` for what nothing may be called.
  static result<container_address> from(std::string_view database, std::string_view container) {
    for (std::string_view const name : {database, container})
      if (!is_name(name))
        return fail(errc::invalid_options, "a name has 1 to ", longest_name,
                    " bytes of UTF-8 without / \\ ? # and control characters, and no blank at its "
                    "end; this is none: ",
                    inline_text<40>{name});
    return container_address{database, container};
  }

  std::string const& database() const noexcept { return database_; }
  std::string const& container() const noexcept { return container_; }

  /// "dbs/shop/colls/reviews".
  std::string link() const { return "dbs/" + database_ + "/colls/" + container_; }
  /// "dbs/shop/colls/reviews/docs/r-1".
  std::string link(std::string_view id) const { return link() + "/docs/" + std::string{id}; }
  /// "/dbs/shop/colls/reviews".
  std::string path() const {
    return "/dbs/" + percent_encoded(database_) + "/colls/" + percent_encoded(container_);
  }
  /// "/dbs/shop/colls/reviews/docs/r-1".
  std::string path(std::string_view id) const { return path() + "/docs/" + percent_encoded(id); }

  friend bool operator==(container_address const&, container_address const&) = default;

 private:
  container_address(std::string_view database, std::string_view container)
      : database_{database}, container_{container} {}

  std::string database_;
  std::string container_;
};

}  // namespace keyspan::cosmos
