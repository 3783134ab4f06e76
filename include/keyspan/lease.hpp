// keyspan/lease.hpp — all of lease: who owns which range, decided without clock, thread or I/O.
#pragma once

#include <keyspan/lease/session_id.hpp>
