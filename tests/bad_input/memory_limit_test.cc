// At the memory limit: a typed error, no partial effect, reads go on, deletions and their collection make room again.

#include <gmock/gmock.h>

#include "tests/support/manual_database.h"
#include "tests/support/thread_time.h"

namespace granary::tests {
namespace {

class MemoryLimit : public testing::TestWithParam<std::size_t> {
 protected:
  MemoryLimit() : db_(2, small_options()), table_(db_.table("t")), value_(GetParam(), 'v') {}

  static Options small_options() {
    Options options = manual_options();
    options.memory_limit_bytes = std::uint64_t{16} << 20;
    return options;
  }

  static std::string key(std::size_t number) {
    return std::string(encode_key(static_cast<std::uint64_t>(number)).view());
  }

  /// Inserts rows, one a transaction, until memory is used up. Returns how many are in.
  std::size_t fill() {
    for (std::size_t rows = 0;; ++rows) {
      Transaction t = db_.begin();
      const Outcome put = t.put(table_, key(rows), value_);
      const CommitResult done = t.commit();
      if (put == Outcome::kOk && done.committed()) continue;
      EXPECT_TRUE(put == Outcome::kOk || put == Outcome::kOutOfMemory) << name(put);
      EXPECT_EQ(done.reason, AbortReason::kOutOfMemory) << name(done.reason);
      EXPECT_FALSE(is_retryable(done.reason));
      return rows;
    }
  }
  std::size_t count() {
    Transaction t = db_.begin();
    const ScanResult scanned = t.scan(table_, {}, [&](auto, std::string_view value) { return value == value_; });
    EXPECT_TRUE(scanned);
    EXPECT_TRUE(t.commit().committed());
    return scanned.count;
  }

  ManualDatabase db_;
  Table table_;
  const std::string value_;
};

TEST_P(MemoryLimit, ATypedErrorAndReadsGoOn) {
  const std::size_t rows = fill();
  EXPECT_GT(rows, 5u);
  EXPECT_LE(db_->statistics().reserved_bytes, small_options().memory_limit_bytes);
  EXPECT_EQ(count(), rows);
  EXPECT_EQ(db_.value(table_, key(rows)), "(none)");
}

TEST_P(MemoryLimit, ATransactionThatMetItHasNoPartialEffect) {
  const std::size_t rows = fill();
  Transaction t = db_.begin();
  EXPECT_EQ(t.put(table_, key(0), "changed"), Outcome::kOk);
  Outcome last = Outcome::kOk;
  for (std::size_t i = 1; last == Outcome::kOk && i < 100'000; ++i) last = t.put(table_, key(rows + i), value_);
  EXPECT_EQ(last, Outcome::kOutOfMemory);
  EXPECT_EQ(t.commit().reason, AbortReason::kOutOfMemory);
  EXPECT_EQ(count(), rows);
}

TEST_P(MemoryLimit, PutsTogetherThatMetItHaveNoPartialEffect) {
  const std::size_t rows = fill();
  std::vector<std::string> keys;
  for (std::size_t i = 0; i < 1000; ++i) keys.push_back(key(rows + i));
  std::vector<MultiPut> puts = {{table_, keys[0], "changed"}};
  for (const std::string& key : keys) puts.push_back({table_, key, value_});
  Transaction t = db_.begin();
  Outcome last = Outcome::kOk;
  for (int i = 0; last == Outcome::kOk && i < 100; ++i) last = t.multi_put(puts);
  EXPECT_EQ(last, Outcome::kOutOfMemory);
  for (const MultiPut& put : puts) EXPECT_EQ(put.outcome, Outcome::kOutOfMemory);
  EXPECT_EQ(t.multi_put(puts), Outcome::kAborted);
  EXPECT_EQ(puts[0].outcome, Outcome::kAborted);
  EXPECT_EQ(t.commit().reason, AbortReason::kOutOfMemory);
  EXPECT_EQ(count(), rows);
}

TEST_P(MemoryLimit, TheTransactionCanStillAbort) {
  fill();
  Transaction t = db_.begin();
  for (int i = 0; i < 100'000 && t.put(table_, "a" + std::to_string(i), value_) == Outcome::kOk; ++i) {
  }
  t.abort();
  EXPECT_FALSE(t.open());
  EXPECT_EQ(db_.value(table_, "a0"), "(none)");
}

TEST_P(MemoryLimit, DeletionsAndTheirCollectionMakeRoom) {
  const std::size_t first = fill();
  std::size_t rows = first;
  for (int round = 0; round < 3; ++round) {
    for (std::size_t row = 0; row < rows; ++row) {
      Transaction t = db_.begin();
      (void)t.remove(table_, key(row));
      EXPECT_TRUE(t.commit().committed()) << row;
    }
    EXPECT_EQ(count(), 0u);
    db_.collect_everything();
    rows = fill();
    EXPECT_GE(rows, first * 8 / 10) << "round " << round;
  }
}

TEST_P(MemoryLimit, UpdatesInPlaceNeedNoMemory) {
  const std::size_t rows = fill();
  std::size_t updated = 0;
  for (int round = 0; round < 3; ++round) {
    for (std::size_t row = 0; row < rows; ++row) {
      Transaction t = db_.begin();
      if (t.update(table_, key(row), value_) == Outcome::kOk && t.commit().committed()) ++updated;
    }
  }
  EXPECT_EQ(updated, 3 * rows) << "within one snapshot period";
}

TEST_P(MemoryLimit, ATableThatFindsNoRoomNamesTheLimit) {
  fill();
  Status refused;
  for (std::size_t i = 0; refused.ok() && i < kMaxTables; ++i)
    refused = db_->create_table("another" + std::to_string(i), {}).status();
  EXPECT_EQ(refused.code(), StatusCode::kResourceExhausted);
  EXPECT_THAT(refused.message(), testing::HasSubstr("the memory limit of 16777216 bytes is reached"));
  EXPECT_THAT(refused.message(), testing::HasSubstr("raise memory_limit_bytes"));
}

/// Also if the rows are overwritten when memory is full, or removed before.
TEST_P(MemoryLimit, SmallValuesGiveBackTheRoomOfLargeOnes) {
  constexpr std::uint64_t kBytesOfSmall = 256, kOrdinary = 4096;
  if (value_.size() < kOrdinary) return;  // blocks of ordinary size stay
  const std::size_t first = fill();
  std::size_t rows = first;
  for (const bool removes : {false, true, false}) {
    for (std::size_t row = 0; row < rows; ++row) {
      if (removes) db_.commit([&](Transaction& t) { (void)t.remove(table_, key(row)); });
      Transaction t = db_.begin();
      EXPECT_EQ(t.put(table_, key(row), "small"), Outcome::kOk);
      EXPECT_TRUE(t.commit().committed()) << row;
    }
    db_.collect_everything();
    EXPECT_LE(db_->statistics().records_bytes, rows * kBytesOfSmall);
    rows = fill();  // of the same keys
    EXPECT_GE(rows, first * 8 / 10);
  }
}

/// A transaction waits here for something that takes long and that others bring about, who may need the core.
TEST_P(MemoryLimit, WhoHasPatienceSleeps) {
  fill();
  const std::string large(700'000, 'v');
  const double began = thread_seconds();
  const auto body = [&](Transaction& t) { (void)t.put(table_, "large", large); };
  const RunResult result = db_.worker(0).run(body, {.patience_us = 400'000});
  EXPECT_EQ(result.reason, AbortReason::kOutOfMemory);
  EXPECT_GT(result.attempts, 10u);
  EXPECT_LT(thread_seconds() - began, 0.2);
}

/// What is all free serves records of another size, in rounds through sizes of all kinds of extents.
TEST_P(MemoryLimit, AfterDeletingEverythingRecordsOfAnotherSizeFindRoom) {
  const Table other = db_.table("other");
  std::size_t rows = fill();
  std::size_t in_other = 0;
  for (const std::size_t bytes : {1000u, 200u, 20'000u, 64u, 1'000'000u, 100'000u}) {
    for (std::size_t row = 0; row < std::max(rows, in_other); ++row) {
      db_.commit([&](Transaction& t) {
        if (row < rows) (void)t.remove(table_, key(row));
        if (row < in_other) (void)t.remove(other, key(row));
      });
      if (row % 1000 == 999) db_.collect_everything();
    }
    rows = in_other = 0;
    db_.collect_everything();
    const std::string value(bytes, 'o');
    std::size_t refusals = 0;
    while (refusals < 4) {  // the first is what starts the search
      Transaction t = db_.worker(0).begin();
      const bool put = t.put(other, key(in_other), value) == Outcome::kOk;
      if (t.commit().committed() && put) {
        ++in_other;
        refusals = 0;
        continue;
      }
      ++refusals;
      db_->step();
    }
    EXPECT_GE(in_other * (bytes + 24), small_options().memory_limit_bytes * 4 / 10) << bytes;
  }
}

/// A snapshot reads what was deleted, however much another size of records needs the memory.
TEST_P(MemoryLimit, WhatASnapshotReadsIsNoFreeMemory) {
  const std::size_t rows = fill();
  db_.pass_snapshot_period();
  Snapshot snapshot = db_.worker(1).snapshot();
  std::size_t deleted = 0;
  for (; deleted < rows; ++deleted) {
    Transaction t = db_.worker(0).begin();
    (void)t.remove(table_, key(deleted));
    if (!t.commit().committed()) break;
  }
  EXPECT_GE(deleted, std::min<std::size_t>(rows, 10'000)) << "a deletion that snapshots must not see takes 32 bytes";
  const Table other = db_.table("other");
  for (int turn = 0; turn < 40; ++turn) {
    db_->step();
    Transaction t = db_.worker(0).begin();
    (void)t.put(other, key(static_cast<std::size_t>(turn)), std::string(3000, 'o'));
    (void)t.commit();
  }
  std::string seen;
  for (std::size_t row = 0; row < rows; ++row) {
    ASSERT_EQ(snapshot.get(table_, key(row), seen), Outcome::kOk) << row;
    ASSERT_EQ(seen, value_) << row;
  }
}

INSTANTIATE_TEST_SUITE_P(ValueBytes, MemoryLimit, testing::Values(100, 5000, 300'000));

}  // namespace
}  // namespace granary::tests
