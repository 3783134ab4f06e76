// reject: what a stream gives has no greater alignment than operator new
#include <keyspan/async/async_stream.hpp>

#ifdef KEYSPAN_GOOD_TWIN
struct alignas(16) wide {
#else
struct alignas(64) wide {
#endif
  int number;
};

keyspan::async_stream<wide> one() { co_yield wide{1}; }
