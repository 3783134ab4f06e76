// keyspan/lease.hpp — all of lease: who owns which range, decided without clock, thread or I/O.
#pragma once

#include <keyspan/lease/lease_changes.hpp>
#include <keyspan/lease/lease_facts.hpp>
#include <keyspan/lease/lease_ids.hpp>
#include <keyspan/lease/lease_machine.hpp>
#include <keyspan/lease/lease_record.hpp>
#include <keyspan/lease/lease_store.hpp>
#include <keyspan/lease/lease_table.hpp>
#include <keyspan/lease/lease_terms.hpp>
#include <keyspan/lease/member_machine.hpp>
#include <keyspan/lease/memory_store.hpp>
#include <keyspan/lease/plan.hpp>
#include <keyspan/lease/session_id.hpp>
