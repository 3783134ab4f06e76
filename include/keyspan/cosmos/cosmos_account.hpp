// keyspan/cosmos/cosmos_account.hpp — an account, or an emulator, that is talked to over a
// transport: it signs what is asked, repeats what may be repeated, and opens containers.
//
//   cosmos_container --request--> cosmos_account --signed, again and again--> transport
#pragma once

#include <keyspan/async/clock.hpp>
#include <keyspan/async/task.hpp>
#include <keyspan/core/error.hpp>
#include <keyspan/core/result.hpp>
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
#include <keyspan/transport/message.hpp>
#include <keyspan/transport/transport.hpp>

#include <string>
#include <utility>

namespace keyspan::cosmos {

/// An account behind an endpoint. What it is asked is signed anew at each attempt, and repeated as
/// `retrying` does: this is the one owner of repetitions, so the transport below sends once.
///
///   cosmos_account account{transport, loop, *master_key::from(key)};
///   auto reviews = co_await account.open<review>("shop", "reviews");
///
/// Transport and clock outlive it, and it outlives the containers that it has opened. All members
/// may be called from any thread where transport and clock may.
template <transport Transport, clock Clock, makes_hmac_sha256 Hmac = hmac_sha256_function>
class cosmos_account {
 public:
  /// Signs by `hmac`, as a key does: one of a cryptographic library's in the place of ours.
  /// Requires what `retry_policy` does.
  cosmos_account(Transport& to, Clock& by, credential who, account_options options = {},
                 Hmac hmac = {})
      : to_{&to}, sender_{by, std::move(who), std::move(options), std::move(hmac)} {}
  cosmos_account(cosmos_account const&) = delete;
  cosmos_account& operator=(cosmos_account const&) = delete;

  /// Signs with another credential from now on: a token that ran out was replaced.
  void set_credential(credential who) { sender_.set_credential(std::move(who)); }

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
    auto sending = sent(std::move(what), detail::answer_judge::by_service);
    auto answer = co_await std::move(sending);
    if (answer)
      if (auto const why = service_errors{}(*answer)) co_return unexpected{*why};
    co_return answer;
  }

  /// Opens a container by its names: asks how its keys are made and hashed. Errors:
  /// `invalid_options` for names that nothing may have; `not_found`; `scheme_mismatch` where it is
  /// hashed by another scheme than the one that was named; those of `container_in` and `send`.
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

  task<result<response>> sent(service_request what, detail::answer_judge judge) {
    return sender_.sent(*to_, std::move(what), detail::judging{judge});
  }
  static task<result<response>> sent_for(void* account, service_request what,
                                         detail::answer_judge judge) {
    return static_cast<cosmos_account*>(account)->sent(std::move(what), judge);
  }

  Transport* to_;
  detail::account_sender<Clock, Hmac> sender_;
};

template <class Transport, class Clock, class Credential>
cosmos_account(Transport&, Clock&, Credential) -> cosmos_account<Transport, Clock>;
template <class Transport, class Clock, class Credential>
cosmos_account(Transport&, Clock&, Credential, account_options) -> cosmos_account<Transport, Clock>;

}  // namespace keyspan::cosmos
