// reject: nobody says this
// reject-gcc: a byte (has|had) eight bits
// reject-clang: a byte (has|had) eight bits
// reject-msvc: a byte (has|had) eight bits
#ifndef KEYSPAN_GOOD_TWIN
static_assert(sizeof(char) == 2, "a byte has eight bits");
#endif
