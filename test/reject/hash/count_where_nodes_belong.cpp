// reject-gcc: no matching function for call to 'keyspan::rendezvous::rendezvous
// reject-clang: no matching constructor for initialization of 'const (keyspan::)?rendezvous'
#include <keyspan/hash/rendezvous.hpp>

// Ten nodes, or one whose number is ten? A number names a node only where it is called an id.
#ifdef KEYSPAN_GOOD_TWIN
keyspan::rendezvous const nodes{keyspan::node_id{10}};
#else
keyspan::rendezvous const nodes{10};
#endif
