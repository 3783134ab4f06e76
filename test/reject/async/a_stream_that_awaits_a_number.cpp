// reject: what is awaited is an awaiter or has an operator co_await
#include <keyspan/async/async_stream.hpp>
#include <keyspan/async/ready.hpp>

keyspan::async_stream<int> numbers() {
#ifdef KEYSPAN_GOOD_TWIN
  co_yield co_await keyspan::ready{1};
#else
  co_await 1;
  co_yield 1;
#endif
}
