// reject-gcc: 's.read.range, from, request.' does not satisfy return-type-requirement
// reject-clang: does not satisfy 'awaitable'
#include <keyspan/async/ready.hpp>
#include <keyspan/feed/page_source.hpp>
#include <keyspan/hash/fast64.hpp>

#include <string>

// A page at once is a `ready` page, so that coroutines can await it, too.
struct source {
  using scheme_type = keyspan::fast64_scheme;
  using page_type = keyspan::page<int>;
  using partitions = keyspan::partition_page<std::uint64_t>;
#ifdef KEYSPAN_GOOD_TWIN
  using answer = keyspan::ready<keyspan::result<page_type>>;
#else
  using answer = keyspan::result<page_type>;
#endif

  scheme_type scheme() const { return {}; }
  std::string container() const { return "c"; }
  answer read(keyspan::token_range<std::uint64_t> const&, keyspan::continuation const&,
              keyspan::read_request const&);
  keyspan::ready<keyspan::result<partitions>> topology(std::string const& known);
};

template <keyspan::page_source Source>
void read_all_of(Source&) {}
void use(source& from) { read_all_of(from); }
