// reject: a byte has eight bits
#ifndef KEYSPAN_GOOD_TWIN
static_assert(sizeof(char) == 2, "a byte has eight bits");
#endif
