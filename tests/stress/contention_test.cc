// Everybody wants one key: no increment is lost, and everybody gets on. Not covered: throughput under contention, which
// is a benchmark's business.

#include <array>
#include <optional>
#include <random>

#include "tests/support/threads.h"

namespace granary::tests {
namespace {

constexpr unsigned kThreads = 4;

/// Returns the value of a key in a transaction of its own. Under drtm one that nobody disturbs may lose its region, and
/// is tried again.
std::optional<std::uint64_t> value_of(Database& database, const TypedTable<std::uint32_t, std::uint64_t>& table,
                                      std::uint32_t key) {
  Worker worker = database.register_worker().value();
  std::optional<std::uint64_t> found;
  EXPECT_TRUE(worker.run([&](Transaction& t) { found = t.get(table, key); }));
  return found;
}

TEST(ContentionStress, EveryWorkerMakesProgressAndNoIncrementIsLost) {
  auto database = Database::open(stress_options()).value();
  const auto counters = database->create_table<std::uint32_t, std::uint64_t>("counters").value();
  std::array<std::atomic<std::uint64_t>, kThreads> commits{};
  std::atomic<std::uint64_t> longest_ns{0};
  const auto each_has_enough = [&] {
    return std::all_of(commits.begin(), commits.end(), [](const auto& mine) { return mine.load() > 10; });
  };
  run_threads_until(each_has_enough, *database, kThreads, [&](Worker& worker, unsigned me) {
    thread_local std::mt19937 random(me);
    const auto start = std::chrono::steady_clock::now();
    const RunResult done = worker.run([&](Transaction& t) {
      const std::uint64_t old = t.get(counters, 7).value_or(0);
      maybe_yield(random());
      (void)t.put(counters, 7, old + 1);
    });
    const auto took =
        static_cast<std::uint64_t>(std::chrono::nanoseconds(std::chrono::steady_clock::now() - start).count());
    EXPECT_TRUE(done) << name(done.reason);
    commits[me].fetch_add(1);
    std::uint64_t longest = longest_ns.load();
    while (took > longest && !longest_ns.compare_exchange_weak(longest, took)) {
    }
  });
  std::uint64_t sum = 0;
  for (const auto& mine : commits) {
    EXPECT_GT(mine.load(), 10u) << "a worker starved";
    sum += mine.load();
  }
  EXPECT_LT(longest_ns.load(), 2'000'000'000u) << "one transaction took over two seconds";
  EXPECT_EQ(value_of(*database, counters, 7), sum);
}

TEST(ContentionStress, OppositeLockOrdersDoNotDeadlock) {
  auto database = Database::open(stress_options()).value();
  const auto counters = database->create_table<std::uint32_t, std::uint64_t>("counters").value();
  std::atomic<std::uint64_t> commits{0};
  const auto enough = [&] { return commits.load() > 100; };
  run_threads_until(enough, *database, kThreads, [&](Worker& worker, unsigned me) {
    const RunResult done = worker.run([&](Transaction& t) {
      for (std::uint32_t i = 0; i < 8; ++i) {  // blind writes, each half of the threads in its own order
        (void)t.put(counters, me % 2 == 0 ? i : 7 - i, me);
      }
    });
    if (done) commits.fetch_add(1);
  });
  EXPECT_GT(commits.load(), 100u);
  Worker worker = database->register_worker().value();
  std::array<std::optional<std::uint64_t>, 8> found;
  EXPECT_TRUE(worker.run([&](Transaction& t) {
    for (std::uint32_t i = 0; i < 8; ++i) found[i] = t.get(counters, i);
  }));
  for (std::uint32_t i = 1; i < 8; ++i) EXPECT_EQ(found[i], found[0]) << "all from one transaction";
}

TEST(ContentionStress, WorkersComeAndGo) {
  auto database = Database::open(stress_options()).value();
  const auto counters = database->create_table<std::uint32_t, std::uint64_t>("counters").value();
  std::atomic<std::uint64_t> commits{0};
  run_threads(*database, kThreads, [&](Worker&, unsigned) {
    Worker mine = database->register_worker().value();
    const RunResult done =
        mine.run([&](Transaction& t) { (void)t.put(counters, 1, t.get(counters, 1).value_or(0) + 1); });
    if (done) commits.fetch_add(1);
    Transaction left_open = mine.begin();
    (void)left_open.put(counters, 1, 0);
  });
  EXPECT_EQ(value_of(*database, counters, 1), commits.load());
}

}  // namespace
}  // namespace granary::tests
