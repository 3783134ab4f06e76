// reject: borrowable_key_input
#include <keyspan/key/partition_key.hpp>

#include <string>

#ifdef KEYSPAN_GOOD_TWIN
keyspan::partition_key const key{1, std::string{"redmond"}};
#else
keyspan::partition_key_view const key{1, std::string{"redmond"}};
#endif
