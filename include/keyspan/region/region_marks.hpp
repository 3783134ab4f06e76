// keyspan/region/region_marks.hpp — which endpoints were found out of order, until when that
// counts.
#pragma once

#include <keyspan/async/instant.hpp>
#include <keyspan/transport/endpoint.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace keyspan {

/// What a region is asked for.
enum class region_use : std::uint8_t {
  read,
  write,       ///< a document
  administer,  ///< a write of something else: databases, containers
};

/// Endpoints that do not serve reads or do not serve writes, each mark with its end. What is marked
/// is asked last, not never.
class region_marks {
 public:
  /// Marks an endpoint until a moment; a mark that is there ends at the later one of both.
  void mark(service_endpoint const& endpoint, region_use use, instant until) {
    bool const writes = use != region_use::read;
    for (auto& one : marks_) {
      if (one.writes != writes || one.endpoint != endpoint) continue;
      one.until = (std::max)(one.until, until);
      return;
    }
    marks_.push_back({endpoint, writes, until});
  }
  /// Whether an endpoint is marked for this use. Complexity: linear in the number of marks.
  [[nodiscard]] bool is_marked(service_endpoint const& endpoint, region_use use,
                               instant now) const {
    bool const writes = use != region_use::read;
    return std::any_of(marks_.begin(), marks_.end(), [&](marked const& one) {
      return one.writes == writes && now < one.until && one.endpoint == endpoint;
    });
  }
  /// Forgets the marks that have come to their end.
  void expire(instant now) {
    std::erase_if(marks_, [&](marked const& one) { return one.until <= now; });
  }
  /// Forgets all that is marked.
  void clear() noexcept { marks_.clear(); }
  /// How many marks there are, those that have ended included.
  std::size_t size() const noexcept { return marks_.size(); }

 private:
  struct marked {
    service_endpoint endpoint;
    bool writes;
    instant until;
  };

  std::vector<marked> marks_{};
};

}  // namespace keyspan
