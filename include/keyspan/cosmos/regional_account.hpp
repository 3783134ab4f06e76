// keyspan/cosmos/regional_account.hpp — an account in several regions: each request goes to the
// nearest one that serves it, and to the next one where it does not.
//
//   cosmos_container --request--> regional_account --signed--> West US       --x
//                                                         `--> North Europe  --> answer
#pragma once

#include <keyspan/async/clock.hpp>
#include <keyspan/async/task.hpp>
#include <keyspan/core/error.hpp>
#include <keyspan/core/result.hpp>
#include <keyspan/cosmos/account_answers.hpp>
#include <keyspan/cosmos/account_sender.hpp>
#include <keyspan/cosmos/address.hpp>
#include <keyspan/cosmos/cosmos_container.hpp>
#include <keyspan/cosmos/credential.hpp>
#include <keyspan/cosmos/document_json.hpp>
#include <keyspan/cosmos/hmac_sha256.hpp>
#include <keyspan/cosmos/open_container.hpp>
#include <keyspan/cosmos/service_errors.hpp>
#include <keyspan/cosmos/service_request.hpp>
#include <keyspan/hash/any_scheme.hpp>
#include <keyspan/region/account_regions.hpp>
#include <keyspan/region/across_regions.hpp>
#include <keyspan/region/region_directory.hpp>
#include <keyspan/region/region_marks.hpp>
#include <keyspan/region/region_order.hpp>
#include <keyspan/region/region_retry.hpp>
#include <keyspan/transport/endpoint.hpp>
#include <keyspan/transport/message.hpp>
#include <keyspan/transport/transport.hpp>

#include <algorithm>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace keyspan::cosmos {

/// The sentence that a compiler shows for what makes no transports: it is called with an endpoint
/// and gives a `std::unique_ptr` or a `std::shared_ptr` of one.
template <class D>
concept dials_an_endpoint = requires(D& dial, service_endpoint const& to) {
  requires transport<std::remove_reference_t<decltype(*dial(to))>>;
};

/// How an account in several regions is talked to.
struct regional_options {
  /// Which regions are asked first.
  region_preferences like{};
  /// How patient requests are with regions.
  region_policy policy{};
  /// How patient requests are with one that is busy; what else is said here is the policy's.
  account_options account{};
};

/// An account that listens in several regions. Reads go to the preferred one, writes to where the
/// account takes them; what a region cannot serve goes to another one, as `step_after` says, and a
/// region that cannot be reached is asked last for a while. Which regions there are the account
/// says, each five minutes and when it is asked for.
///
///   regional_account account{dial, loop, endpoint, *master_key::from(key),
///                            {.like = {.preferred = {"North Europe", "West US"}}}};
///   auto reviews = co_await account.open<review>("shop", "reviews");
///
/// `dial` makes the transport to an endpoint, once for each; it is called while nothing else is
/// dialled. Clock and dial's own outlive the account, and it outlives the containers that it has
/// opened. All members may be called from any thread where transports and clock may.
template <dials_an_endpoint Dial, clock Clock, makes_hmac_sha256 Hmac = hmac_sha256_function>
class regional_account {
  using transport_pointer = std::invoke_result_t<Dial&, service_endpoint const&>;

 public:
  /// Signs by `hmac`, as a key does. Requires what `retry_policy` does.
  regional_account(Dial dial, Clock& by, service_endpoint endpoint, credential who,
                   regional_options options = {}, Hmac hmac = {})
      : dial_{std::move(dial)},
        regions_{std::move(endpoint), std::move(options.like), options.policy},
        sender_{by, std::move(who), only_where_busy(std::move(options.account)), std::move(hmac)} {}
  regional_account(regional_account const&) = delete;
  regional_account& operator=(regional_account const&) = delete;

  /// Signs with another credential from now on: a token that ran out was replaced.
  void set_credential(credential who) { sender_.set_credential(std::move(who)); }

  /// What is known of its regions.
  region_directory const& regions() const noexcept { return regions_; }
  /// Asks the account for its regions where that is due, as every request does. Errors: those of
  /// `account_in` and of the transport.
  task<result<void>> refresh() {
    auto refreshing = refresh_regions(regions_, sender_.clock(), looking({}));
    co_return co_await std::move(refreshing);
  }

  /// Asks the service, and answers with what the last attempt gave. A response whose status says
  /// that something went wrong is a response here; `service_errors` reads it.
  /// Errors: those of the transport.
  ///
  /// Cancellation: by the stop token of the request's message.
  task<result<response>> send(service_request what) {
    auto sending = sent(std::move(what), detail::answer_judge::by_service);
    co_return co_await std::move(sending);
  }
  /// The same, and such a status is its error. Errors: those of `service_errors` and of the
  /// transport.
  task<result<response>> ask(service_request what) {
    auto sending = send(std::move(what));
    auto answer = co_await std::move(sending);
    if (answer)
      if (auto const why = service_errors{}(*answer)) co_return unexpected{*why};
    co_return answer;
  }

  /// Opens a container by its names. Errors: as of `cosmos_account::open`.
  template <document_type T, service_scheme Scheme = any_scheme>
  task<result<cosmos_container<T, Scheme>>> open(std::string database, std::string container,
                                                 container_options options = {}) {
    auto const address = container_address::from(database, container);
    if (!address) co_return unexpected{address.error()};
    auto const door = detail::account_door::of(*this);
    using container_type = cosmos_container<T, Scheme>;
    auto opening = detail::container_opening::at<container_type>(door, *address, options);
    co_return co_await std::move(opening);
  }

 private:
  friend detail::account_door;

  static account_options only_where_busy(account_options options) {
    options.retries.only_where_busy = true;
    return options;
  }
  static region_use use_of(service_request const& what) {
    if (what.message.kind == request_kind::read) return region_use::read;
    bool const is_data =
        what.about == resource::document || what.about == resource::stored_procedure;
    return is_data ? region_use::write : region_use::administer;
  }

  auto& transport_to(service_endpoint const& endpoint) {
    std::lock_guard const lock{mutex_};
    auto found = dialled_.find(endpoint);
    if (found == dialled_.end()) found = dialled_.emplace(endpoint, dial_(endpoint)).first;
    return *found->second;
  }

  task<result<response>> sent(service_request what, detail::answer_judge judge) {
    regional_request const about{
        .use = use_of(what),
        .kind = what.message.kind,
        .deadline = what.message.deadline,
        .stop = what.message.stop,
        // A session may have seen partitions there that are news elsewhere.
        .begins_where_written = what.about == resource::partition_range};
    auto ask = [this, judge, writes = about.use == region_use::write, question = std::move(what)](
                   service_region const& of, region_attempt const& within) {
      service_request asked = question;
      // Without it a region that is not the first one to take writes refuses them.
      if (writes && within.writes_in_many)
        asked.message.headers.set("x-ms-cosmos-allow-tentative-writes", "true");
      detail::judging const how{judge, writes && within.writes_in_many};
      return asked_in(of.endpoint, std::move(asked), how, within.patience);
    };
    auto look = looking(about.stop);
    auto sending = send_across(regions_, sender_.clock(), about, std::move(ask), std::move(look),
                               detail::judging{judge}, &sender_.options().on_event);
    co_return co_await std::move(sending);
  }
  static task<result<response>> sent_for(void* account, service_request what,
                                         detail::answer_judge judge) {
    return static_cast<regional_account*>(account)->sent(std::move(what), judge);
  }

  // A list of partitions goes on from a version of the region that gave it, and of no other one.
  task<result<response>> asked_in(service_endpoint at, service_request asked, detail::judging judge,
                                  std::optional<instant::duration> patience) {
    std::optional<std::string> list;
    if (asked.about == resource::partition_range) list = asked.link;
    if (list && !is_version_of(*list, at, asked.message.headers.find("if-none-match").value_or("")))
      asked.message.headers.remove("if-none-match");
    auto sending = sender_.sent(transport_to(at), std::move(asked), judge, patience);
    auto answer = co_await std::move(sending);
    if (list && answer && answer->status < 300)
      if (auto const etag = answer->headers.find("etag")) {
        std::lock_guard const lock{mutex_};
        versions_.insert_or_assign({*std::move(list), at}, std::string{*etag});
      }
    co_return answer;
  }
  bool is_version_of(std::string const& list, service_endpoint const& at, std::string_view etag) {
    std::lock_guard const lock{mutex_};
    auto const found = versions_.find({list, at});
    return found != versions_.end() && found->second == etag;
  }

  auto looking(stop_token stop) {
    return [this, stop = std::move(stop)](service_endpoint const& at, instant until) {
      return looked(at, until, stop);
    };
  }
  task<result<account_regions>> looked(service_endpoint at, instant until, stop_token stop) {
    auto question = read_account();
    question.message.deadline = until;
    question.message.stop = std::move(stop);
    auto asking = sender_.sent(transport_to(at), std::move(question), detail::judging{});
    auto const answer = co_await std::move(asking);
    if (!answer) co_return unexpected{answer.error()};
    auto said = account_in(*answer);
    if (!said) co_return unexpected{said.error()};
    // Nothing is signed for a place that anybody can listen in on, where the account is not one.
    auto const is_in_the_open = [&](service_region const& one) {
      return regions_.given().is_secure && !one.endpoint.is_secure;
    };
    std::erase_if(said->regions.writable, is_in_the_open);
    std::erase_if(said->regions.readable, is_in_the_open);
    co_return std::move(said->regions);
  }

  Dial dial_;
  region_directory regions_;
  detail::account_sender<Clock, Hmac> sender_;
  std::mutex mutex_{};  // of what follows
  std::map<service_endpoint, transport_pointer> dialled_{};
  // Of each list of partitions the version that a region gave last.
  std::map<std::pair<std::string, service_endpoint>, std::string> versions_{};
};

template <class Dial, class Clock, class Credential>
regional_account(Dial, Clock&, service_endpoint, Credential) -> regional_account<Dial, Clock>;
template <class Dial, class Clock, class Credential>
regional_account(Dial, Clock&, service_endpoint, Credential, regional_options)
    -> regional_account<Dial, Clock>;

}  // namespace keyspan::cosmos
