// At the memory limit: a typed error, no partial effect, reads go on, deletions and their collection make room again.

#include "tests/support/manual_database.h"

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

INSTANTIATE_TEST_SUITE_P(ValueBytes, MemoryLimit, testing::Values(100, 5000, 300'000));

}  // namespace
}  // namespace granary::tests
