#include "everything.hpp"

#include "house_everything.hpp"

house::addresses house::addresses_in_first() {
  return {reinterpret_cast<void const*>(&keyspan::print_violation),
          reinterpret_cast<void const*>(&keyspan::set_contract_handler),
          &keyspan::detail::current_contract_handler, &keyspan::all_errc};
}
