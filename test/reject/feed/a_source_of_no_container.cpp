// reject-gcc: required for the satisfaction of 'has_container_and_scheme<
// reject-clang: does not satisfy 'has_container_and_scheme'
#include <keyspan/async/ready.hpp>
#include <keyspan/feed/page_source.hpp>
#include <keyspan/hash/fast64.hpp>

#include <string>

// A cursor of another container could not be told from one of this.
struct source {
  using scheme_type = keyspan::fast64_scheme;
  using page_type = keyspan::page<int>;
  using partitions = keyspan::partition_page<std::uint64_t>;

  scheme_type scheme() const { return {}; }
#ifdef KEYSPAN_GOOD_TWIN
  std::string container() const { return "c"; }
#endif
  keyspan::ready<keyspan::result<page_type>> read(keyspan::token_range<std::uint64_t> const&,
                                                  keyspan::continuation const&,
                                                  keyspan::read_request const&);
  keyspan::ready<keyspan::result<partitions>> topology(std::string const& known);
};

template <keyspan::page_source Source>
void read_all_of(Source&) {}
void use(source& from) { read_all_of(from); }
