// reject: dials_an_endpoint
#include <keyspan/async/manual_clock.hpp>
#include <keyspan/async/ready.hpp>
#include <keyspan/cosmos/regional_account.hpp>

#include <memory>

struct wire {
  keyspan::ready<keyspan::result<keyspan::response>> send(keyspan::request const&);
};

// A transport that is handed out by value has nobody to keep it.
#ifdef KEYSPAN_GOOD_TWIN
using dialled = std::unique_ptr<wire>;
#else
using dialled = wire;
#endif
dialled dial(keyspan::service_endpoint const& to);

using account = keyspan::cosmos::regional_account<decltype(&dial), keyspan::manual_clock>;
bool knows_regions(account const& shop) { return !shop.regions().known().readable.empty(); }
