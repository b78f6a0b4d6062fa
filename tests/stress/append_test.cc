// List-append on real threads, judged for strict serializability where the protocol keeps real time within an epoch,
// too; with snapshots between, for serializability.

#include <fstream>

#include "bench/append/history/check.h"
#include "bench/append/history/edn.h"
#include "bench/append/run.h"
#include "tests/support/threads.h"

namespace granary::tests {
namespace {

using bench::append::AppendOptions;
using bench::history::History;

void expect_valid(const History& history, bool strict) {
  const bench::history::Verdict verdict = check(history, {.strict = strict});
  EXPECT_TRUE(verdict.valid()) << verdict.text();
  EXPECT_GT(verdict.committed, 100u);
  if (!verdict.valid()) {
    const std::string path = testing::TempDir() + "append_test_history.edn";
    std::ofstream out(path);
    write_edn(out, history);
    ADD_FAILURE() << "the history is in " << path;
  }
}

void run(const AppendOptions& shape) {
  Options options = stress_options();
  auto database = Database::open(options).value();
  AppendOptions limited = shape;
  limited.seconds = 2.5;
  const auto done = run_append(*database, limited);
  ASSERT_TRUE(done.ok()) << done.status().message();
  EXPECT_TRUE(done->ended.ok()) << done->ended.message();
  expect_valid(done->transactions, asked_protocol.in_real_time);
  if (shape.snapshot_share != 0) expect_valid(done->with_snapshots, false);
}

/// Lists move, and have last elements that are written blindly.
TEST(AppendStress, HotListsWithYields) {
  run({.workers = 4, .transactions = 60'000, .keys = 3, .last_share = 0.3, .move_share = 0.3, .yield_share = 0.5});
}

TEST(AppendStress, ManyShortListsAndScans) {
  // New keys all the time: inserts, misses and phantoms.
  run({.workers = 4,
       .transactions = 60'000,
       .keys = 6,
       .max_length = 4,
       .move_share = 0.2,
       .scan_share = 0.5,
       .yield_share = 0.3});
}

TEST(AppendStress, SnapshotsAndForgottenOutcomes) {
  run({.workers = 4,
       .transactions = 60'000,
       .keys = 4,
       .snapshot_share = 0.2,
       .forget_share = 0.05,
       .yield_share = 0.3,
       .seed = 7});
}

/// Several transactions of each worker, between whose reads the others go on.
TEST(AppendStress, TransactionsThatTakeTurns) {
  run({.workers = 3,
       .fibers = 5,
       .transactions = 60'000,
       .keys = 4,
       .max_length = 8,
       .move_share = 0.2,
       .scan_share = 0.2,
       .snapshot_share = 0.1,
       .yield_share = 0.2,
       .seed = 11});
}
TEST(AppendStress, TransactionsThatTakeTurnsInAHashTable) {
  run({.workers = 2,
       .fibers = 8,
       .transactions = 60'000,
       .keys = 5,
       .hash = true,
       .scan_share = 0,
       .yield_share = 0.1});
}

TEST(AppendStress, UserAborts) {
  run({.workers = 3, .transactions = 40'000, .keys = 2, .abort_share = 0.3, .yield_share = 0.3, .seed = 9});
}

}  // namespace
}  // namespace granary::tests
