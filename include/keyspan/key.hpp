// keyspan/key.hpp — all of key: from a document to its partition key.
#pragma once

#include <keyspan/key/key_value.hpp>
#include <keyspan/key/partition_key.hpp>
