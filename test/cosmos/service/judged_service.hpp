// test/cosmos/service/judged_service.hpp — the service that is asked: the server of the example,
// started for a test, or another one that the environment names.
//
//   KEYSPAN_COSMOS_ENDPOINT      https://shop.documents.azure.com/
//   KEYSPAN_COSMOS_KEY           its master key, in base64
//   KEYSPAN_COSMOS_CAPABILITIES  documents,paging,… — what it can do; else, what any account can
#pragma once

#include <catch2/catch_test_macros.hpp>
#include <cosmos/account.hpp>
#include <hash/server/process.hpp>

#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace test {

/// The server of the example, on a port of 127.0.0.1 that the system has chosen.
class own_server {
 public:
  explicit own_server(std::size_t partitions)
      : process_{{COSMOS_SERVER, "--port", "0", "--key", std::string{account_key}, "--partitions",
                  std::to_string(partitions)},
                 said()} {
    auto const late = std::chrono::steady_clock::now() + std::chrono::seconds{20};
    for (std::string text; port_.empty(); std::this_thread::sleep_for(2ms)) {
      text = text_of_file(said());
      if (text.starts_with("ready ") && text.ends_with('\n'))
        port_ = text.substr(6, text.size() - 7);
      else if (process_.wait(0ms) || std::chrono::steady_clock::now() > late)
        throw std::runtime_error{"the server does not start: " + text};
    }
  }

  std::string endpoint() const { return "http://127.0.0.1:" + port_ + "/"; }

 private:
  std::filesystem::path said() const { return folder_.path() / "said"; }

  temporary_folder folder_{};
  process process_;
  std::string port_{};
};

class judged_service {
 public:
  explicit judged_service(std::size_t partitions = 4) {
    if (char const* const given = std::getenv("KEYSPAN_COSMOS_ENDPOINT")) {
      char const* const key = std::getenv("KEYSPAN_COSMOS_KEY");
      if (key == nullptr) FAIL("KEYSPAN_COSMOS_ENDPOINT wants KEYSPAN_COSMOS_KEY beside it");
      endpoint_ = given;
      key_ = key;
      char const* const can = std::getenv("KEYSPAN_COSMOS_CAPABILITIES");
      capabilities_ = listed(can != nullptr ? can : any_account);
    } else {
      own_.emplace(partitions);
      endpoint_ = own_->endpoint();
      key_ = account_key;
      capabilities_ = listed(all);
    }
    for (std::string const& one : capabilities_)
      if (!listed(all).contains(one)) FAIL("there is no capability \"" << one << '"');
  }

  std::string const& endpoint() const noexcept { return endpoint_; }
  std::string const& key() const noexcept { return key_; }
  /// Leaves the test out, by name, where the service cannot do this.
  void wants(std::string_view capability) const {
    if (capabilities_.contains(std::string{capability})) return;
    SKIP("it wants a service that is capable of " << capability);
  }

 private:
  static constexpr std::string_view all =
      "documents,absence,paging,preconditions,batch,hierarchical,change_feed,all_versions,ranges,"
      "control,session,authorization,limits,throttling";
  static constexpr std::string_view any_account =
      "documents,absence,paging,preconditions,batch,hierarchical,change_feed,session,"
      "authorization,limits";

  static std::set<std::string> listed(std::string_view text) {
    std::set<std::string> made;
    while (!text.empty()) {
      auto const end = text.find(',');
      made.emplace(text.substr(0, end));
      text.remove_prefix(end == text.npos ? text.size() : end + 1);
    }
    return made;
  }

  std::optional<own_server> own_{};
  std::string endpoint_{};
  std::string key_{};
  std::set<std::string> capabilities_{};
};

}  // namespace test
