// keyspan/region.hpp — all of module `region`: accounts in several regions.
#pragma once

#include <keyspan/region/account_regions.hpp>
#include <keyspan/region/across_regions.hpp>
#include <keyspan/region/patient_source.hpp>
#include <keyspan/region/region_directory.hpp>
#include <keyspan/region/region_marks.hpp>
#include <keyspan/region/region_order.hpp>
#include <keyspan/region/region_retry.hpp>
#include <keyspan/region/regional_layout.hpp>
#include <keyspan/region/united_regions.hpp>
