// keyspan/range.hpp — all of range: who owns which tokens, now and after the next split.
#pragma once

#include <keyspan/range/bounded_ring.hpp>
#include <keyspan/range/bucket_table.hpp>
#include <keyspan/range/cover.hpp>
#include <keyspan/range/owned_range.hpp>
#include <keyspan/range/partition.hpp>
#include <keyspan/range/provisioning.hpp>
#include <keyspan/range/published.hpp>
#include <keyspan/range/range_map.hpp>
#include <keyspan/range/ring.hpp>
#include <keyspan/range/routing.hpp>
#include <keyspan/range/routing_refresh.hpp>
#include <keyspan/range/token_prefix.hpp>
#include <keyspan/range/token_range.hpp>
#include <keyspan/range/topology.hpp>
