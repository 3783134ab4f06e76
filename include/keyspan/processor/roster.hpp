// keyspan/processor/roster.hpp — who else takes part, as far as one host has seen.
//
//   a list of member records  -->  see      who has come, who has gone
//                                  is_overdue, is_fenced      whose leases may be taken
#pragma once

#include <keyspan/async/instant.hpp>
#include <keyspan/lease/lease_ids.hpp>
#include <keyspan/lease/lease_record.hpp>
#include <keyspan/lease/lease_store.hpp>
#include <keyspan/lease/lease_terms.hpp>
#include <keyspan/lease/member_machine.hpp>
#include <keyspan/lease/session_id.hpp>

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace keyspan {

namespace detail {

// A member that was seen, or is named as an owner.
struct seen_member {
  member_record record{};
  std::string version{};
  member_watch watch{};

  // Has a record, whatever it says.
  bool is_there() const noexcept { return watch.is_seen && !watch.is_absent; }
  // Takes part, or is leaving.
  bool takes_part(instant now, std::uint32_t rate_bound_ppm) const {
    bool const is_meant =
        watch.phase == member_phase::live || watch.phase == member_phase::draining;
    return is_there() && is_meant && !watch.is_overdue(now, rate_bound_ppm);
  }
  // Has left, and its place is kept.
  bool is_away() const noexcept { return is_there() && watch.phase == member_phase::away; }
  // Whether nothing of that session can be active any more, as the store shows to everybody.
  bool is_fenced() const noexcept {
    return is_there() && (watch.phase == member_phase::fenced || watch.phase == member_phase::away);
  }
};

class roster {
 public:
  // Sees a list of the store. Tells of records that cannot be read; returns whether somebody has
  // come or gone.
  template <class Tell>
  bool see(std::vector<stored_record> const& found, lease_ids const& ids, session_id own,
           instant now, Tell tell) {
    bool is_new = false;
    std::set<session_id> there;
    for (auto const& one : found) {
      if (ids.kind_of(one.id) != record_kind::member) continue;
      auto const record = member_record::from_text(one.body);
      if (!record) {
        tell(record.error());
        continue;
      }
      there.insert(record->session);
      auto& known = members_[record->session];
      auto const before = known.watch.phase;
      bool const was_there = known.is_there();
      known.watch.session = record->session;
      known.watch.see(record->phase, record->beat, record->held_for, now);
      if (!was_there || known.watch.phase != before) is_new = true;
      if (!was_there && record->session != own && record->phase == member_phase::live)
        last_joined_at_ = now;
      known.record = *record;
      known.version = one.version;
    }
    for (auto& [session, known] : members_) {
      if (session == own || there.contains(session)) continue;
      if (!known.watch.is_absent) is_new = true;
      known.watch.miss(now);
    }
    return is_new;
  }
  // An owner that no list has shown was here before, or has never been.
  void see_owner(session_id session, instant::duration held_for, instant now) {
    auto& known = members_[session];
    if (known.watch.is_seen) return;
    known.watch.session = session;
    known.watch.held_for = held_for;
    known.watch.miss(now);
  }
  // This host has written the record.
  void write(member_record record, std::string version, instant now) {
    auto& known = members_[record.session];
    known.watch.session = record.session;
    known.watch.see(record.phase, record.beat, record.held_for, now);
    known.record = std::move(record);
    known.version = std::move(version);
  }
  // This host has removed the record.
  void remove(session_id session, instant now) { members_[session].watch.miss(now); }
  // What has been gone for so long that nothing refers to it any more.
  template <class Wanted>
  void forget(instant before, Wanted is_wanted) {
    std::erase_if(members_, [&](auto const& entry) {
      auto const& watch = entry.second.watch;
      return watch.is_absent && watch.since < before && !is_wanted(entry.first);
    });
  }

  // None where nothing is known of it.
  seen_member const* find(session_id session) const {
    auto const found = members_.find(session);
    return found == members_.end() ? nullptr : &found->second;
  }
  bool is_fenced(session_id session) const {
    auto const* const known = find(session);
    return known != nullptr && known->is_fenced();
  }
  // When another host was seen for the first time.
  instant last_joined_at() const noexcept { return last_joined_at_; }
  // For how long the one holds that holds longest.
  instant::duration longest_hold() const {
    instant::duration longest{};
    for (auto const& [session, known] : members_)
      longest = (std::max)(longest, known.watch.held_for);
    return longest;
  }

  auto begin() const noexcept { return members_.begin(); }
  auto end() const noexcept { return members_.end(); }

 private:
  std::map<session_id, seen_member> members_{};
  instant last_joined_at_{};
};

}  // namespace detail
}  // namespace keyspan
