// reject: enumerator_by_its_underlying_value
#include <keyspan/key/joined.hpp>

enum class state { open, closed };
struct order {
  state is;
  int number;
};

#ifdef KEYSPAN_GOOD_TWIN
auto const by_both = keyspan::joined("-", &order::number, &order::number);
#else
auto const by_both = keyspan::joined("-", &order::is, &order::number);
#endif
