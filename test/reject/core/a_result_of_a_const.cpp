// reject: result<T> holds an object type without const, and T is not an error type
#include <keyspan/core/result.hpp>

#ifdef KEYSPAN_GOOD_TWIN
using value = int;
#else
using value = int const;
#endif
std::size_t const size = sizeof(keyspan::result<value>);
