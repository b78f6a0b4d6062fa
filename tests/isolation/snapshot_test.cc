// Snapshots (Silo 4.9): one consistent cut in the past, kept however long it is read.

#include <array>
#include <optional>

#include "src/db/engine.h"
#include "tests/isolation/isolation_test.h"

namespace granary::tests {
namespace {

class SnapshotTest : public Isolation {
 protected:
  template <typename Reader>
  std::string get(Reader& reader, std::string_view key) {
    std::string value;
    const Outcome got = reader.get(table_, key, value);
    EXPECT_TRUE(got == Outcome::kOk || got == Outcome::kNotFound) << name(got);
    return got == Outcome::kOk ? value : "(none)";
  }
  void collect() {
    for (std::size_t i = 0; i < GetParam(); ++i) db_.worker(i).collect_garbage();
  }
};
INSTANTIATE_TEST_SUITE_P(Workers, SnapshotTest, testing::Values(1, 3), workers_name);

TEST_P(SnapshotTest, SeesExactlyTheEpochsBeforeItsOwn) {
  std::vector<std::uint64_t> epochs;  // of the i-th write
  for (int i = 0; i < 30; ++i) {
    epochs.push_back(db_.put(table_, "x", std::to_string(i)).epoch);
    if (i > 0) db_.put(table_, "y", std::to_string(i));
    db_.pass_epochs(1);
    const Snapshot snapshot = db_.snapshot();
    Snapshot reader = db_.snapshot();
    EXPECT_EQ(reader.epoch(), snapshot.epoch());
    std::string expected = "(none)";
    for (std::size_t write = 0; write < epochs.size(); ++write) {
      if (epochs[write] < reader.epoch()) expected = std::to_string(write);
    }
    const std::string x = get(reader, "x");
    if (expected == "(none)") {
      EXPECT_TRUE(x == "10" || x == "(none)");  // the row was made before the first write
    } else {
      EXPECT_EQ(x, expected);
      if (expected != "0") {
        EXPECT_EQ(get(reader, "y"), expected) << "one cut";
      }
    }
  }
}

/// As in a node of a cluster while another one owes something.
TEST_P(SnapshotTest, WhileTheyAreLimitedAllSeeTheSame) {
  epoch::EpochManager& epochs = db_->engine().epochs();
  const std::uint64_t period = db_->options().snapshot_epochs;
  db_.put(table_, "x", "old");
  db_.pass_epochs(4 * period);
  const epoch::Epoch latest = epochs.limit_snapshots(epochs.snapshot_of(epochs.current()));
  Snapshot first = db_.snapshot();
  EXPECT_EQ(first.epoch(), latest);
  for (int i = 0; i < 5; ++i) {
    db_.put(table_, "x", std::to_string(i));
    db_.pass_epochs(2 * period);
    collect();
    Snapshot snapshot = db_.snapshot();
    EXPECT_EQ(snapshot.epoch(), latest);
    EXPECT_EQ(get(snapshot, "x"), "old");
  }
  EXPECT_EQ(get(first, "x"), "old");
  first = {};
  epochs.unlimit_snapshots();
  Snapshot later = db_.snapshot();
  EXPECT_GT(later.epoch(), latest);
  EXPECT_EQ(get(later, "x"), "4");
}

TEST_P(SnapshotTest, MultiGetIsManyGets) {
  const std::uint64_t period = db_->options().snapshot_epochs;
  db_.put(table_, "gone", "soon");
  db_.pass_epochs(3 * period);
  Snapshot reader = db_.snapshot();
  db_.put(table_, "x", "11");
  db_.put(table_, "born", "later");
  db_.commit([&](Transaction& t) { EXPECT_EQ(t.remove(table_, "gone"), Outcome::kOk); });
  std::array<char, 8> x, y, gone, born, small;
  std::array<MultiGet, 5> gets{{{table_, "x", x, {}},
                                {table_, "gone", gone, {}},
                                {table_, "born", born, {}},
                                {table_, "y", y, {}},
                                {table_, "y", std::span(small.data(), 1), {}}}};
  ASSERT_EQ(reader.multi_get(gets), Outcome::kOk);
  EXPECT_EQ(std::string_view(x.data(), gets[0].result.size), "10");
  EXPECT_EQ(std::string_view(gone.data(), gets[1].result.size), "soon");
  EXPECT_EQ(gets[2].result.outcome, Outcome::kNotFound);
  EXPECT_EQ(std::string_view(y.data(), gets[3].result.size), "20");
  EXPECT_EQ(gets[4].result.outcome, Outcome::kBufferTooSmall);
  reader.finish();
  EXPECT_EQ(reader.multi_get(gets), Outcome::kFinished);
}

TEST_P(SnapshotTest, IsOneToTwoPeriodsOld) {
  const std::uint64_t period = db_->options().snapshot_epochs;
  db_.pass_epochs(5 * period);
  for (std::uint64_t i = 0; i < 3 * period; ++i) {
    Snapshot snapshot = db_.snapshot();
    const std::uint64_t now = db_->statistics().epoch;
    EXPECT_GE(now - snapshot.epoch(), period);
    EXPECT_LT(now - snapshot.epoch(), 2 * period);
    snapshot.finish();
    db_.pass_epochs(1);
  }
}

TEST_P(SnapshotTest, SurvivesUpdatesDeletesAndGrowingValues) {
  for (const char* key : {"a", "b", "c", "d"}) db_.put(table_, key, "old");
  db_.pass_snapshot_period();
  Snapshot snapshot = db_.snapshot();
  const std::string before = scan_text(snapshot, table_);
  EXPECT_EQ(before, "a=old b=old c=old d=old x=10 y=20 ");
  for (int round = 0; round < 20; ++round) {
    db_.put(table_, "a", std::string(static_cast<std::size_t>(10 + round * 100), 'n'));  // grows out of its place
    db_.put(table_, "b", std::to_string(round));
    if (round % 2 == 0) db_.remove(table_, "c");
    if (round % 2 == 1) db_.put(table_, "c", "born again");
    if (round == 3) db_.remove(table_, "d");
    db_.put(table_, "new" + std::to_string(round), "new");
    db_.pass_epochs(3);
    collect();
    ASSERT_EQ(scan_text(snapshot, table_), before) << "round " << round;
    ASSERT_EQ(get(snapshot, "c"), "old");
    ASSERT_EQ(get(snapshot, "d"), "old");
    ASSERT_EQ(get(snapshot, "new0"), "(none)");
  }
}

TEST_P(SnapshotTest, ManySnapshotsOfDifferentAgesKeepTheirVersions) {
  std::vector<std::pair<Snapshot, std::string>> open;
  for (int round = 0; round < 10; ++round) {
    db_.put(table_, "x", "x" + std::to_string(round) + std::string(static_cast<std::size_t>(round) * 40, '.'));
    db_.put(table_, "y", "y" + std::to_string(round));
    db_.pass_snapshot_period();
    Snapshot snapshot = db_.snapshot();
    std::string seen = scan_text(snapshot, table_);
    EXPECT_NE(seen.find("y=y" + std::to_string(round)), std::string::npos) << seen;
    open.emplace_back(std::move(snapshot), std::move(seen));
    collect();
    for (auto& [old, expected] : open) ASSERT_EQ(scan_text(old, table_), expected);
  }
  for (std::size_t i = 0; i < open.size(); i += 2) open[i].first.finish();
  db_.pass_snapshot_period();
  collect();
  for (std::size_t i = 1; i < open.size(); i += 2) ASSERT_EQ(scan_text(open[i].first, table_), open[i].second);
}

TEST_P(SnapshotTest, OfADeletedKeyBeforeAndAfterItIsCollected) {
  db_.pass_snapshot_period();
  Snapshot before = db_.snapshot();
  db_.remove(table_, "x");
  db_.pass_snapshot_period();
  Snapshot after = db_.snapshot();
  collect();
  EXPECT_EQ(get(before, "x"), "10");
  EXPECT_EQ(scan_text(before, table_), "x=10 y=20 ");
  EXPECT_EQ(get(after, "x"), "(none)");
  before.finish();
  after.finish();
  db_.collect_everything();
  Snapshot late = db_.snapshot();
  EXPECT_EQ(get(late, "x"), "(none)");
  EXPECT_EQ(scan_text(late, table_), "y=20 ");
  EXPECT_EQ(db_->statistics().version_bytes, 0u);
}

TEST_P(SnapshotTest, OfAKeyDeletedAndBornAgain) {
  db_.pass_snapshot_period();
  Snapshot first = db_.snapshot();
  db_.remove(table_, "x");
  db_.pass_snapshot_period();
  Snapshot second = db_.snapshot();
  db_.put(table_, "x", "again");
  db_.pass_snapshot_period();
  Snapshot third = db_.snapshot();
  collect();
  EXPECT_EQ(get(first, "x"), "10");
  EXPECT_EQ(get(second, "x"), "(none)");
  EXPECT_EQ(get(third, "x"), "again");
  EXPECT_EQ(scan_text(second, table_, {.order = Order::kDescending}), "y=20 ");
}

TEST_P(SnapshotTest, UpdatesWithinOnePeriodMakeNoVersions) {
  db_.pass_snapshot_period();
  db_.put(table_, "x", "1");
  const std::uint64_t created = db_->statistics().versions_created;
  for (int i = 0; i < 100; ++i) db_.put(table_, "x", "2");
  EXPECT_EQ(db_->statistics().versions_created, created);
}

TEST_P(SnapshotTest, NeverSeesOwnWorkersUncommittedWrites) {
  db_.pass_snapshot_period();
  Transaction t = db_.begin();
  write(t, "x", 11);
  insert(t, "m", 1);
  Snapshot snapshot = db_.snapshot();
  EXPECT_EQ(scan_text(snapshot, table_), "x=10 y=20 ");
  expect_commit(t);
  EXPECT_EQ(scan_text(snapshot, table_), "x=10 y=20 ");
}

TEST_P(SnapshotTest, DoesNotHoldTheEpochBackOrDisturbWriters) {
  db_.pass_snapshot_period();
  Snapshot snapshot = db_.snapshot();
  get(snapshot, "x");
  db_.pass_epochs(100);
  db_.put(table_, "x", "11");
  EXPECT_EQ(get(snapshot, "x"), "10");
}

TEST_P(SnapshotTest, BeforeTheFirstPeriodSeesNothing) {
  ManualDatabase fresh(1);
  const Table table = fresh.table("t");
  fresh.put(table, "k", "v");
  Snapshot snapshot = fresh.snapshot();
  EXPECT_EQ(snapshot.epoch(), 0u);
  EXPECT_EQ(scan_text(snapshot, table), "");
}

TEST_P(SnapshotTest, AFinishedOneSaysSo) {
  Snapshot snapshot = db_.snapshot();
  snapshot.finish();
  std::string value;
  EXPECT_EQ(snapshot.get(table_, "x", value), Outcome::kFinished);
  EXPECT_EQ(snapshot.scan(table_, {}, [](auto, auto) { return true; }).outcome, Outcome::kFinished);
}

TEST(RefusedSnapshot, LeavesTheStringAndHasNoEpoch) {
  ManualDatabase db;
  const Table table = db.table("t");
  db.put(table, "key", "value");
  db.pass_snapshot_period();
  std::optional<Worker> worker(db->register_worker().value());
  Snapshot snapshot = worker->snapshot();
  std::string value = "as before";
  EXPECT_EQ(snapshot.get(Table(), "key", value), Outcome::kUnknownTable);
  EXPECT_EQ(snapshot.get(table, std::string(kMaxKeyBytes + 1, 'k'), value), Outcome::kKeyTooLong);
  EXPECT_NE(snapshot.epoch(), 0u);
  worker.reset();
  EXPECT_EQ(snapshot.get(table, "key", value), Outcome::kFinished);
  EXPECT_EQ(value, "as before");
  EXPECT_EQ(snapshot.epoch(), 0u);
}

}  // namespace
}  // namespace granary::tests
