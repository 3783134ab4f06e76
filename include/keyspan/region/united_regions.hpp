// keyspan/region/united_regions.hpp — what a program in one region writes to, and what it reads:
// the account of its own region, and those of all regions as one.
//
//   account 0  r-1 r-4      --,
//   account 1  r-2          --+-->  r-1 r-2 r-4      and: Japan East did not answer
//   account 2  (no answer)  --'
#pragma once

#include <keyspan/async/clock.hpp>
#include <keyspan/async/task.hpp>
#include <keyspan/async/when_all.hpp>
#include <keyspan/core/contract.hpp>
#include <keyspan/core/error.hpp>
#include <keyspan/core/result.hpp>
#include <keyspan/core/text.hpp>
#include <keyspan/feed/feed.hpp>
#include <keyspan/feed/feed_request.hpp>
#include <keyspan/feed/feed_scope.hpp>
#include <keyspan/feed/page_source.hpp>
#include <keyspan/merge/merged_ranges.hpp>
#include <keyspan/merge/sort_order.hpp>
#include <keyspan/merge/united_order.hpp>
#include <keyspan/region/patient_source.hpp>
#include <keyspan/region/region_retry.hpp>
#include <keyspan/region/regional_layout.hpp>
#include <keyspan/transport/item_id.hpp>
#include <keyspan/transport/stored.hpp>

#include <algorithm>
#include <chrono>
#include <concepts>
#include <cstddef>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace keyspan {

/// An account that was not read, or not to its end.
struct region_outage {
  /// Its number in the layout, and the region that it is written in.
  std::size_t account = 0;
  std::string region{};
  error why{errc::unavailable};
};

/// How accounts are read together.
struct union_options {
  /// How long each answer of an account may take.
  instant::duration patience = std::chrono::seconds{2};
  /// For how long an account that gave no answer is reported without being asked again.
  instant::duration mark_lasts = std::chrono::seconds{5};
};

/// What all accounts hold of something.
template <class Item>
struct united_items {
  std::vector<Item> items{};
  /// Those accounts whose part may be missing; empty where the union is whole.
  std::vector<region_outage> outages{};

  bool is_whole() const noexcept { return outages.empty(); }
};

/// What is known of one document.
template <class T>
struct united_item {
  stored<T> item{};
  std::vector<region_outage> outages{};

  bool is_whole() const noexcept { return outages.empty(); }
};

/// The sentence that a compiler shows for what cannot be read as the container of a region: a
/// `page_source` of changes.
template <class C>
concept regional_container =
    page_source<C> && std::same_as<item_of_source<C>, change<typename C::document_type>>;

/// The accounts of a layout, as a program in one of its regions sees them: the same container of
/// each, opened in this region. It writes to one of them, `local()`, and reads all at the same
/// time.
///
///   std::vector const accounts{&usa, &europe};
///   united_regions reviews{layout, here, accounts, clock};
///   co_await reviews.local().create(review{…});
///   auto const all = co_await reviews.read(partition_key{"redmond"}, ascending(&…));
///
/// An account that does not answer is reported, with the region where it is written, and not waited
/// for: behind `patience` the others are given without it, and for some time it is not asked.
/// Where two accounts hold the same document, by key and id, the one that was written last is
/// given; of two at the same moment that of the lower account.
///
/// Containers and clock outlive it. All members may be called from any thread where they may be.
template <regional_container Container, clock Clock>
class united_regions {
 public:
  using source_type = patient_source<Container, Clock>;
  using document_type = typename Container::document_type;
  using item_type = change<document_type>;
  using scope_type = feed_scope<token_of_source<Container>>;

  /// Requires a region of the layout, and a container for each account, in their order; a patience
  /// above 0.
  united_regions(regional_layout layout, std::size_t here, std::vector<Container*> accounts,
                 Clock& clock, union_options options = {})
      : layout_{std::move(layout)}, here_{here}, clock_{&clock}, options_{options} {
    expects(here < layout_.size(), "a program runs in a region of the layout");
    expects(accounts.size() == layout_.size(), "there are as many accounts as regions");
    for (Container* const one : accounts) {
      expects(one != nullptr, "every account has its container");
      sources_.emplace_back(*one, clock, options_.patience);
    }
    marks_.resize(sources_.size());
  }
  united_regions(united_regions const&) = delete;
  united_regions& operator=(united_regions const&) = delete;

  regional_layout const& layout() const noexcept { return layout_; }
  /// The number of the region that this is in.
  std::size_t here() const noexcept { return here_; }
  /// Where to write.
  Container& local() const noexcept { return sources_[here_].source(); }
  /// The container of an account. Requires that there is one.
  Container& account(std::size_t number) const {
    expects(number < sources_.size(), "there are as many accounts as regions");
    return sources_[number].source();
  }

  /// A feed of each account, in their order, to be merged in whatever order and manner: a merge
  /// that is told to go on without sources that fail names those by these numbers. This object
  /// outlives the feeds.
  [[nodiscard]] std::vector<feed<source_type>> feeds(
      feed_request<token_of_source<Container>> const& request = {}) {
    std::vector<feed<source_type>> made;
    for (source_type& source : sources_) made.emplace_back(source, request);
    return made;
  }

  /// The latest version of all documents of a scope, one of each, sorted by `order`, an order of
  /// changes. Errors: that of the account of this region where none was read to its end.
  /// Complexity: all of it is held, and sorted.
  template <class Order>
    requires orders_items<Order, item_type>
  task<result<united_items<item_type>>> read(scope_type scope, Order order, read_options how = {}) {
    feed_request<token_of_source<Container>> request;
    request.scope = std::move(scope);
    request.deadline = how.deadline;
    request.stop = std::move(how.stop);
    std::vector<task<part>> asking;
    for (std::size_t i = 0; i < sources_.size(); ++i) asking.push_back(read_account(i, request));
    auto all = when_all(std::move(asking));
    std::vector<part> parts = co_await std::move(all);

    united_items<item_type> made;
    if (auto const why = take_outages(parts, made.outages)) co_return unexpected{*why};
    auto const one_of_each = united_by(ascending(&named_item::name), &named_item::name, later{});
    std::vector<std::vector<named_item>> runs;
    for (part& one : parts) runs.push_back(std::move(one.items));
    std::vector<named_item> found;
    for (named_item const& one : merge(runs, one_of_each)) found.push_back(one);
    std::sort(found.begin(), found.end(), [&](named_item const& a, named_item const& b) {
      if (order(a.item, b.item)) return true;
      return !order(b.item, a.item) && a.name < b.name;
    });
    made.items.reserve(found.size());
    for (named_item& one : found) made.items.push_back(std::move(one.item));
    co_return made;
  }

  /// The same of one key.
  template <detail::views_as_key Key, class Order>
    requires orders_items<Order, item_type> && (!std::convertible_to<Key const&, scope_type>)
  task<result<united_items<item_type>>> read(Key const& key, Order order, read_options how = {}) {
    return read(scope_type{partition_key{detail::view_of_key(key)}}, std::move(order),
                std::move(how));
  }

  /// A document, from whichever account has it. Errors: `not_found` where all accounts have said
  /// so; `unavailable`, naming a region that did not answer, where the others have no such
  /// document; those of the account of this region where no account could be read at all.
  template <detail::views_as_key Key, key_input Id>
  task<result<united_item<document_type>>> read_item(Key const& key, Id const& id,
                                                     read_options how = {}) {
    return read_one(partition_key{detail::view_of_key(key)}, partition_key{key_value(id)},
                    std::move(how));
  }

  /// Asks accounts again that were found down.
  void forget_outages() {
    std::lock_guard const lock{mutex_};
    for (auto& one : marks_) one.reset();
  }

 private:
  struct named_item {
    std::string name;
    item_type item;
  };
  struct later {
    bool operator()(named_item const& kept, named_item const& other) const {
      return other.item.at > kept.item.at;
    }
  };
  // What one account has answered.
  struct part {
    std::vector<named_item> items{};
    stored<document_type> item{};
    std::optional<error> why{};
  };
  struct mark {
    error why;
    instant until;
  };

  // A session of one account is none of another's.
  read_options within_patience(read_options how) const {
    instant const at_last = instant_after(clock_->now(), options_.patience);
    how.deadline = how.deadline ? (std::min)(*how.deadline, at_last) : at_last;
    how.session_token = {};
    return how;
  }
  // The own region is always asked.
  std::optional<error> found_down(std::size_t account) {
    if (account == here_) return std::nullopt;
    std::lock_guard const lock{mutex_};
    auto& one = marks_[account];
    if (one && one->until <= clock_->now()) one.reset();
    if (one) return one->why;
    return std::nullopt;
  }
  // Who answers that it does not, or not now, is there; a deadline of the caller says nothing of
  // it.
  void note(std::size_t account, error const& why, std::optional<instant> const& deadline) {
    if (why.code == errc::timed_out && deadline && *deadline <= clock_->now()) return;
    auto const trouble = trouble_of(why, request_kind::read);
    bool const is_down = why.code == errc::timed_out || trouble == region_trouble::unreachable ||
                         trouble == region_trouble::unavailable ||
                         trouble == region_trouble::not_there;
    if (!is_down) return;
    std::lock_guard const lock{mutex_};
    marks_[account].emplace(mark{why, instant_after(clock_->now(), options_.mark_lasts)});
  }

  static std::string name_of(item_type const& one) {
    partition_key const key = one.item.key();
    return std::string{detail::item_name{partition_key_view{key}, one.item.id()}.view()};
  }

  task<part> read_account(std::size_t account, feed_request<token_of_source<Container>> request) {
    part made;
    if (auto why = found_down(account)) {
      made.why = std::move(why);
      co_return made;
    }
    auto const deadline = request.deadline;
    // Lists of partitions know no deadline of a feed.
    auto patience = options_.patience;
    if (deadline && *deadline > clock_->now())
      patience = (std::min)(patience, instant::duration{*deadline - clock_->now()});
    source_type source{sources_[account].source(), *clock_, patience};
    feed<source_type> changes{source, std::move(request)};
    auto pages = changes.stream();
    // What was written while it was read is told twice, the later version behind the other.
    std::map<std::string, item_type> latest;
    while (auto* const page = co_await pages.next_page()) {
      if (!*page) {
        made.why = page->error();
        note(account, *made.why, deadline);
        break;
      }
      for (item_type const& one : (*page)->items)
        if (one.item) latest.insert_or_assign(name_of(one), one);
    }
    made.items.reserve(latest.size());
    for (auto& [name, item] : latest) made.items.push_back({name, std::move(item)});
    co_return made;
  }

  task<result<united_item<document_type>>> read_one(partition_key key, partition_key id,
                                                    read_options how) {
    std::vector<task<part>> asking;
    for (std::size_t i = 0; i < sources_.size(); ++i)
      asking.push_back(ask_account(i, key, id, how));
    auto all = when_all(std::move(asking));
    std::vector<part> parts = co_await std::move(all);

    united_item<document_type> made;
    if (auto const why = take_outages(parts, made.outages)) co_return unexpected{*why};
    for (part const& one : parts)
      if (one.item && (!made.item || one.item.modified_at() > made.item.modified_at()))
        made.item = one.item;
    if (made.item) co_return made;
    if (made.is_whole()) co_return fail(errc::not_found, "no region has the document");
    region_outage const& first = made.outages.front();
    error why{errc::unavailable, "no region that answered has the document; ",
              inline_text<40>{std::string_view{first.region}}, " did not: ", name_of_code(first)};
    why.wire = first.why.wire;
    co_return unexpected{why};
  }
  static std::string_view name_of_code(region_outage const& of) {
    return keyspan::name_of(of.why.code);
  }

  task<part> ask_account(std::size_t account, partition_key key, partition_key id,
                         read_options how) {
    auto const deadline = how.deadline;
    how = within_patience(std::move(how));
    part made;
    if (auto why = found_down(account)) {
      made.why = std::move(why);
      co_return made;
    }
    auto&& asked = sources_[account].source().read_item(key, id[0], how);
    auto answer = co_await std::forward<decltype(asked)>(asked);
    if (answer) {
      made.item = std::move(answer->item);
    } else if (answer.error().code != errc::not_found) {
      made.why = answer.error();
      note(account, *made.why, deadline);
    }
    co_return made;
  }

  // Who did not answer. Where nobody did, what the account of this region said.
  std::optional<error> take_outages(std::vector<part> const& parts,
                                    std::vector<region_outage>& to) const {
    for (std::size_t i = 0; i < parts.size(); ++i)
      if (parts[i].why) to.push_back({i, layout_.regions()[i], *parts[i].why});
    if (to.size() < parts.size()) return std::nullopt;
    error why = *parts[here_].why;
    std::string const said{why.text.view()};
    why.text = inline_text<160>{"no account could be read; that of ",
                                inline_text<40>{std::string_view{layout_.regions()[here_]}}, ": ",
                                said.empty() ? meaning_of(why.code) : std::string_view{said}};
    return why;
  }

  regional_layout layout_;
  std::size_t here_;
  Clock* clock_;
  union_options options_;
  mutable std::deque<source_type> sources_{};
  std::mutex mutex_{};
  std::vector<std::optional<mark>> marks_{};
};

}  // namespace keyspan
