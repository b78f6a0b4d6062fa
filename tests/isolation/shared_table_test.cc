// Shared tables at their owner: what other nodes find, and commits in HTM regions. With another node in the middle of
// commits, reads and garbage collection: shared_locking_test.cc, shared_read_test.cc, shared_reuse_test.cc. The
// anomalies are shown with shared tables, too: the whole program runs again with --tables=shared. Not covered: other
// nodes' real operations (tests/cluster), threads (tests/stress/shared_table_test.cc).

#include "src/db/engine.h"
#include "tests/isolation/shared_tables.h"

namespace granary::tests {
namespace {

INSTANTIATE_TEST_SUITE_P(Workers, SharedTables, testing::Values(1, 4), workers_name);

// --- what other nodes find ---

TEST_P(SharedTables, ARecordAtRestIsWholeWhateverHappenedToIt) {
  const auto expect_whole = [&](std::string_view what) {
    const record::SharedRecord& x = record("x");
    EXPECT_TRUE(is_whole(x, "x")) << what;
    EXPECT_EQ(x.state(), record::kFree) << what;
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(&x) % record::kSharedGrain, 0u) << what;
  };
  expect_whole("inserted");
  db_.put(table_, "x", std::string(1000, 'l'));
  expect_whole("longer");
  db_.put(table_, "x", "short");
  expect_whole("shorter");
  db_.pass_snapshot_period();
  db_.put(table_, "x", "the old version is kept");
  expect_whole("with an old version");
  db_.remove(table_, "x");
  expect_whole("removed");
  db_.put(table_, "x", "again");
  expect_whole("there again");
  Transaction t = begin();
  EXPECT_EQ(t.put(table_, "placeholder", "v"), Outcome::kOk);
  EXPECT_TRUE(is_whole(record("placeholder"), "placeholder"));
}

TEST(SharedMemory, TheRegionIsAMemoryFileIfAskedFor) {
  const WithSharedTables able;
  for (const bool shared : {false, true}) {
    Options options = manual_options();
    options.shared_memory = shared;
    ManualDatabase db(1, options);
    const Table table = db.table("t", {.max_value_bytes = 8, .shared = true});
    db.put(table, "k", "v");
    const memory::Region& region = db->engine().region();
    EXPECT_EQ(region.fd() >= 0, shared);
    const auto* const record = reinterpret_cast<const char*>(&shared_record(table, "k"));
    EXPECT_TRUE(record >= region.base() && record < region.base() + region.used());
  }
}

TEST_P(SharedTables, ARecordNeverMoves) {
  const record::SharedRecord* const first = &record("x");
  for (const std::size_t size : {std::size_t{0}, std::size_t{100}, std::size_t{kMaxValue}, std::size_t{1}}) {
    db_.put(table_, "x", std::string(size, 'v'));
    db_.pass_snapshot_period();
    EXPECT_EQ(&record("x"), first);
    EXPECT_EQ(db_.value(table_, "x"), std::string(size, 'v'));
  }
  Transaction t = begin();
  EXPECT_EQ(t.put(table_, "x", std::string(kMaxValue + 1, 'v')), Outcome::kValueTooLarge);
}

// --- in regions ---

TEST_P(SharedTables, ARegionSeesHolders) {
  if (asked_htm == Htm::kOff) GTEST_SKIP() << "it is about commits in regions";
  for (const char* point : {"region.planned", "region.checked", "region.stored"}) {
    for (const bool reads : {false, true}) {
      Transaction t = begin();
      if (reads) {
        EXPECT_EQ(read(t, "y"), 20);
      }
      write(t, "x", 11);
      RemoteHolder holder(record(reads ? "y" : "x"));
      bool passed = false;
      base::set_sync_hook([&](std::string_view at) {
        if (at == point && !passed) passed = holder.lock();
      });
      const AbortReason reason = t.commit().reason;
      base::set_sync_hook({});
      if (passed) {  // a region that ends by chance before the point may have left the commit to locks
        EXPECT_EQ(reason, reads ? AbortReason::kReadLocked : AbortReason::kRemotelyLocked) << point;
        holder.release();
      }
      db_.put(table_, "x", "10");
    }
  }
}

}  // namespace
}  // namespace granary::tests
