// keyspan/async.hpp — all of async: what can be awaited, stopped, and waited for.
#pragma once

#include <keyspan/async/async_stream.hpp>
#include <keyspan/async/awaitable.hpp>
#include <keyspan/async/clock.hpp>
#include <keyspan/async/completion.hpp>
#include <keyspan/async/frame_memory.hpp>
#include <keyspan/async/instant.hpp>
#include <keyspan/async/manual_clock.hpp>
#include <keyspan/async/ready.hpp>
#include <keyspan/async/run_loop.hpp>
#include <keyspan/async/steady_loop.hpp>
#include <keyspan/async/stop_token.hpp>
#include <keyspan/async/sync_wait.hpp>
#include <keyspan/async/task.hpp>
#include <keyspan/async/thread_clock.hpp>
#include <keyspan/async/when_all.hpp>
