// reject-gcc: ignoring return value of .*sound.*, declared with attribute .nodiscard.
// reject-clang: ignoring return value of function declared with 'nodiscard' attribute
// reject-msvc: C4834
#include <keyspan/processor/processor_options.hpp>

// Options that contradict each other are refused here, or nowhere.
void see(keyspan::processor_options<int> const& options) {
#ifdef KEYSPAN_GOOD_TWIN
  static_cast<void>(keyspan::sound(options));
#else
  keyspan::sound(options);
#endif
}
