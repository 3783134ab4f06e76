// keyspan/hash.hpp — all of hash: from a partition key to its place, and to its node.
#pragma once

#include <keyspan/hash/any_scheme.hpp>
#include <keyspan/hash/cassandra.hpp>
#include <keyspan/hash/cosmos_multihash.hpp>
#include <keyspan/hash/cosmos_v1.hpp>
#include <keyspan/hash/cosmos_v2.hpp>
#include <keyspan/hash/fast64.hpp>
#include <keyspan/hash/hash_scheme.hpp>
#include <keyspan/hash/identity.hpp>
#include <keyspan/hash/integer_space.hpp>
#include <keyspan/hash/jump.hpp>
#include <keyspan/hash/kafka.hpp>
#include <keyspan/hash/key_text.hpp>
#include <keyspan/hash/maglev.hpp>
#include <keyspan/hash/murmur3.hpp>
#include <keyspan/hash/number_bytes.hpp>
#include <keyspan/hash/placement.hpp>
#include <keyspan/hash/redis_cluster.hpp>
#include <keyspan/hash/rendezvous.hpp>
#include <keyspan/hash/token.hpp>
#include <keyspan/hash/token128.hpp>
#include <keyspan/hash/token_bytes.hpp>
