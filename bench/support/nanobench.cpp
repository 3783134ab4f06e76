// The one translation unit that holds nanobench's own code.
#define ANKERL_NANOBENCH_IMPLEMENT
#include <nanobench.h>
