// reject-gcc: required for the satisfaction of 'answers_list_with_records<
// reject-clang: does not satisfy 'answers_list_with_records'
#include <keyspan/async/ready.hpp>
#include <keyspan/lease/lease_store.hpp>

#include <string>
#include <string_view>
#include <vector>

// A host would have to read each record to learn whose it is.
struct store {
  template <class T>
  using answer = keyspan::ready<keyspan::result<T>>;
  using request = keyspan::store_request;
  using text = std::string_view;

#ifdef KEYSPAN_GOOD_TWIN
  answer<std::vector<keyspan::stored_record>> list(text prefix, request const&);
#else
  answer<std::vector<std::string>> list(text prefix, request const&);
#endif
  answer<keyspan::stored_record> read(text id, request const&);
  answer<std::string> create(text id, text body, request const&);
  answer<std::string> replace(text id, text body, text version, request const&);
  answer<void> remove(text id, text version, request const&);
};

template <keyspan::lease_store Store>
void keep_leases_in(Store&) {}
void use(store& in) { keep_leases_in(in); }
