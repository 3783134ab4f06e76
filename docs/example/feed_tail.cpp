// Prints what changes in a container of Azure Cosmos DB, as it changes: a line each, with the range
// it is in, its position, and how far behind the newest change it is.
//
// It goes on where it was when it is given a file for its cursor, also when it was killed: the file
// moves on behind what was printed.
#include <keyspan/adapter/curl.hpp>
#include <keyspan/core/print.hpp>
#include <keyspan/cosmos.hpp>
#include <keyspan/keyspan.hpp>

#include <nlohmann/json.hpp>

#include <atomic>
#include <charconv>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <thread>

namespace {

namespace cosmos = keyspan::cosmos;
using document = nlohmann::json;
using container = cosmos::cosmos_container<document>;

constexpr std::string_view usage =
    R"(usage: feed_tail --endpoint URL --database D --container C [OPTIONS]

Prints each change as it comes: RANGE LSN LAG DOCUMENT, with tabs in between. The lag is how many
positions the newest change of the same partition is ahead.

The key of the account is in the environment variable COSMOS_KEY; or a token of Microsoft Entra ID
in COSMOS_TOKEN.

  --from beginning|now|TIME   where to begin: at a TIME such as 2026-11-19T08:30:00Z; now by default
  --cursor FILE               go on from there, if it exists, and keep the place in it
  --all-versions              every version and deletion, with a column for what happened; from now
  --poll MS                   how long to wait where nothing is new; 1000 by default
  --page N                    how many changes a page has at most
  --once                      end when nothing is new

Ends by an interrupt. Exit status: 2 where the usage is wrong, 1 where it cannot go on.
)";

struct settings {
  std::string endpoint{}, database{}, container{}, cursor_file{};
  keyspan::feed_start<keyspan::any_token> start{keyspan::from_now};
  keyspan::feed_mode mode = keyspan::feed_mode::latest_version;
  std::chrono::milliseconds poll{1000};
  std::uint32_t page_size = 0;
  bool once = false;
};

std::optional<std::uint32_t> number_in(std::string_view text) {
  std::uint32_t value = 0;
  auto const [end, why] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (why != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

bool read_start(std::string_view text, settings& to) {
  if (text == "beginning") {
    to.start = keyspan::from_beginning;
  } else if (text != "now") {
    auto const at = keyspan::read_time_text(text);
    if (!at) return false;
    to.start = keyspan::from_time{*at};
  }
  return true;
}

std::optional<settings> read_arguments(int count, char** arguments) {
  settings made;
  for (int i = 1; i < count; ++i) {
    std::string_view const name = arguments[i];
    if (name == "--once") {
      made.once = true;
      continue;
    }
    if (name == "--all-versions") {
      made.mode = keyspan::feed_mode::all_versions_and_deletes;
      continue;
    }
    if (++i == count) return std::nullopt;
    std::string_view const value = arguments[i];
    if (name == "--endpoint") {
      made.endpoint = value;
    } else if (name == "--database") {
      made.database = value;
    } else if (name == "--container") {
      made.container = value;
    } else if (name == "--cursor") {
      made.cursor_file = value;
    } else if (name == "--from") {
      if (!read_start(value, made)) return std::nullopt;
    } else if (name == "--poll" || name == "--page") {
      auto const number = number_in(value);
      if (!number || *number == 0) return std::nullopt;
      if (name == "--poll") made.poll = std::chrono::milliseconds{*number};
      if (name == "--page") made.page_size = *number;
    } else {
      return std::nullopt;
    }
  }
  if (made.endpoint.empty() || made.database.empty() || made.container.empty()) return std::nullopt;
  return made;
}

// An interrupt, seen by a thread that asks the reading to stop: a signal handler may not.
std::atomic<bool> is_interrupted{false};
static_assert(std::atomic<bool>::is_always_lock_free);

class interrupts {
 public:
  interrupts() {
    for (int const number : {SIGINT, SIGTERM})
      std::signal(number, [](int) { is_interrupted = true; });
  }
  ~interrupts() {
    is_over_ = true;
    watcher_.join();
  }
  keyspan::stop_token token() const { return stop_.token(); }

 private:
  keyspan::stop_source stop_{};
  std::atomic<bool> is_over_{false};
  std::thread watcher_{[this] {
    while (!is_over_ && !is_interrupted) std::this_thread::sleep_for(std::chrono::milliseconds{50});
    stop_.request_stop();
  }};
};

// [region: cursor]
// The cursor as it was kept last; nothing where there is no such file yet.
std::string read_cursor(std::string const& file) {
  std::ifstream in{file, std::ios::binary};
  return {std::istreambuf_iterator<char>{in}, {}};
}

// Whole or not at all: whoever is killed meanwhile finds the one before.
bool keep_cursor(std::string const& file, std::string_view text) {
  std::string const next = file + ".next";
  {
    std::ofstream out{next, std::ios::binary};
    out << text;
    if (!out.flush()) return false;
  }
  std::error_code why;
  std::filesystem::rename(next, file, why);
  return !why;
}
// [end: cursor]

int complain(keyspan::error const& why) {
  std::cerr << "feed_tail: " << why << "; " << keyspan::advice_for(why.code) << '\n';
  return 1;
}

// Whether it may be another time what it is not now.
bool passes(keyspan::error const& why) {
  switch (why.code) {
    case keyspan::errc::not_connected:
    case keyspan::errc::unavailable:
    case keyspan::errc::service_failed:
    case keyspan::errc::bad_response:
    case keyspan::errc::throttled:
    case keyspan::errc::timed_out:
    case keyspan::errc::session_not_available:
      return true;
    default:
      return false;
  }
}

template <class Page>
void print(keyspan::feed<container> const& changes, settings const& how, Page const& page) {
  std::string const range{keyspan::to_text(changes.range())};
  for (auto const& change : page.items) {
    std::cout << range << '\t' << change.lsn << '\t'
              << (page.lsn > change.lsn ? page.lsn - change.lsn : 0) << '\t';
    if (how.mode == keyspan::feed_mode::all_versions_and_deletes)
      std::cout << keyspan::name_of(change.kind) << '\t';
    std::cout << (change.item ? change->dump() : "{}") << '\n';
  }
  std::cout.flush();
}

keyspan::result<void> keep_place(keyspan::feed<container> const& changes, settings const& how) {
  if (how.cursor_file.empty() || keep_cursor(how.cursor_file, changes.cursor().to_text()))
    return {};
  return keyspan::fail(keyspan::errc::invalid_options, "the cursor cannot be kept in ",
                       keyspan::inline_text<80>{std::string_view{how.cursor_file}});
}

// Prints until it is stopped, or nothing is new and that is the end.
template <class Pages>
keyspan::result<void> print_all(Pages pages, keyspan::feed<container>& changes,
                                settings const& how) {
  for (auto const& page : pages) {
    if (!page) return keyspan::unexpected{page.error()};
    print(changes, how, *page);
    if (!std::cout) return keyspan::fail(keyspan::errc::stopped, "nobody reads any more");
    if (auto const kept = keep_place(changes, how); !kept) return kept;
  }
  return {};
}

int run(settings const& how, keyspan::service_endpoint const& endpoint, cosmos::credential who) {
  interrupts const interrupted;
  keyspan::curl_thread transfers;
  keyspan::curl_transport wire{transfers.loop(), endpoint};
  cosmos::cosmos_account account{wire, transfers.loop(), std::move(who)};
  auto opened = keyspan::sync_wait(account.open<document>(how.database, how.container));
  if (!opened) return complain(opened.error());

  keyspan::feed_request<keyspan::any_token> request{
      .start = how.start, .mode = how.mode, .page_size = how.page_size};
  request.stop = interrupted.token();
  if (auto const kept = how.cursor_file.empty() ? "" : read_cursor(how.cursor_file);
      !kept.empty()) {
    auto const place = keyspan::cursor_of(*opened, kept);
    if (!place) return complain(place.error());
    request.start = *place;
  }
  keyspan::feed changes{*opened, request};
  keyspan::thread_clock clock;
  for (;;) {
    // Now is now, also for who goes on from the file another time.
    auto ended = changes.open();
    if (ended) ended = keep_place(changes, how);
    if (ended)
      ended = how.once ? print_all(changes.pages(), changes, how)
                       : print_all(changes.follow(clock, how.poll).pages(), changes, how);
    if (ended) return 0;
    if (ended.error().code == keyspan::errc::stopped) return 0;
    if (how.once || !passes(ended.error())) return complain(ended.error());
    std::cerr << "feed_tail: " << ended.error() << "; trying again\n";
    auto const waited = keyspan::sync_wait(keyspan::wait_for(clock, how.poll, interrupted.token()));
    if (!waited) return 0;
  }
}

}  // namespace

int main(int count, char** arguments) {
  auto const how = read_arguments(count, arguments);
  if (!how) {
    std::cerr << usage;
    return 2;
  }
  auto const endpoint = keyspan::service_endpoint::parse(how->endpoint);
  if (!endpoint) return complain(endpoint.error());
  if (char const* const token = std::getenv("COSMOS_TOKEN"))
    return run(*how, *endpoint, cosmos::bearer_token{token});
  char const* const text = std::getenv("COSMOS_KEY");
  if (text == nullptr) {
    std::cerr << usage;
    return 2;
  }
  auto const key = cosmos::master_key::from(text);
  return key ? run(*how, *endpoint, *key) : complain(key.error());
}
