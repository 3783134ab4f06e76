// How many requests a second does a transport carry over a loop of libcurl's own, 1 and 64 at a
// time, from a server on this machine? The first row is the floor: a bare loop that does the same.
#include <bench/adapter/answering_server.hpp>
#include <bench/support/bench.hpp>
#include <keyspan/adapter/curl.hpp>
#include <keyspan/async/task.hpp>
#include <keyspan/async/when_all.hpp>
#include <keyspan/core/result.hpp>
#include <keyspan/transport/endpoint.hpp>
#include <keyspan/transport/message.hpp>

#if KEYSPAN_BENCH_ASIO
#include <keyspan/adapter/asio.hpp>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#endif
#if KEYSPAN_BENCH_COSMOS
#include <keyspan/cosmos/cosmos_account.hpp>
#include <keyspan/cosmos/cosmos_container.hpp>
#include <keyspan/cosmos/credential.hpp>

#include <nlohmann/json.hpp>
#endif

#include <curl/curl.h>

#include <chrono>
#include <coroutine>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace {

using keyspan::request;
using keyspan::task;

// A document of 1 KB, as the service gives it.
std::string document() {
  std::string text = R"({"id":"r-1","article":"a-1","rating":5,"text":")" + std::string(760, 'x');
  return text + R"(","_rid":"vH0fAJ6yW5sBAAAAAAAAAA==","_self":"dbs/vH0fAA==/colls/vH0fAJ6yW5s=/)" +
         R"(docs/vH0fAJ6yW5sBAAAAAAAAAA==/","_etag":"\"0a00f3b2-0000-0200-0000-66473bdf0000\"",)" +
         R"("_attachments":"attachments/","_ts":1715943807})";
}
std::string answer(std::string const& body) {
  return "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
         "etag: \"0a00f3b2-0000-0200-0000-66473bdf0000\"\r\n"
         "x-ms-activity-id: 6d8c07c2-5bc3-4a53-8e7b-3f7b0d1e9a10\r\n"
         "x-ms-request-charge: 1\r\nx-ms-session-token: 0:-1#125678\r\nlsn: 125678\r\n"
         "x-ms-documentdb-partitionkeyrangeid: 0\r\nContent-Length: " +
         std::to_string(body.size()) + "\r\n\r\n" + body;
}

// Says what an account of one container with one partition says.
struct canned_answers {
  std::string_view operator()(std::string_view asked) const {
    auto const line = asked.substr(0, asked.find(" HTTP/1.1\r\n"));
    if (line.ends_with("/docs/r-1")) return read;
    if (!line.ends_with("/pkranges")) return container;
    bool const is_known = asked.find("\r\nif-none-match: ") != std::string_view::npos;
    return is_known ? std::string_view{nothing_new} : std::string_view{partitions};
  }

  std::string read = answer(document());
  std::string partitions = answer(
      R"({"_rid":"vH0fAJ6yW5s=","PartitionKeyRanges":[{"id":"0","minInclusive":"","maxExclusive":"FF"}]})");
  std::string nothing_new = "HTTP/1.1 304 Not Modified\r\netag: \"1\"\r\n\r\n";
  std::string container = answer(
      R"({"id":"reviews","_rid":"vH0fAJ6yW5s=","partitionKey":{"paths":["/article"],"kind":"Hash"}})");
};

// A point read, already signed.
request point_read() {
  request made;
  made.target = "/dbs/shop/colls/reviews/docs/r-1";
  made.headers.add("accept", "application/json");
  made.headers.add("x-ms-version", "2020-07-15");
  made.headers.add("x-ms-cosmos-sdk-supportedcapabilities", "1");
  made.headers.add("x-ms-documentdb-partitionkey", R"(["a-1"])");
  made.headers.add("x-ms-session-token", "0:-1#125678");
  made.headers.add("x-ms-date", "Fri, 17 May 2024 11:03:27 GMT");
  made.headers.add(
      "authorization",
      "type%3Dmaster%26ver%3D1.0%26sig%3DdGhpcyBpcyBubyBzaWduYXR1cmUsIGJ1dCBhcyBsb25n");
  return made;
}

void require(bool is_so) {
  if (is_so) return;
  std::fputs("a request failed\n", stderr);
  std::exit(1);
}

// What a program does that has libcurl and nothing else: so many transfers at a time, each with
// headers of its own, the headers and the body of its answer kept.
class bare_loop {
 public:
  explicit bare_loop(std::string const& url, std::size_t at_once) : multi_{curl_multi_init()} {
    for (std::size_t i = 0; i < at_once; ++i) {
      auto& one = *transfers_.emplace_back(std::make_unique<transfer>());
      one.easy = curl_easy_init();
      curl_easy_setopt(one.easy, CURLOPT_URL, (url + what_.target).c_str());
      curl_easy_setopt(one.easy, CURLOPT_NOSIGNAL, 1L);
      curl_easy_setopt(one.easy, CURLOPT_PROXY, "");
      curl_easy_setopt(one.easy, CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_1_1));
      curl_easy_setopt(one.easy, CURLOPT_PRIVATE, &one);
      curl_easy_setopt(one.easy, CURLOPT_WRITEFUNCTION, &transfer::on_body);
      curl_easy_setopt(one.easy, CURLOPT_WRITEDATA, &one);
      curl_easy_setopt(one.easy, CURLOPT_HEADERFUNCTION, &transfer::on_header);
      curl_easy_setopt(one.easy, CURLOPT_HEADERDATA, &one);
    }
  }
  bare_loop(bare_loop const&) = delete;
  bare_loop& operator=(bare_loop const&) = delete;
  ~bare_loop() {
    for (auto& one : transfers_) curl_easy_cleanup(one->easy);
    curl_multi_cleanup(multi_);
  }

  void run(std::size_t requests) {
    std::size_t left = requests;
    std::size_t running = 0;
    for (auto& one : transfers_) {
      if (left == 0) break;
      begin(*one);
      --left;
      ++running;
    }
    while (running > 0) {
      int count = 0;
      curl_multi_perform(multi_, &count);
      while (CURLMsg* const message = curl_multi_info_read(multi_, &count)) {
        char* its = nullptr;
        curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &its);
        auto& one = *reinterpret_cast<transfer*>(its);
        long status = 0;
        curl_easy_getinfo(one.easy, CURLINFO_RESPONSE_CODE, &status);
        require(message->data.result == CURLE_OK && status == 200 && !one.body.empty() &&
                !one.headers.empty());
        end(one);
        if (left > 0) {
          --left;
          begin(one);
        } else {
          --running;
        }
      }
      if (running > 0) curl_multi_poll(multi_, nullptr, 0, 1000, nullptr);
    }
  }

 private:
  struct transfer {
    static std::size_t on_body(char* bytes, std::size_t, std::size_t size, void* self) {
      static_cast<transfer*>(self)->body.append(bytes, size);
      return size;
    }
    static std::size_t on_header(char* bytes, std::size_t, std::size_t size, void* self) {
      std::string_view line{bytes, size};
      auto const colon = line.find(": ");
      if (colon != std::string_view::npos)
        static_cast<transfer*>(self)->headers.emplace_back(
            line.substr(0, colon), line.substr(colon + 2, line.size() - colon - 4));
      return size;
    }

    CURL* easy = nullptr;
    curl_slist* list = nullptr;
    std::string body{};
    std::vector<std::pair<std::string, std::string>> headers{};
  };

  void begin(transfer& one) {
    for (auto const& field : what_.headers)
      one.list = curl_slist_append(one.list, (field.name + ": " + field.value).c_str());
    curl_easy_setopt(one.easy, CURLOPT_HTTPHEADER, one.list);
    one.body = {};
    one.headers = {};
    curl_multi_add_handle(multi_, one.easy);
  }
  void end(transfer& one) {
    curl_multi_remove_handle(multi_, one.easy);
    curl_easy_setopt(one.easy, CURLOPT_HTTPHEADER, nullptr);
    curl_slist_free_all(std::exchange(one.list, nullptr));
  }

  request const what_ = point_read();
  CURLM* multi_;
  std::vector<std::unique_ptr<transfer>> transfers_{};
};

// One of some that share the work.
template <class Transport>
task<void> send_some(Transport& to, request const& what, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    auto asking = to.send(what);
    auto const answer = co_await std::move(asking);
    require(answer && answer->status == 200 && !answer->body.empty());
  }
}
template <class Transport>
std::vector<task<void>> senders(Transport& to, request const& what, std::size_t at_once,
                                std::size_t requests) {
  std::vector<task<void>> all;
  for (std::size_t i = 0; i < at_once; ++i) all.push_back(send_some(to, what, requests / at_once));
  return all;
}

class by_curl {
 public:
  by_curl(std::string const& url, std::size_t at_once)
      : at_once_{at_once}, to_{loop_, *keyspan::service_endpoint::parse(url), {.proxy = ""}} {}
  void run(std::size_t requests) {
    loop_.complete(keyspan::when_all(senders(to_, what_, at_once_, requests)));
  }

 private:
  std::size_t at_once_;
  request const what_ = point_read();
  keyspan::curl_loop loop_{};
  keyspan::curl_transport to_;
};

#if KEYSPAN_BENCH_ASIO
// Runs by itself.
struct begun {
  struct promise_type {
    begun get_return_object() noexcept { return {}; }
    std::suspend_never initial_suspend() noexcept { return {}; }
    std::suspend_never final_suspend() noexcept { return {}; }
    void return_void() noexcept {}
    void unhandled_exception() noexcept { std::terminate(); }
  };
};

class by_asio {
 public:
  by_asio(std::string const& url, std::size_t at_once)
      : at_once_{at_once}, to_{io_.get_executor(), *keyspan::service_endpoint::parse(url)} {}
  void run(std::size_t requests) {
    io_.restart();
    begin(io_, senders(to_, what_, at_once_, requests));
    io_.run();
  }

 private:
  static begun begin(boost::asio::io_context& io, std::vector<task<void>> all) {
    auto work = keyspan::when_all(std::move(all));
    co_await std::move(work);
    io.stop();
  }

  std::size_t at_once_;
  request const what_ = point_read();
  boost::asio::io_context io_{1};
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> guard_{
      io_.get_executor()};
  keyspan::asio_transport to_;
};
#endif

#if KEYSPAN_BENCH_COSMOS
// Signed, repeated where it must be, and read into a document.
class by_container {
 public:
  by_container(std::string const& url, std::size_t at_once)
      : at_once_{at_once},
        to_{loop_, *keyspan::service_endpoint::parse(url), {.proxy = ""}},
        account_{to_, loop_, *keyspan::cosmos::master_key::from(key_text)} {
    auto opened = loop_.complete(account_.open<nlohmann::json>("shop", "reviews"));
    require(opened.has_value());
    container_ = std::make_unique<container>(*std::move(opened));
  }
  void run(std::size_t requests) {
    std::vector<task<void>> all;
    for (std::size_t i = 0; i < at_once_; ++i)
      all.push_back(read_some(*container_, requests / at_once_));
    loop_.complete(keyspan::when_all(std::move(all)));
  }

 private:
  using container = keyspan::cosmos::cosmos_container<nlohmann::json>;

  static constexpr std::string_view key_text =
      "MDEyMzQ1Njc4OWFiY2RlZmdoaWprbG1ub3BxcnN0dXZ3eHl6QUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVotXw==";

  static task<void> read_some(container& from, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      auto reading = from.read_item("a-1", "r-1");
      auto const answer = co_await std::move(reading);
      require(answer && answer->item->at("rating") == 5);
    }
  }

  std::size_t at_once_;
  keyspan::curl_loop loop_{};
  keyspan::curl_transport to_;
  keyspan::cosmos::cosmos_account<keyspan::curl_transport, keyspan::curl_loop> account_;
  std::unique_ptr<container> container_{};
};
#endif

struct contestant {
  std::string name;
  std::function<void(std::size_t requests)> run;
};

using server_pointer = std::shared_ptr<bench::answering_server>;

// One connection may be slower than the next as long as it lives, by where the system puts it: with
// few of them there are several such clients, which take turns.
template <class Way>
contestant entered(char const* name, server_pointer const& server, std::size_t at_once) {
  auto all = std::make_shared<std::vector<std::unique_ptr<Way>>>();
  for (std::size_t i = 0; i < (at_once == 1 ? 5 : 1); ++i)
    all->push_back(std::make_unique<Way>(server->url(), at_once));
  for (auto const& one : *all) one->run(at_once);  // connects
  return {name, [server, all, next = std::size_t{0}](std::size_t requests) mutable {
            (*all)[next++ % all->size()]->run(requests);
          }};
}

constexpr auto bare = "libcurl, a loop of its own";
constexpr auto ours = "curl_transport";
constexpr auto other = "asio_transport";
constexpr auto whole = "read_item, over curl_transport";

void carry(bench::session& run, canned_answers const& said, std::size_t at_once) {
  auto const requests = at_once == 1 ? std::size_t{64} : std::size_t{512};
  // With few connections all have the same server, whose thread has one place; with many each has
  // its own, which looks at its own connections alone.
  auto const one_more = [&] {
    return std::make_shared<bench::answering_server>(
        [&](std::string_view asked) { return said(asked); });
  };
  auto const common = one_more();
  auto const server = [&] { return at_once == 1 ? common : one_more(); };
  std::vector<contestant> all{entered<bare_loop>(bare, server(), at_once),
                              entered<by_curl>(ours, server(), at_once)};
#if KEYSPAN_BENCH_ASIO
  all.push_back(entered<by_asio>(other, server(), at_once));
#endif
#if KEYSPAN_BENCH_COSMOS
  all.push_back(entered<by_container>(whole, server(), at_once));
#endif

  std::string const title = std::to_string(at_once) + " at a time: ";
  auto& wall = run.table(title + "a request, on the wall", "request").batch(requests);
  auto& cpu = run.table(title + "a request, CPU time of its thread", "request").batch(requests);
  cpu.count_allocations();
  for (auto const& one : all) {
    wall.timed(one.name, [one, requests]() mutable {
      auto const began = std::chrono::steady_clock::now();
      one.run(requests);
      return std::chrono::duration_cast<bench::nanoseconds>(std::chrono::steady_clock::now() -
                                                            began);
    });
    if (one.name == bare) {
      cpu.floor(one.name, [one, requests]() mutable { one.run(requests); });
    } else {
      cpu.row(one.name, [one, requests]() mutable { one.run(requests); });
    }
  }
#if !KEYSPAN_BENCH_ASIO
  wall.left_out(other, "there is no keyspan::asio");
#endif
#if !KEYSPAN_BENCH_COSMOS
  wall.left_out(whole, "there is no keyspan::cosmos");
#endif
  std::string const name = "adapter.curl." + std::to_string(at_once);
  run.target(name, wall.ratio(bare, ours), ">=", 0.9);
  run.target(name + ".cpu", cpu.ratio(bare, ours), ">=", 0.85);
}

}  // namespace

int main(int argc, char** argv) {
  auto run = bench::session{argc, argv};
  curl_global_init(CURL_GLOBAL_DEFAULT);
  canned_answers const said;
  carry(run, said, 1);
  carry(run, said, 64);
  return run.finish();
}
