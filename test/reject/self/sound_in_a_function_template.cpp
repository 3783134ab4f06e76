// reject: a byte has eight bits

// Bodies of templates are instantiated although nothing is compiled to code.
template <class T>
void measure() {
  static_assert(sizeof(T) == 1, "a byte has eight bits");
}

#ifdef KEYSPAN_GOOD_TWIN
void use() { measure<char>(); }
#else
void use() { measure<char[2]>(); }
#endif
