// reject: a byte has eight bits
static_assert(sizeof(char) == 2, "a byte has eight bits");
