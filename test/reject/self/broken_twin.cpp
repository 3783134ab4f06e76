// reject: a byte has eight bits
#ifdef KEYSPAN_GOOD_TWIN
static_assert(sizeof(char) == 2, "a byte has nine bits");
#else
static_assert(sizeof(char) == 2, "a byte has eight bits");
#endif
