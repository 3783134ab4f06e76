// keyspan/keyspan.hpp — the whole library, without adapters and conformance laws.
#pragma once

#include <keyspan/async.hpp>
#include <keyspan/core.hpp>
#include <keyspan/feed.hpp>
#include <keyspan/hash.hpp>
#include <keyspan/key.hpp>
#include <keyspan/lease.hpp>
#include <keyspan/merge.hpp>
#include <keyspan/processor.hpp>
#include <keyspan/range.hpp>
#include <keyspan/region.hpp>
#include <keyspan/transport.hpp>
