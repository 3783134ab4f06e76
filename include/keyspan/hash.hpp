// keyspan/hash.hpp — all of hash: from a partition key to its place.
#pragma once

#include <keyspan/hash/hash_scheme.hpp>
#include <keyspan/hash/token.hpp>
#include <keyspan/hash/token128.hpp>
