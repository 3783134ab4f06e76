// keyspan/processor.hpp — all of the processor: hosts that share the changes of a source, and
// handle every one.
#pragma once

#include <keyspan/processor/change_batch.hpp>
#include <keyspan/processor/change_handler.hpp>
#include <keyspan/processor/first_leases.hpp>
#include <keyspan/processor/host_context.hpp>
#include <keyspan/processor/lease_control.hpp>
#include <keyspan/processor/lease_reading.hpp>
#include <keyspan/processor/lease_work.hpp>
#include <keyspan/processor/membership.hpp>
#include <keyspan/processor/processing.hpp>
#include <keyspan/processor/processor.hpp>
#include <keyspan/processor/processor_event.hpp>
#include <keyspan/processor/processor_options.hpp>
#include <keyspan/processor/roster.hpp>
#include <keyspan/processor/strand.hpp>
