// keyspan/law/lease_store.hpp — whether a store of leases keeps what the concept promises to hosts
// that share it: one writer wins, no version comes twice, and who reads sees what was written.
//
// No test framework inside: the check answers with a finding. It writes records of its own and
// removes them again.
#pragma once

#include <keyspan/async/instant.hpp>
#include <keyspan/async/stop_token.hpp>
#include <keyspan/async/sync_wait.hpp>
#include <keyspan/async/task.hpp>
#include <keyspan/async/when_all.hpp>
#include <keyspan/core/contract.hpp>
#include <keyspan/core/error.hpp>
#include <keyspan/core/result.hpp>
#include <keyspan/law/finding.hpp>
#include <keyspan/lease/lease_store.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

namespace keyspan {

namespace law {

struct lease_store_options {
  /// What the ids of the check's own records begin with; nobody else has such.
  std::string prefix = "law.";
  /// How often a list is asked at most until it shows what is there.
  std::size_t most_lists = 1;
  /// How many records there are at once, where they are many.
  std::size_t records = 120;
  /// How many writes are under way at once.
  std::size_t at_once = 8;
  /// The largest body that is written.
  std::size_t largest_body = 60'000;
  /// How many writes there are at most until a watch is done; 0 where watches are not looked at, as
  /// with one that blocks its thread.
  std::size_t most_watched = 20;
};

}  // namespace law

namespace detail {

template <lease_store Store, lease_store Other>
class lease_store_check {
  using finding = law::finding;
  using records = std::vector<stored_record>;

  static constexpr std::string_view answer_law = "a store at rest answers";
  static constexpr std::string_view known_law = "an error says what stands against it";
  static constexpr std::string_view read_law = "what was written is read by who begins behind it";
  static constexpr std::string_view unchanged_law = "what was not done has changed nothing";
  static constexpr std::string_view version_law = "a version is not empty";
  static constexpr std::string_view once_law = "a version is never that of two states of a record";
  static constexpr std::string_view one_law = "of writes that want one version one is done";
  static constexpr std::string_view body_law = "a body comes back as it was written";
  static constexpr std::string_view id_law = "ids are told apart byte by byte";
  static constexpr std::string_view list_law =
      "a list of a store at rest has all records of its prefix, each once";
  static constexpr std::string_view order_law = "a list is in the order of ids";
  static constexpr std::string_view shown_law = "what a list shows was there once";
  static constexpr std::string_view stop_law = "what was stopped before is not done";
  static constexpr std::string_view deadline_law = "what is asked behind its deadline is not done";
  static constexpr std::string_view watch_law = "a watch is done when something was written";
  static constexpr std::string_view still_law = "a watch waits until something is written";
  static constexpr std::string_view end_law = "a watch ends when it is stopped";

 public:
  lease_store_check(Store& store, Other& other, law::lease_store_options options)
      : store_{store}, other_{other}, options_{std::move(options)} {
    expects(options_.prefix.size() <= longest_record_id / 2 && is_record_id(options_.prefix + "a"),
            "the prefix begins an id, and leaves half of it");
  }

  finding run() {
    if (auto found = clear(); !found) return found;
    for (int life = 0; life < 3; ++life)
      if (auto found = check_life(); !found) return found;
    if (auto found = check_bodies(); !found) return found;
    if (auto found = check_ids(); !found) return found;
    if (auto found = check_many(); !found) return found;
    for (int round = 0; round < 4; ++round)
      if (auto found = check_at_once(); !found) return found;
    if (auto found = check_stopped(); !found) return found;
    if constexpr (watchable_lease_store<Store>)
      if (options_.most_watched != 0)
        if (auto found = check_watch(); !found) return found;
    return {};
  }

 private:
  // ---- asking ----------------------------------------------------------------------------------

  std::string id_of(std::string_view name) const { return options_.prefix + std::string{name}; }

  result<stored_record> read(std::string const& id, store_request const& within = {}) {
    return sync_wait(other_.read(id, within));
  }
  result<std::string> create(std::string const& id, std::string const& body,
                             store_request const& within = {}) {
    return noted(id, body, sync_wait(store_.create(id, body, within)));
  }
  result<std::string> replace(std::string const& id, std::string const& body,
                              std::string const& version, store_request const& within = {}) {
    return noted(id, body, sync_wait(store_.replace(id, body, version, within)));
  }
  result<void> remove(std::string const& id, std::string const& version,
                      store_request const& within = {}) {
    result<void> done = sync_wait(store_.remove(id, version, within));
    if (done) there_.erase(id);
    return done;
  }
  result<std::string> noted(std::string const& id, std::string const& body,
                            result<std::string> version) {
    if (version) note(id, body, *version);
    return version;
  }
  void note(std::string const& id, std::string const& body, std::string const& version) {
    there_.insert_or_assign(id, stored_record{id, body, version});
    if (!states_.try_emplace({id, version}, body).second && !repeated_) repeated_ = version;
  }

  // ---- looking ---------------------------------------------------------------------------------

  // What a write was answered, and what is there behind it.
  template <class T>
  finding done(std::string_view what, std::string const& id, result<T> const& answer) {
    if (!answer) return failed(what, id, answer.error());
    if (auto const at = there_.find(id); at != there_.end() && at->second.version.empty())
      return finding{version_law, what, " of ", shown(id), " gave an empty one"};
    if (repeated_)
      return finding{once_law, what, " of ", shown(id), " gave ", shown(*repeated_), " again"};
    return look(read_law, what, id);
  }
  template <class T>
  finding refused(std::string_view what, std::string const& id, result<T> const& answer,
                  errc wanted) {
    if (answer) return finding{known_law, what, " was done, and should be ", name_of(wanted)};
    if (answer.error().code != wanted)
      return finding{known_law,       what,        " should be ",
                     name_of(wanted), ", and is ", answer.error().to_text()};
    return look(unchanged_law, what, id);
  }
  finding look(std::string_view law, std::string_view what, std::string const& id) {
    auto const at = there_.find(id);
    auto const got = read(id);
    if (at == there_.end()) {
      if (got) return finding{law, "behind ", what, " there is still ", shown(id)};
      if (got.error().code == errc::not_found) return {};
      return failed("read", id, got.error());
    }
    if (!got) return finding{law, "behind ", what, " ", shown(id), ": ", got.error().to_text()};
    stored_record const& wanted = at->second;
    if (got->id != id) return finding{id_law, "asked for ", shown(id), " it is ", shown(got->id)};
    if (got->version != wanted.version)
      return finding{law,
                     "behind ",
                     what,
                     " ",
                     shown(id),
                     " has version ",
                     shown(got->version),
                     ", not ",
                     shown(wanted.version)};
    if (got->body != wanted.body)
      return finding{body_law,
                     "behind ",
                     what,
                     " ",
                     shown(id),
                     " has another one, of ",
                     got->body.size(),
                     " bytes instead of ",
                     wanted.body.size()};
    return {};
  }
  static finding failed(std::string_view what, std::string_view id, error const& why) {
    return finding{answer_law, what, " of ", shown(id), ": ", why.to_text()};
  }
  static std::string_view shown(std::string_view text) { return text.substr(0, 60); }

  // Asks until it is shown what is there.
  finding check_list(std::string const& prefix) {
    finding last;
    for (std::size_t asked = 0; asked < (std::max)(options_.most_lists, std::size_t{1}); ++asked) {
      result<records> const got = sync_wait(other_.list(prefix, {}));
      if (!got) return failed("list", prefix, got.error());
      if (auto found = check_shown(prefix, *got); !found) return found;
      last = compare(prefix, *got);
      if (last) break;
    }
    return last;
  }
  finding check_shown(std::string const& prefix, records const& got) const {
    for (std::size_t i = 0; i < got.size(); ++i) {
      stored_record const& one = got[i];
      if (one.id.substr(0, prefix.size()) != prefix)
        return finding{list_law, shown(prefix), " does not begin ", shown(one.id)};
      if (i > 0 && one.id < got[i - 1].id)
        return finding{order_law, shown(one.id), " comes behind ", shown(got[i - 1].id)};
      auto const state = states_.find({one.id, one.version});
      if (state == states_.end() || state->second != one.body)
        return finding{shown_law, shown(one.id), " never was so in version ", shown(one.version)};
    }
    return {};
  }
  finding compare(std::string const& prefix, records const& got) const {
    auto at = there_.lower_bound(prefix);
    for (stored_record const& one : got) {
      bool const is_wanted = at != there_.end() && at->second == one;
      if (!is_wanted)
        return finding{list_law,      "with ",        shown(prefix),     " it has ",
                       shown(one.id), " in version ", shown(one.version)};
      ++at;
    }
    if (at != there_.end() && at->first.substr(0, prefix.size()) == prefix)
      return finding{list_law, "with ", shown(prefix), " it lacks ", shown(at->first)};
    return {};
  }

  // ---- the parts -------------------------------------------------------------------------------

  // What another run may have left, or this one. Lists may be stale: so each is read.
  finding clear() {
    for (std::size_t asked = 0; asked < (std::max)(options_.most_lists, std::size_t{1}); ++asked) {
      result<records> const got = sync_wait(other_.list(options_.prefix, {}));
      if (!got) return failed("list", options_.prefix, got.error());
      for (stored_record const& one : *got) {
        auto const now = read(one.id);
        if (!now && now.error().code == errc::not_found) continue;
        if (!now) return failed("read", one.id, now.error());
        auto const removed = remove(one.id, now->version);
        if (!removed) return failed("remove", one.id, removed.error());
      }
    }
    there_.clear();
    return {};
  }

  finding check_life() {
    std::string const id = id_of("life");
    std::vector<std::string> versions;
    auto const step = [&](std::string_view what, result<std::string> const& version) {
      if (version) versions.push_back(*version);
      return done(what, id, version);
    };
    auto const conflicts = [&] {
      for (std::size_t i = 0; i + 1 < versions.size(); ++i) {
        std::string const& old = versions[i];
        if (auto found = refused("replace of an old version", id, replace(id, "old", old),
                                 errc::precondition_failed);
            !found)
          return found;
        if (auto found =
                refused("remove of an old version", id, remove(id, old), errc::precondition_failed);
            !found)
          return found;
      }
      return finding{};
    };
    if (auto found = look(read_law, "clearing", id); !found) return found;
    for (int again = 0; again < 2; ++again) {
      if (auto found = step("create", create(id, "first")); !found) return found;
      if (auto found =
              refused("create of what is there", id, create(id, "other"), errc::already_exists);
          !found)
        return found;
      if (auto found = conflicts(); !found) return found;
      // The same body as well: who reads must see that somebody wrote.
      for (std::string_view const body : {"second", "second", "first"}) {
        if (auto found = step("replace", replace(id, std::string{body}, versions.back())); !found)
          return found;
        if (auto found = conflicts(); !found) return found;
      }
      if (auto found = check_list(id); !found) return found;
      if (auto found = done("remove", id, remove(id, versions.back())); !found) return found;
      if (auto found = check_list(id); !found) return found;
      if (auto found =
              refused("remove of what is gone", id, remove(id, versions.back()), errc::not_found);
          !found)
        return found;
      if (auto found = refused("replace of what is gone", id, replace(id, "x", versions.back()),
                               errc::not_found);
          !found)
        return found;
    }
    return {};
  }

  finding check_bodies() {
    std::string const id = id_of("body");
    std::string large;
    while (large.size() < options_.largest_body) large += "0123456789 abcdef\n";
    large.resize((std::max)(options_.largest_body, std::size_t{1}));
    auto version = create(id, "{}");
    if (auto found = done("create", id, version); !found) return found;
    for (std::string const& body :
         {std::string{"{\"a\":\"b \\\" ' \\\\ \",\n\t\"c\":[1,2.50,null]}"}, std::string{" "},
          std::string{"  blanks around \r\n"}, std::string{"\xC3\xA4\xE2\x82\xAC\xF0\x9F\x94\x91"},
          std::string{"0"}, std::string{"null"}, std::string{"%2F%00 $1 ${x} {{x}} <a>&amp;"},
          large}) {
      version = replace(id, body, *version);
      if (auto found = done("replace", id, version); !found) return found;
    }
    if (auto found = check_list(id); !found) return found;
    return done("remove", id, remove(id, *version));
  }

  // Neighbours of each other in every way: `_` and `.` stand for themselves, and case counts.
  finding check_ids() {
    std::string const longest(longest_record_id - options_.prefix.size(), 'x');
    std::vector<std::string> names{"n.1", "n-1", "n_1", "n01",  "na1",   "nA1",
                                   "N.1", "n",   "n.",  "n.10", "n.1.1", longest};
    for (char const c : std::string_view{"abcxyzABCXYZ0189-_"}) names.push_back({'n', c});
    std::erase(names, "n.");
    for (std::string const& name : names)
      if (auto found = done("create", id_of(name), create(id_of(name), "body of " + name)); !found)
        return found;
    for (std::string const& name : names)
      if (auto found = look(read_law, "other creations", id_of(name)); !found) return found;
    for (std::string_view const prefix :
         {"", "n", "n.", "n-", "n_", "n.1", "n_1", "n.1.", "N", "nA", "none", "x"})
      if (auto found = check_list(id_of(prefix)); !found) return found;
    if (auto found = check_list(id_of(longest)); !found) return found;
    return remove_all();
  }

  finding check_many() {
    for (std::size_t i = 0; i < options_.records; ++i) {
      std::string const id = id_of("many-" + std::to_string(i * 7 % options_.records));
      if (there_.contains(id)) continue;
      auto const version = create(id, std::to_string(i));
      if (!version) return failed("create", id, version.error());
    }
    if (auto found = check_list(options_.prefix); !found) return found;
    return remove_all();
  }
  finding remove_all() {
    auto const all = there_;
    for (auto const& [id, one] : all) {
      auto const removed = remove(id, one.version);
      if (!removed) return failed("remove", id, removed.error());
    }
    return check_list(options_.prefix);
  }

  // ---- at the same time ------------------------------------------------------------------------

  enum class write { creates, replaces, removes };
  struct attempt {
    write what;
    std::string id;
    std::string body;
    std::string version;
  };
  // Gives the new version; an empty one where it was removed.
  template <class In>
  static task<result<std::string>> tried(In& in, attempt now) {
    store_request const within{};
    if (now.what == write::removes) {
      auto&& removing = in.remove(now.id, now.version, within);
      result<void> const gone = co_await std::forward<decltype(removing)>(removing);
      if (!gone) co_return unexpected{gone.error()};
      co_return std::string{};
    }
    if (now.what == write::creates) {
      auto&& creating = in.create(now.id, now.body, within);
      result<std::string> made = co_await std::forward<decltype(creating)>(creating);
      co_return made;
    }
    auto&& replacing = in.replace(now.id, now.body, now.version, within);
    result<std::string> made = co_await std::forward<decltype(replacing)>(replacing);
    co_return made;
  }
  static bool is_beaten(errc code) {
    return code == errc::precondition_failed || code == errc::already_exists ||
           code == errc::not_found || code == errc::contended;
  }

  // Every second one from the other side; one of them is done.
  finding race(std::string_view what, std::string const& id, std::vector<attempt> const& attempts) {
    std::vector<task<result<std::string>>> writes;
    for (std::size_t i = 0; i < attempts.size(); ++i)
      writes.push_back(i % 2 == 0 ? tried(store_, attempts[i]) : tried(other_, attempts[i]));
    auto const answers = sync_wait(when_all(std::move(writes)));
    std::size_t wins = 0;
    for (std::size_t i = 0; i < answers.size(); ++i) {
      if (!answers[i]) {
        if (!is_beaten(answers[i].error().code)) return failed(what, id, answers[i].error());
        continue;
      }
      if (++wins > 1) break;
      if (attempts[i].what == write::removes) {
        there_.erase(id);
      } else {
        note(id, attempts[i].body, *answers[i]);
      }
    }
    if (wins != 1)
      return finding{one_law,         what,        ": of ",
                     attempts.size(), " at once ", wins == 0 ? "none is" : "several are"};
    return done(what, id, result<void>{});
  }
  finding check_at_once() {
    std::string const id = id_of("race");
    std::size_t const count = (std::max)(options_.at_once, std::size_t{2});
    auto const attempts = [&](auto which) {
      std::vector<attempt> all;
      for (std::size_t i = 0; i < count; ++i)
        all.push_back({which(i), id, "attempt " + std::to_string(i),
                       there_.contains(id) ? there_.at(id).version : std::string{}});
      return all;
    };
    auto const creates = [](std::size_t) { return write::creates; };
    auto const replaces = [](std::size_t) { return write::replaces; };
    auto const removes = [](std::size_t) { return write::removes; };
    if (auto found = race("create", id, attempts(creates)); !found) return found;
    for (int round = 0; round < 3; ++round)
      if (auto found = race("replace", id, attempts(replaces)); !found) return found;
    auto const both = [](std::size_t i) { return i % 3 == 1 ? write::removes : write::replaces; };
    if (auto found = race("replace and remove", id, attempts(both)); !found) return found;
    if (!there_.contains(id)) return {};
    return race("remove", id, attempts(removes));
  }

  // ---- what is not to be done ------------------------------------------------------------------

  finding check_stopped() {
    stop_source stopping;
    stopping.request_stop();
    store_request stopped;
    stopped.stop = stopping.token();
    if (auto found = check_given_up(stop_law, stopped, errc::stopped); !found) return found;
    store_request late;
    late.deadline = instant{} - std::chrono::hours{1};
    return check_given_up(deadline_law, late, errc::timed_out);
  }
  finding check_given_up(std::string_view law, store_request const& within, errc wanted) {
    std::string const id = id_of("stopped");
    std::string const missing = id_of("never");
    auto const version = create(id, "there");
    if (auto found = done("create", id, version); !found) return found;
    auto const ended = [&](std::string_view what, auto const& answer) {
      if (!answer && answer.error().code == wanted) return finding{};
      if (answer) return finding{law, what, " was done"};
      return finding{law, what, " is ", answer.error().to_text()};
    };
    auto const held = there_;
    if (auto found = ended("create", create(missing, "x", within)); !found) return found;
    if (auto found = ended("replace", replace(id, "x", *version, within)); !found) return found;
    if (auto found = ended("remove", remove(id, *version, within)); !found) return found;
    if (auto found = ended("read", read(id, within)); !found) return found;
    if (auto found = ended("list", sync_wait(other_.list(id, within))); !found) return found;
    if (auto found = look(law, "a create", missing); !found) return found;
    if (auto found = look(law, "a replace and a remove", id); !found) return found;
    return done("remove", id, remove(id, *version));
  }

  // ---- watching --------------------------------------------------------------------------------

  struct watch_state {
    stop_source stopping{};
    std::atomic<bool> is_done{false};
    std::optional<error> failure{};
  };
  static task<result<void>> watched(Store& in, std::string prefix, watch_state& state) {
    store_request within;
    within.stop = state.stopping.token();
    auto&& watching = in.watch(prefix, within);
    result<void> const answer = co_await std::forward<decltype(watching)>(watching);
    state.is_done = true;
    co_return answer;
  }
  // Writes a record again and again until the watch is done, or often enough.
  static task<std::size_t> written(Other& in, std::string id, std::size_t most,
                                   watch_state& state) {
    std::string version;
    std::size_t writes = 0;
    while (writes < most && !state.is_done) {
      attempt const next{version.empty() ? write::creates : write::replaces, id,
                         std::to_string(writes), version};
      result<std::string> made = co_await tried(in, next);
      if (!made) {
        state.failure = made.error();
        break;
      }
      version = *std::move(made);
      ++writes;
    }
    state.stopping.request_stop();
    co_return writes;
  }
  finding watch_while(std::string const& prefix, std::string const& id, std::size_t most,
                      result<void>& told) {
    watch_state state;
    auto both = when_all(watched(store_, prefix, state), written(other_, id, most, state));
    auto answers = sync_wait(std::move(both));
    told = std::get<0>(answers);
    if (state.failure) return failed("a write beside a watch", id, *state.failure);
    auto const now = read(id);
    if (!now) {
      if (now.error().code == errc::not_found) return {};
      return failed("read", id, now.error());
    }
    auto const removed = remove(id, now->version);
    if (!removed) return failed("remove", id, removed.error());
    return {};
  }
  finding check_watch() {
    std::string const prefix = id_of("watched.");
    result<void> told;
    bool has_waited = false;
    for (int again = 0; again < 3 && !has_waited; ++again) {
      if (auto found = watch_while(prefix, id_of("beside"), 3, told); !found) return found;
      has_waited = !told;
    }
    if (!has_waited) return finding{still_law, "it was done three times, and nothing was"};
    if (told.error().code != errc::stopped) return finding{end_law, told.error().to_text()};
    for (int again = 0; again < 2; ++again) {
      if (auto found = watch_while(prefix, prefix + "a", options_.most_watched, told); !found)
        return found;
      if (!told)
        return finding{watch_law, "behind ", options_.most_watched,
                       " writes it was not: ", told.error().to_text()};
    }
    return {};
  }

  Store& store_;
  Other& other_;
  law::lease_store_options options_;
  std::map<std::string, stored_record> there_{};
  std::map<std::pair<std::string, std::string>, std::string> states_{};  // of id and version
  std::optional<std::string> repeated_{};
};

}  // namespace detail

namespace law {

/// Whether `store` keeps the laws of `lease_store`, and those of a `watchable_lease_store` where it
/// is one. `other` is the same store as another host sees it: what one writes is read through it.
///
/// Writes some hundred records under a prefix, one after the other, and removes them. Waits for the
/// store where that is not ready, as `sync_wait` does. Nobody else writes under that prefix.
/// Requires a prefix that begins an id, of at most 100 characters.
template <lease_store Store, lease_store Other>
finding check_lease_store(Store& store, Other& other, lease_store_options options = {}) {
  return detail::lease_store_check<Store, Other>{store, other, std::move(options)}.run();
}

/// The same for one host.
template <lease_store Store>
finding check_lease_store(Store& store, lease_store_options options = {}) {
  return detail::lease_store_check<Store, Store>{store, store, std::move(options)}.run();
}

}  // namespace law

}  // namespace keyspan
