// Moves a container of Azure Cosmos DB to another partition key, while it is being written: copies
// every document by the change feed, follows, compares both, and says when to cut over. It may be
// killed at any moment, and goes on where it was. docs/guide/moving_a_container.md tells how.
//
// Without --from and --to it rehearses that in memory: customers write, partitions split, and the
// program that copies is killed again and again.
#include "migration.hpp"
#include "migration_rehearsal.hpp"

#include <keyspan/adapter/curl.hpp>
#include <keyspan/core/print.hpp>
#include <keyspan/cosmos.hpp>
#include <keyspan/keyspan.hpp>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <iomanip>
#include <iostream>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace {

namespace cosmos = keyspan::cosmos;
using namespace std::chrono_literals;
using moving::document;

constexpr std::string_view usage =
    R"(usage: migrate --from URL/DATABASE/CONTAINER --to URL/DATABASE/CONTAINER --target-key /PATH
               [OPTIONS]
       migrate [--seed N] [--kills N]      the same in memory, to look at

Copies every document of a container into another one with another partition key, which is made
where it is missing, and removes what is too much there. Ends when both are the same.

The keys of the accounts are in the environment variable COSMOS_KEY.

  --target-key /PATH    where documents have their new key; up to three times, for a hierarchy
  --watch               follow the source until an interrupt says that it is not written any more
  --all-versions        see at once what is removed or gets another key, where the source keeps that
  --leases DB/CONTAINER where the place is kept, in the account of the target; DATABASE/leases
  --name NAME           which of several migrations with the same leases; "migrate"
  --from-key VARIABLE   where else the key of the source's account is
  --to-key VARIABLE     and that of the target's
  --poll MS             how long to wait where nothing is new; 1000 by default
  --expiry MS           how long one that was killed is waited for; 10000 by default

Exit status: 0 where both are the same; 1 where they are not, or it cannot go on; 2 where the usage
is wrong.
)";

struct end_point {
  std::string url{}, database{}, container{}, key_variable{"COSMOS_KEY"};
};
struct settings {
  end_point from{}, to{};
  std::vector<std::string> target_key{};
  std::string lease_database{}, lease_container{"leases"}, name{"migrate"};
  bool watch = false;
  bool all_versions = false;
  std::chrono::milliseconds poll{1000};
  std::chrono::milliseconds expiry{10'000};
  std::uint64_t seed = 1;
  std::uint64_t kills = 4;

  bool is_rehearsal() const { return from.url.empty() && to.url.empty(); }
};

bool take_names(std::string_view text, std::string& database, std::string& container) {
  auto const slash = text.rfind('/');
  if (slash == text.npos) return false;
  database = text.substr(0, slash);
  container = text.substr(slash + 1);
  return !database.empty() && !container.empty();
}
bool take_end_point(std::string_view text, end_point& to) {
  if (!take_names(text, to.url, to.container)) return false;
  std::string const rest = to.url;
  return take_names(rest, to.url, to.database) && to.url.find("//") != to.url.npos;
}
bool take_number(std::string_view text, std::uint64_t& to) {
  auto const [end, why] = std::from_chars(text.data(), text.data() + text.size(), to);
  return why == std::errc{} && end == text.data() + text.size();
}

std::optional<settings> read_arguments(int count, char** arguments) {
  settings made;
  for (int i = 1; i < count; ++i) {
    std::string_view const name = arguments[i];
    if (name == "--watch" || name == "--all-versions") {
      (name == "--watch" ? made.watch : made.all_versions) = true;
      continue;
    }
    if (++i == count) return std::nullopt;
    std::string_view const value = arguments[i];
    std::uint64_t number = 0;
    bool is_good = !value.empty();
    if (name == "--from") {
      is_good = take_end_point(value, made.from);
    } else if (name == "--to") {
      is_good = take_end_point(value, made.to);
    } else if (name == "--target-key") {
      made.target_key.emplace_back(value);
    } else if (name == "--leases") {
      is_good = take_names(value, made.lease_database, made.lease_container);
    } else if (name == "--name") {
      made.name = value;
    } else if (name == "--from-key") {
      made.from.key_variable = value;
    } else if (name == "--to-key") {
      made.to.key_variable = value;
    } else if (name == "--poll" || name == "--expiry") {
      is_good = take_number(value, number) && number >= 10 && number < 3'600'000;
      (name == "--poll" ? made.poll : made.expiry) = std::chrono::milliseconds{number};
    } else if (name == "--seed") {
      is_good = take_number(value, made.seed);
    } else if (name == "--kills") {
      is_good = take_number(value, made.kills) && made.kills <= 1000;
    } else {
      is_good = false;
    }
    if (!is_good) return std::nullopt;
  }
  if (made.lease_database.empty()) made.lease_database = made.to.database;
  bool const is_whole = !made.from.url.empty() && !made.to.url.empty() && !made.target_key.empty();
  return made.is_rehearsal() || is_whole ? std::optional{made} : std::nullopt;
}

int complain(keyspan::error const& why) {
  std::cerr << "migrate: " << why << "; " << keyspan::advice_for(why.code) << '\n';
  return 1;
}

// ---- what is said ------------------------------------------------------------------------------

// A line where something is new.
class reporter {
 public:
  void operator()(moving::progress const& at) {
    std::ostringstream line;
    auto const& all = at.counted;
    line << name_of(at.what) << ": " << all.created << " created, " << all.replaced << " replaced, "
         << all.removed << " removed, " << all.same << " known, " << all.collided << " collided, "
         << all.parked << " parked";
    if (line.str() != last_) {
      std::cout << line.str();
      if (at.behind) std::cout << "; " << *at.behind << " behind";
      std::cout << std::endl;
    }
    last_ = line.str();
    bool const is_ready = at.what == moving::phase::ready;
    if (is_ready && !was_ready_)
      std::cout << "ready to cut over: " << at.last->documents
                << " documents are the same, but for the last changes; stop writing, then "
                   "interrupt this program"
                << std::endl;
    was_ready_ = is_ready;
  }
  // Each document once.
  void operator()(std::string_view what, moving::place const& from, keyspan::error const& why) {
    if (troubled_.insert(std::string{what} + from.to_text()).second)
      std::cerr << "migrate: " << what << ": " << from.to_text() << ": " << why.text.view() << '\n';
  }
  // What goes wrong, and is tried again.
  void operator()(keyspan::processor_event const& event) {
    if (event.why == nullptr) return;
    std::string const said{event.why->text.view()};
    if (said != last_trouble_)
      std::cerr << "migrate: " << name_of(event.kind) << ": " << *event.why << '\n';
    last_trouble_ = said;
  }

 private:
  std::string last_{};
  std::string last_trouble_{};
  std::set<std::string> troubled_{};
  bool was_ready_ = false;
};

int conclude(keyspan::result<moving::verification> const& done) {
  if (!done) return complain(done.error());
  auto const sum = [](std::uint64_t value) {
    std::ostringstream text;
    text << std::hex << std::setw(16) << std::setfill('0') << value;
    return text.str();
  };
  std::cout << "source: " << done->documents << " documents, checksum " << sum(done->source_sum)
            << "\ntarget: " << done->copies << " documents, checksum " << sum(done->target_sum)
            << '\n';
  for (auto const& [from, why] : done->parked)
    std::cout << "parked " << from << ": " << why << '\n';
  for (auto const& [from, to] : done->collided)
    std::cout << "collided " << from << ": another document is at " << to << '\n';
  std::cout << (done->is_same() ? "verified: cut over\n" : "NOT the same\n");
  return done->is_same() ? 0 : 1;
}

// ---- in memory ---------------------------------------------------------------------------------

int rehearse(settings const& how) {
  reporter report;
  moving::rehearsal_options options;
  options.seed = how.seed;
  options.writes = 1500;
  options.kills = static_cast<int>(how.kills);
  options.sees_removals = how.all_versions;
  options.on_event = [](std::string_view what) { std::cout << "* " << what << '\n'; };
  options.on_progress = [&, looked = 0,
                         before = moving::phase::comparing](moving::progress const& at) mutable {
    if (at.what != before || at.what == moving::phase::comparing || looked++ % 50 == 0) report(at);
    before = at.what;
  };
  moving::rehearsal world{std::move(options)};
  return conclude(world.run());
}

// ---- over wires --------------------------------------------------------------------------------

// Interrupts, seen by a thread: the first one says that the source is not written any more, where
// that is waited for, the next one that it is enough.
std::atomic<int> interrupts_seen{0};
static_assert(std::atomic<int>::is_always_lock_free);

class interrupts {
 public:
  explicit interrupts(bool is_waited_for) : is_waited_for_{is_waited_for} {
    for (int const number : {SIGINT, SIGTERM}) std::signal(number, [](int) { ++interrupts_seen; });
  }
  ~interrupts() {
    is_over_ = true;
    watcher_.join();
  }
  keyspan::stop_token finish() const { return finish_.token(); }
  keyspan::stop_token stop() const { return stop_.token(); }

 private:
  void watch() {
    while (!is_over_) {
      int const seen = interrupts_seen;
      if (seen > 0) finish_.request_stop();
      if (seen > (is_waited_for_ ? 1 : 0)) stop_.request_stop();
      std::this_thread::sleep_for(20ms);
    }
  }

  bool is_waited_for_;
  keyspan::stop_source finish_{};
  keyspan::stop_source stop_{};
  std::atomic<bool> is_over_{false};
  std::thread watcher_{[this] { watch(); }};
};

// An account, and how it is reached.
class connection {
 public:
  connection(keyspan::curl_loop& loop, keyspan::service_endpoint const& endpoint,
             cosmos::master_key key)
      : wire_{loop, endpoint}, account_{wire_, loop, std::move(key)} {}
  auto& account() { return account_; }

 private:
  keyspan::curl_transport wire_;
  cosmos::cosmos_account<keyspan::curl_transport, keyspan::curl_loop> account_;
};

keyspan::result<cosmos::master_key> key_of(end_point const& at) {
  char const* const text = std::getenv(at.key_variable.c_str());
  if (text == nullptr)
    return keyspan::fail(keyspan::errc::invalid_options, "there is no environment variable ",
                         keyspan::inline_text<40>{std::string_view{at.key_variable}});
  return cosmos::master_key::from(text);
}

// [region: make]
// Makes a container, unless there is one.
template <class Account>
keyspan::task<keyspan::result<void>> make(Account& in, std::string database, std::string container,
                                          keyspan::key_paths paths) {
  auto const address = cosmos::container_address::from(database, container);
  if (!address) co_return keyspan::unexpected{address.error()};
  auto creating = in.ask(cosmos::create_container(*address, paths));
  auto const created = co_await std::move(creating);
  if (!created && created.error().code != keyspan::errc::already_exists)
    co_return keyspan::unexpected{created.error()};
  co_return keyspan::result<void>{};
}
// [end: make]

keyspan::task<keyspan::result<moving::verification>> move_all(
    settings const& how, connection& source, connection& target, keyspan::curl_loop& loop,
    keyspan::key_paths new_key, interrupts const& interrupted, reporter& report) {
  auto making = make(target.account(), how.to.database, how.to.container, new_key);
  auto made = co_await std::move(making);
  if (!made) co_return keyspan::unexpected{made.error()};
  constexpr std::string_view id = "/id";
  auto making_leases = make(target.account(), how.lease_database, how.lease_container,
                            *keyspan::key_paths::parse({&id, 1}));
  made = co_await std::move(making_leases);
  if (!made) co_return keyspan::unexpected{made.error()};

  // [region: connect]
  auto opening = source.account().open<document>(how.from.database, how.from.container);
  auto from = co_await std::move(opening);
  if (!from) co_return keyspan::unexpected{from.error()};
  auto opening_copies = target.account().open<document>(how.to.database, how.to.container);
  auto to = co_await std::move(opening_copies);
  if (!to) co_return keyspan::unexpected{to.error()};
  if (to->properties().paths != new_key)
    co_return keyspan::fail(keyspan::errc::wrong_container, "the target has another key");
  cosmos::lease_store_options const plainly{.scheme = from->scheme()};
  auto opening_leases = cosmos::cosmos_lease_store::open(target.account(), how.lease_database,
                                                         how.lease_container, plainly);
  auto leases = co_await std::move(opening_leases);
  if (!leases) co_return keyspan::unexpected{leases.error()};
  // [end: connect]

  // [region: options]
  moving::migration_options<keyspan::any_token> options;
  options.processing.lease_prefix = how.name + ".";
  options.processing.feed_poll_delay = how.poll;
  options.processing.lanes = 8;           // writes at the same time, of each range
  options.processing.settle_window = 0s;  // it is mostly alone
  options.processing.lease_renew_interval = 3s;
  options.processing.lease_acquire_interval = 3s;
  options.processing.lease_expiration_interval = 10s;  // who was killed is waited for so long
  // [end: options]
  options.processing.on_event = [&](keyspan::processor_event const& event) { report(event); };
  options.poll = how.poll;
  options.goes_on = how.watch;
  options.sees_removals = how.all_versions;
  options.finish = interrupted.finish();
  options.stop = interrupted.stop();
  options.on_progress = [&](moving::progress const& at) { report(at); };
  options.on_trouble = [&](std::string_view what, moving::place const& at,
                           keyspan::error const& why) { report(what, at, why); };
  // [region: migrate]
  moving::migration all{*from, from->properties().paths, *to, std::move(new_key), *leases,
                        loop,  std::move(options)};
  auto running = all.run();
  auto done = co_await std::move(running);
  // [end: migrate]
  co_return done;
}

int move_over_wires(settings const& how) {
  auto const source_at = keyspan::service_endpoint::parse(how.from.url);
  if (!source_at) return complain(source_at.error());
  auto const target_at = keyspan::service_endpoint::parse(how.to.url);
  if (!target_at) return complain(target_at.error());
  auto source_key = key_of(how.from);
  if (!source_key) return complain(source_key.error());
  auto target_key = key_of(how.to);
  if (!target_key) return complain(target_key.error());
  std::vector<std::string_view> const texts(how.target_key.begin(), how.target_key.end());
  auto const paths = keyspan::key_paths::parse(texts);
  if (!paths) return complain(paths.error());

  interrupts const interrupted{how.watch};
  reporter report;
  keyspan::curl_loop loop;
  connection source{loop, *source_at, *std::move(source_key)};
  connection target{loop, *target_at, *std::move(target_key)};
  return conclude(loop.complete(move_all(how, source, target, loop, *paths, interrupted, report)));
}

}  // namespace

int main(int count, char** arguments) {
  auto const how = read_arguments(count, arguments);
  if (!how) {
    std::cerr << usage;
    return 2;
  }
  return how->is_rehearsal() ? rehearse(*how) : move_over_wires(*how);
}
