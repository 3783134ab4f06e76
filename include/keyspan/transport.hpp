// keyspan/transport.hpp — all of transport: requests and who carries them, and a container in
// memory that behaves as a service does.
#pragma once

#include <keyspan/transport/endpoint.hpp>
#include <keyspan/transport/event.hpp>
#include <keyspan/transport/faulty.hpp>
#include <keyspan/transport/http_errors.hpp>
#include <keyspan/transport/http_request.hpp>
#include <keyspan/transport/item_batch.hpp>
#include <keyspan/transport/item_id.hpp>
#include <keyspan/transport/memory_container.hpp>
#include <keyspan/transport/memory_options.hpp>
#include <keyspan/transport/memory_partition.hpp>
#include <keyspan/transport/message.hpp>
#include <keyspan/transport/retry_policy.hpp>
#include <keyspan/transport/retrying.hpp>
#include <keyspan/transport/stored.hpp>
#include <keyspan/transport/transport.hpp>
