// test/law/lease_store_test.cpp — the laws of stores of leases: the one in memory keeps them, plain
// and through views, and for each law there is a store that breaks it and is caught.
#include <keyspan/async/manual_clock.hpp>
#include <keyspan/async/ready.hpp>
#include <keyspan/async/task.hpp>
#include <keyspan/async/thread_clock.hpp>
#include <keyspan/core/error.hpp>
#include <keyspan/core/result.hpp>
#include <keyspan/law/finding.hpp>
#include <keyspan/law/lease_store.hpp>
#include <keyspan/lease/lease_store.hpp>
#include <keyspan/lease/memory_store.hpp>

#include <support/check.hpp>
#include <support/contracts.hpp>

#include <algorithm>
#include <cctype>
#include <chrono>
#include <condition_variable>
#include <coroutine>
#include <cstddef>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace {

using keyspan::errc;
using keyspan::manual_clock;
using keyspan::memory_store;
using keyspan::ready;
using keyspan::result;
using keyspan::store_request;
using keyspan::stored_record;
using keyspan::law::check_lease_store;
using keyspan::law::finding;
using keyspan::law::lease_store_options;
using test::check;
using namespace std::chrono_literals;

void holds(finding const& found) {
  INFO(found.text());
  CHECK(found);
}

void breaks(finding const& found, std::string_view law) {
  INFO(found.text());
  CHECK(found.text().starts_with("broken law: "));
  CHECK(found.text().substr(12).starts_with(law));
}

TEST_CASE("the example of the laws of lease stores reads as it should") {
  // [region: example]
  // Run over a store of one's own, and over what another host sees of it.
  keyspan::manual_clock clock;
  keyspan::memory_store store{clock};
  auto one = store.view("host 1");
  auto other = store.view("host 2");

  auto const found = keyspan::law::check_lease_store(one, other, {.prefix = "law-test."});
  check(static_cast<bool>(found));  // else found.text() says which law, and how
  // [end: example]
}

TEST_CASE("a store in memory keeps the laws, and is left as it was") {
  manual_clock clock;
  memory_store store{clock};
  store.put("lease-1", "kept");
  store.put("law.left", "by a run that was ended");
  holds(check_lease_store(store));
  REQUIRE(store.records().size() == 1);
  CHECK(store.find("lease-1")->body == "kept");
  holds(check_lease_store(store, {.prefix = "a"}));
}

TEST_CASE("late answers and writes that are done twice keep the laws") {
  keyspan::thread_clock clock;
  memory_store store{clock};
  keyspan::store_chances const chances{
      .twice = 30, .longest_lateness = 0ms, .delayed = 20, .longest_delay = 200us, .seed = 3};
  auto one = store.view("1", chances);
  auto other = store.view("2", chances);
  // Here a watch blocks its thread.
  holds(check_lease_store(one, other, {.records = 20, .most_watched = 0}));
  CHECK(one.struck() > 50);
}

TEST_CASE("lists that are stale for a while keep the laws for who asks again") {
  manual_clock clock;
  memory_store store{clock};
  auto one = store.view("1");
  auto other = store.view("2", {.lacking = 30, .repeating = 30, .seed = 4});
  holds(check_lease_store(one, other, {.most_lists = 30}));
  breaks(check_lease_store(one, other), "a list of a store at rest has all records");
}

TEST_CASE("a prefix that begins no id, or leaves no room, is a broken promise") {
  manual_clock clock;
  memory_store store{clock};
  for (std::string const& prefix : {std::string{"a/"}, std::string{"."}, std::string(101, 'a')})
    CHECK(test::promise_broken_by([&] { return check_lease_store(store, {.prefix = prefix}); }) ==
          "the prefix begins an id, and leaves half of it");
}

// ---- stores that break one law each
// --------------------------------------------------------------

using text = std::string_view;
using records = std::vector<stored_record>;
template <class T>
using reply = ready<result<T>>;

// What the others change. The check sees this class alone, so that it is compiled once.
struct shelf {
  shelf() = default;
  shelf(shelf&&) = delete;
  virtual ~shelf() = default;

  struct kept {
    std::string body;
    std::string version;
  };
  std::map<std::string, kept, std::less<>> there{};
  std::size_t written = 0;

  virtual bool is_stopped(store_request const& within) { return within.stop.stop_requested(); }
  virtual bool is_late(store_request const& within) { return within.deadline.has_value(); }
  virtual std::string version_for(text, text) { return "v" + std::to_string(written); }
  virtual bool matches(text id, text version) { return there.find(id)->second.version == version; }
  virtual std::string name(text id) { return std::string{id}; }

  std::optional<keyspan::error> refusal(store_request const& within) {
    if (is_stopped(within)) return keyspan::error{errc::stopped};
    if (is_late(within)) return keyspan::error{errc::timed_out};
    return std::nullopt;
  }
  std::string put(text id, text body) {
    ++written;
    std::string version = version_for(id, body);
    there.insert_or_assign(name(id), kept{std::string{body}, version});
    return version;
  }
  std::optional<keyspan::error> conflict(text id, text version) {
    if (!there.contains(name(id))) return keyspan::error{errc::not_found};
    if (!matches(id, version)) return keyspan::error{errc::precondition_failed};
    return std::nullopt;
  }

  virtual reply<records> list(text prefix, store_request const& within) {
    if (auto const why = refusal(within)) return {keyspan::unexpected{*why}};
    records all;
    for (auto const& [id, one] : there)
      if (id.starts_with(prefix)) all.push_back({id, one.body, one.version});
    return {std::move(all)};
  }
  virtual reply<stored_record> read(text id, store_request const& within) {
    if (auto const why = refusal(within)) return {keyspan::unexpected{*why}};
    auto const at = there.find(name(id));
    if (at == there.end()) return {keyspan::fail(errc::not_found)};
    return {stored_record{at->first, at->second.body, at->second.version}};
  }
  virtual reply<std::string> create(text id, text body, store_request const& within) {
    if (auto const why = refusal(within)) return {keyspan::unexpected{*why}};
    if (there.contains(name(id))) return {keyspan::fail(errc::already_exists)};
    return {put(id, body)};
  }
  virtual reply<std::string> replace(text id, text body, text version,
                                     store_request const& within) {
    if (auto const why = refusal(within)) return {keyspan::unexpected{*why}};
    if (auto const why = conflict(id, version)) return {keyspan::unexpected{*why}};
    return {put(id, body)};
  }
  virtual reply<void> remove(text id, text version, store_request const& within) {
    if (auto const why = refusal(within)) return {keyspan::unexpected{*why}};
    if (auto const why = conflict(id, version)) return {keyspan::unexpected{*why}};
    there.erase(name(id));
    return {result<void>{}};
  }
};

finding look_at(shelf& store, shelf& other, lease_store_options options = {}) {
  return check_lease_store(store, other, std::move(options));
}
template <class Shelf>
finding look_at_a() {
  Shelf store;
  return look_at(store, store);
}

TEST_CASE("the store that the others are made of is good") { holds(look_at_a<shelf>()); }

TEST_CASE("a store whose versions are not new in every write is caught") {
  struct says_nothing : shelf {
    std::string version_for(text, text) override { return {}; }
  };
  struct of_the_body : shelf {
    std::string version_for(text, text body) override { return "\"" + std::string{body} + "\""; }
  };
  // The number is the record's own, and ends with it.
  struct begins_anew : shelf {
    std::string version_for(text id, text) override {
      auto const at = there.find(id);
      if (at == there.end()) return "1";
      return std::to_string(std::stoi(at->second.version) + 1);
    }
  };
  breaks(look_at_a<says_nothing>(), "a version is not empty");
  breaks(look_at_a<of_the_body>(),
         "a version is never that of two states of a record; replace of law.life gave \"second\"");
  breaks(look_at_a<begins_anew>(), "a version is never that of two states of a record; create");
}

TEST_CASE("a store that writes where it should not is caught") {
  struct ignores_versions : shelf {
    bool matches(text, text) override { return true; }
  };
  struct takes_the_last_but_one : shelf {
    bool matches(text id, text version) override {
      if (shelf::matches(id, version)) return true;
      return version == "v" + std::to_string(written - 1);
    }
  };
  struct creates_over : shelf {
    reply<std::string> create(text id, text body, store_request const& within) override {
      if (auto const why = refusal(within)) return {keyspan::unexpected{*why}};
      return {put(id, body)};
    }
  };
  struct replaces_nothing : shelf {
    reply<std::string> replace(text id, text body, text version,
                               store_request const& within) override {
      if (!there.contains(id) && !refusal(within)) return {put(id, body)};
      return shelf::replace(id, body, version, within);
    }
  };
  struct removes_all : shelf {
    reply<void> remove(text id, text version, store_request const& within) override {
      if (there.contains(id) && !refusal(within)) version = there.find(id)->second.version;
      return shelf::remove(id, version, within);
    }
  };
  struct writes_and_refuses : shelf {
    reply<std::string> replace(text id, text body, text version,
                               store_request const& within) override {
      auto answer = shelf::replace(id, body, version, within);
      if (!answer.value && answer.value.error().code == errc::precondition_failed) put(id, body);
      return answer;
    }
  };
  struct removes_and_refuses : shelf {
    reply<void> remove(text id, text version, store_request const& within) override {
      auto answer = shelf::remove(id, version, within);
      if (!answer.value && answer.value.error().code == errc::precondition_failed)
        there.erase(std::string{id});
      return answer;
    }
  };
  breaks(look_at_a<ignores_versions>(),
         "an error says what stands against it; replace of an old version was done");
  breaks(look_at_a<takes_the_last_but_one>(),
         "an error says what stands against it; replace of an old version was done");
  breaks(look_at_a<creates_over>(), "an error says what stands against it; create of what is");
  breaks(look_at_a<replaces_nothing>(), "an error says what stands against it; replace of what is");
  breaks(look_at_a<removes_all>(),
         "an error says what stands against it; remove of an old version was done");
  breaks(look_at_a<writes_and_refuses>(), "what was not done has changed nothing; behind replace");
  breaks(look_at_a<removes_and_refuses>(), "what was not done has changed nothing; behind remove");
}

TEST_CASE("a store whose errors say something else is caught, and so is one that does not answer") {
  struct says_gone : shelf {
    reply<std::string> replace(text id, text body, text version,
                               store_request const& within) override {
      auto answer = shelf::replace(id, body, version, within);
      if (!answer.value && answer.value.error().code == errc::precondition_failed)
        return {keyspan::fail(errc::not_found)};
      return answer;
    }
  };
  struct removes_what_is_gone : shelf {
    reply<void> remove(text id, text version, store_request const& within) override {
      auto answer = shelf::remove(id, version, within);
      if (!answer.value && answer.value.error().code == errc::not_found) return {result<void>{}};
      return answer;
    }
  };
  struct is_down : shelf {
    reply<records> list(text, store_request const&) override {
      return {keyspan::fail(errc::unavailable)};
    }
  };
  struct writes_nothing : shelf {
    reply<std::string> create(text, text, store_request const&) override {
      return {keyspan::fail(errc::throttled)};
    }
  };
  breaks(look_at_a<says_gone>(),
         "an error says what stands against it; replace of an old version should be");
  breaks(look_at_a<removes_what_is_gone>(),
         "an error says what stands against it; remove of what is gone was done");
  breaks(look_at_a<is_down>(), "a store at rest answers; list of law.: unavailable");
  breaks(look_at_a<writes_nothing>(), "a store at rest answers; create of law.life: throttled");
}

TEST_CASE("a store that shows another host what was is caught") {
  // Reads of what it has once read are answered from a cache.
  struct remembers : shelf {
    explicit remembers(shelf& of) : of_{of} {}
    reply<records> list(text prefix, store_request const& within) override {
      return of_.list(prefix, within);
    }
    reply<stored_record> read(text id, store_request const& within) override {
      if (auto const at = cache_.find(id); at != cache_.end()) return {at->second};
      auto answer = of_.read(id, within);
      if (answer.value) cache_.emplace(id, *answer.value);
      return answer;
    }
    shelf& of_;
    std::map<std::string, stored_record, std::less<>> cache_{};
  };
  struct is_one_write_behind : shelf {
    reply<stored_record> read(text id, store_request const& within) override {
      if (last && last->id == id && !refusal(within)) return {*std::exchange(last, std::nullopt)};
      return shelf::read(id, within);
    }
    reply<std::string> replace(text id, text body, text version,
                               store_request const& within) override {
      if (auto const at = there.find(id); at != there.end())
        last = stored_record{at->first, at->second.body, at->second.version};
      return shelf::replace(id, body, version, within);
    }
    std::optional<stored_record> last{};
  };
  shelf store;
  remembers other{store};
  breaks(look_at(store, other), "what was written is read by who begins behind it");
  // A refused replace is where it is first seen.
  breaks(look_at_a<is_one_write_behind>(), "what was written is read by who begins behind it");
}

TEST_CASE("a store that changes bodies is caught") {
  struct trims : shelf {
    reply<std::string> replace(text id, text body, text version,
                               store_request const& within) override {
      while (body.ends_with('\n') || body.ends_with(' ')) body.remove_suffix(1);
      return shelf::replace(id, body, version, within);
    }
  };
  struct cuts : shelf {
    reply<std::string> replace(text id, text body, text version,
                               store_request const& within) override {
      return shelf::replace(id, body.substr(0, 50'000), version, within);
    }
  };
  struct knows_no_utf8 : shelf {
    reply<stored_record> read(text id, store_request const& within) override {
      auto answer = shelf::read(id, within);
      if (answer.value)
        for (char& c : answer.value->body)
          if (static_cast<unsigned char>(c) > 127) c = '?';
      return answer;
    }
  };
  breaks(look_at_a<trims>(), "a body comes back as it was written");
  breaks(look_at_a<cuts>(),
         "a body comes back as it was written; behind replace law.body has another one, of 50000");
  breaks(look_at_a<knows_no_utf8>(), "a body comes back as it was written");
}

TEST_CASE("a store that takes one id for another is caught") {
  struct ignores_case : shelf {
    std::string name(text id) override {
      std::string small{id};
      for (char& c : small) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
      return small;
    }
  };
  struct cuts : shelf {
    std::string name(text id) override { return std::string{id.substr(0, 150)}; }
  };
  breaks(look_at_a<ignores_case>(), "a store at rest answers; create of law.nA1: already_exists");
  breaks(look_at_a<cuts>(), "ids are told apart byte by byte");
}

TEST_CASE("a store whose lists are wrong at rest is caught") {
  struct edits : shelf {
    reply<records> list(text prefix, store_request const& within) override {
      auto answer = shelf::list(prefix, within);
      if (answer.value) edit(*answer.value);
      return answer;
    }
    virtual void edit(records& all) = 0;
  };
  struct one_page : edits {
    void edit(records& all) override { all.resize((std::min)(all.size(), std::size_t{100})); }
  };
  struct twice : edits {
    void edit(records& all) override {
      if (all.size() > 3) all.insert(all.begin(), records::value_type{all.front()});
    }
  };
  struct backwards : edits {
    void edit(records& all) override { std::ranges::reverse(all); }
  };
  struct mixes : edits {
    void edit(records& all) override {
      if (all.size() > 1) std::swap(all[0].version, all[1].version);
    }
  };
  struct invents : edits {
    void edit(records& all) override {
      for (auto& one : all) one.body += " ";
    }
  };
  struct forgets_nothing : shelf {
    reply<records> list(text prefix, store_request const& within) override {
      if (auto const why = refusal(within)) return {keyspan::unexpected{*why}};
      for (auto const& [id, one] : there)
        all.insert_or_assign(id, stored_record{id, one.body, one.version});
      records made;
      for (auto const& [id, one] : all)
        if (id.starts_with(prefix)) made.push_back(one);
      return {made};
    }
    std::map<std::string, stored_record> all{};
  };
  // `_` is any character, as in LIKE.
  struct likes : shelf {
    reply<records> list(text prefix, store_request const& within) override {
      if (auto const why = refusal(within)) return {keyspan::unexpected{*why}};
      records all;
      for (auto const& [id, one] : there) {
        bool is_like = id.size() >= prefix.size();
        for (std::size_t i = 0; is_like && i < prefix.size(); ++i)
          is_like = prefix[i] == '_' || prefix[i] == id[i];
        if (is_like) all.push_back({id, one.body, one.version});
      }
      return {all};
    }
  };
  struct knows_no_prefix : shelf {
    reply<records> list(text, store_request const& within) override {
      return shelf::list("", within);
    }
  };
  struct has_only_longer_ones : shelf {
    reply<records> list(text prefix, store_request const& within) override {
      auto answer = shelf::list(prefix, within);
      if (answer.value)
        std::erase_if(*answer.value, [&](stored_record const& one) { return one.id == prefix; });
      return answer;
    }
  };
  std::string_view const law = "a list of a store at rest has all records of its prefix, each once";
  breaks(look_at_a<one_page>(), law);
  breaks(look_at_a<twice>(), law);
  breaks(look_at_a<backwards>(), "a list is in the order of ids");
  breaks(look_at_a<mixes>(), "what a list shows was there once");
  breaks(look_at_a<invents>(), "what a list shows was there once");
  breaks(look_at_a<forgets_nothing>(), law);
  breaks(look_at_a<likes>(), law);
  breaks(look_at_a<has_only_longer_ones>(), law);
  breaks(
      look_at_a<knows_no_prefix>(),
      "a list of a store at rest has all records of its prefix, each once; law.n does not begin");
}

TEST_CASE("a store that does what was stopped, or is too late, is caught") {
  struct never_stops : shelf {
    bool is_stopped(store_request const&) override { return false; }
  };
  struct knows_no_deadline : shelf {
    bool is_late(store_request const&) override { return false; }
  };
  struct stops_behind_it : shelf {
    reply<std::string> replace(text id, text body, text version,
                               store_request const& within) override {
      if (auto const why = refusal(within)) {
        put(id, body);
        return {keyspan::unexpected{*why}};
      }
      return shelf::replace(id, body, version, within);
    }
  };
  struct creates_late : shelf {
    reply<std::string> create(text id, text body, store_request const& within) override {
      if (is_late(within)) put(id, body);
      return shelf::create(id, body, within);
    }
  };
  struct reads_late : shelf {
    reply<stored_record> read(text id, store_request const& within) override {
      return shelf::read(id, {.stop = within.stop});
    }
  };
  breaks(look_at_a<never_stops>(), "what was stopped before is not done; create was done");
  breaks(look_at_a<knows_no_deadline>(), "what is asked behind its deadline is not done; create");
  breaks(look_at_a<stops_behind_it>(), "what was stopped before is not done; behind a replace");
  breaks(look_at_a<creates_late>(), "what is asked behind its deadline is not done; behind a crea");
  breaks(look_at_a<reads_late>(), "what is asked behind its deadline is not done; read was done");
}

// ---- what is seen only of writes at once
// ---------------------------------------------------------

// Goes on in a thread of its own, a little later.
class slow_thread {
 public:
  slow_thread() : thread_{[this] { run(); }} {}
  ~slow_thread() {
    {
      std::lock_guard const lock{mutex_};
      is_over_ = true;
    }
    changed_.notify_one();
    thread_.join();
  }

  struct later {
    bool await_ready() const noexcept { return false; }
    void await_suspend(std::coroutine_handle<> suspended) {
      {
        std::lock_guard const lock{in.mutex_};
        in.queue_.push_back({std::chrono::steady_clock::now() + 2ms, suspended});
      }
      in.changed_.notify_one();
    }
    void await_resume() const noexcept {}
    slow_thread& in;
  };

 private:
  void run() {
    std::unique_lock lock{mutex_};
    while (!is_over_ || !queue_.empty()) {
      if (queue_.empty()) {
        changed_.wait(lock);
        continue;
      }
      auto const first = queue_.front();
      queue_.pop_front();
      lock.unlock();
      std::this_thread::sleep_until(first.first);
      first.second.resume();
      lock.lock();
    }
  }

  std::mutex mutex_{};
  std::condition_variable changed_{};
  std::deque<std::pair<std::chrono::steady_clock::time_point, std::coroutine_handle<>>> queue_{};
  bool is_over_ = false;
  std::thread thread_;
};

// Writes what it has looked at before: between the two lies a moment.
struct looks_and_writes {
  using request = store_request;

  keyspan::task<result<records>> list(text prefix, request const& within) {
    co_return in.list(prefix, within).value;
  }
  keyspan::task<result<stored_record>> read(text id, request const& within) {
    std::lock_guard const lock{mutex};
    co_return in.read(id, within).value;
  }
  keyspan::task<result<std::string>> create(text id, text body, request const& within) {
    co_return in.create(id, body, within).value;
  }
  keyspan::task<result<std::string>> replace(text id, text body, text version,
                                             request const& within) {
    auto const why = refused(id, version, within);
    if (why) co_return keyspan::unexpected{*why};
    if (is_hasty) co_await slow_thread::later{thread};
    std::lock_guard const lock{mutex};
    if (!is_hasty) co_return in.replace(id, body, version, within).value;
    co_return in.put(id, body);
  }
  keyspan::task<result<void>> remove(text id, text version, request const& within) {
    co_return in.remove(id, version, within).value;
  }
  std::optional<keyspan::error> refused(text id, text version, request const& within) {
    std::lock_guard const lock{mutex};
    if (auto why = in.refusal(within)) return why;
    return in.conflict(id, version);
  }

  bool is_hasty = true;
  shelf in{};
  std::mutex mutex{};
  slow_thread thread{};
};

TEST_CASE("a store that looks first and writes then is caught where several write at once") {
  looks_and_writes store;
  breaks(check_lease_store(store, {.records = 3}),
         "of writes that want one version one is done; replace: of 8 at once several are");
  looks_and_writes careful;
  careful.is_hasty = false;
  holds(check_lease_store(careful, {.records = 3}));
}

// ---- watches
// -------------------------------------------------------------------------------------

enum class ears { good, deaf, nervous, half };

struct watchful : memory_store<manual_clock> {
  watchful(manual_clock& clock, ears with) : memory_store{clock}, has{with} {}

  answering<void> watch(text prefix, store_request const& within) {
    using base = memory_store<manual_clock>;
    switch (has) {
      case ears::deaf:
        return base::watch("nobody.", within);
      case ears::nervous:
        return base::watch(prefix, {.deadline = keyspan::instant{} - 1h});
      case ears::half:  // hears of everything
        return base::watch("", within);
      default:
        return base::watch(prefix, within);
    }
  }
  ears has;
};

TEST_CASE("a store whose watches sleep, or hear what is not theirs, is caught") {
  manual_clock clock;
  watchful good{clock, ears::good};
  holds(check_lease_store(good, {.records = 3}));
  watchful deaf{clock, ears::deaf};
  breaks(check_lease_store(deaf, {.records = 3, .most_watched = 7}),
         "a watch is done when something was written; behind 7 writes it was not: stopped");
  holds(check_lease_store(deaf, {.records = 3, .most_watched = 0}));
  watchful half{clock, ears::half};
  breaks(check_lease_store(half, {.records = 3}), "a watch waits until something is written");
  watchful nervous{clock, ears::nervous};
  breaks(check_lease_store(nervous, {.records = 3}), "a watch ends when it is stopped; timed_out");
}

}  // namespace
