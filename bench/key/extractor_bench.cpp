// What does describing a key once cost over asking each document for its members by hand? The first
// row is the hand.
#include <bench/support/bench.hpp>
#include <keyspan/key/bucketed.hpp>
#include <keyspan/key/extractor.hpp>
#include <keyspan/key/joined.hpp>
#include <keyspan/key/time_bucket.hpp>

#if KEYSPAN_BENCH_NLOHMANN_JSON
#include <keyspan/key/json_documents.hpp>
#endif

#include <boost/hana/adapt_struct.hpp>

#include <cstdint>
#include <ctime>
#include <string>
#include <string_view>

struct person {
  std::string id;
};
struct message {
  std::string tenant;
  person user;
  std::int64_t ts;
};
BOOST_HANA_ADAPT_STRUCT(person, id);
BOOST_HANA_ADAPT_STRUCT(message, tenant, user, ts);

namespace {

using keyspan::key_of;
using keyspan::partition_key;
using keyspan::partition_key_view;
using keyspan::path;
using keyspan::time_unit;

constexpr auto by_members =
    key_of(&message::tenant, [](message const& m) -> auto const& { return m.user.id; });
constexpr auto by_paths = key_of(path<"/tenant">, path<"/user/id">);
constexpr auto city_day = joined("-", &message::tenant, time_bucket(&message::ts, time_unit::day));
constexpr auto spread = bucketed(&message::tenant, 16, path<"/user/id">);

// What programs have that do it themselves.
std::string joined_by_hand(message const& m) {
  auto const at = static_cast<std::time_t>(m.ts);
  std::tm date{};
  gmtime_r(&at, &date);
  char day[16];
  std::strftime(day, sizeof day, "%Y-%m-%d", &date);
  return m.tenant + "-" + day;
}

}  // namespace

int main(int argc, char** argv) {
  auto run = bench::session{argc, argv};
  message one{"contoso", {"user-0815"}, 1'794'990'000};

  auto& structs = run.table("two values of a struct", "key").count_allocations();
  structs.floor("partition_key_view::from", [&] {
    bench::clobber();
    return partition_key_view::from(one.tenant, one.user.id);
  });
  structs.row("key_of members", [&] {
    bench::clobber();
    return by_members(one);
  });
  structs.row("key_of paths", [&] {
    bench::clobber();
    return by_paths(one);
  });
  structs.row("partition_key, owned", [&] {
    bench::clobber();
    return partition_key::from(one.tenant, one.user.id);
  });
  run.target("key.extractor.members.added_ns",
             structs.ns("key_of members") - structs.ns("partition_key_view::from"), "<=", 15);
  run.target("key.extractor.paths.added_ns",
             structs.ns("key_of paths") - structs.ns("partition_key_view::from"), "<=", 15);
  run.target("key.extractor.allocations", structs.allocations_of("key_of paths"), "==", 0);

  auto& made = run.table("a key made of several properties", "key").count_allocations();
  made.floor("copy the text", [&] {
    bench::clobber();
    return partition_key{one.tenant};
  });
  made.row("joined, time_bucket", [&] {
    bench::clobber();
    return city_day(one);
  });
  made.row("std::string, strftime", [&] {
    bench::clobber();
    return joined_by_hand(one);
  });
  made.row("bucketed", [&] {
    bench::clobber();
    return spread(one);
  });
  run.target("key.joined.strftime", made.ratio("std::string, strftime", "joined, time_bucket"),
             ">=", 0.6);
  run.target("key.joined.allocations", made.allocations_of("joined, time_bucket"), "==", 0);

#if KEYSPAN_BENCH_NLOHMANN_JSON
  auto const document = nlohmann::json::parse(
      R"({"id": "row-17", "tenant": "contoso", "user": {"id": "user-0815", "age": 30},
          "text": "some", "_ts": 1794990000, "_etag": "x", "_rid": "y"})");
  auto const at_run_time =
      key_of(*keyspan::key_path::parse("/tenant"), *keyspan::key_path::parse("/user/id"));
  nlohmann::json::json_pointer const tenant{"/tenant"};
  nlohmann::json::json_pointer const user_id{"/user/id"};
  auto& json = run.table("two values of a JSON document", "key").count_allocations();
  json.floor("find and get_ref", [&] {
    bench::clobber();
    using text = nlohmann::json::string_t const&;
    return partition_key_view::from(document.find("tenant")->get_ref<text>(),
                                    document.find("user")->find("id")->get_ref<text>());
  });
  json.row("key_of paths", [&] {
    bench::clobber();
    return by_paths(document);
  });
  json.row("key_of paths of run time", [&] {
    bench::clobber();
    return at_run_time(document);
  });
  json.row("json_pointer, value", [&] {
    bench::clobber();
    return partition_key::from(document.value(tenant, std::string{}),
                               document.value(user_id, std::string{}));
  });
  run.target("key.extractor.json.by_hand", json.ratio("key_of paths", "find and get_ref"),
             "<=", 1.5);
  run.target("key.extractor.json.json_pointer",
             json.ratio("json_pointer, value", "key_of paths of run time"), ">=", 1);
  run.target("key.extractor.json.allocations", json.allocations_of("key_of paths of run time"),
             "==", 0);
#endif
  return run.finish();
}
