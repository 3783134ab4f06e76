// reject-gcc: required for the satisfaction of 'handles_batches<
// reject-clang: because 'handles_batches<
#include <keyspan/processor/change_batch.hpp>
#include <keyspan/processor/change_handler.hpp>

using batch_type = keyspan::change_batch<int, int>;

// Nobody would know whether `false` means that it comes again, or that it is done with.
struct handler {
#ifdef KEYSPAN_GOOD_TWIN
  keyspan::result<void> process(batch_type& batch);
#else
  bool process(batch_type& batch);
#endif
};

template <keyspan::change_handler<batch_type> Handler>
void handle(Handler&);

void handle_all(handler& own) { handle(own); }
