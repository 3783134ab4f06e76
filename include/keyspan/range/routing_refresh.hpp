// keyspan/range/routing_refresh.hpp — how a snapshot of who owns what becomes the next one. It does
// no I/O itself: it says what to ask with and is given the answers.
//
//   known --ask since its version--> page, page, "not modified" --> known + pages, if that is whole
//                                                    otherwise: ask for the whole list, once more
#pragma once

#include <keyspan/core/contract.hpp>
#include <keyspan/core/error.hpp>
#include <keyspan/core/result.hpp>
#include <keyspan/hash/hash_scheme.hpp>
#include <keyspan/hash/token.hpp>
#include <keyspan/range/partition.hpp>
#include <keyspan/range/routing.hpp>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace keyspan {

/// One answer of a service that was asked for the partitions which are new since a version.
template <token Token>
struct partition_page {
  std::vector<partition<Token>> partitions{};
  /// Where the answer ends, to ask for what follows; an ETag. Empty where the service named none.
  std::string version{};
  /// There is nothing newer than the version asked with: status 304. The partitions do not count.
  bool not_modified = false;

  friend bool operator==(partition_page const&, partition_page const&) = default;
};

struct routing_refresh_options {
  /// How many pages a list has at most. A service that never says it has no more is not asked for
  /// ever.
  std::size_t most_pages = 10'000;
  /// How many pages in a row may end at the very version they were asked with. Where one more does,
  /// the service has forgotten to say `not_modified`.
  std::size_t most_standstills = 100;
};

/// One reading of the list of partitions, from the version known to the newest one.
///
///   auto refresh = routing_refresh{known};
///   while (refresh.wants_page()) refresh.take(fetch(refresh.version()));
///   publish(refresh.outcome());
///
/// The list ends with "not modified", with nothing else. What is new is added to the snapshot
/// known; where that does not own every token exactly once, the list is read in full. What is known
/// stays as it is, whatever happens, and a partial snapshot is never made. Copies are independent.
template <hash_scheme Scheme>
class routing_refresh {
 public:
  using routing_type = routing<Scheme>;
  using page_type = partition_page<token_of_scheme<Scheme>>;

  /// Reads the list in full: nothing is known yet, or what is known shall not be relied upon.
  explicit routing_refresh(Scheme scheme, routing_refresh_options options = {})
      : scheme_{std::move(scheme)}, options_{options} {}
  /// Reads what is new since the snapshot known; in full where that has no version.
  /// Requires a snapshot.
  explicit routing_refresh(std::shared_ptr<routing<Scheme> const> known,
                           routing_refresh_options options = {})
      : known_{std::move(known)}, scheme_{scheme_of(known_)}, options_{options} {
    version_ = known_->version();
    reads_in_full_ = version_.empty();
  }

  /// Whether another page is to be asked for; no more once the outcome stands.
  bool wants_page() const noexcept { return !is_done_; }
  /// What to ask with: what is newer than this version (If-None-Match), or the whole list where it
  /// is empty.
  std::string const& version() const noexcept { return version_; }
  /// Whether the list is read from its beginning.
  bool reads_in_full() const noexcept { return reads_in_full_; }

  /// Takes the answer to what was asked. Requires `wants_page()`.
  void take(page_type page) {
    expects(!is_done_, "a refresh that is done takes no more pages");
    if (page.not_modified) {
      if (!page.version.empty()) version_ = std::move(page.version);
      return finish();
    }
    if (page.version.empty() && version_.empty())
      return fail_with(fail(errc::bad_response,
                            "the list of partitions came without a version, so what follows cannot "
                            "be asked for"));
    if (pages_ == options_.most_pages)
      return fail_with(fail(errc::too_large, "the list of partitions goes on after ",
                            options_.most_pages, " pages; raise most_pages if it is so long"));
    bool const stands_still = page.version.empty() || page.version == version_;
    standstills_ = stands_still ? standstills_ + 1 : 0;
    if (standstills_ > options_.most_standstills)
      return fail_with(fail(errc::bad_response,
                            "page after page of the list of partitions ends at the version it was "
                            "asked with, and none says not_modified"));
    // The version last: what is not kept has to be asked for again.
    listed_.insert(listed_.end(), std::make_move_iterator(page.partitions.begin()),
                   std::make_move_iterator(page.partitions.end()));
    if (!page.version.empty()) version_ = std::move(page.version);
    ++pages_;
  }

  /// The newest snapshot, or the one known where nothing has changed: the same object.
  /// Errors, what is known being as good as before: those of `routing::from_list` where the list in
  /// full is not whole, which passes, so read it again after a wait; `bad_response` for a page that
  /// leaves no version to go on from, and for the last of too many in a row that end where they
  /// began; `too_large` for a list without end. Requires `!wants_page()`.
  result<std::shared_ptr<routing_type const>> const& outcome() const {
    expects(is_done_, "a refresh has an outcome when it wants no more pages");
    return outcome_;
  }

 private:
  static Scheme const& scheme_of(std::shared_ptr<routing_type const> const& known) {
    expects(known != nullptr, "a refresh is given the snapshot known, or the scheme alone");
    return known->scheme();
  }

  void finish() {
    if (!reads_in_full_ && listed_.empty() && version_ == known_->version()) return done(known_);
    // What throws from here on leaves a reading that begins anew.
    std::string reached = reads_in_full_ ? std::string{} : known_->version();
    reached.swap(version_);
    auto list = std::exchange(listed_, {});
    pages_ = 0;
    standstills_ = 0;
    if (reads_in_full_)
      return done(shared(routing_type::from_list(scheme_, std::move(list), std::move(reached))));
    if (auto newer = known_->updated(std::move(list), std::move(reached)))
      return done(shared(std::move(newer)));
    reads_in_full_ = true;
    version_.clear();
  }

  using outcome_type = result<std::shared_ptr<routing_type const>>;
  static outcome_type shared(result<routing_type> made) {
    if (!made) return unexpected{made.error()};
    return std::make_shared<routing_type const>(*std::move(made));
  }
  void done(outcome_type outcome) {
    outcome_ = std::move(outcome);
    is_done_ = true;
  }
  void fail_with(unexpected const& why) {
    is_done_ = true;
    outcome_ = why;
  }

  std::shared_ptr<routing_type const> known_{};
  Scheme scheme_;
  routing_refresh_options options_;
  std::vector<partition<token_of_scheme<Scheme>>> listed_{};
  std::string version_{};
  std::size_t pages_ = 0;
  std::size_t standstills_ = 0;  // in a row
  bool reads_in_full_ = true;
  bool is_done_ = false;
  result<std::shared_ptr<routing_type const>> outcome_{};
};

template <hash_scheme Scheme>
routing_refresh(std::shared_ptr<routing<Scheme>>) -> routing_refresh<Scheme>;
template <hash_scheme Scheme>
routing_refresh(std::shared_ptr<routing<Scheme>>, routing_refresh_options)
    -> routing_refresh<Scheme>;

}  // namespace keyspan
