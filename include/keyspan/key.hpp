// keyspan/key.hpp — all of key: from a document to its partition key.
#pragma once

#include <keyspan/key/bucketed.hpp>
#include <keyspan/key/container_definition.hpp>
#include <keyspan/key/described_member.hpp>
#include <keyspan/key/document_traits.hpp>
#include <keyspan/key/extractor.hpp>
#include <keyspan/key/joined.hpp>
#include <keyspan/key/key_component.hpp>
#include <keyspan/key/key_json.hpp>
#include <keyspan/key/key_path.hpp>
#include <keyspan/key/key_value.hpp>
#include <keyspan/key/partition_key.hpp>
#include <keyspan/key/time_bucket.hpp>
