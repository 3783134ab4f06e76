// keyspan/cosmos/account_sender.hpp — what all accounts do with a request: sign it anew at each
// attempt, repeat what may be repeated, and keep the credential out of what is told.
#pragma once

#include <keyspan/async/clock.hpp>
#include <keyspan/async/task.hpp>
#include <keyspan/core/json.hpp>
#include <keyspan/core/result.hpp>
#include <keyspan/cosmos/credential.hpp>
#include <keyspan/cosmos/hmac_sha256.hpp>
#include <keyspan/cosmos/open_container.hpp>
#include <keyspan/cosmos/service_errors.hpp>
#include <keyspan/cosmos/service_request.hpp>
#include <keyspan/feed/wall_time.hpp>
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
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>

namespace keyspan::cosmos {

/// How an account is talked to.
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

// Signs and repeats what is asked of an account, whichever transport it goes over. All members may
// be called from any thread.
template <clock Clock, makes_hmac_sha256 Hmac>
class account_sender {
 public:
  account_sender(Clock& by, credential who, account_options options, Hmac hmac)
      : clock_{&by}, who_{std::move(who)}, options_{std::move(options)}, hmac_{std::move(hmac)} {
    keyspan::detail::check_policy(options_.retries);
  }

  Clock& clock() const noexcept { return *clock_; }
  account_options const& options() const noexcept { return options_; }
  void set_credential(credential who) {
    std::lock_guard const lock{mutex_};
    who_ = std::move(who);
  }

  // With a patience each answer is waited for no longer than that; what is busy may be waited for
  // longer.
  template <transport Transport>
  task<result<response>> sent(Transport& to, service_request what, judging judge,
                              std::optional<instant::duration> patience = {}) {
    retry_policy policy = options_.retries;
    policy.seed ^= keyspan::detail::mixed(requests_.fetch_add(1, std::memory_order_relaxed));
    signing<Transport> one{*this, to, what.about, std::move(what.link), patience};
    retrying<signing<Transport>, Clock, judging> repeated{one, policy, *clock_, options_.on_event,
                                                          judge};
    auto sending = repeated.send(std::move(what.message));
    co_return co_await std::move(sending);
  }

 private:
  // Gives each attempt a date and a signature of its own.
  template <transport Transport>
  class signing {
   public:
    signing(account_sender& by, Transport& to, resource about, std::string link,
            std::optional<instant::duration> patience)
        : by_{by}, to_{to}, about_{about}, link_{std::move(link)}, patience_{patience} {}

    task<result<response>> send(request what) {
      if (patience_) {
        instant const at_last = instant_after(by_.clock().now(), *patience_);
        what.deadline = what.deadline ? (std::min)(*what.deadline, at_last) : at_last;
      }
      by_.sign(what, about_, link_);
      auto&& asked = to_.send(what);
      result<response> answer = co_await std::forward<decltype(asked)>(asked);
      bool const is_error = answer && service_errors{}(*answer).has_value();
      if (is_error)
        if (auto const secret = what.headers.find("authorization"))
          hide_credential(*answer, *secret);
      co_return answer;
    }

   private:
    account_sender& by_;
    Transport& to_;
    resource about_;
    std::string link_;
    std::optional<instant::duration> patience_;
  };

  void sign(request& what, resource about, std::string_view link) const {
    wall_time const now =
        options_.now
            ? options_.now()
            : std::chrono::floor<std::chrono::milliseconds>(std::chrono::system_clock::now());
    std::lock_guard const lock{mutex_};
    authorize(what, who_, about, link, now, hmac_);
  }

  Clock* clock_;
  credential who_;
  account_options options_;
  Hmac hmac_;
  mutable std::mutex mutex_{};  // of the credential
  std::atomic<std::uint64_t> requests_{0};
};

}  // namespace detail

}  // namespace keyspan::cosmos
