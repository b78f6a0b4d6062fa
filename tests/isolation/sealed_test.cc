// Tables that are loaded once and sealed then (I31): nobody writes them any more, and reads of them leave no trace. Not
// covered: other nodes (tests/cluster/transaction/sealed_test.cc), directories (tests/durability/sealed_test.cc).

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "src/base/test_hooks.h"
#include "tests/support/at_sync_point.h"
#include "tests/support/manual_database.h"

namespace granary::tests {
namespace {

class Sealed : public testing::TestWithParam<IndexKind> {
 protected:
  Sealed() {
    for (const char* key : {"x", "y", "gone"}) db_.put(table_, key, std::string("old ") + key);
    (void)db_.remove(table_, "gone");
  }

  /// Transactions that begin afterwards rely on the seal.
  void seal() {
    ASSERT_TRUE(db_->seal(table_).ok());
    db_.pass_epochs(1);
  }
  Outcome get(Transaction& t, std::string_view key) {
    std::string value;
    return t.get(table_, key, value);
  }
  bool is_ordered() const { return GetParam() == IndexKind::kOrdered; }

  ManualDatabase db_{3};
  Table table_ = db_.table("t", {.index = GetParam(), .expected_keys = 4, .immutable = true});
  Table other_ = db_.table("other");
};
INSTANTIATE_TEST_SUITE_P(Both, Sealed, testing::Values(IndexKind::kOrdered, IndexKind::kHash),
                         [](const auto& made) { return made.param == IndexKind::kHash ? "Hash" : "Ordered"; });

TEST_P(Sealed, TakesNoWrites) {
  EXPECT_FALSE(table_.sealed());
  seal();
  EXPECT_TRUE(table_.sealed());
  Transaction t = db_.begin();
  EXPECT_EQ(t.put(table_, "x", "new"), Outcome::kImmutable);
  EXPECT_EQ(t.put(table_, "z", "new"), Outcome::kImmutable);
  EXPECT_EQ(t.insert(table_, "z", "new"), Outcome::kImmutable);
  EXPECT_EQ(t.insert(table_, "x", "new"), Outcome::kImmutable);
  EXPECT_EQ(t.update(table_, "x", "new"), Outcome::kImmutable);
  EXPECT_EQ(t.remove(table_, "x"), Outcome::kImmutable);
  EXPECT_EQ(t.remove(table_, "z"), Outcome::kImmutable);
  EXPECT_EQ(t.put(other_, "x", "new"), Outcome::kOk) << "the transaction goes on";
  EXPECT_TRUE(t.commit().committed());
  EXPECT_EQ(db_.value(table_, "x"), "old x");
  EXPECT_EQ(db_.value(table_, "z"), "(none)");
  EXPECT_EQ(name(Outcome::kImmutable), "immutable");
}

TEST_P(Sealed, TakesNoWritesBeforeTheNextEpochEither) {
  ASSERT_TRUE(db_->seal(table_).ok());
  Transaction t = db_.begin();
  EXPECT_EQ(get(t, "x"), Outcome::kOk);
  EXPECT_EQ(t.put(table_, "x", "new"), Outcome::kImmutable);
  EXPECT_TRUE(t.commit().committed());
}

TEST_P(Sealed, IsReadAsEver) {
  seal();
  Transaction t = db_.begin();
  std::string value;
  EXPECT_EQ(t.get(table_, "y", value), Outcome::kOk);
  EXPECT_EQ(value, "old y");
  EXPECT_EQ(t.get(table_, "gone", value), Outcome::kNotFound);
  EXPECT_EQ(t.get(table_, "never", value), Outcome::kNotFound);
  std::array<char, 8> room;
  std::array<char, 2> little;
  std::array<MultiGet, 3> gets = {MultiGet{table_, "x", room, {}}, MultiGet{table_, "y", little, {}},
                                  MultiGet{table_, "z", room, {}}};
  EXPECT_EQ(t.multi_get(gets), Outcome::kOk);
  EXPECT_EQ(gets[0].result.outcome, Outcome::kOk);
  EXPECT_EQ(gets[1].result.outcome, Outcome::kBufferTooSmall);
  EXPECT_EQ(gets[1].result.size, 5u);
  EXPECT_EQ(gets[2].result.outcome, Outcome::kNotFound);
  EXPECT_EQ(scan_text(t, table_), is_ordered() ? "x=old x y=old y " : "(unordered)");
  EXPECT_TRUE(t.commit().committed());
  db_.pass_snapshot_period();
  Snapshot snapshot = db_.snapshot();
  EXPECT_EQ(snapshot.get(table_, "x", value), Outcome::kOk);
}

/// That an absent record leaves its index changes the place where a key was missed.
TEST_P(Sealed, WhatWasMissedIsNotLookedAtAgain) {
  seal();
  db_.pass_snapshot_period();
  Transaction t = db_.worker(2).begin();
  EXPECT_EQ(get(t, "never"), Outcome::kNotFound);
  EXPECT_EQ(scan_text(t, table_), is_ordered() ? "x=old x y=old y " : "(unordered)");
  for (std::size_t worker : {0, 1}) db_.worker(worker).collect_garbage();
  EXPECT_TRUE(t.commit().committed());
}

TEST_P(Sealed, WaitsForWhoMayHaveWritten) {
  Transaction t = db_.begin();
  EXPECT_EQ(t.put(table_, "x", "new"), Outcome::kOk);
  const Status refused = db_->seal(table_, /*timeout_us=*/1000);
  EXPECT_EQ(refused.code(), StatusCode::kUnavailable) << refused.message();
  EXPECT_FALSE(table_.sealed());
  EXPECT_EQ(t.put(table_, "y", "new"), Outcome::kOk) << "it is as before";
  EXPECT_TRUE(t.commit().committed());
  seal();
  EXPECT_EQ(db_.value(table_, "x"), "new");
}

TEST_P(Sealed, ATransactionThatWasOpenBeforeWritesNothingMore) {
  Transaction t = db_.begin();
  EXPECT_EQ(get(t, "x"), Outcome::kOk);
  Status sealed;
  std::thread sealer([&] { sealed = db_->seal(table_, /*timeout_us=*/~std::uint64_t{0}); });
  Outcome outcome = Outcome::kNotFound;
  while (outcome == Outcome::kNotFound) outcome = t.update(table_, "never", "new");
  EXPECT_EQ(outcome, Outcome::kImmutable);
  EXPECT_EQ(t.put(table_, "x", "new"), Outcome::kImmutable);
  EXPECT_TRUE(t.commit().committed());
  sealer.join();
  EXPECT_TRUE(sealed.ok()) << sealed.message();
  EXPECT_EQ(db_.value(table_, "x"), "old x");
}

/// What it has seen is not durable before its writers are, whatever time the protocol has computed.
TEST_P(Sealed, AReaderIsOfNoEarlierEpoch) {
  db_.pass_epochs(3);
  const Ticket last = db_.put(table_, "x", "last");
  seal();
  const Ticket reader = db_.commit([&](Transaction& t) { EXPECT_EQ(get(t, "x"), Outcome::kOk); });
  EXPECT_GT(reader.epoch, last.epoch);
}

TEST_P(Sealed, WhoMissesAKeyIsOfNoEarlierEpoch) {
  db_.pass_epochs(3);
  const Ticket last = db_.remove(table_, "x");
  seal();
  const Ticket reader = db_.commit([&](Transaction& t) { EXPECT_EQ(get(t, "x"), Outcome::kNotFound); });
  EXPECT_GT(reader.epoch, last.epoch);
}

TEST_P(Sealed, OnlyWhatWasDeclaredSo) {
  EXPECT_EQ(db_->seal(other_).code(), StatusCode::kFailedPrecondition);
  EXPECT_EQ(db_->seal(Table()).code(), StatusCode::kInvalidArgument);
  ManualDatabase elsewhere;
  EXPECT_EQ(elsewhere->seal(table_).code(), StatusCode::kInvalidArgument);
  seal();
  EXPECT_TRUE(db_->seal(table_).ok()) << "again";
  EXPECT_FALSE(Table().sealed());
}

#if GRANARY_TEST_HOOKS
TEST_P(Sealed, WaitsForWhoIsCommitting) {
  if (asked_htm != Htm::kOff || asked_protocol.runs_in_region) return;  // a region passes other points
  Transaction t = db_.begin();
  EXPECT_EQ(t.insert(table_, "z", "new"), Outcome::kOk);
  {
    const AtSyncPoint committing("commit.validated", [&] { EXPECT_FALSE(db_->seal(table_, 1000).ok()); });
    EXPECT_TRUE(t.commit().committed());
  }
  seal();
  EXPECT_EQ(db_.value(table_, "z"), "new");
}
#endif

/// A secondary index is sealed with its table.
TEST(SealedIndex, IsReadWithoutATrace) {
  struct Row {
    std::uint32_t colour;
  };
  ManualDatabase db(3);
  const Table table = db.table("t", {.max_value_bytes = 8, .immutable = true});
  const Index index = db->create_index(table, "by_colour", {.parts = {value_part(&Row::colour)}}).value();
  const auto bytes = [](std::uint32_t colour) { return std::string(reinterpret_cast<const char*>(&colour), 4); };
  db.put(table, "x", bytes(1));
  db.put(table, "y", bytes(2));
  ASSERT_TRUE(db->seal(table).ok());
  db.pass_epochs(1);
  Transaction t = db.begin();
  std::string seen;
  const ScanResult scanned = t.scan(index, {}, [&](std::string_view key, std::string_view) {
    seen += key;
    return true;
  });
  EXPECT_EQ(scanned.outcome, Outcome::kOk);
  EXPECT_EQ(seen, "xy");
  EXPECT_EQ(t.put(table, "x", bytes(3)), Outcome::kImmutable);
  EXPECT_TRUE(t.commit().committed());
  EXPECT_EQ(db->create_index(table, "late", {.parts = {value_part(&Row::colour)}}).status().code(),
            StatusCode::kFailedPrecondition);
}

/// Loaders insert rows and count them in another table; readers find as many rows as are counted, before, during and
/// after the seal.
TEST(SealedWhileLoading, ReadersSeeWhatIsCounted) {
  Options options = manual_options();
  options.background = Background::kThreads;
  options.epoch_ms = 1;
  options.max_workers = 8;
  const auto db = Database::open(options).value();
  const auto rows = db->create_table<std::uint64_t, std::uint64_t>("rows", {.immutable = true}).value();
  const auto counts = db->create_table<std::uint64_t, std::uint64_t>("counts").value();
  std::atomic<bool> sealed{false}, stop{false};
  std::vector<std::thread> loaders, readers;
  for (std::uint64_t loader = 0; loader < 2; ++loader) {
    loaders.emplace_back([&, loader] {
      Worker worker = db->register_worker().value();
      bool refused = false;
      for (std::uint64_t row = loader << 32; !refused && !HasFailure(); ++row) {
        const bool too_late = sealed.load();
        const RunResult ran = worker.run([&](Transaction& t) {
          const std::uint64_t count = t.get(counts, 0).value_or(0);
          const Outcome inserted = t.insert(rows, row, row);
          refused = inserted == Outcome::kImmutable;
          if (refused) return t.abort();
          (void)t.put(counts, 0, count + 1);
        });
        EXPECT_TRUE(ran.committed() || refused);
        EXPECT_TRUE(refused || !too_late) << "inserted after the seal";
      }
    });
  }
  for (int reader = 0; reader < 2; ++reader) {
    readers.emplace_back([&, reader] {
      Worker worker = db->register_worker().value();
      while (!stop.load()) {
        std::uint64_t counted = 0, found = 0;
        const auto count = [&](Transaction& t) { counted = t.get(counts, 0).value_or(0); };
        const RunResult ran = worker.run([&](Transaction& t) {
          found = 0;
          if (reader == 0) count(t);
          (void)t.scan(rows, 0, ~std::uint64_t{0}, [&](std::uint64_t, std::uint64_t) { return ++found != 0; });
          if (reader == 1) count(t);
        });
        EXPECT_TRUE(ran.committed());
        EXPECT_EQ(found, counted);
      }
    });
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(30));
  EXPECT_TRUE(db->seal(rows).ok());
  sealed = true;
  for (std::thread& loader : loaders) loader.join();
  std::this_thread::sleep_for(std::chrono::milliseconds(30));
  stop = true;
  for (std::thread& reader : readers) reader.join();
}

}  // namespace
}  // namespace granary::tests
