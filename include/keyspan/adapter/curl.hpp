// keyspan/adapter/curl.hpp — a transport over libcurl, and the event loop that it runs in.
//
//   curl_loop loop;                           a clock, too: wait_for(loop, 5ms)
//   curl_transport shop{loop, endpoint};      any number of them over one loop
//   loop.complete(work(shop));                this thread runs the transfers, and all that waits
#pragma once

#include <keyspan/async/awaitable.hpp>
#include <keyspan/async/clock.hpp>
#include <keyspan/async/frame_memory.hpp>
#include <keyspan/async/instant.hpp>
#include <keyspan/async/manual_clock.hpp>
#include <keyspan/async/run_loop.hpp>
#include <keyspan/async/stop_token.hpp>
#include <keyspan/async/sync_wait.hpp>
#include <keyspan/async/task.hpp>
#include <keyspan/core/contract.hpp>
#include <keyspan/core/error.hpp>
#include <keyspan/core/result.hpp>
#include <keyspan/core/text.hpp>
#include <keyspan/core/version.hpp>
#include <keyspan/transport/endpoint.hpp>
#include <keyspan/transport/http_request.hpp>
#include <keyspan/transport/message.hpp>
#include <keyspan/transport/transport.hpp>

#include <curl/curl.h>

#include <algorithm>
#include <chrono>
#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <set>
#include <source_location>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#if LIBCURL_VERSION_NUM < 0x075000
#error "keyspan's transport needs libcurl 7.80 or newer: it is told before a request is sent."
#endif

namespace keyspan {

/// How a `curl_transport` connects, and how much it lets a service say.
struct curl_options {
  /// For one connection with all of its handshakes.
  instant::duration connect_timeout = std::chrono::seconds{10};
  /// For a request without a deadline, from its turn until the last byte of its answer.
  instant::duration answer_timeout = std::chrono::seconds{65};
  /// How many requests are under way at once, each over a connection of its own unless they share
  /// one by HTTP/2. Those that are more wait.
  std::size_t most_connections = 64;
  /// A larger body is `too_large`.
  std::size_t largest_body = std::size_t{128} << 20;
  /// The same for all headers of one answer together.
  std::size_t largest_header = std::size_t{256} << 10;
  /// Whether HTTP/2 is offered where there is TLS.
  bool http2 = true;
  /// "http://proxy.example:3128". None: what the environment says, as libcurl reads it. Empty: no
  /// proxy.
  std::optional<std::string> proxy{};
  /// Whether certificates are looked at. Without that anybody may read along.
  bool verify = true;
  /// Whose signatures are good, in PEM; empty for those of the system.
  std::string ca_file{};

  friend bool operator==(curl_options const&, curl_options const&) = default;
};

namespace detail {

class curl_transfer;
class curl_engine;
struct curl_settings;

// An easy handle of one transport, which is used again and again.
class curl_handle {
 public:
  curl_handle() : easy_{curl_easy_init()} {
    if (easy_ == nullptr) throw_bad_alloc();
  }
  curl_handle(curl_handle const&) = delete;
  curl_handle& operator=(curl_handle const&) = delete;
  ~curl_handle() {
    curl_easy_cleanup(easy_);
    curl_slist_free_all(headers_);
  }

  CURL* easy() const noexcept { return easy_; }

  curl_transfer& transfer() const noexcept { return *transfer_; }

  // Whether there is memory for all of it.
  bool configure(curl_settings const& of);
  bool prepare(curl_transfer& of);
  // The transfer is over.
  void forget() {
    transfer_ = nullptr;
    set(CURLOPT_HTTPHEADER, nullptr);
    set(CURLOPT_POSTFIELDS, nullptr);
    curl_slist_free_all(std::exchange(headers_, nullptr));
  }

  bool is_about_form_of_proxy() const noexcept {
    return std::string_view{words_}.starts_with("Unsupported proxy");
  }
  // libcurl's own words, unless they could repeat a part of an address or of an answer.
  inline_text<120> words_for(CURLcode code) const;

  template <class T>
  T info(CURLINFO which) const noexcept {
    T value{};
    curl_easy_getinfo(easy_, which, &value);
    return value;
  }

 private:
  [[noreturn]] static void throw_bad_alloc() {
#if KEYSPAN_EXCEPTIONS
    throw std::bad_alloc{};
#else
    promise_broken("there is memory for a handle of libcurl", std::source_location::current());
#endif
  }

  template <class Value>
  bool set(CURLoption option, Value value) const noexcept {
    return curl_easy_setopt(easy_, option, value) == CURLE_OK;
  }
  bool set(CURLoption option, bool value) const noexcept { return set(option, value ? 1L : 0L); }
  bool set(CURLoption option, std::string const& value) const noexcept {
    return set(option, value.c_str());
  }
  bool add_header(std::string const& line) noexcept {
    curl_slist* const longer = curl_slist_append(headers_, line.c_str());
    if (longer == nullptr) return false;
    headers_ = longer;
    return true;
  }

  static std::size_t on_body(char* bytes, std::size_t, std::size_t size, void* self) noexcept;
  static std::size_t on_header(char* bytes, std::size_t, std::size_t size, void* self) noexcept;
  static int on_connected(void* self, char*, char*, int, int) noexcept;

  CURL* easy_;
  curl_slist* headers_ = nullptr;
  curl_transfer* transfer_ = nullptr;
  char words_[CURL_ERROR_SIZE]{};
};

// What all transfers of one transport have in common; they may outlive it.
struct curl_settings {
  curl_settings(service_endpoint to, curl_options with)
      : where{std::move(to)},
        options{std::move(with)},
        url{where.to_text()},
        authority{std::string_view{where.authority()}} {}

  service_endpoint where;
  curl_options options;
  std::string url;  // without a slash at its end
  inline_text<80> authority;

  // An HTTP proxy is told the whole address. Whether there is one by the environment only libcurl
  // knows; then it puts the target together, as it does with addresses of all kinds.
  bool may_ask_a_proxy() const noexcept {
    return !where.is_secure && !(options.proxy && options.proxy->empty());
  }

  // Of the loop's thread alone.
  std::size_t under_way = 0;
  wait_link waiting{};  // for one of those that are under way to end
  std::vector<std::unique_ptr<curl_handle>> idle{};
};

struct curl_link : wait_link {
  explicit curl_link(curl_transfer& of_whom) noexcept : of{of_whom} {}
  curl_transfer& of;
};

constexpr std::string_view without_blanks(std::string_view text) noexcept {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

// One request on its way. Until it is over the engine has it, or it is waiting to be begun; then
// it is who awaits it that has it.
class curl_transfer {
 public:
  using waiter = loop_door::waiter;

  static void* operator new(std::size_t size) { return recycled_memory(size); }
  static void operator delete(void* memory, std::size_t size) noexcept {
    recycle_memory(memory, size);
  }

  curl_transfer(curl_engine& by, std::shared_ptr<curl_settings> settings, request asked)
      : engine{by}, of{std::move(settings)}, what{std::move(asked)} {}

  // Whether a byte of it went out.
  bool was_sent(curl_handle const& with) const noexcept {
    return has_connected && with.info<long>(CURLINFO_REQUEST_SIZE) > bytes_before;
  }

  // What comes in: false ends the transfer.
  bool take_body(CURL* easy, std::string_view bytes) {
    response& into = *answer;
    if (into.body.empty()) {
      curl_off_t announced = -1;
      curl_easy_getinfo(easy, CURLINFO_CONTENT_LENGTH_DOWNLOAD_T, &announced);
      auto const size = announced < 0 ? std::uintmax_t{0} : static_cast<std::uintmax_t>(announced);
      if (size > of->options.largest_body) return end_for(cause::large_body);
      // What is only announced is not believed for ever.
      if (size > bytes.size())
        into.body.reserve(static_cast<std::size_t>((std::min)(size, std::uintmax_t{1} << 22)));
    }
    if (bytes.size() > of->options.largest_body - into.body.size())
      return end_for(cause::large_body);
    into.body.append(bytes);
    return true;
  }

  bool take_header(std::string_view line) {
    header_bytes += line.size();
    if (header_bytes > of->options.largest_header) return end_for(cause::large_header);
    if (is_answered) return true;  // a trailer
    while (!line.empty() && (line.back() == '\n' || line.back() == '\r')) line.remove_suffix(1);
    response& into = *answer;
    if (status == 0) {
      std::string_view const code = line.substr((std::min)(line.find(' '), line.size()));
      for (char const c : without_blanks(code).substr(0, 3)) {
        if (c < '0' || c > '9') return end_for(cause::odd_header);
        status = static_cast<std::uint16_t>(status * 10 + (c - '0'));
      }
      return status >= 100 || end_for(cause::odd_header);
    }
    if (line.empty()) {
      is_answered = status >= 200 || status == 101;
      if (is_answered) {
        into.status = status;
      } else {
        into.headers = {};
        status = 0;
      }
      return true;
    }
    if (line.front() == ' ' || line.front() == '\t') {
      if (last_name.empty()) return end_for(cause::odd_header);
      auto value = std::string{*into.headers.find(last_name)};
      value.append(" ").append(without_blanks(line));
      into.headers.set(last_name, value);
      return true;
    }
    std::size_t const colon = line.find(':');
    if (colon == std::string_view::npos || colon == 0) return end_for(cause::odd_header);
    last_name = line.substr(0, colon);
    std::string_view const value = without_blanks(line.substr(colon + 1));
    // Two lengths: what one reads as a body, another takes for the next answer.
    if (is_same_name(last_name, "content-length") &&
        into.headers.find(last_name).value_or(value) != value)
      return end_for(cause::odd_header);
    into.headers.add(last_name, value);
    return true;
  }

  // A connection is there and the request about to be sent. libcurl sends it once more where an
  // old connection broke in silence; whether that may be is not for it to decide.
  bool connected(long bytes_sent) {
    if (has_connected && bytes_sent > bytes_before) return end_for(cause::repetition);
    has_connected = true;
    bytes_before = bytes_sent;
    return true;
  }

  bool end_for_memory() noexcept { return end_for(cause::memory); }

  error failure(curl_handle const& with, CURLcode code) const;

  curl_engine& engine;
  std::shared_ptr<curl_settings> const of;
  request const what;
  result<response> answer{response{}};

  // Of who awaits it, from its suspension on.
  waiter* awaits = nullptr;
  std::coroutine_handle<> goes_on{};

  // Under the lock of the loop.
  curl_link told{*this};  // there is something to be done with it
  bool is_begun = false;
  bool is_abandoned = false;
  bool is_finished = false;

  // Of the loop's thread.
  struct stopping {
    void operator()() const noexcept;
    curl_transfer& of;
  };
  curl_link place{*this};  // among those that wait for others to end
  std::unique_ptr<curl_handle> handle{};
  instant due{};
  std::optional<stop_callback<stopping>> on_stop{};

 private:
  enum class cause : unsigned char {
    none,
    large_body,
    large_header,
    odd_header,
    repetition,
    memory
  };

  bool end_for(cause why) noexcept {
    ended_for = why;
    return false;
  }

  cause ended_for = cause::none;
  bool has_connected = false;
  bool is_answered = false;  // all headers of the answer are there
  std::uint16_t status = 0;  // of the headers that are being read
  long bytes_before = 0;     // that went out before this request: to a proxy
  std::size_t header_bytes = 0;
  std::string last_name{};
};

inline bool curl_handle::configure(curl_settings const& of) {
  auto const& options = of.options;
  auto const ms = [](instant::duration time) {
    auto const count = std::chrono::ceil<std::chrono::milliseconds>(time).count();
    return static_cast<long>((std::min)(count, std::chrono::milliseconds::rep{1} << 30));
  };
  bool is_set =
      set(CURLOPT_NOSIGNAL, true) && set(CURLOPT_ERRORBUFFER, &words_[0]) &&
      set(CURLOPT_PRIVATE, this) && set(CURLOPT_WRITEFUNCTION, &curl_handle::on_body) &&
      set(CURLOPT_WRITEDATA, this) && set(CURLOPT_HEADERFUNCTION, &curl_handle::on_header) &&
      set(CURLOPT_HEADERDATA, this) && set(CURLOPT_PREREQFUNCTION, &curl_handle::on_connected) &&
      set(CURLOPT_PREREQDATA, this) && set(CURLOPT_TCP_KEEPALIVE, true) &&
      set(CURLOPT_FOLLOWLOCATION, false) && set(CURLOPT_SUPPRESS_CONNECT_HEADERS, true) &&
      set(CURLOPT_HEADEROPT, static_cast<long>(CURLHEADER_SEPARATE)) &&
      set(CURLOPT_CONNECTTIMEOUT_MS, ms(options.connect_timeout)) &&
      set(CURLOPT_USERAGENT, "keyspan/" KEYSPAN_VERSION_STRING) && set(CURLOPT_URL, of.url);
#if LIBCURL_VERSION_NUM >= 0x075500
  is_set = is_set && set(CURLOPT_PROTOCOLS_STR, "http,https");
#else
  is_set = is_set && set(CURLOPT_PROTOCOLS, static_cast<long>(CURLPROTO_HTTP | CURLPROTO_HTTPS));
#endif
#if LIBCURL_VERSION_NUM >= 0x075700
  // Who gives up does not wait for the name of a host.
  is_set = is_set && set(CURLOPT_QUICK_EXIT, true);
#endif
  if (options.proxy)
    is_set = is_set && set(CURLOPT_PROXY, *options.proxy) && set(CURLOPT_NOPROXY, "");
  if (of.where.is_secure) {
    is_set = is_set && set(CURLOPT_SSL_VERIFYPEER, options.verify) &&
             set(CURLOPT_SSL_VERIFYHOST, options.verify ? 2L : 0L);
    if (!options.ca_file.empty()) is_set = is_set && set(CURLOPT_CAINFO, options.ca_file);
    // Where libcurl was built without HTTP/2 it stays with what it has.
    set(CURLOPT_HTTP_VERSION, options.http2 ? static_cast<long>(CURL_HTTP_VERSION_2TLS)
                                            : static_cast<long>(CURL_HTTP_VERSION_1_1));
  } else {
    is_set = is_set && set(CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_1_1));
  }
  return is_set && (!of.may_ask_a_proxy() || set(CURLOPT_PATH_AS_IS, true));
}

inline bool curl_handle::prepare(curl_transfer& of) {
  transfer_ = &of;
  words_[0] = '\0';
  request const& what = of.what;
  bool is_set = of.of->may_ask_a_proxy() ? set(CURLOPT_URL, of.of->url + what.target)
                                         : set(CURLOPT_REQUEST_TARGET, what.target);
  std::string_view implied = "GET";
  bool const may_lack_body =
      what.method == "GET" || what.method == "DELETE" || what.method == "OPTIONS";
  if (what.method == "HEAD") {
    is_set = is_set && set(CURLOPT_NOBODY, true);
    implied = "HEAD";
  } else if (what.body.empty() && may_lack_body) {
    is_set = is_set && set(CURLOPT_HTTPGET, true);
  } else {
    is_set = is_set && set(CURLOPT_POST, true) &&
             set(CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(what.body.size())) &&
             set(CURLOPT_POSTFIELDS, what.body.c_str());
    implied = "POST";
  }
  if (what.method == implied) {
    is_set = is_set && set(CURLOPT_CUSTOMREQUEST, nullptr);
  } else {
    is_set = is_set && set(CURLOPT_CUSTOMREQUEST, what.method);
  }
  std::string line;
  for (header_field const& field : what.headers) {
    if (is_same_name(field.name, "content-length")) continue;
    std::string_view const value = without_blanks(field.value);
    line.assign(field.name);
    if (value.empty()) {
      line += ';';
    } else {
      line.append(": ").append(value);
    }
    is_set = is_set && add_header(line);
  }
  // What libcurl would add by itself.
  if (implied == "POST") {
    if (!what.headers.find("content-type")) is_set = is_set && add_header("Content-Type:");
    is_set = is_set && add_header("Expect:");
  }
  if (!what.headers.find("accept")) is_set = is_set && add_header("Accept:");
  return is_set && set(CURLOPT_HTTPHEADER, headers_);
}

inline inline_text<120> curl_handle::words_for(CURLcode code) const {
  std::string_view words{words_};
  if (words.empty() || words.find_first_of("@?") != std::string_view::npos ||
      words.find("://") != std::string_view::npos)
    words = curl_easy_strerror(code);
  inline_text<120> plain;
  for (char const c : words.substr(0, words.find('\n')))
    plain.append(c >= ' ' && c < 0x7F ? c : '.');
  return plain;
}

inline std::size_t curl_handle::on_body(char* bytes, std::size_t, std::size_t size,
                                        void* self) noexcept {
  auto const& by = *static_cast<curl_handle*>(self);
#if KEYSPAN_EXCEPTIONS
  try {
    return by.transfer_->take_body(by.easy_, {bytes, size}) ? size : size + 1;
  } catch (...) {
    return by.transfer_->end_for_memory() ? size : size + 1;
  }
#else
  return by.transfer_->take_body(by.easy_, {bytes, size}) ? size : size + 1;
#endif
}

inline std::size_t curl_handle::on_header(char* bytes, std::size_t, std::size_t size,
                                          void* self) noexcept {
  auto const& by = *static_cast<curl_handle*>(self);
#if KEYSPAN_EXCEPTIONS
  try {
    return by.transfer_->take_header({bytes, size}) ? size : size + 1;
  } catch (...) {
    return by.transfer_->end_for_memory() ? size : size + 1;
  }
#else
  return by.transfer_->take_header({bytes, size}) ? size : size + 1;
#endif
}

inline int curl_handle::on_connected(void* self, char*, char*, int, int) noexcept {
  auto const& by = *static_cast<curl_handle*>(self);
  return by.transfer_->connected(by.info<long>(CURLINFO_REQUEST_SIZE)) ? CURL_PREREQFUNC_OK
                                                                       : CURL_PREREQFUNC_ABORT;
}

inline error curl_transfer::failure(curl_handle const& with, CURLcode code) const {
  switch (ended_for) {
    case cause::large_body:
      return error{errc::too_large, "the body of the answer has more than ",
                   of->options.largest_body, " bytes"};
    case cause::large_header:
      return error{errc::too_large, "the headers of the answer have more than ",
                   of->options.largest_header, " bytes"};
    case cause::odd_header:
      return error{errc::bad_response, "the answer has a header that is none, or two lengths"};
    case cause::memory:
      return error{errc::too_large, "there is no memory for the answer"};
    case cause::repetition:
    case cause::none:
      break;
  }
  if (with.is_about_form_of_proxy())
    return error{errc::invalid_options, "the option proxy has no form that libcurl knows"};
  if (code == CURLE_SSL_CACERT_BADFILE)
    return error{errc::invalid_options, "the option ca_file names no certificates one can read"};
  auto const words = with.words_for(code);
  std::string_view const said = words.view();
  if (!was_sent(with)) return error{errc::not_connected, said};
  bool const is_nonsense =
      code == CURLE_WEIRD_SERVER_REPLY || code == CURLE_UNSUPPORTED_PROTOCOL ||
      code == CURLE_BAD_CONTENT_ENCODING || code == CURLE_FILESIZE_EXCEEDED ||
      (code == CURLE_RECV_ERROR && (said.find("hunk") != std::string_view::npos ||
                                    said.find("header") != std::string_view::npos));
  if (is_nonsense) return error{errc::bad_response, said};
  // libcurl's own limit of a line.
  bool is_too_long = code == CURLE_OUT_OF_MEMORY;
#if LIBCURL_VERSION_NUM >= 0x080600
  is_too_long = is_too_long || code == CURLE_TOO_LARGE;
#endif
  if (is_too_long) return error{errc::too_large, "a line of the answer's headers is too long"};
  std::string_view const lost =
      ended_for == cause::repetition ? "the connection was closed before an answer came" : said;
  return error{what.kind == request_kind::read ? errc::not_connected : errc::outcome_unknown, lost};
}

// All transfers of a loop: begun, driven and ended by the thread that runs it.
class curl_engine {
 public:
  explicit curl_engine(run_loop& turns) : turns_{turns}, multi_{made()} {
    curl_multi_setopt(multi_, CURLMOPT_MAXCONNECTS, 1'024L);
    loop_door::sleep_elsewhere(turns_, &curl_engine::wake, this);
  }
  curl_engine(curl_engine const&) = delete;
  curl_engine& operator=(curl_engine const&) = delete;
  ~curl_engine() {
    expects(!has_owned_transfers(), "a loop outlives those who wait for its transfers");
    while (!dues_.empty()) {
      curl_transfer& last = *dues_.begin()->second;
      last.of->waiting.leave();  // so that none takes its turn
      take_back(last);
      finish(last, fail(errc::stopped));
    }
    curl_multi_cleanup(multi_);
  }

  // On any thread.
  void begin(curl_transfer& one) noexcept {
    std::lock_guard const lock{mutex()};
    tell(one);
  }
  void stop(curl_transfer& one) noexcept {
    std::lock_guard const lock{mutex()};
    if (!one.is_finished) tell(one);
  }
  // Nobody awaits it any more. False where it is still the engine's.
  bool abandon(curl_transfer& one) noexcept {
    std::lock_guard const lock{mutex()};
    if (one.is_finished) return true;
    if (!one.is_begun) {
      one.told.leave();
      return true;
    }
    one.is_abandoned = true;
    tell(one);
    return false;
  }

  // Under the lock, behind the look whether the loop is done: what comes from here on wakes it.
  void begin_round() noexcept { is_woken_ = false; }
  bool is_woken() const noexcept { return is_woken_; }

  // On the thread of the loop, without the lock. Does what can be done now.
  void drive() {
    rounds_ = 0;
    while (curl_transfer* const one = next_told()) {
      if (one->handle || !one->place.is_alone()) {
        take_back(*one);
        finish(*one, stopped());
      } else {
        guarded(*one, &curl_engine::start);
      }
    }
    if (running_ > 0) {
      int left = 0;
      curl_multi_perform(multi_, &left);
      while (CURLMsg* const message = curl_multi_info_read(multi_, &left))
        if (message->msg == CURLMSG_DONE) complete(message->easy_handle, message->data.result);
    }
    if (dues_.empty()) return;
    instant const now = std::chrono::steady_clock::now();
    while (!dues_.empty() && dues_.begin()->first <= now) {
      curl_transfer& late = *dues_.begin()->second;
      bool const has_deadline = late.what.deadline && *late.what.deadline <= now;
      bool const may_be_done =
          late.what.kind != request_kind::read && late.handle && late.was_sent(*late.handle);
      take_back(late);
      auto const waited =
          std::chrono::ceil<std::chrono::milliseconds>(late.of->options.answer_timeout);
      finish(late, has_deadline
                       ? fail(errc::timed_out, "the deadline passed before the answer came")
                       : fail(may_be_done ? errc::outcome_unknown : errc::timed_out,
                              "no answer came within ", waited.count(), " ms"));
    }
  }
  // Under the lock: whether it is time to, also where somebody is always queued.
  bool is_neglected() noexcept { return ++rounds_ >= 64; }

  // Under the lock, which is left: until something happens, `due` at the latest.
  void sleep(std::unique_lock<std::mutex>& lock, instant due) {
    is_asleep_ = true;
    lock.unlock();
    if (!dues_.empty()) due = (std::min)(due, dues_.begin()->first);
    auto const left = due - std::chrono::steady_clock::now();
    auto const ms = std::chrono::ceil<std::chrono::milliseconds>(left).count();
    curl_multi_poll(multi_, nullptr, 0,
                    static_cast<int>(std::clamp<decltype(ms)>(ms, 0, 3'600'000)), nullptr);
    lock.lock();
    is_asleep_ = false;
  }

 private:
  static CURLM* made() {
    static CURLcode const is_ready = curl_global_init(CURL_GLOBAL_DEFAULT);
    CURLM* const multi = is_ready == CURLE_OK ? curl_multi_init() : nullptr;
    expects(multi != nullptr, "libcurl is there, and has memory for a loop");
    return multi;
  }
  static unexpected stopped() { return fail(errc::stopped, "stopped before the answer came"); }

  std::mutex& mutex() noexcept { return loop_door::mutex_of(turns_); }

  // Under the lock.
  void tell(curl_transfer& one) noexcept {
    if (!one.told.is_alone()) return;
    one.told.join_behind(*told_.before);
    wake(this);
  }
  static void wake(void* self) noexcept {
    auto& engine = *static_cast<curl_engine*>(self);
    engine.is_woken_ = true;
    if (std::exchange(engine.is_asleep_, false)) curl_multi_wakeup(engine.multi_);
  }

  curl_transfer* next_told() noexcept {
    std::lock_guard const lock{mutex()};
    if (told_.is_alone()) return nullptr;
    auto& first = static_cast<curl_link*>(told_.after)->of;
    first.told.leave();
    first.is_begun = true;
    return &first;
  }
  bool has_owned_transfers() noexcept {
    std::lock_guard const lock{mutex()};
    for (auto const& [due, one] : dues_)
      if (!one->is_abandoned) return true;
    for (wait_link* link = told_.after; link != &told_; link = link->after)
      if (!static_cast<curl_link*>(link)->of.is_abandoned) return true;
    return false;
  }

  // Where there is no memory to begin one, it is that one which ends.
  void guarded(curl_transfer& one, void (curl_engine::*step)(curl_transfer&)) {
#if KEYSPAN_EXCEPTIONS
    try {
      (this->*step)(one);
    } catch (std::bad_alloc const&) {
      one.handle = nullptr;
      finish(one, fail(errc::not_connected, "there is no memory for a transfer"));
    }
#else
    (this->*step)(one);
#endif
  }

  void start(curl_transfer& one) {
    instant const now = std::chrono::steady_clock::now();
    if (auto const refused = refusal_of(one.what, now)) return finish(one, unexpected{*refused});
    if (auto const fault = fault_in_http(one.what)) return finish(one, unexpected{*fault});
    one.due = instant_after(now, one.of->options.answer_timeout);
    if (one.what.deadline) one.due = (std::min)(one.due, *one.what.deadline);
    dues_.emplace(one.due, &one);
    // It may be called at once; then the transfer is ended in the next round.
    if (one.what.stop.stop_possible())
      one.on_stop.emplace(one.what.stop, curl_transfer::stopping{one});
    if (one.of->under_way < one.of->options.most_connections) {
      launch(one);
    } else {
      one.place.join_behind(*one.of->waiting.before);
    }
  }

  void launch(curl_transfer& one) {
    one.handle = handle_for(*one.of);
    if (!one.handle || !one.handle->prepare(one) ||
        curl_multi_add_handle(multi_, one.handle->easy()) != CURLM_OK) {
      one.handle = nullptr;
      return finish(one, fail(errc::not_connected, "there is no memory for a transfer"));
    }
    ++one.of->under_way;
    ++running_;
  }

  static std::unique_ptr<curl_handle> handle_for(curl_settings& of) {
    std::unique_ptr<curl_handle> taken;
    if (of.idle.empty()) {
      of.idle.reserve(of.under_way + 1);  // so that taking it back needs no memory
      taken = std::make_unique<curl_handle>();
      if (!taken->configure(of)) return nullptr;
    } else {
      taken = std::move(of.idle.back());
      of.idle.pop_back();
    }
    return taken;
  }

  // Ends what is under way, or waits to be; then another one is.
  void take_back(curl_transfer& one) {
    if (!one.handle) return one.place.leave();
    curl_multi_remove_handle(multi_, one.handle->easy());
    one.handle->forget();
    one.of->idle.push_back(std::move(one.handle));  // at most as many as are under way at once
    --running_;
    --one.of->under_way;
    // Also behind one that cannot be: nobody else would begin those.
    while (!one.of->waiting.is_alone() && one.of->under_way < one.of->options.most_connections) {
      auto& next = static_cast<curl_link*>(one.of->waiting.after)->of;
      next.place.leave();
      if (auto const refused = refusal_of(next.what, std::chrono::steady_clock::now())) {
        finish(next, unexpected{*refused});
      } else {
        guarded(next, &curl_engine::launch);
      }
    }
  }

  void complete(CURL* easy, CURLcode code) {
    char* its = nullptr;
    curl_easy_getinfo(easy, CURLINFO_PRIVATE, &its);
    curl_transfer& one = reinterpret_cast<curl_handle*>(its)->transfer();
    std::optional<error> why;
    if (code != CURLE_OK) why = one.failure(*one.handle, code);
    take_back(one);
    if (why) return finish(one, unexpected{*why});
    finish(one);
  }

  void finish(curl_transfer& one, unexpected const& why) {
    error told = why.error();
    told.wire.endpoint = one.of->authority;
    one.answer = unexpected{told};
    finish(one);
  }
  void finish(curl_transfer& one) {
    if (one.answer) one.answer->endpoint = one.of->authority;
    dues_.erase({one.due, &one});
    one.on_stop.reset();  // not under the lock, which the callback takes
    {
      std::lock_guard const lock{mutex()};
      one.told.leave();
      if (!one.is_abandoned) {
        one.is_finished = true;
        return loop_door::queue(*one.awaits, one.goes_on);
      }
    }
    delete &one;
  }

  run_loop& turns_;
  CURLM* multi_;

  // Under the lock.
  wait_link told_{};  // what is to be begun, stopped or dropped
  bool is_asleep_ = false;
  bool is_woken_ = false;
  int rounds_ = 0;

  // Of the loop's thread.
  std::size_t running_ = 0;
  std::set<std::pair<instant, curl_transfer*>> dues_{};  // all that have begun
};

inline void curl_transfer::stopping::operator()() const noexcept { of.engine.stop(of); }

}  // namespace detail

class curl_transport;

/// An event loop of timers and transfers, and the steady `clock` of this machine. It has no thread:
/// all of it goes on in who calls `complete`, and nothing while nobody does.
///
/// All members may be called from any thread, and from what runs in the loop, but `complete` by one
/// thread at a time. It outlives those who are queued, wait, or await a transfer, and stays where
/// it is.
class curl_loop {
 public:
  using turn = run_loop::turn;

  curl_loop() = default;
  curl_loop(curl_loop const&) = delete;
  curl_loop& operator=(curl_loop const&) = delete;

  [[nodiscard]] instant now() const noexcept { return std::chrono::steady_clock::now(); }

  /// Waits until `due`, then goes on in the loop, behind all that are queued; the error is
  /// `stopped` where stop is requested first, and it goes on there, too. It is late by up to a
  /// millisecond.
  ///
  /// Cancellation: by its token, from any thread.
  ///
  /// Destruction: at any time, as that of a task over what is abandonable: it is forgotten. Not
  /// while another thread requests stop of it.
  task<result<void>> wait_until(instant due, stop_token stop = {}) {
    // Whoever waits is entered by the thread that sleeps, so that it knows for how long it may.
    co_await turns_.schedule();
    auto const waited = co_await waits_.wait_until(due, std::move(stop));
    co_await turns_.schedule();
    co_return waited;
  }

  /// Who awaits this goes on in the loop, behind all that are queued already. Allocates nothing.
  turn schedule() noexcept { return turns_.schedule(); }

  /// Awaits `a` and returns its result, as `sync_wait` does, and runs the loop until then. Where
  /// nobody is queued it sleeps until a socket, a moment, or another thread has something for it.
  template <awaitable A>
  detail::returned<await_result<A>> complete(A&& a) {
    auto const ahead = [this](std::unique_lock<std::mutex>& lock) {
      engine_.begin_round();
      auto const next = waits_.next();
      bool const is_due = next && *next <= now();
      bool const is_neglected = engine_.is_neglected();
      if (!is_due && !is_neglected) return;
      lock.unlock();
      if (is_due) waits_.advance_to(now());
      if (is_neglected) engine_.drive();
      lock.lock();
    };
    auto const idle = [this](std::unique_lock<std::mutex>& lock) {
      lock.unlock();
      engine_.drive();
      lock.lock();
      if (engine_.is_woken() || detail::loop_door::is_anybody_queued(turns_)) return;
      auto const longest = instant_after(now(), std::chrono::hours{1});
      engine_.sleep(lock, (std::min)(waits_.next().value_or(longest), longest));
    };
    return detail::loop_door::completed(turns_, static_cast<A&&>(a), ahead, idle);
  }

 private:
  friend curl_transport;

  run_loop turns_{};
  manual_clock waits_{};  // stands where somebody was last due
  detail::curl_engine engine_{turns_};
};

static_assert(clock<curl_loop>);

/// Carries requests to one service over HTTP and HTTPS, by libcurl. Any number of them share a loop
/// and its connections, and it may be used from any thread; who awaits a `send` goes on in the
/// loop.
///
/// A request goes out as it is, with `Host`, `Content-Length`, and `User-Agent` where it has none,
/// once: redirects are not followed and nothing is repeated.
///
/// It may be destroyed before what is under way has ended; the loop may not.
class curl_transport {
  class sending;

 public:
  /// What `send` returns; awaited once, as an rvalue.
  ///
  /// Cancellation: by the request's stop token, from any thread.
  ///
  /// Destruction: at any time (abandonable): the transfer is ended. Not while another thread
  /// resumes it.
  class [[nodiscard]] sent {
   public:
    static constexpr bool abandonable = true;

    sending operator co_await() &&;

   private:
    friend curl_transport;
    explicit sent(std::unique_ptr<detail::curl_transfer> one, run_loop& turns) noexcept
        : transfer_{std::move(one)}, turns_{&turns} {}

    std::unique_ptr<detail::curl_transfer> transfer_;
    run_loop* turns_;
  };

  /// Requires timeouts above zero and room for a connection.
  curl_transport(curl_loop& loop, service_endpoint to, curl_options options = {})
      : loop_{&loop},
        settings_{std::make_shared<detail::curl_settings>(std::move(to), std::move(options))} {
    expects(settings_->options.connect_timeout.count() > 0 &&
                settings_->options.answer_timeout.count() > 0 &&
                settings_->options.most_connections > 0,
            "timeouts are above zero, and there is room for a connection");
  }

  service_endpoint const& endpoint() const noexcept { return settings_->where; }
  curl_options const& options() const noexcept { return settings_->options; }

  /// Errors: those of a `transport`, `bad_request` for what is no request of HTTP, and `too_large`
  /// for answers beyond the options.
  sent send(request const& what) const { return send(request{what}); }
  sent send(request&& what) const {
    return sent{std::make_unique<detail::curl_transfer>(loop_->engine_, settings_, std::move(what)),
                loop_->turns_};
  }

 private:
  curl_loop* loop_;
  std::shared_ptr<detail::curl_settings> settings_;
};

class curl_transport::sending {
 public:
  static constexpr bool abandonable = true;

  sending(std::unique_ptr<detail::curl_transfer> one, run_loop& turns) noexcept
      : transfer_{std::move(one)}, waiter_{turns.schedule().operator co_await()} {}
  sending(sending const&) = delete;
  sending& operator=(sending const&) = delete;
  ~sending() {
    if (is_suspended_ && !transfer_->engine.abandon(*transfer_))
      static_cast<void>(transfer_.release());
  }

  bool await_ready() const noexcept { return false; }
  void await_suspend(std::coroutine_handle<> suspended) noexcept {
    transfer_->awaits = &waiter_;
    transfer_->goes_on = suspended;
    is_suspended_ = true;
    transfer_->engine.begin(*transfer_);  // from here on this may be gone
  }
  result<response> await_resume() {
    is_suspended_ = false;
    waiter_.await_resume();
    return std::move(transfer_->answer);
  }

 private:
  std::unique_ptr<detail::curl_transfer> transfer_;
  detail::curl_transfer::waiter waiter_;
  bool is_suspended_ = false;
};

inline curl_transport::sending curl_transport::sent::operator co_await() && {
  return sending{std::move(transfer_), *turns_};
}

static_assert(transport<curl_transport>);

/// A `curl_loop` with a thread of its own, for programs that wait with theirs: `sync_wait`, plain
/// loops. The destructor ends the thread; nothing is awaited in the loop by then.
class curl_thread {
 public:
  curl_thread()
      : runner_{[this] {
          static_cast<void>(loop_.complete(loop_.wait_until((instant::max)(), over_.token())));
        }} {}
  curl_thread(curl_thread const&) = delete;
  curl_thread& operator=(curl_thread const&) = delete;
  ~curl_thread() {
    over_.request_stop();
    runner_.join();
  }

  /// The loop, which runs already: `complete` is not for others.
  curl_loop& loop() noexcept { return loop_; }

 private:
  curl_loop loop_{};
  stop_source over_{};
  std::thread runner_;  // the last, so that it finds the others
};

}  // namespace keyspan
