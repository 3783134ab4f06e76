// keyspan/law.hpp — all laws: checks that a type of yours keeps what a concept demands of it.
#pragma once

#include <keyspan/law/finding.hpp>
#include <keyspan/law/hash_scheme.hpp>
#include <keyspan/law/lease_store.hpp>
#include <keyspan/law/page_source.hpp>
#include <keyspan/law/placement.hpp>
#include <keyspan/law/range_map.hpp>
#include <keyspan/law/transport.hpp>
