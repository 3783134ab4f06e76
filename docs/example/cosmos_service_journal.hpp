// docs/example/cosmos_service_journal.hpp — what changed the service, request by request, in a
// file: a service that is killed and started again is what it was, to the last etag.
//
//   00000057 00000003 5d1c9b7a00f1e2d3 0f2a6b7c8d9e0f11     size, number, checksums of both parts
//   1795089600000 201 "9c1f…"                               when, and what the answer was
//   POST /dbs/shop/colls/orders/docs
//   x-ms-documentdb-partitionkey: ["redmond"]
//
//   {"id":"o-1","shop":"redmond"}
//
// The operating system has a record before its request is answered, so it survives the process; it
// is not forced to the disk, so not a loss of power. Nothing is ever taken out of the file. Who
// signed a request does not stand in it.
#pragma once

#include "cosmos_service.hpp"
#include "cosmos_service_wire.hpp"

#include <keyspan/core/error.hpp>
#include <keyspan/core/result.hpp>
#include <keyspan/core/text.hpp>
#include <keyspan/feed/wall_time.hpp>
#include <keyspan/hash/fast64.hpp>
#include <keyspan/key/key_value.hpp>
#include <keyspan/transport/message.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#if __has_include(<sys/file.h>)
#include <sys/file.h>
#endif

namespace cosmos_server {

/// A change could not be written down: the service has it and its file does not, so nobody may be
/// answered any more.
class journal_failed : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// One request that changed something, and what tells that it did the same again.
struct journal_record {
  keyspan::wall_time at{};
  std::uint16_t status = 0;  ///< of the answer; 0 where there was none
  std::string etag{};        ///< of the answer
  request asked{};
};

// ---- records as bytes --------------------------------------------------------------------------

/// Whether a header has a say in what is done. Who asks, and when, has none the second time.
inline bool is_journaled(keyspan::header_field const& field) {
  if (field.value.find_first_of("\r\n") != std::string::npos) return false;
  auto const begins = [&](std::string_view with) {
    return is_same_word(std::string_view{field.name}.substr(0, with.size()), with);
  };
  if (begins("x-ms-")) return !is_same_word(field.name, "x-ms-date");
  return begins("if-") || is_same_word(field.name, "a-im") || is_same_word(field.name, "prefer") ||
         is_same_word(field.name, "content-type");
}

inline std::string payload_of(journal_record const& from) {
  std::string made = std::to_string(from.at.time_since_epoch().count());
  made.append(" ").append(std::to_string(from.status)).append(" ").append(from.etag);
  made.append("\n").append(from.asked.method).append(" ").append(from.asked.target).append("\n");
  for (auto const& field : from.asked.headers)
    if (is_journaled(field)) made.append(field.name).append(": ").append(field.value).append("\n");
  return made.append("\n").append(from.asked.body);
}

/// None where it is not what `payload_of` makes.
inline std::optional<journal_record> record_in(std::string_view payload) {
  journal_record made;
  bool is_good = true;
  auto const up_to = [&](char end) {
    auto const size = payload.find(end);
    if (size == payload.npos) is_good = false;
    auto const part = payload.substr(0, size);
    payload.remove_prefix((std::min)(payload.size(), part.size() + 1));
    return part;
  };
  auto const at = number_in<std::int64_t>(up_to(' '));
  auto const status = number_in<std::uint16_t>(up_to(' '));
  made.etag = up_to('\n');
  made.asked.method = up_to(' ');
  made.asked.target = up_to('\n');
  for (auto line = up_to('\n'); is_good && !line.empty(); line = up_to('\n')) {
    auto const colon = line.find(": ");
    if (colon == line.npos) return std::nullopt;
    made.asked.headers.add(line.substr(0, colon), line.substr(colon + 2));
  }
  if (!is_good || !at || !status) return std::nullopt;
  made.at = keyspan::wall_time{std::chrono::milliseconds{*at}};
  made.status = *status;
  made.asked.body = payload;
  return made;
}

/// What stands before the payload of a record, a line of its own.
struct record_head {
  static constexpr std::size_t size = 52;

  std::uint32_t bytes = 0;   ///< of the payload
  std::uint32_t number = 0;  ///< of the record, from 0 on
  std::uint64_t checksum = 0;

  std::string to_text() const {
    std::string made;
    append(made, bytes, 8);
    append(made, number, 8);
    append(made, checksum, 16);
    append(made, checksum_of(made), 16);
    made.back() = '\n';
    return made;
  }
  static std::optional<record_head> from(std::string_view text) {
    record_head made;
    made.bytes = static_cast<std::uint32_t>(value_of(text.substr(0, 8)));
    made.number = static_cast<std::uint32_t>(value_of(text.substr(9, 8)));
    made.checksum = value_of(text.substr(18, 16));
    return made.to_text() == text ? std::optional{made} : std::nullopt;
  }
  static std::uint64_t checksum_of(std::string_view text) {
    keyspan::key_value const value{text};
    return keyspan::fast64.token_of(std::span{&value, 1});
  }

 private:
  static void append(std::string& to, std::uint64_t value, std::size_t digits) {
    to.append(digits, '0').push_back(' ');
    for (std::size_t at = to.size() - 1; digits-- > 0; value >>= 4)
      to[--at] = "0123456789abcdef"[value & 15];
  }
  static std::uint64_t value_of(std::string_view digits) {
    std::uint64_t made = 0;
    for (char const c : digits)
      made = made << 4 | static_cast<std::uint64_t>(c <= '9' ? c - '0' : c - 'a' + 10);
    return made;
  }
};

inline std::string record_text(std::uint32_t number, std::string_view payload) {
  record_head const head{.bytes = static_cast<std::uint32_t>(payload.size()),
                         .number = number,
                         .checksum = record_head::checksum_of(payload)};
  return head.to_text().append(payload).append("\n");
}

// ---- the file ----------------------------------------------------------------------------------

/// A file of records, held by one service at a time.
class journal_file {
 public:
  /// Opens it, or makes a new one. Errors: `invalid_options` where that is not possible or somebody
  /// else has it open.
  static result<journal_file> open(std::string const& name) {
    std::error_code why;
    auto const kind = std::filesystem::status(name, why).type();
    bool const is_new = kind == std::filesystem::file_type::not_found;
    if (!is_new && kind != std::filesystem::file_type::regular)
      return keyspan::fail(errc::invalid_options, "the journal is no file");
    journal_file made;
    made.name_ = name;
    made.file_.reset(std::fopen(name.c_str(), is_new ? "w+b" : "r+b"));
    if (!made.file_)
      return keyspan::fail(errc::invalid_options, "the journal cannot be opened for writing");
    std::setvbuf(made.file_.get(), nullptr, _IONBF, 0);  // one write a record
#if __has_include(<sys/file.h>)
    if (::flock(::fileno(made.file_.get()), LOCK_EX | LOCK_NB) != 0)
      return keyspan::fail(errc::invalid_options, "another server has the journal open");
#endif
    return made;
  }

  /// The payload of the next record; none where there is no more, or only a part of one, whose
  /// request was never answered: that is cut off. Errors: `malformed` for a damaged one.
  result<std::optional<std::string>> next() {
    std::string text(record_head::size, '\0');
    if (!read(text)) return cut();
    auto const head = record_head::from(text);
    if (!head || head->number != count_) return damaged();
    std::string payload(std::size_t{head->bytes} + 1, '\0');
    if (!read(payload)) return cut();
    bool const is_ended = payload.back() == '\n';
    payload.pop_back();
    if (!is_ended || record_head::checksum_of(payload) != head->checksum) return damaged();
    end_ += record_head::size + payload.size() + 1;
    ++count_;
    return std::optional{std::move(payload)};
  }

  /// Adds a record behind the last one. Throws `journal_failed`.
  void add(std::string_view payload) {
    auto const text = record_text(count_, payload);
    if (std::fwrite(text.data(), 1, text.size(), file_.get()) != text.size())
      throw journal_failed{"the journal takes no more: what was not answered is not in it"};
    end_ += text.size();
    ++count_;
  }

  std::uint32_t count() const noexcept { return count_; }
  keyspan::unexpected damaged() const {
    return keyspan::fail(errc::malformed, "record ", count_, " of the journal, at byte ", end_,
                         ", is damaged: cut the file there to go on with what stands before it");
  }

 private:
  struct closing {
    void operator()(std::FILE* file) const noexcept { std::fclose(file); }
  };

  journal_file() = default;

  bool read(std::string& to) {
    return std::fread(to.data(), 1, to.size(), file_.get()) == to.size();
  }
  result<std::optional<std::string>> cut() {
    if (std::ferror(file_.get()) != 0)
      return keyspan::fail(errc::invalid_options, "the journal cannot be read");
    std::error_code why;
    std::filesystem::resize_file(name_, end_, why);
    if (why || std::fseek(file_.get(), 0, SEEK_END) != 0)
      return keyspan::fail(errc::invalid_options, "the journal cannot be written");
    return std::optional<std::string>{};
  }

  std::string name_{};
  std::unique_ptr<std::FILE, closing> file_{};
  std::uintmax_t end_ = 0;
  std::uint32_t count_ = 0;
};

// ---- the service -------------------------------------------------------------------------------

/// A service that goes on where it was. One thread at a time uses it.
class journaled_service {
 public:
  /// A service that keeps nothing where `file` is empty. Errors: those of `journal_file`;
  /// `invalid_options` for a journal of a service that was set up otherwise; `malformed`.
  static result<std::unique_ptr<journaled_service>> open(cosmos_service_options options,
                                                         std::string const& file = {}) {
    if (file.empty())
      return std::unique_ptr<journaled_service>{new journaled_service{std::move(options)}};
    auto journal = journal_file::open(file);
    if (!journal) return keyspan::unexpected{journal.error()};
    auto made = std::unique_ptr<journaled_service>{
        new journaled_service{std::move(options), *std::move(journal)}};
    if (auto const done = made->begin(); !done) return keyspan::unexpected{done.error()};
    return made;
  }
  journaled_service(journaled_service const&) = delete;
  journaled_service& operator=(journaled_service const&) = delete;

  /// What the service says to a request, once it is written down. Throws `journal_failed`, and is
  /// not used any more then.
  response answer(request const& asked) {
    if (!journal_) return service_.answer(asked);
    if (has_failed_) throw journal_failed{"the journal has failed"};
    moment_->at = (std::max)(moment_->at, moment_->clock());  // a moment for all of it
    auto const before = service_.changes();
    try {
      response made = service_.answer(asked);
      if (service_.changes() != before) write(asked, made.status, etag_of(made));
      return made;
    } catch (journal_failed const&) {
      throw;
    } catch (...) {
      if (service_.changes() != before) write(asked, 0, {});
      throw;
    }
  }

  /// How many requests stand in the journal.
  std::uint32_t records() const noexcept { return journal_ ? journal_->count() - 1 : 0; }

 private:
  struct moment {
    keyspan::wall_time at{};
    std::function<keyspan::wall_time()> clock{};
  };

  explicit journaled_service(cosmos_service_options options) : service_{std::move(options)} {}
  journaled_service(cosmos_service_options options, journal_file journal)
      : title_{title_of(options)},
        journal_{std::move(journal)},
        service_{at_moments(std::move(options), *moment_)} {}

  static cosmos_service_options at_moments(cosmos_service_options options, moment& when) {
    when.clock = options.now ? std::move(options.now) : [] {
      return std::chrono::floor<std::chrono::milliseconds>(std::chrono::system_clock::now());
    };
    options.now = [&when] { return when.at; };
    return options;
  }
  // What makes other etags and ids of the same requests.
  static std::string title_of(cosmos_service_options const& of) {
    std::string made{"keyspan journal 1\nseed "};
    made.append(std::to_string(of.seed)).append("\npartitions ");
    made.append(std::to_string(of.partitions)).append("\nversions are kept for ms ");
    return made.append(std::to_string(of.keeps_versions.count()));
  }
  static std::string etag_of(response const& of) {
    return std::string{of.headers.find("etag").value_or(std::string_view{})};
  }

  result<void> begin() {
    auto title = journal_->next();
    if (!title) return keyspan::unexpected{title.error()};
    if (!*title) {
      journal_->add(title_);
    } else if (**title != title_) {
      return keyspan::fail(errc::invalid_options,
                           "the journal is of a server with another --seed or --partitions");
    }
    for (;;) {
      auto const payload = journal_->next();
      if (!payload) return keyspan::unexpected{payload.error()};
      if (!*payload) return {};
      auto const one = record_in(**payload);
      if (!one) return journal_->damaged();
      moment_->at = one->at;
      auto const again = service_.answer_again(one->asked);
      if (one->status != 0 && (again.status != one->status || etag_of(again) != one->etag))
        return keyspan::fail(errc::malformed, "what record ", journal_->count() - 1,
                             " of the journal asks is answered otherwise now: the file is one of ",
                             "another version of this server");
    }
  }
  void write(request const& asked, std::uint16_t status, std::string etag) {
    has_failed_ = true;  // unless it goes well
    journal_->add(payload_of({moment_->at, status, std::move(etag), asked}));
    has_failed_ = false;
  }

  std::unique_ptr<moment> moment_ = std::make_unique<moment>();
  std::string title_{};
  std::optional<journal_file> journal_{};
  bool has_failed_ = false;
  cosmos_service service_;
};

}  // namespace cosmos_server
