// reject: a byte has eight bits
static_assert(sizeof(char) == 1, "a byte has eight bits");
