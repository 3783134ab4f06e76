// test/cosmos/service/wire.hpp — the adapter that these tests are compiled for.
#pragma once

#if defined(KEYSPAN_TEST_OVER_ASIO)
#include "asio_wire.hpp"
#else
#include "curl_wire.hpp"
#endif
