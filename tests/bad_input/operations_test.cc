// Bad input to transactions: each mistake has its typed answer, has no effect, and leaves the transaction usable.
// Set-up and administration: schema_test.cc; memory: memory_limit_test.cc.

#include <array>
#include <thread>

#include "tests/support/manual_database.h"

namespace granary::tests {
namespace {

class BadInput : public testing::Test {
 protected:
  BadInput() : db_(1), table_(db_.table("t")), small_(db_.table("small", {.max_value_bytes = 10})) {
    db_.put(table_, "k", "v");
  }

  /// The transaction is as good as before, and what went wrong left nothing.
  void expect_still_good(Transaction& t) {
    EXPECT_TRUE(t.open());
    EXPECT_EQ(t.doom(), AbortReason::kNone);
    EXPECT_EQ(t.put(table_, "good", "g"), Outcome::kOk);
    EXPECT_TRUE(t.commit().committed());
    Transaction check = db_.begin();
    EXPECT_EQ(scan_text(check, table_), "good=g k=v ");
    EXPECT_EQ(scan_text(check, small_), "");
    EXPECT_TRUE(check.commit().committed());
  }

  /// What every operation answers, if it is the same for all.
  void expect_all(Transaction& t, const Table& table, std::string_view key, Outcome expected) {
    std::string value = "untouched";
    std::array<char, 16> buffer{};
    EXPECT_EQ(t.get(table, key, buffer).outcome, expected);
    EXPECT_EQ(t.get(table, key, value), expected);
    EXPECT_EQ(t.put(table, key, "v"), expected);
    EXPECT_EQ(t.update(table, key, "v"), expected);
    EXPECT_EQ(t.insert(table, key, "v"), expected);
    EXPECT_EQ(t.remove(table, key), expected);
    EXPECT_EQ(t.scan(table, {.from = key}, [](auto, auto) { return true; }).outcome, expected);
    std::array<MultiGet, 1> gets{{{table, key, buffer, {}}}};
    (void)t.multi_get(gets);
    EXPECT_EQ(gets[0].result.outcome, expected);
    std::array<MultiPut, 1> puts{{{table, key, "v"}}};
    (void)t.multi_put(puts);
    EXPECT_EQ(puts[0].outcome, expected);
    t.prefetch(table, key);  // a hint: says nothing, does nothing
  }

  ManualDatabase db_;
  Table table_, small_;
};

TEST_F(BadInput, KeysUpToTheLimitAndBeyond) {
  Transaction t = db_.begin();
  const std::string too_long(kMaxKeyBytes + 1, 'k');
  expect_all(t, table_, too_long, Outcome::kKeyTooLong);
  EXPECT_EQ(t.scan(table_, {.from = "", .to = too_long}, [](auto, auto) { return true; }).outcome,
            Outcome::kKeyTooLong);
  expect_still_good(t);
  for (const std::string& key :
       {std::string(kMaxKeyBytes, 'k'), std::string(), std::string("\0", 1), std::string("\xff\0\xff", 3)}) {
    db_.put(table_, key, "edge");
    EXPECT_EQ(db_.value(table_, key), "edge");
    db_.remove(table_, key);
    EXPECT_EQ(db_.value(table_, key), "(none)");
  }
}

TEST_F(BadInput, ValuesUpToTheLimitAndBeyond) {
  Transaction t = db_.begin();
  const std::string too_large(kMaxValueBytes + 1, 'v');
  EXPECT_EQ(t.put(table_, "x", too_large), Outcome::kValueTooLarge);
  EXPECT_EQ(t.insert(table_, "x", too_large), Outcome::kValueTooLarge);
  EXPECT_EQ(t.update(table_, "k", too_large), Outcome::kValueTooLarge);
  EXPECT_EQ(t.put(small_, "x", "eleven byte"), Outcome::kValueTooLarge) << "the table's own limit";
  expect_still_good(t);
  for (const std::size_t size : {std::size_t{0}, std::size_t{1}, kMaxValueBytes - 1, kMaxValueBytes}) {
    db_.put(table_, "x", std::string(size, 'v'));
    EXPECT_EQ(db_.value(table_, "x").size(), size);
  }
  db_.put(small_, "x", "ten bytes.");
}

TEST_F(BadInput, UnknownTables) {
  ManualDatabase other(1);
  const Table foreign = other.table("t");
  for (const Table& table : {Table(), foreign}) {
    Transaction t = db_.begin();
    expect_all(t, table, "k", Outcome::kUnknownTable);
    std::array<char, 8> buffer;
    EXPECT_EQ(t.get(Index(), "k", buffer).outcome, Outcome::kUnknownTable);
    EXPECT_EQ(t.scan(Index(), {}, [](auto, auto) { return true; }).outcome, Outcome::kUnknownTable);
    expect_still_good(t);
    db_.remove(table_, "good");
    Snapshot snapshot = db_.snapshot();
    std::string value;
    EXPECT_EQ(snapshot.get(table, "k", value), Outcome::kUnknownTable);
    EXPECT_EQ(snapshot.scan(table, {}, [](auto, auto) { return true; }).outcome, Outcome::kUnknownTable);
    EXPECT_EQ(snapshot.scan(Index(), {}, [](auto, auto) { return true; }).outcome, Outcome::kUnknownTable);
  }
  EXPECT_EQ(other.value(foreign, "k"), "(none)");
  EXPECT_EQ(Table().name(), "");
}

TEST_F(BadInput, AFinishedTransaction) {
  Transaction committed = db_.begin(), aborted = db_.begin(), never;
  EXPECT_TRUE(committed.commit().committed());
  aborted.abort();
  for (Transaction* t : {&committed, &aborted, &never}) {
    expect_all(*t, table_, "k", Outcome::kFinished);
    EXPECT_FALSE(t->open());
    const CommitResult again = t->commit();
    EXPECT_EQ(again.reason, AbortReason::kMisuse);
    EXPECT_FALSE(is_retryable(again.reason));
    t->abort();
    t->abort();
  }
  EXPECT_EQ(db_.value(table_, "k"), "v");
}

TEST_F(BadInput, AFinishedTransactionWhoseContextServesTheNextOne) {
  Transaction old = db_.begin();
  EXPECT_TRUE(old.commit().committed());
  Transaction next = db_.begin();
  EXPECT_EQ(next.put(table_, "x", "1"), Outcome::kOk);
  expect_all(old, table_, "k", Outcome::kFinished);
  EXPECT_EQ(old.commit().reason, AbortReason::kMisuse);
  old.abort();
  EXPECT_TRUE(next.open()) << "an old handle must not end it";
  EXPECT_TRUE(next.commit().committed());
  EXPECT_EQ(db_.value(table_, "x"), "1");
}

TEST_F(BadInput, MoreOpenTransactionsThanAllowed) {
  std::vector<Transaction> open;
  for (std::uint32_t i = 0; i < kMaxOpenTransactions; ++i) {
    open.push_back(db_.begin());
    EXPECT_TRUE(open.back().open());
  }
  Transaction beyond = db_.begin();
  EXPECT_FALSE(beyond.open());
  expect_all(beyond, table_, "k", Outcome::kFinished);
  EXPECT_FALSE(beyond.commit().committed());
  EXPECT_FALSE(db_.worker().run([](Transaction&) {})) << "says so instead of retrying for ever";
  Snapshot snapshot = db_.snapshot();
  std::string value;
  EXPECT_EQ(snapshot.get(table_, "k", value), Outcome::kFinished);
  open.pop_back();
  Transaction now = db_.begin();
  EXPECT_TRUE(now.open());
  EXPECT_TRUE(now.commit().committed());
}

TEST_F(BadInput, FromAnotherThread) {
  Transaction t = db_.begin();
  Snapshot snapshot = db_.snapshot();
  EXPECT_EQ(t.put(table_, "x", "1"), Outcome::kOk);
  std::thread([&] {
    expect_all(t, table_, "k", Outcome::kWrongThread);
    EXPECT_FALSE(t.commit().committed());
    t.abort();  // not its own: no effect
    std::string value;
    EXPECT_EQ(snapshot.get(table_, "k", value), Outcome::kWrongThread);
    Transaction begun = db_.worker().begin();
    EXPECT_EQ(begun.put(table_, "k", "stolen"), Outcome::kWrongThread);
    EXPECT_FALSE(begun.commit().committed());
    EXPECT_FALSE(db_.worker().run([&](Transaction& run) { (void)run.put(table_, "k", "stolen"); }));
  }).join();
  EXPECT_TRUE(t.open());
  EXPECT_TRUE(t.commit().committed());
  EXPECT_EQ(db_.value(table_, "x"), "1");
  EXPECT_EQ(db_.value(table_, "k"), "v");
}

TEST_F(BadInput, AWorkerHandedToAnotherThreadOnPurpose) {
  std::thread([&] {
    db_.worker().attach_thread();
    db_.put(table_, "x", "1");
  }).join();
  db_.worker().attach_thread();
  EXPECT_EQ(db_.value(table_, "x"), "1");
}

TEST_F(BadInput, ABufferThatIsTooSmallStaysUntouched) {
  db_.put(table_, "long", "0123456789");
  Transaction t = db_.begin();
  std::array<char, 5> buffer{'#', '#', '#', '#', '#'};
  const GetResult got = t.get(table_, "long", buffer);
  EXPECT_EQ(got.outcome, Outcome::kBufferTooSmall);
  EXPECT_EQ(got.size, 10u);
  EXPECT_EQ(std::string_view(buffer.data(), buffer.size()), "#####");
  EXPECT_EQ(t.put(table_, "own", "0123456789"), Outcome::kOk);
  EXPECT_EQ(t.get(table_, "own", buffer).outcome, Outcome::kBufferTooSmall) << "own writes, too";
  EXPECT_EQ(t.get(table_, "long", std::span<char>()).outcome, Outcome::kBufferTooSmall);
  EXPECT_TRUE(t.commit().committed());
  db_.pass_snapshot_period();
  Snapshot snapshot = db_.snapshot();
  EXPECT_EQ(snapshot.get(table_, "long", buffer).outcome, Outcome::kBufferTooSmall);
  EXPECT_EQ(snapshot.get(table_, "long", buffer).size, 10u);
}

TEST_F(BadInput, TheSizeOfABufferTooSmallIsAReadThatCommitValidates) {
  Transaction t = db_.begin();
  EXPECT_EQ(t.get(table_, "k", std::span<char>()).size, 1u);
  db_.put(table_, "k", "longer");
  EXPECT_EQ(t.put(table_, "x", "1"), Outcome::kOk);
  EXPECT_FALSE(t.commit().committed());
}

TEST_F(BadInput, RangesThatHoldNothing) {
  Transaction t = db_.begin();
  EXPECT_EQ(scan_text(t, table_, {.from = "z", .to = "a"}), "");
  EXPECT_EQ(scan_text(t, table_, {.from = "z", .to = "a", .order = Order::kDescending}), "");
  EXPECT_EQ(scan_text(t, table_, {.from = "k", .to = "k"}), "");
  EXPECT_EQ(scan_text(t, table_, {.from = "k", .from_inclusive = false, .to = "k", .to_inclusive = true}), "");
  EXPECT_EQ(scan_text(t, table_, {.from = "k", .to = "k", .to_inclusive = true}), "k=v ");
  EXPECT_EQ(scan_text(t, table_, {.to = ""}), "");
  expect_still_good(t);
}

TEST_F(BadInput, EndingTheTransactionInsideItsOwnScan) {
  db_.put(table_, "l", "v");
  for (const bool commit : {false, true}) {
    Transaction t = db_.begin();
    int visited = 0;
    (void)t.scan(table_, {}, [&](auto, auto) {
      ++visited;
      if (commit) {
        (void)t.commit();
      } else {
        t.abort();
      }
      return true;
    });
    EXPECT_EQ(visited, 1);
    EXPECT_FALSE(t.open());
    EXPECT_EQ(db_.value(table_, "k"), "v");
  }
}

TEST_F(BadInput, TypedReadsOfOtherBytes) {
  const auto typed = db_->create_table<std::uint32_t, std::uint64_t>("typed").value();
  db_.put(typed, encode_key(std::uint32_t{1}), "short");
  Transaction t = db_.begin();
  EXPECT_EQ(t.get(typed, 1), std::nullopt);
  std::size_t visited = 0;
  EXPECT_TRUE(t.scan(typed, 0, 10, [&](std::uint32_t, std::uint64_t) {
    ++visited;
    return true;
  }));
  EXPECT_EQ(visited, 0u);
  EXPECT_EQ(t.put(typed, 1, 7), Outcome::kOk);
  EXPECT_EQ(t.get(typed, 1), 7u);
  expect_still_good(t);
}

TEST_F(BadInput, AMillionWritesInOneTransaction) {
  constexpr std::uint32_t kWrites = 1'000'000;
  Options options = manual_options();
  options.memory_limit_bytes = std::uint64_t{1} << 30;
  ManualDatabase db(1, options);
  const Table table = db.table("many");
  const auto write_all = [&](Transaction& t) {
    for (std::uint32_t i = 0; i < kWrites; ++i) {
      if (t.put(table, encode_key(i), "12345678") != Outcome::kOk) return false;
    }
    return true;
  };
  const auto count = [&] {
    Transaction t = db.begin();
    const std::size_t rows = t.scan(table, {}, [](auto, auto) { return true; }).count;
    EXPECT_TRUE(t.commit().committed());
    return rows;
  };
  Transaction given_up = db.begin();
  ASSERT_TRUE(write_all(given_up));
  given_up.abort();
  EXPECT_EQ(count(), 0u);
  Transaction t = db.begin();
  ASSERT_TRUE(write_all(t));
  EXPECT_TRUE(t.commit().committed());
  EXPECT_EQ(count(), kWrites);
}

TEST_F(BadInput, ATransactionThatStaysOpenTooLong) {
  Options options = manual_options();
  options.max_open_epochs = 3;
  ManualDatabase db(2, options);
  const Table table = db.table("t");
  db.put(table, "k", "v");
  Transaction t = db.worker(0).begin();
  EXPECT_EQ(t.put(table, "k", "late"), Outcome::kOk);
  for (int i = 0; i < 6; ++i) (void)db->step();
  std::string value;
  EXPECT_EQ(t.get(table, "k", value), Outcome::kAborted);
  EXPECT_EQ(t.doom(), AbortReason::kOpenTooLong);
  EXPECT_EQ(t.commit().reason, AbortReason::kOpenTooLong);
  EXPECT_EQ(db.value(table, "k"), "v");
  db.pass_epochs(3);
}

TEST_F(BadInput, ATransactionWhoseWorkerHasGone) {
  Transaction t;
  Snapshot snapshot;
  {
    Worker worker = db_->register_worker().value();
    t = worker.begin();
    EXPECT_EQ(t.put(table_, "x", "1"), Outcome::kOk);
    snapshot = worker.snapshot();
  }
  expect_all(t, table_, "k", Outcome::kFinished);
  EXPECT_FALSE(t.open());
  EXPECT_EQ(t.commit().reason, AbortReason::kMisuse);
  std::string value;
  EXPECT_EQ(snapshot.get(table_, "k", value), Outcome::kFinished);
  Worker next = db_->register_worker().value();
  EXPECT_TRUE(next.run([&](Transaction& other) { EXPECT_EQ(other.put(table_, "y", "1"), Outcome::kOk); }));
  expect_all(t, table_, "k", Outcome::kFinished);
  EXPECT_EQ(db_.value(table_, "x"), "(none)");
}

TEST_F(BadInput, AnEmptyWorkerOrHandle) {
  Worker empty;
  EXPECT_FALSE(empty);
  Transaction t = empty.begin();
  EXPECT_EQ(t.put(table_, "k", "v"), Outcome::kFinished);
  int calls = 0;
  EXPECT_EQ(empty.run([&](Transaction&) { ++calls; }, {.patience_us = 1'000'000}).reason, AbortReason::kMisuse);
  std::array<RunResult, 2> results;
  empty.run_many(results, [&](std::size_t, Transaction&) { ++calls; });
  for (const RunResult& result : results) EXPECT_EQ(result.reason, AbortReason::kMisuse);
  EXPECT_EQ(calls, 0);
  Snapshot snapshot;
  EXPECT_EQ(scan_text(snapshot, table_), "(finished)");
  snapshot.finish();
}

TEST_F(BadInput, AnIsolationThatIsNone) {
  constexpr TransactionOptions kNone{.isolation = static_cast<Isolation>(77)};
  Transaction t = db_.worker(0).begin(kNone);
  EXPECT_EQ(t.put(table_, "k", "w"), Outcome::kFinished);
  EXPECT_EQ(t.commit().reason, AbortReason::kMisuse);
  const auto put = [this](Transaction& wrong) { EXPECT_EQ(wrong.put(table_, "k", "w"), Outcome::kFinished); };
  EXPECT_EQ(db_.worker(0).run(put, {.transaction = kNone}).reason, AbortReason::kMisuse);
}

TEST_F(BadInput, AWorkerThatWasMovedFrom) {
  Worker from = db_->register_worker().value();
  const Worker to = std::move(from);
  EXPECT_FALSE(from);
  EXPECT_EQ(from.run([](Transaction&) {}).reason, AbortReason::kMisuse);
}

TEST_F(BadInput, AWorkerThatIsAssignedToHasLeft) {
  Options options = manual_options();
  options.max_workers = 1;
  const auto other = Database::open(options).value();
  Worker worker = other->register_worker().value(), from = db_->register_worker().value();
  worker = std::move(from);
  EXPECT_FALSE(from);
  EXPECT_TRUE(other->register_worker().ok());
  EXPECT_TRUE(other->close().ok()) << "no worker of it is left";
}

TEST(ManyWorkers, MayAllHaveAsManyTransactionsOpenAsOneMay) {
  Options options = manual_options();
  options.max_workers = kMaxWorkers;
  ManualDatabase db(kMaxWorkers, options);
  const Table table = db.table("t");
  std::vector<Transaction> open;
  for (std::uint32_t worker = 0; worker < kMaxWorkers; ++worker) {
    for (std::uint32_t i = 0; i < kMaxOpenTransactions; ++i) {
      open.push_back(db.worker(worker).begin());
      ASSERT_TRUE(open.back().open()) << "number " << i << " of worker " << worker;
    }
  }
}

}  // namespace
}  // namespace granary::tests
