// What does a page of documents cost on its way from the body of an answer to documents of one's
// own type, over nlohmann/json reading the same body into the same type? The first row is the
// floor.
#include <bench/support/bench.hpp>
#include <keyspan/async/ready.hpp>
#include <keyspan/async/sync_wait.hpp>
#include <keyspan/async/thread_clock.hpp>
#include <keyspan/core/result.hpp>
#include <keyspan/cosmos/cosmos_account.hpp>
#include <keyspan/cosmos/cosmos_container.hpp>
#include <keyspan/cosmos/credential.hpp>
#include <keyspan/cosmos/document_page.hpp>
#include <keyspan/feed/continuation.hpp>
#include <keyspan/feed/feed_mode.hpp>
#include <keyspan/hash/cosmos_v2.hpp>
#include <keyspan/hash/hash_scheme.hpp>
#include <keyspan/range/token_range.hpp>
#include <keyspan/transport/message.hpp>

#include <nlohmann/json.hpp>

#include <boost/hana/adapt_struct.hpp>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace shop {

struct comment {
  std::string by;
  std::string text;
  double at = 0;
  int votes = 0;
};
struct review {
  std::string id;
  std::string article;
  std::string text;
  int rating = 0;
  double price = 0;
  bool is_verified = false;
  std::vector<std::string> tags;
  std::vector<comment> comments;
};
// The same for Hana, which names its members.
struct told_comment {
  std::string by;
  std::string text;
  double at = 0;
  int votes = 0;
};
struct told_review {
  std::string id;
  std::string article;
  std::string text;
  int rating = 0;
  double price = 0;
  bool is_verified = false;
  std::vector<std::string> tags;
  std::vector<told_comment> comments;
};

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(comment, by, text, at, votes)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(review, id, article, text, rating, price, is_verified, tags,
                                   comments)

}  // namespace shop

BOOST_HANA_ADAPT_STRUCT(shop::told_comment, by, text, at, votes);
BOOST_HANA_ADAPT_STRUCT(shop::told_review, id, article, text, rating, price, is_verified, tags,
                        comments);

namespace {

namespace cosmos = keyspan::cosmos;
using keyspan::request;
using keyspan::response;
using keyspan::result;

constexpr std::size_t documents = 100;

std::string words(bench::Rng& rng, std::size_t size) {
  constexpr std::string_view some[]{"good",  "bad",     "quite",     "very",   "the",
                                    "price", "arrived", "yesterday", "broken", "\\\"green\\\"",
                                    "and",   "would",   "buy",       "again",  "caf\xC3\xA9"};
  std::string made;
  while (made.size() < size) {
    if (!made.empty()) made += ' ';
    made += some[rng.bounded(std::size(some))];
  }
  return made;
}

std::string hex(bench::Rng& rng, std::size_t digits) {
  std::string made;
  for (std::size_t i = 0; i < digits; ++i) made += "0123456789abcdef"[rng.bounded(16)];
  return made;
}

// As the service writes it, its own members behind the user's.
std::string document(bench::Rng& rng, std::size_t size, std::size_t number) {
  std::string text = R"({"id":"r-)";
  text.append(std::to_string(number)).append(R"(","article":")").append(hex(rng, 12));
  text += R"(","text":")";
  std::string rest = R"(","rating":)" + std::to_string(rng.bounded(6)) + R"(,"price":)" +
                     std::to_string(rng.bounded(1000)) + '.' +
                     std::to_string(rng.bounded(90) + 10) +
                     R"(,"is_verified":true,"tags":["new","sale"],"comments":[)";
  std::string const system = R"(],"_rid":"vH0fAJ6yW5sBAAAAAAAAAA==","_self":"dbs/vH0fAA==/colls/)"
                             R"(vH0fAJ6yW5s=/docs/vH0fAJ6yW5sBAAAAAAAAAA==/","_etag":"\")" +
                             hex(rng, 8) + R"(-0000-0200-0000-)" + hex(rng, 12) +
                             R"(\"","_attachments":"attachments/","_ts":1715943807,"_lsn":)" +
                             std::to_string(number + 100) + '}';
  std::size_t const taken = text.size() + rest.size() + system.size();
  std::size_t const left = size > taken ? size - taken : 0;
  // A third of what is left is one text, the others comments of some 160 bytes.
  text += words(rng, left < 200 ? left : left / 3);
  text += rest;
  for (bool is_first = true; text.size() + system.size() + 160 < size; is_first = false) {
    if (!is_first) text += ',';
    text += R"({"by":")" + hex(rng, 10) + R"(","text":")" + words(rng, 85) + R"(","at":17159)" +
            std::to_string(rng.bounded(90'000) + 10'000) +
            ".25,\"votes\":" + std::to_string(rng.bounded(50)) + '}';
  }
  return text + system;
}

std::string page_of_versions(std::size_t size) {
  auto rng = bench::Rng{size};
  std::string body = R"({"_rid":"vH0fAJ6yW5s=","Documents":[)";
  for (std::size_t i = 0; i < documents; ++i) {
    body += i == 0 ? "" : ",";
    body += document(rng, size, i);
  }
  return body + R"(],"_count":100})";
}
std::string page_of_changes(std::size_t size) {
  auto rng = bench::Rng{size};
  std::string body = R"({"_rid":"vH0fAJ6yW5s=","Documents":[)";
  for (std::size_t i = 0; i < documents; ++i) {
    body += i == 0 ? "" : ",";
    body += R"({"current":)";
    body += document(rng, size, i);
    body += R"(,"metadata":{"operationType":"create","lsn":)";
    body.append(std::to_string(i + 100)).append(R"(,"crts":1715943807}})");
  }
  return body + R"(],"_count":100})";
}

// Answers at once: to questions about the container as a service does, to all others with a page.
struct at_hand {
  keyspan::ready<result<response>> send(request const& what) const {
    if (what.target.ends_with("/docs")) return {result<response>{page}};
    response made;
    made.headers.add("etag", "\"1\"");
    made.body = what.target.ends_with("/pkranges")
                    ? R"({"_rid":"vH0fAJ6yW5s=","PartitionKeyRanges":[{"id":"0","minInclusive":"",)"
                      R"("maxExclusive":"FF"}],"_count":1})"
                    : R"({"id":"reviews","_rid":"vH0fAJ6yW5s=","partitionKey":{"paths":)"
                      R"(["/article"],"kind":"Hash","version":2}})";
    if (what.target.ends_with("/pkranges") && what.headers.find("if-none-match")) {
      made.status = 304;
      made.body.clear();
    }
    return {result<response>{made}};
  }

  response page{};
};

constexpr std::string_view key_text =
    "MDEyMzQ1Njc4OWFiY2RlZmdoaWprbG1ub3BxcnN0dXZ3eHl6QUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVotXw==";

template <class T>
std::size_t weight_of(T const& one) {
  if constexpr (requires { one.rating; }) {
    return one.id.size() + one.comments.size() + one.text.size() +
           static_cast<std::size_t>(one.rating);
  } else {
    return one["id"].template get_ref<std::string const&>().size() + one["comments"].size() +
           one["text"].template get_ref<std::string const&>().size() +
           one["rating"].template get<std::size_t>();
  }
}

// The floor, as a program would read it that needs nothing else.
std::size_t by_nlohmann(std::string const& body, bool is_of_changes) {
  auto const page = nlohmann::json::parse(body);
  std::vector<shop::review> made;
  made.reserve(documents);
  for (auto const& one : page.at("Documents"))
    made.push_back((is_of_changes ? one.at("current") : one).get<shop::review>());
  std::size_t sum = 0;
  for (auto const& one : made) sum += weight_of(one);
  return sum;
}

// A container that reads the same page again and again.
template <class T>
class reader {
 public:
  explicit reader(std::string body, keyspan::feed_mode mode) : mode_{mode} {
    to_.page.headers.add("etag", "\"200\"");
    to_.page.headers.add("x-ms-session-token", "0:-1#200");
    to_.page.headers.add("x-ms-request-charge", "2.29");
    to_.page.headers.add("x-ms-activity-id", "6d8c07c2-5bc3-4a53-8e7b-3f7b0d1e9a10");
    to_.page.headers.add("lsn", "200");
    to_.page.body = std::move(body);
    auto opening = account_.template open<T, keyspan::cosmos_v2_scheme>("shop", "reviews");
    auto opened = keyspan::sync_wait(std::move(opening));
    if (opened) container_.emplace(*std::move(opened));
  }

  response const& page() const { return to_.page; }

  std::size_t read() {
    auto const from = mode_ == keyspan::feed_mode::latest_version
                          ? keyspan::continuation{keyspan::from_beginning}
                          : keyspan::continuation{keyspan::from_now};
    auto const page = keyspan::sync_wait(container_->read(all_, from, {.mode = mode_}));
    if (!page) {
      std::fprintf(stderr, "%s\n", std::string{page.error().to_text().view()}.c_str());
      return 0;
    }
    std::size_t sum = 0;
    for (auto const& one : page->items) sum += weight_of(*one.item);
    return sum;
  }

 private:
  keyspan::feed_mode mode_;
  at_hand to_{};
  keyspan::thread_clock clock_{};
  cosmos::cosmos_account<at_hand, keyspan::thread_clock> account_{
      to_, clock_, *cosmos::master_key::from(key_text)};
  std::optional<cosmos::cosmos_container<T, keyspan::cosmos_v2_scheme>> container_{};
  keyspan::token_range<keyspan::token_of_scheme<keyspan::cosmos_v2_scheme>> all_{
      keyspan::whole_space(keyspan::cosmos_v2)};
};

constexpr auto latest = keyspan::feed_mode::latest_version;
constexpr auto all_versions = keyspan::feed_mode::all_versions_and_deletes;

void pages_of(bench::session& run, std::size_t size, char const* name, char const* target) {
  std::string const body = page_of_versions(size);
  reader<shop::review> typed{body, latest};
  reader<shop::told_review> described{body, latest};
  reader<nlohmann::json> untyped{body, latest};
  auto& table = run.table("1 document of " + std::string{name} + " in a page of 100", "document");
  table.batch(documents).count_allocations();
  table.floor("nlohmann::json::parse and get", [&] { return by_nlohmann(body, false); });
  table.row("… parse alone", [&] { bench::keep(nlohmann::json::parse(body)); });
  table.row("copy the body", [&] { bench::keep(std::string{body}); });
  table.row("documents_in",
            [&] { bench::keep(cosmos::documents_in(typed.page())->documents.size()); });
  table.row("container, type of nlohmann's", [&] { return typed.read(); });
  table.row("container, type of Hana's", [&] { return described.read(); });
  table.row("container, nlohmann::json", [&] { return untyped.read(); });
  run.target("cosmos.page." + std::string{target},
             table.ratio("nlohmann::json::parse and get", "container, type of nlohmann's"),
             ">=", 1);
  run.target("cosmos.page." + std::string{target} + ".hana",
             table.ratio("nlohmann::json::parse and get", "container, type of Hana's"), ">=", 1);
}

void changes_of(bench::session& run, std::size_t size, char const* name, char const* target) {
  std::string const body = page_of_changes(size);
  reader<shop::review> typed{body, all_versions};
  auto& table =
      run.table("1 change of a document of " + std::string{name} + " in a page of 100", "change");
  table.batch(documents).count_allocations();
  table.floor("nlohmann::json::parse and get", [&] { return by_nlohmann(body, true); });
  table.row("changes_in", [&] { bench::keep(cosmos::changes_in(typed.page())->documents.size()); });
  table.row("container, type of nlohmann's", [&] { return typed.read(); });
  run.target("cosmos.page." + std::string{target} + ".changes",
             table.ratio("nlohmann::json::parse and get", "container, type of nlohmann's"),
             ">=", 1);
}

}  // namespace

int main(int argc, char** argv) {
  auto run = bench::session{argc, argv};
  pages_of(run, 300, "0.3 KB", "300");
  pages_of(run, 1'000, "1 KB", "1000");
  pages_of(run, 10'000, "10 KB", "10000");
  changes_of(run, 1'000, "1 KB", "1000");
  return run.finish();
}
