// reject-gcc: required for the satisfaction of 'answers_replace_with_a_version<
// reject-clang: does not satisfy 'answers_replace_with_a_version'
#include <keyspan/async/ready.hpp>
#include <keyspan/lease/lease_store.hpp>

#include <string>
#include <string_view>
#include <vector>

// Without it nobody could renew a lease that is still his own.
struct store {
  template <class T>
  using answer = keyspan::ready<keyspan::result<T>>;
  using request = keyspan::store_request;
  using text = std::string_view;

  answer<std::vector<keyspan::stored_record>> list(text prefix, request const&);
  answer<keyspan::stored_record> read(text id, request const&);
  answer<std::string> create(text id, text body, request const&);
#ifdef KEYSPAN_GOOD_TWIN
  answer<std::string> replace(text id, text body, text version, request const&);
#endif
  answer<void> remove(text id, text version, request const&);
};

template <keyspan::lease_store Store>
void keep_leases_in(Store&) {}
void use(store& in) { keep_leases_in(in); }
