// keyspan/cosmos/cosmos_account.hpp — an account, or an emulator, that is talked to over a
// transport: it signs what is asked, repeats what may be repeated, and opens containers.
//
//   cosmos_container --request--> cosmos_account --signed, again and again--> transport
#pragma once

#include <keyspan/async/clock.hpp>
#include <keyspan/async/task.hpp>
#include <keyspan/core/error.hpp>
#include <keyspan/core/json.hpp>
#include <keyspan/core/result.hpp>
#include <keyspan/cosmos/address.hpp>
#include <keyspan/cosmos/container_answers.hpp>
#include <keyspan/cosmos/cosmos_container.hpp>
#include <keyspan/cosmos/credential.hpp>
#include <keyspan/cosmos/document_json.hpp>
#include <keyspan/cosmos/hmac_sha256.hpp>
#include <keyspan/cosmos/service_errors.hpp>
#include <keyspan/cosmos/service_request.hpp>
#include <keyspan/feed/wall_time.hpp>
#include <keyspan/hash/any_scheme.hpp>
#include <keyspan/transport/event.hpp>
#include <keyspan/transport/message.hpp>
#include <keyspan/transport/retry_policy.hpp>
#include <keyspan/transport/retrying.hpp>
#include <keyspan/transport/transport.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>

namespace keyspan::cosmos {

struct account_options {
  /// How patient requests are. The seed is that of their jitter.
  retry_policy retries{};
  /// Is told of every attempt.
  event_hook on_event{};
  /// What time it is, for signatures; the system's clock where it is empty. A service refuses who
  /// is off by a quarter of an hour.
  std::function<wall_time()> now{};
};

namespace detail {

// A credential as it was sent, in any form that somebody may repeat it in: no run of so many
// characters of it is to be seen anywhere.
class hidden_credential {
 public:
  explicit hidden_credential(std::string_view authorization) {
    add(authorization);
    if (auto const plain = percent_decoded(authorization)) add(*plain);
  }

  // Puts stars in the place of what is a part of it. Returns whether there was any.
  bool hide_in(std::string& text) const {
    std::string const folded = lower(text);
    bool has_any = false;
    for (std::size_t i = 0; i + run <= folded.size(); ++i) {
      if (!runs_.contains(std::hash<std::string_view>{}(std::string_view{folded}.substr(i, run))))
        continue;
      std::fill_n(text.begin() + static_cast<std::ptrdiff_t>(i), run, '*');
      has_any = true;
    }
    return has_any;
  }

 private:
  static constexpr std::size_t run = 8;

  static std::string lower(std::string_view text) {
    std::string made{text};
    for (char& c : made) c = keyspan::detail::lower_case(c);
    return made;
  }
  void add(std::string_view text) {
    std::string const folded = lower(text);
    std::string_view secret = folded;
    // The words in front of it are no secret.
    for (std::string_view const words : {std::string_view{"sig="}, std::string_view{"sig%3d"}})
      if (auto const at = secret.find(words); at != secret.npos)
        secret.remove_prefix(at + words.size());
    for (std::size_t i = 0; i + run <= secret.size(); ++i)
      runs_.insert(std::hash<std::string_view>{}(secret.substr(i, run)));
  }

  std::unordered_set<std::size_t> runs_{};
};

// Errors and events are made of what an answer says of itself, and somebody on the way may repeat
// there what he was sent.
inline void hide_credential(response& answer, std::string_view authorization) {
  hidden_credential const secret{authorization};
  header_list headers;
  for (auto const& [name, value] : answer.headers) {
    std::string shown = value;
    secret.hide_in(shown);
    headers.add(name, shown);
  }
  answer.headers = std::move(headers);
  // Also where it stands there in JSON's escapes.
  if (auto said = read_complaint(answer.body)) {
    bool const in_code = secret.hide_in(said->code);
    bool const in_message = secret.hide_in(said->message);
    if (in_code || in_message) {
      answer.body.clear();
      json_writer out{answer.body};
      out.begin_object().name("code").string(said->code);
      out.name("message").string(said->message).end_object();
    }
  }
  secret.hide_in(answer.body);
}

// The way to an account for what is in its containers.
struct account_door {
  template <class Account>
  static service_door of(Account& account) {
    return {&account, &Account::sent_for};
  }
};

}  // namespace detail

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
      : to_{&to},
        clock_{&by},
        who_{std::move(who)},
        options_{std::move(options)},
        hmac_{std::move(hmac)} {
    keyspan::detail::check_policy(options_.retries);
  }
  cosmos_account(cosmos_account const&) = delete;
  cosmos_account& operator=(cosmos_account const&) = delete;

  /// Signs with another credential from now on: a token that ran out was replaced.
  void set_credential(credential who) {
    std::lock_guard const lock{mutex_};
    who_ = std::move(who);
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

  // Gives each attempt a date and a signature of its own.
  class signing {
   public:
    signing(cosmos_account& account, resource about, std::string link)
        : account_{account}, about_{about}, link_{std::move(link)} {}

    task<result<response>> send(request what) {
      account_.sign(what, about_, link_);
      auto&& asked = account_.to_->send(what);
      result<response> answer = co_await std::forward<decltype(asked)>(asked);
      bool const is_error = answer && service_errors{}(*answer).has_value();
      if (is_error)
        if (auto const secret = what.headers.find("authorization"))
          detail::hide_credential(*answer, *secret);
      co_return answer;
    }

   private:
    cosmos_account& account_;
    resource about_;
    std::string link_;
  };

  task<result<response>> sent(service_request what, detail::answer_judge judge) {
    retry_policy policy = options_.retries;
    policy.seed ^= keyspan::detail::mixed(requests_.fetch_add(1, std::memory_order_relaxed));
    signing one{*this, what.about, std::move(what.link)};
    retrying<signing, Clock, detail::judging> repeated{one, policy, *clock_, options_.on_event,
                                                       detail::judging{judge}};
    auto sending = repeated.send(std::move(what.message));
    co_return co_await std::move(sending);
  }
  static task<result<response>> sent_for(void* account, service_request what,
                                         detail::answer_judge judge) {
    return static_cast<cosmos_account*>(account)->sent(std::move(what), judge);
  }

  void sign(request& what, resource about, std::string_view link) const {
    wall_time const now =
        options_.now
            ? options_.now()
            : std::chrono::floor<std::chrono::milliseconds>(std::chrono::system_clock::now());
    std::lock_guard const lock{mutex_};
    authorize(what, who_, about, link, now, hmac_);
  }

  Transport* to_;
  Clock* clock_;
  credential who_;
  account_options options_;
  Hmac hmac_;
  mutable std::mutex mutex_{};  // of the credential
  std::atomic<std::uint64_t> requests_{0};
};

template <class Transport, class Clock, class Credential>
cosmos_account(Transport&, Clock&, Credential) -> cosmos_account<Transport, Clock>;
template <class Transport, class Clock, class Credential>
cosmos_account(Transport&, Clock&, Credential, account_options) -> cosmos_account<Transport, Clock>;

}  // namespace keyspan::cosmos
