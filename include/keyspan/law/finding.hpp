// keyspan/law/finding.hpp — what a check of a law found: nothing, or a case that breaks it.
//
// No test framework is needed to run a law: a finding converts to true where the law holds, and
// says in words what was found where it does not.
#pragma once

#include <keyspan/core/text.hpp>

#include <string_view>

namespace keyspan::law {

/// The outcome of a check: true where the law holds, otherwise the law and the case that breaks it.
class [[nodiscard]] finding {
 public:
  /// Nothing was found: the law holds.
  constexpr finding() = default;

  /// The law is broken; the pieces tell the case: `finding{"equal keys have equal tokens", …}`.
  /// Requires that `law` has characters.
  template <text_piece... Pieces>
  constexpr explicit finding(std::string_view law, Pieces const&... counter_example) {
    text_.append("broken law: ", law.empty() ? std::string_view{"one without a name"} : law);
    if constexpr (sizeof...(Pieces) > 0) text_.append("; ", counter_example...);
  }

  /// Whether the law holds.
  constexpr explicit operator bool() const noexcept { return text_.empty(); }

  /// "broken law: equal keys have equal tokens; ["a"]"; empty where the law holds.
  constexpr std::string_view text() const noexcept { return text_.view(); }

  /// As `text`, and "the law holds" where it does.
  constexpr inline_text<480> to_text() const {
    return text_.empty() ? inline_text<480>{"the law holds"} : text_;
  }

  friend constexpr bool operator==(finding const&, finding const&) = default;

 private:
  inline_text<480> text_{};
};

static_assert(textual<finding>);

}  // namespace keyspan::law
