// keyspan/transport/item_batch.hpp — what is done to the documents of one partition key, all of it
// or nothing.
#pragma once

#include <keyspan/core/result.hpp>
#include <keyspan/core/text.hpp>
#include <keyspan/key/key_value.hpp>
#include <keyspan/key/partition_key.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace keyspan {

/// The sentences that a compiler shows for what is no patch of a `T`. One that takes a copy, by
/// value, would change nothing; what it returned beside an error would be lost.
template <class F, class T>
concept takes_the_document_by_reference =
    std::invocable<F&, T&> && (std::is_member_function_pointer_v<F> || !std::invocable<F&, T>);
template <class F, class T>
concept returns_nothing_or_a_result_of_nothing =
    std::is_void_v<std::invoke_result_t<F&, T&>> ||
    std::same_as<std::invoke_result_t<F&, T&>, result<void>>;

/// A function that changes a document: `[](review& one) { ++one.rating; }`. It takes a `T&` and
/// nothing else, and may return a `result<void>` that says why it refuses to.
template <class F, class T>
concept patch_of =
    takes_the_document_by_reference<F, T> && returns_nothing_or_a_result_of_nothing<F, T>;

/// How a write is done.
struct write_options {
  /// Only where the document still has this etag: `errc::precondition_failed` else. Empty for any.
  inline_text<64> if_match{};
};

namespace detail {

enum class item_operation : std::uint8_t { read, create, upsert, replace, remove, patch };

constexpr std::string_view name_of(item_operation what) {
  constexpr std::string_view names[]{"read", "create", "upsert", "replace", "remove", "patch"};
  return names[static_cast<std::size_t>(what)];
}

// A function of a document that returns a result or nothing, as one that returns a result.
template <class T, class F>
result<void> patched(T& document, F& patch) {
  if constexpr (std::is_same_v<std::invoke_result_t<F&, T&>, result<void>>) {
    return std::invoke(patch, document);
  } else {
    std::invoke(patch, document);
    return {};
  }
}

template <class T>
struct batched_operation {
  item_operation what;
  std::optional<T> document{};
  // An id, as a key of one value, so that it owns its text.
  partition_key id{};
  inline_text<64> if_match{};
  std::function<result<void>(T&)> patch{};
};

}  // namespace detail

/// Operations on documents of one partition key, in their order. They are done together: everybody
/// sees all of them or none, and a feed gives what they wrote in one page.
///
///   item_batch<review> work{"redmond"};
///   work.create(r1).replace(r2, {.if_match = seen.etag()}).remove("r-3");
///   auto const done = co_await container.execute(work);
template <class T>
class item_batch {
 public:
  /// Of this key: a `partition_key`, or what makes one.
  explicit item_batch(partition_key key) : key_{std::move(key)} {}
  template <key_input Value>
  explicit item_batch(Value const& value) : key_{value} {}

  item_batch& create(T document) { return add(what::create, std::move(document), {}); }
  item_batch& upsert(T document, write_options options = {}) {
    return add(what::upsert, std::move(document), options);
  }
  item_batch& replace(T document, write_options options = {}) {
    return add(what::replace, std::move(document), options);
  }
  template <key_input Id>
  item_batch& remove(Id const& id, write_options options = {}) {
    return add(what::remove, id, options);
  }
  template <key_input Id>
  item_batch& read(Id const& id) {
    return add(what::read, id, {});
  }
  /// Changes the document by a function of it, which may return a `result<void>`. It is called
  /// while the partition is locked, so it does not use the container.
  template <key_input Id, patch_of<T> F>
  item_batch& patch(Id const& id, F f, write_options options = {}) {
    add(what::patch, id, options);
    operations_.back().patch = [patch = std::move(f)](T& document) mutable {
      return detail::patched(document, patch);
    };
    return *this;
  }

  partition_key const& key() const noexcept { return key_; }
  std::size_t size() const noexcept { return operations_.size(); }
  bool empty() const noexcept { return operations_.empty(); }
  std::vector<detail::batched_operation<T>> const& operations() const noexcept {
    return operations_;
  }

 private:
  using what = detail::item_operation;

  item_batch& add(what kind, T document, write_options options) {
    operations_.push_back(
        {.what = kind, .document = std::move(document), .if_match = options.if_match});
    return *this;
  }
  template <key_input Id>
  item_batch& add(what kind, Id const& id, write_options options) {
    operations_.push_back({.what = kind, .id = partition_key{id}, .if_match = options.if_match});
    return *this;
  }

  partition_key key_;
  std::vector<detail::batched_operation<T>> operations_{};
};

}  // namespace keyspan
