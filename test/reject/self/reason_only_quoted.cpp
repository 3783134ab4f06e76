// reject: a byte has eight bits
#ifndef KEYSPAN_GOOD_TWIN
int bits = nobody_declared_this("a byte has eight bits");
#endif
