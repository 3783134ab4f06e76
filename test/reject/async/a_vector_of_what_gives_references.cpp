// reject: what stands in a vector gives values
#include <keyspan/async/sync_wait.hpp>
#include <keyspan/async/task.hpp>
#include <keyspan/async/when_all.hpp>

#include <utility>
#include <vector>

#ifdef KEYSPAN_GOOD_TWIN
using given = int*;
#else
using given = int&;
#endif

void wait_for(std::vector<keyspan::task<given>> all) {
  keyspan::sync_wait(keyspan::when_all(std::move(all)));
}
