// Every header of keyspan after the macros that others define: it compiles, or a name was unwise.

#include "hygiene_before.hpp"
//
#include "hygiene_macros.hpp"
//
#include "house_everything.hpp"
