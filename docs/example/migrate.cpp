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
#include <iterator>
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
       migrate [--seed N] [--kills N]      rehearses in memory, to look at

Copies every document of a container into another one with another partition key, which is made
where it is missing, and removes what is too much there. Ends when both are the same.

The keys of the accounts are in the environment variable COSMOS_KEY.

  --target-key /PATH    where documents have their new key; up to three times, for a hierarchy
  --overwrite           take a target that has documents which this migration did not write: those
                        that are not in the source are removed
  --watch               follow the source until an interrupt says that it is not written any more
  --all-versions        see at once what is removed or gets another key, where the source keeps that
  --leases DB/CONTAINER where the place is kept, in the account of the target; DATABASE/leases
  --name NAME           which of several migrations between the same containers; "migrate"
  --from-key VARIABLE   where else the key of the source's account is
  --to-key VARIABLE     and that of the target's
  --poll MS             how long to wait where nothing is new; 1000 by default
  --expiry MS           how long one that was killed is waited for; 10000 by default, 1000 at least
  --help                this

What it says while it runs counts what it did since this start:
  created, replaced, removed   copies that it wrote
  known       what was there already as it should be
  collided    not copied: another document has the same id under the same new key
  parked      not copied: it has no new key, or is wrong in itself; each is named with why
  behind      changes of the source that are not handled yet, by anybody

Exit status: 0 where both are the same; 1 where they are not, or it cannot go on; 2 where the usage
is wrong.
)";

struct end_point {
  std::string option{};  // that names it
  std::string url{}, database{}, container{}, key_variable{"COSMOS_KEY"};

  bool is_given() const { return !url.empty(); }
  std::string to_text() const { return option + ' ' + url + '/' + database + '/' + container; }
  friend bool operator==(end_point const& a, end_point const& b) {
    return a.url == b.url && a.database == b.database && a.container == b.container;
  }
};
struct settings {
  end_point from{.option = "--from"}, to{.option = "--to"};
  std::vector<std::string> target_key{};
  std::string lease_database{}, lease_container{"leases"}, name{"migrate"};
  bool overwrites = false;
  bool watch = false;
  bool all_versions = false;
  std::chrono::milliseconds poll{1000};
  std::chrono::milliseconds expiry{10'000};
  std::uint64_t seed = 1;
  std::uint64_t kills = 4;
  bool wants_help = false;
  bool is_rehearsal = false;

  end_point leases() const { return {"--leases", to.url, lease_database, lease_container}; }
};

bool take_names(std::string_view text, std::string& database, std::string& container) {
  auto const slash = text.rfind('/');
  if (slash == text.npos) return false;
  database = text.substr(0, slash);
  container = text.substr(slash + 1);
  return !database.empty() && !container.empty();
}
bool take_number(std::string_view text, std::uint64_t& to) {
  auto const [end, why] = std::from_chars(text.data(), text.data() + text.size(), to);
  return why == std::errc{} && end == text.data() + text.size();
}

// What is wrong with the command line, in a sentence.
template <class... Pieces>
keyspan::unexpected mistake(Pieces const&... pieces) {
  return keyspan::fail(keyspan::errc::invalid_options, pieces...);
}

// Values are not repeated before they are known to be what they should be: a key may have got
// there.
keyspan::result<void> take_end_point(std::string_view text, end_point& to) {
  std::string rest;
  if (!take_names(text, rest, to.container) || !take_names(rest, to.url, to.database))
    return mistake(to.option, " is URL/DATABASE/CONTAINER");
  auto const at = keyspan::service_endpoint::parse(to.url);
  if (!at) return mistake(to.option, ": ", at.error().text.view());
  to.url = at->to_text();  // in the same words, whoever wrote it
  auto const names = cosmos::container_address::from(to.database, to.container);
  if (!names) return mistake(to.option, ": ", names.error().text.view());
  return {};
}
keyspan::result<void> take_milliseconds(std::string_view option, std::string_view text,
                                        std::uint64_t least, std::chrono::milliseconds& to) {
  std::uint64_t number = 0;
  if (!take_number(text, number) || number < least || number >= 3'600'000)
    return mistake(option, " is a number of milliseconds, ", least,
                   " at least and less than an hour");
  to = std::chrono::milliseconds{number};
  return {};
}
keyspan::result<void> take_variable(std::string_view option, std::string_view text,
                                    std::string& to) {
  auto const is_of_name = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  };
  if (text.empty() || text.size() > 40 || !std::all_of(text.begin(), text.end(), is_of_name))
    return mistake(option, " is the name of an environment variable, and never the key itself");
  to = text;
  return {};
}

// Longer ones would not leave room for what stands behind them in the ids of leases.
bool is_name(std::string_view text) {
  return !text.empty() && text.size() <= 60 && keyspan::is_lease_prefix(text);
}

keyspan::result<void> take_option(std::string_view option, std::string_view value, settings& to) {
  if (option == "--from") return take_end_point(value, to.from);
  if (option == "--to") return take_end_point(value, to.to);
  if (option == "--from-key") return take_variable(option, value, to.from.key_variable);
  if (option == "--to-key") return take_variable(option, value, to.to.key_variable);
  if (option == "--poll") return take_milliseconds(option, value, 10, to.poll);
  if (option == "--expiry") return take_milliseconds(option, value, 1000, to.expiry);
  if (option == "--target-key") {
    to.target_key.emplace_back(value);
    std::vector<std::string_view> const texts(to.target_key.begin(), to.target_key.end());
    if (auto const paths = keyspan::key_paths::parse(texts); !paths)
      return mistake("--target-key: ", paths.error().text.view());
  } else if (option == "--leases") {
    if (!take_names(value, to.lease_database, to.lease_container))
      return mistake("--leases is DATABASE/CONTAINER, in the account of the target");
    auto const names = cosmos::container_address::from(to.lease_database, to.lease_container);
    if (!names) return mistake("--leases: ", names.error().text.view());
  } else if (option == "--name") {
    to.name = value;
    if (!is_name(value))
      return mistake("--name is 1 to 60 letters, digits, '.', '-' and '_', the first no dot");
  } else if (option == "--seed") {
    if (!take_number(value, to.seed)) return mistake("--seed is a number");
  } else if (option == "--kills") {
    if (!take_number(value, to.kills) || to.kills > 1000)
      return mistake("--kills is a number, 1000 at most");
  }
  return {};
}

// How leases are shared, and how changes are read.
keyspan::processor_options<keyspan::any_token> processing_of(settings const& how) {
  // [region: options]
  keyspan::processor_options<keyspan::any_token> made;
  made.feed_poll_delay = how.poll;
  made.lanes = 8;                               // writes at the same time, of each range
  made.settle_window = 0s;                      // it is mostly alone
  made.lease_expiration_interval = how.expiry;  // who was killed is waited for so long
  made.lease_renew_interval = std::min<std::chrono::milliseconds>(3s, how.expiry / 3);
  made.lease_acquire_interval = made.lease_renew_interval;
  made.layout_poll_interval = std::min(made.layout_poll_interval, made.lease_renew_interval);
  made.store_timeout = std::min<keyspan::instant::duration>(made.store_timeout, how.expiry / 2);
  // [end: options]
  return made;
}

// What is wrong with all of it together.
keyspan::result<void> check(settings const& how, std::string_view of_move,
                            std::string_view of_rehearsal) {
  if (how.is_rehearsal) return {};
  if (!of_rehearsal.empty())
    return mistake(of_rehearsal, " is for the rehearsal, and that has no ",
                   keyspan::inline_text<40>{of_move});
  for (auto const* const one : {&how.from, &how.to})
    if (!one->is_given())
      return mistake(one->option, " is missing: ", keyspan::inline_text<40>{of_move},
                     " needs --from, --to and --target-key");
  if (how.target_key.empty()) return mistake("--target-key is missing: --from and --to need it");
  if (how.from == how.to) return mistake("--from and --to are the same container");
  if (how.to == how.leases())
    return mistake(
        "--to and --leases are the same container: leases would be removed as documents");
  if (how.from == how.leases())
    return mistake(
        "--from and --leases are the same container: leases would be copied as documents");
  if (auto const good = sound(processing_of(how)); !good) return mistake(good.error().text.view());
  return {};
}

keyspan::result<settings> read_arguments(int count, char** arguments) {
  constexpr std::string_view flags[]{"--watch", "--all-versions", "--overwrite"};
  constexpr std::string_view valued[]{"--from",   "--to",       "--target-key", "--leases",
                                      "--name",   "--from-key", "--to-key",     "--poll",
                                      "--expiry", "--seed",     "--kills"};
  settings made;
  std::string_view of_move, of_rehearsal;  // the first options of each
  for (int i = 1; i < count; ++i) {
    std::string_view const option = arguments[i];
    if (option == "--help" || option == "-h") {
      made.wants_help = true;
      return made;
    }
    bool const is_flag = std::find(std::begin(flags), std::end(flags), option) != std::end(flags);
    if (!is_flag && std::find(std::begin(valued), std::end(valued), option) == std::end(valued)) {
      if (!option.starts_with("--"))
        return mistake("word ", i, " of the command line is no option, and belongs to none");
      return mistake("there is no option ",
                     keyspan::inline_text<40>{option.substr(0, option.find('='))});
    }
    auto& first = option == "--seed" || option == "--kills" ? of_rehearsal : of_move;
    if (first.empty()) first = option;
    if (is_flag) {
      (option == "--watch"          ? made.watch
       : option == "--all-versions" ? made.all_versions
                                    : made.overwrites) = true;
      continue;
    }
    if (++i == count || std::string_view{arguments[i]}.empty())
      return mistake(option, " is followed by a value");
    if (auto const taken = take_option(option, arguments[i], made); !taken)
      return keyspan::unexpected{taken.error()};
  }
  if (made.lease_database.empty()) made.lease_database = made.to.database;
  made.is_rehearsal = of_move.empty();
  if (auto const good = check(made, of_move, of_rehearsal); !good)
    return keyspan::unexpected{good.error()};
  return made;
}

int complain(keyspan::error const& why, std::string_view where = {}) {
  std::cerr << "migrate: " << where << (where.empty() ? "" : ": ") << why << "; "
            << keyspan::advice_for(why.code) << '\n';
  return 1;
}
int explain_usage(keyspan::error const& why) {
  std::cerr << "migrate: " << why.text.view() << "\n\n" << usage;
  return 2;
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
         << all.parked << " parked since this start";
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

int conclude(keyspan::result<moving::verification> const& done, std::string_view where,
             std::string_view when_same) {
  if (!done) return complain(done.error(), where);
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
  std::cout << (done->is_same() ? when_same : "NOT the same") << '\n';
  return done->is_same() ? 0 : 1;
}

// ---- in memory ---------------------------------------------------------------------------------

int rehearse(settings const& how) {
  std::cout << "a rehearsal in memory: no account is asked for anything" << std::endl;
  reporter report;
  moving::rehearsal_options options;
  options.seed = how.seed;
  options.writes = 1500;
  options.kills = static_cast<int>(how.kills);
  options.on_event = [](std::string_view what) { std::cout << "* " << what << '\n'; };
  options.on_progress = [&, looked = 0,
                         before = moving::phase::comparing](moving::progress const& at) mutable {
    if (at.what != before || at.what == moving::phase::comparing || looked++ % 50 == 0) report(at);
    before = at.what;
  };
  moving::rehearsal world{std::move(options)};
  return conclude(world.run(), {}, "rehearsed: both were the same in the end");
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

// Says the option and the variable, and nothing of a key.
keyspan::result<cosmos::master_key> key_of(end_point const& at) {
  char const* const text = std::getenv(at.key_variable.c_str());
  if (text == nullptr || *text == '\0')
    return mistake(at.option, ": its account's key is not in the environment variable ",
                   at.key_variable, "; ", at.option, "-key names another one");
  auto key = cosmos::master_key::from(text);
  if (!key)
    return mistake(at.option, ": the environment variable ", at.key_variable,
                   " has no key of an account, which is a text in base64");
  return key;
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

// What the leases of a migration begin with: those of its name between these two containers, as
// long as neither is made anew.
std::string prefix_of(settings const& how, std::string_view from, std::string_view to) {
  std::ostringstream both;
  for (auto const& [one, id] : {std::pair{&how.from, from}, std::pair{&how.to, to}})
    both << one->url << '/' << one->database << '/' << one->container << '/' << id << '\n';
  auto const hash = keyspan::murmur3_128(both.str());
  return how.name + '.' + std::string{keyspan::session_id{hash.h1}.to_text().view()} + '.';
}

// `where` says what it is about, in case of trouble.
keyspan::task<keyspan::result<moving::verification>> move_all(
    settings const& how, connection& source, connection& target, keyspan::curl_loop& loop,
    keyspan::key_paths new_key, interrupts const& interrupted, reporter& report,
    std::string& where) {
  // [region: connect]
  // The source first: where that is missing, nothing is made.
  where = how.from.to_text() + ", its key in " + how.from.key_variable;
  auto opening = source.account().open<document>(how.from.database, how.from.container);
  auto from = co_await std::move(opening);
  if (!from) co_return keyspan::unexpected{from.error()};

  where = how.to.to_text() + ", its key in " + how.to.key_variable;
  auto making = make(target.account(), how.to.database, how.to.container, new_key);
  auto made = co_await std::move(making);
  if (!made) co_return keyspan::unexpected{made.error()};
  std::string const leases_at = how.leases().to_text() + ", its key in " + how.to.key_variable;
  where = leases_at;
  constexpr std::string_view id = "/id";
  auto making_leases = make(target.account(), how.lease_database, how.lease_container,
                            *keyspan::key_paths::parse({&id, 1}));
  made = co_await std::move(making_leases);
  if (!made) co_return keyspan::unexpected{made.error()};

  where = how.to.to_text();
  auto opening_copies = target.account().open<document>(how.to.database, how.to.container);
  auto to = co_await std::move(opening_copies);
  if (!to) co_return keyspan::unexpected{to.error()};
  if (to->properties().paths != new_key)
    co_return keyspan::fail(keyspan::errc::invalid_options,
                            "it has another key than --target-key says");
  where = leases_at;
  cosmos::lease_store_options const plainly{.scheme = from->scheme()};
  auto opening_leases = cosmos::cosmos_lease_store::open(target.account(), how.lease_database,
                                                         how.lease_container, plainly);
  auto leases = co_await std::move(opening_leases);
  if (!leases) co_return keyspan::unexpected{leases.error()};
  // [end: connect]

  where = how.to.to_text();
  // [region: options]
  moving::migration_options<keyspan::any_token> options;
  options.processing = processing_of(how);
  options.processing.lease_prefix = prefix_of(how, from->container(), to->container());
  // [end: options]
  auto asking = moving::is_its_own_target(*to, *leases, options.processing.lease_prefix);
  auto const is_its_own = co_await std::move(asking);
  if (!is_its_own) co_return keyspan::unexpected{is_its_own.error()};
  if (!*is_its_own && !how.overwrites)
    co_return keyspan::fail(keyspan::errc::invalid_options,
                            "it has documents that this migration did not write, and would lose "
                            "those that are not in the source; --overwrite takes it so");
  where.clear();
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
  if (!source_at) return complain(source_at.error(), how.from.option);
  auto const target_at = keyspan::service_endpoint::parse(how.to.url);
  if (!target_at) return complain(target_at.error(), how.to.option);
  auto source_key = key_of(how.from);
  if (!source_key) return explain_usage(source_key.error());
  auto target_key = key_of(how.to);
  if (!target_key) return explain_usage(target_key.error());
  std::vector<std::string_view> const texts(how.target_key.begin(), how.target_key.end());
  auto const paths = keyspan::key_paths::parse(texts);
  if (!paths) return complain(paths.error());

  interrupts const interrupted{how.watch};
  reporter report;
  keyspan::curl_loop loop;
  connection source{loop, *source_at, *std::move(source_key)};
  connection target{loop, *target_at, *std::move(target_key)};
  std::string where;
  auto moving_all = move_all(how, source, target, loop, *paths, interrupted, report, where);
  auto const done = loop.complete(std::move(moving_all));
  return conclude(done, where, "verified: cut over");
}

}  // namespace

int main(int count, char** arguments) {
  auto const how = read_arguments(count, arguments);
  if (!how) return explain_usage(how.error());
  if (how->wants_help) {
    std::cout << usage;
    return 0;
  }
  return how->is_rehearsal ? rehearse(*how) : move_over_wires(*how);
}
