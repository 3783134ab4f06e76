// reject-gcc: required for the satisfaction of 'answers_read_with_a_page<
// reject-clang: does not satisfy 'answers_read_with_a_page'
#include <keyspan/async/ready.hpp>
#include <keyspan/feed/page_source.hpp>
#include <keyspan/hash/fast64.hpp>

#include <string>

struct source {
  using scheme_type = keyspan::fast64_scheme;
  using page_type = keyspan::page<int>;
  using partitions = keyspan::partition_page<std::uint64_t>;

  scheme_type scheme() const { return {}; }
  std::string container() const { return "c"; }
#ifdef KEYSPAN_GOOD_TWIN
  keyspan::ready<keyspan::result<page_type>> read(keyspan::token_range<std::uint64_t> const&,
                                                  keyspan::continuation const&,
                                                  keyspan::read_request const&);
#endif
  keyspan::ready<keyspan::result<partitions>> topology(std::string const& known);
};

template <keyspan::page_source Source>
void read_all_of(Source&) {}
void use(source& from) { read_all_of(from); }
