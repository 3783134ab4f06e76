// keyspan/merge.hpp — all of the merge module: many sorted sources as one stream.
#pragma once

#include <keyspan/merge/following_within.hpp>
#include <keyspan/merge/held_run.hpp>
#include <keyspan/merge/identified_order.hpp>
#include <keyspan/merge/merge_async.hpp>
#include <keyspan/merge/merge_feeds.hpp>
#include <keyspan/merge/merge_inbox.hpp>
#include <keyspan/merge/merge_options.hpp>
#include <keyspan/merge/merge_reading.hpp>
#include <keyspan/merge/merge_sources.hpp>
#include <keyspan/merge/merged_batch.hpp>
#include <keyspan/merge/merged_cursor.hpp>
#include <keyspan/merge/merged_feeds.hpp>
#include <keyspan/merge/merged_ranges.hpp>
#include <keyspan/merge/merged_stream.hpp>
#include <keyspan/merge/order_value.hpp>
#include <keyspan/merge/order_words.hpp>
#include <keyspan/merge/other_orders.hpp>
#include <keyspan/merge/sort_image.hpp>
#include <keyspan/merge/sort_order.hpp>
#include <keyspan/merge/source_place.hpp>
#include <keyspan/merge/stream_sources.hpp>
#include <keyspan/merge/united_order.hpp>
#include <keyspan/merge/united_run.hpp>
#include <keyspan/merge/winner_tree.hpp>
