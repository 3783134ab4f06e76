// What do a point read and an upsert cost in a container of a million documents, over a plain map
// behind a mutex? The first row is the floor.
#include <bench/support/bench.hpp>
#include <bench/support/companion.hpp>
#include <keyspan/async/sync_wait.hpp>
#include <keyspan/hash/cosmos_v2.hpp>
#include <keyspan/key/container_definition.hpp>
#include <keyspan/transport/memory_container.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace {

struct review {
  std::string id;
  std::string article;
  std::uint64_t rating = 0;
};
using container = keyspan::memory_container<review, keyspan::cosmos_v2_scheme>;

constexpr std::size_t documents = 1'000'000;
constexpr std::size_t batch = 256;

auto definition() {
  return keyspan::documents_container(&review::article).with_row_key(&review::id);
}
review made(std::uint64_t number) {
  return {"review-" + std::to_string(number), "article-" + std::to_string(number / 8), number};
}

// What many programs begin with: everything behind one lock, found by both keys in one text.
struct locked_map {
  std::mutex mutable mutex{};
  std::unordered_map<std::string, std::shared_ptr<review const>> all{};

  static std::string name(std::string const& article, std::string const& id) {
    std::string text;
    text.reserve(article.size() + id.size() + 1);
    return text.append(article).append(1, '\0').append(id);
  }
  std::shared_ptr<review const> read(std::string const& article, std::string const& id) const {
    std::string const wanted = name(article, id);
    std::lock_guard const lock{mutex};
    auto const found = all.find(wanted);
    return found != all.end() ? found->second : nullptr;
  }
  void upsert(review document) {
    std::string place = name(document.article, document.id);
    auto next = std::make_shared<review const>(std::move(document));
    std::lock_guard const lock{mutex};
    all.insert_or_assign(std::move(place), std::move(next));
  }
};

// Pages of memory that are in use, where the system says so.
std::size_t bytes_in_use() {
  std::ifstream statm{"/proc/self/statm"};
  std::size_t total = 0;
  std::size_t resident = 0;
  statm >> total >> resident;
  return resident * 4096;
}

// Documents drawn at random, the same for every row.
std::vector<review> some(std::uint64_t seed) {
  auto rng = bench::Rng{seed};
  std::vector<review> drawn;
  for (std::size_t i = 0; i < batch * 16; ++i) drawn.push_back(made(rng() % documents));
  return drawn;
}

// Goes on through the drawn documents, a batch at a time.
class round_robin {
 public:
  explicit round_robin(std::vector<review> const& all) : all_{&all} {}
  review const* next() {
    review const* const first = all_->data() + at_;
    at_ = (at_ + batch) % all_->size();
    return first;
  }

 private:
  std::vector<review> const* all_;
  std::size_t at_ = 0;
};

std::uint64_t read_some(locked_map const& from, round_robin& which) {
  std::uint64_t sum = 0;
  review const* const first = which.next();
  for (std::size_t i = 0; i < batch; ++i) sum += from.read(first[i].article, first[i].id)->rating;
  return sum;
}
std::uint64_t read_some(container& from, round_robin& which) {
  std::uint64_t sum = 0;
  review const* const first = which.next();
  for (std::size_t i = 0; i < batch; ++i)
    sum += keyspan::sync_wait(from.read_item(first[i].article, first[i].id))->item->rating;
  return sum;
}
void write_some(locked_map& to, round_robin& which) {
  review const* const first = which.next();
  for (std::size_t i = 0; i < batch; ++i) to.upsert(first[i]);
}
void write_some(container& to, round_robin& which) {
  review const* const first = which.next();
  for (std::size_t i = 0; i < batch; ++i)
    bench::keep(keyspan::sync_wait(to.upsert(first[i])).has_value());
}

std::array<double, 2> ratios(bench::session& run, std::string const& threads, locked_map& plain,
                             container& ours, std::vector<review> const& drawn) {
  auto& reads = run.table("1 point read, " + threads, "read").batch(batch);
  reads.floor("unordered_map and a mutex",
              [&, at = round_robin{drawn}]() mutable { bench::keep(read_some(plain, at)); });
  reads.row("memory_container",
            [&, at = round_robin{drawn}]() mutable { bench::keep(read_some(ours, at)); });
  auto& writes = run.table("1 upsert, " + threads, "upsert").batch(batch);
  writes.floor("unordered_map and a mutex",
               [&, at = round_robin{drawn}]() mutable { write_some(plain, at); });
  writes.row("memory_container", [&, at = round_robin{drawn}]() mutable { write_some(ours, at); });
  return {reads.ratio("memory_container", "unordered_map and a mutex"),
          writes.ratio("memory_container", "unordered_map and a mutex")};
}

}  // namespace

int main(int argc, char** argv) {
  auto run = bench::session{argc, argv};
  std::size_t const before = bytes_in_use();
  locked_map plain;
  for (std::uint64_t i = 0; i < documents; ++i) plain.upsert(made(i));
  std::size_t const with_map = bytes_in_use();
  container ours{keyspan::cosmos_v2, definition(), {.partitions = 16}};
  for (std::uint64_t i = 0; i < documents; ++i)
    bench::keep(keyspan::sync_wait(ours.create(made(i))).has_value());
  std::size_t const with_both = bytes_in_use();
  double const of_map = static_cast<double>(with_map - before) / documents;
  double const of_ours = static_cast<double>(with_both - with_map) / documents;
  std::printf("bytes a document of %zu: %.0f in the map, %.0f in the container\n", sizeof(review),
              of_map, of_ours);

  auto const drawn = some(42);
  auto const others = some(43);
  auto const [read, write] = ratios(run, "1 thread", plain, ours, drawn);
  run.target("transport.memory.read.one_thread", read, "<=", 1.2);
  run.target("transport.memory.upsert.one_thread", write, "<=", 1.6);
  {
    bench::companion const beside{
        [&, in_map = round_robin{others}, in_ours = round_robin{others}]() mutable {
          write_some(plain, in_map);
          write_some(ours, in_ours);
        }};
    auto const [read_two, write_two] =
        ratios(run, "while another thread writes", plain, ours, drawn);
    run.target("transport.memory.read.two_threads", read_two, "<=", 1);
    run.target("transport.memory.upsert.two_threads", write_two, "<=", 1.3);
  }
  run.target("transport.memory.bytes", of_ours / of_map, "<=", 1.6);
  return run.finish();
}
