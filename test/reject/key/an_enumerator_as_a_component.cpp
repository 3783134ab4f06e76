// reject-gcc: enumerator_by_its_underlying_value.*state
// reject-clang: state.* does not satisfy 'enumerator_by_its_underlying_value'
#include <keyspan/key/extractor.hpp>
#include <keyspan/key/key_value.hpp>

enum class state { open, closed };
struct order {
  state current;
};

#ifdef KEYSPAN_GOOD_TWIN
constexpr auto by_state =
    keyspan::key_of([](order const& o) { return keyspan::underlying(o.current); });
#else
constexpr auto by_state = keyspan::key_of(&order::current);
#endif
