// keyspan/feed.hpp — all of feed: what changed in a partitioned container, as one lazy range.
#pragma once

#include <keyspan/feed/continuation.hpp>
#include <keyspan/feed/cursor.hpp>
#include <keyspan/feed/divide.hpp>
#include <keyspan/feed/feed.hpp>
#include <keyspan/feed/feed_mode.hpp>
#include <keyspan/feed/feed_progress.hpp>
#include <keyspan/feed/feed_reading.hpp>
#include <keyspan/feed/feed_request.hpp>
#include <keyspan/feed/feed_scope.hpp>
#include <keyspan/feed/feed_stream.hpp>
#include <keyspan/feed/foreign_cursor.hpp>
#include <keyspan/feed/page.hpp>
#include <keyspan/feed/page_source.hpp>
#include <keyspan/feed/read_request.hpp>
#include <keyspan/feed/scripted_source.hpp>
#include <keyspan/feed/wall_time.hpp>
