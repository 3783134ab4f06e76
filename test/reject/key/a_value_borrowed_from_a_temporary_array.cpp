// reject: borrowable_key_input
#include <keyspan/key/key_value.hpp>

struct row {
  char city[200];
};
row load();

#ifdef KEYSPAN_GOOD_TWIN
row const loaded = load();
keyspan::key_value const city{loaded.city};
#else
keyspan::key_value const city{load().city};
#endif
