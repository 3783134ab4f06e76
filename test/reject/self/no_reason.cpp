// This file says nothing about why it should be refused.
#ifndef KEYSPAN_GOOD_TWIN
static_assert(sizeof(char) == 2, "a byte has eight bits");
#endif
