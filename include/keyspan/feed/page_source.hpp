// keyspan/feed/page_source.hpp — what can be read as a feed: it answers with pages of a range, and
// tells who owns which range.
//
//   read([40, 80), "12", request)  -->  page: items, "17"
//   topology("v3")                 -->  the partitions that are new since then
#pragma once

#include <keyspan/async/awaitable.hpp>
#include <keyspan/core/result.hpp>
#include <keyspan/feed/continuation.hpp>
#include <keyspan/feed/page.hpp>
#include <keyspan/feed/read_request.hpp>
#include <keyspan/hash/hash_scheme.hpp>
#include <keyspan/range/routing_refresh.hpp>
#include <keyspan/range/token_range.hpp>

#include <concepts>
#include <string>
#include <string_view>

namespace keyspan {

/// The tokens of a source's scheme.
template <class Source>
using token_of_source = typename Source::scheme_type::token_type;

/// The sentence that a compiler shows for a source that does not say which container it reads.
template <class S>
concept has_container_and_scheme = hash_scheme<typename S::scheme_type> && requires(S const& s) {
  { s.container() } -> std::convertible_to<std::string_view>;
  { s.scheme() } -> std::convertible_to<typename S::scheme_type>;
};

/// The sentence that a compiler shows where `read` is missing or gives no awaitable of a page.
template <class S>
concept answers_read_with_a_page = page_of_items<typename S::page_type> &&
                                   requires(S& s, token_range<token_of_source<S>> const& range,
                                            continuation const& from, read_request const& request) {
                                     {
                                       s.read(range, from, request)
                                     } -> awaitable_of<result<typename S::page_type>>;
                                   };

/// The sentence that a compiler shows where `topology` is missing or gives no awaitable of
/// partitions.
template <class S>
concept answers_topology_with_partitions = requires(S& s, std::string const& known) {
  { s.topology(known) } -> awaitable_of<result<partition_page<token_of_source<S>>>>;
};

/// Somebody's partitioned changes: two questions, each answered by an awaitable of a result. One
/// that is always ready never suspends, so that the same source serves plain loops.
///
///   scheme_type, page_type      how keys become tokens; a `page` of items
///   scheme()                    the scheme's value
///   container()                 which container it is: an id that no other one has, nor this one
///                               after it was made anew
///   read(range, from, request)  the changes of a range that lies in one partition, from a
///                               continuation on
///   topology(known)             the partitions that are new since the version known, all where
///                               it is empty; what `routing_refresh` takes
///
/// Laws, checked by `law::check_page_source`: reading on from each page's continuation gives every
/// change of the range once, in the order they were made for each key, until `nothing_new`, in
/// pages of any size; a part's changes are those of the whole that lie in it, a key's those that
/// are its own; every page has a continuation. *From now* shows nothing that was there before, and
/// a moment that cannot be found is `errc::unsupported`. An error moves nothing.
///
/// A continuation is good for the range that it was given for and for any part or key of it, any
/// number of times, also after splits and merges. It is never asked for a larger one.
///
/// A range over several partitions is `errc::range_gone`, and so is a request that names a
/// partition which is gone, also where the range lies in one new partition. `topology` then tells
/// of what replaced it. A feed asks and reads again at once, 16 times: a source, or its transport,
/// itself waits out a split that is still being completed.
///
/// A source may say `static constexpr bool abandonable = true`: then an operation that it has in
/// flight owns all it needs, and whoever awaits it may be destroyed. And it may have a second
/// `topology(known, request)`, which goes by the deadline and the stop token of a `read_request`:
/// whoever cannot wait for long asks by that.
template <class S>
concept page_source = has_container_and_scheme<S> && answers_read_with_a_page<S> &&
                      answers_topology_with_partitions<S>;

/// The items of a source's pages.
template <page_source Source>
using item_of_source = typename Source::page_type::item_type;

}  // namespace keyspan
