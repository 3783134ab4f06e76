// keyspan/core.hpp — all of core: what every other module stands on.
#pragma once

#include <keyspan/core/base64.hpp>
#include <keyspan/core/boxed.hpp>
#include <keyspan/core/bytes.hpp>
#include <keyspan/core/contract.hpp>
#include <keyspan/core/error.hpp>
#include <keyspan/core/index_view.hpp>
#include <keyspan/core/json.hpp>
#include <keyspan/core/number.hpp>
#include <keyspan/core/print.hpp>
#include <keyspan/core/result.hpp>
#include <keyspan/core/text.hpp>
#include <keyspan/core/utf8.hpp>
#include <keyspan/core/version.hpp>
