// Talks to an account of Azure Cosmos DB, or to an emulator: connecting_to_cosmos URL, with the key
// of the account in the environment variable COSMOS_KEY.
//
// In a database of its own, which it makes and takes away again, it writes reviews, reads one,
// changes it under its etag, and reads the changes: awaited in a loop of this thread, then in plain
// loops.
#include <keyspan/adapter/curl.hpp>
#include <keyspan/core/print.hpp>
#include <keyspan/cosmos.hpp>
#include <keyspan/keyspan.hpp>

#include <boost/hana/adapt_struct.hpp>

#include <chrono>
#include <cstdlib>
#include <iostream>
#include <string>
#include <string_view>

namespace cosmos = keyspan::cosmos;

// [region: type]
struct review {
  std::string id, article_id;
  int rating = 0;
};
BOOST_HANA_ADAPT_STRUCT(review, id, article_id, rating);
// [end: type]

namespace {

// [region: container]
keyspan::task<keyspan::result<void>> write_and_read(cosmos::cosmos_container<review>& reviews) {
  review const first{"r-1", "redmond", 4};
  auto const made = co_await reviews.create(first);
  if (!made) co_return keyspan::unexpected{made.error()};

  // Only where nobody else has changed it since.
  review const better{"r-1", "redmond", 5};
  keyspan::write_options const unchanged{.if_match = made->item.etag()};
  auto const changed = co_await reviews.replace(better, unchanged);
  if (!changed) co_return keyspan::unexpected{changed.error()};

  auto const read = co_await reviews.read_item("redmond", "r-1");
  if (!read) co_return keyspan::unexpected{read.error()};
  std::cout << read->item->id << " has " << read->item->rating << " stars, read for "
            << read->charge << " request units\n";
  co_return {};
}
// [end: container]

// [region: batch]
keyspan::task<keyspan::result<void>> write_together(cosmos::cosmos_container<review>& reviews) {
  keyspan::item_batch<review> work{"redmond"};
  work.create({"r-2", "redmond", 3}).patch("r-1", [](review& one) { --one.rating; });
  auto const done = co_await reviews.execute(work);
  if (!done) co_return keyspan::unexpected{done.error()};
  for (auto const& one : done->operations)
    if (!one) co_return keyspan::unexpected{one.error()};
  co_return {};
}
// [end: batch]

// [region: stream]
keyspan::task<keyspan::result<std::string>> read_changes(
    cosmos::cosmos_container<review>& reviews) {
  keyspan::feed changes{reviews};
  auto stream = changes.stream();
  while (auto const change = co_await stream.next()) {  // suspends once a page
    if (!change.has_value()) co_return keyspan::unexpected{change.error()};
    review const& one = **change;
    std::cout << one.id << " of " << one.article_id << ": " << one.rating << '\n';
  }
  co_await stream.close();
  co_return changes.cursor().to_text();  // where the next reading begins
}
// [end: stream]

// Makes the database and the container that the example works in.
template <class Account>
keyspan::task<keyspan::result<void>> make_container(Account& account,
                                                    cosmos::container_address const& address) {
  auto const database = co_await account.ask(cosmos::create_database(address.database()));
  if (!database) co_return keyspan::unexpected{database.error()};
  // [region: create]
  auto const paths = keyspan::documents_container<"/article_id">().paths();
  auto const made = co_await account.ask(cosmos::create_container(address, paths));
  if (!made) co_return keyspan::unexpected{made.error()};
  // [end: create]
  co_return {};
}

template <class Account>
keyspan::task<keyspan::result<std::string>> use(Account& account,
                                                cosmos::container_address const& address) {
  auto const made = co_await make_container(account, address);
  if (!made) co_return keyspan::unexpected{made.error()};
  // [region: open]
  auto reviews = co_await account.template open<review>(address.database(), address.container());
  if (!reviews) co_return keyspan::unexpected{reviews.error()};
  // [end: open]
  auto const written = co_await write_and_read(*reviews);
  if (!written) co_return keyspan::unexpected{written.error()};
  auto const together = co_await write_together(*reviews);
  if (!together) co_return keyspan::unexpected{together.error()};
  auto const cursor = co_await read_changes(*reviews);
  review const late{"r-3", "seattle", 5};
  auto const added = co_await reviews->upsert(late);
  if (!added) co_return keyspan::unexpected{added.error()};
  co_return cursor;
}

// [region: plain]
keyspan::result<int> read_plainly(keyspan::service_endpoint const& endpoint,
                                  cosmos::master_key const& key,
                                  cosmos::container_address const& address,
                                  std::string_view cursor) {
  keyspan::curl_thread transfers;  // a thread for the network, so that this one may wait
  keyspan::curl_transport wire{transfers.loop(), endpoint};
  cosmos::cosmos_account account{wire, transfers.loop(), key};
  auto reviews = keyspan::sync_wait(account.open<review>(address.database(), address.container()));
  if (!reviews) return keyspan::unexpected{reviews.error()};

  auto const from = keyspan::cursor_of(*reviews, cursor);
  if (!from) return keyspan::unexpected{from.error()};
  int count = 0;
  keyspan::feed changes{*reviews, {.start = *from}};
  for (auto const& page : changes.pages()) {
    if (!page) return keyspan::unexpected{page.error()};
    for (auto const& change : page->items) count += change->rating > 0 ? 1 : 0;
  }
  return count;
}
// [end: plain]

int complain(keyspan::error const& why) {
  std::cerr << "connecting_to_cosmos: " << why << "; " << keyspan::advice_for(why.code) << '\n';
  return 1;
}

int run(char const* url, char const* key_text) {
  auto const endpoint = keyspan::service_endpoint::parse(url);
  if (!endpoint) return complain(endpoint.error());
  auto const key = cosmos::master_key::from(key_text);
  if (!key) return complain(key.error());
  auto const now = std::chrono::system_clock::now().time_since_epoch().count();
  auto const address = cosmos::container_address::from("keyspan-" + std::to_string(now), "reviews");
  if (!address) return complain(address.error());

  // [region: account]
  keyspan::curl_loop loop;                           // runs the network and the clock here
  keyspan::curl_transport wire{loop, *endpoint};     // one endpoint, many connections
  cosmos::cosmos_account account{wire, loop, *key};  // signs, and repeats what may be repeated
  auto const cursor = loop.complete(use(account, *address));
  // [end: account]

  auto const more = cursor ? read_plainly(*endpoint, *key, *address, *cursor)
                           : keyspan::result<int>{keyspan::unexpected{cursor.error()}};
  auto const removed = loop.complete(account.ask(cosmos::remove_database(address->database())));
  if (!cursor) return complain(cursor.error());
  if (!more) return complain(more.error());
  if (!removed) return complain(removed.error());
  std::cout << *more << " more since then\n";
  return 0;
}

}  // namespace

int main(int count, char** arguments) {
  char const* const key = std::getenv("COSMOS_KEY");
  if (count != 2 || key == nullptr) {
    std::cerr << "usage: COSMOS_KEY=<key of the account> connecting_to_cosmos URL\n";
    return 2;
  }
  return run(arguments[1], key);
}
