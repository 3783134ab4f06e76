// reject: has eight bits.*nobody_declared_this
#ifndef KEYSPAN_GOOD_TWIN
static_assert(sizeof(char) == 2, "a byte has eight bits");
int bits = nobody_declared_this();
#endif
