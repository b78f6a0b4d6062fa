// What each isolation level allows and prevents, by name: an anomaly that a level allows is shown to happen there, and
// nowhere above it.

#include <functional>
#include <string>
#include <string_view>

#include "src/base/test_hooks.h"
#include "tests/support/at_sync_point.h"
#include "tests/support/manual_database.h"

namespace granary::tests {
namespace {

using Level = granary::Isolation;

class Levels : public testing::TestWithParam<Level> {
 protected:
  Levels() {
    put("x", 10);
    put("y", 20);
  }

  /// Silo's snapshot is of the moment at which the commit begins, so another transaction must be quick to come in
  /// between (SnapshotLevel).
  static bool early_snapshot() { return GetParam() == Level::kSnapshot && !asked_protocol.in_real_time; }
  static bool repeatable_read() { return GetParam() == Level::kRepeatableRead; }

  Transaction begin() { return db_.begin({.isolation = GetParam()}); }
  void put(std::string_view key, int number) { db_.put(table_, key, std::to_string(number)); }
  /// The row's number, or -1.
  int get(Transaction& t, std::string_view key) {
    std::string value;
    return t.get(table_, key, value) == Outcome::kOk ? std::stoi(value) : -1;
  }
  void set(Transaction& t, std::string_view key, int number) {
    EXPECT_EQ(t.put(table_, key, std::to_string(number)), Outcome::kOk);
  }
  std::size_t count(Transaction& t) {
    std::size_t rows = 0;
    EXPECT_TRUE(t.scan(table_, {}, [&](std::string_view, std::string_view) { return ++rows != 0; }));
    return rows;
  }
  static bool commits(Transaction& t) {
    const CommitResult done = t.commit();
    EXPECT_TRUE(done.committed() || is_retryable(done.reason)) << name(done.reason);
    return done.committed();
  }
  int now(std::string_view key) {
    Transaction t = db_.begin();
    const int number = get(t, key);
    EXPECT_TRUE(t.commit().committed());
    return number;
  }

  ManualDatabase db_{4};
  Table table_ = db_->create_table("rows").value();
};

std::string level_name(const testing::TestParamInfo<Level>& info) {
  constexpr std::string_view kNames[] = {"Serializable", "Snapshot", "RepeatableRead"};
  return std::string(kNames[static_cast<std::size_t>(info.param)]);
}
INSTANTIATE_TEST_SUITE_P(All, Levels, testing::Values(Level::kSerializable, Level::kSnapshot, Level::kRepeatableRead),
                         level_name);

TEST_P(Levels, WriteSkewHappensBelowSerializable) {
  Transaction t1 = begin(), t2 = begin();
  EXPECT_EQ(get(t1, "x") + get(t1, "y"), 30);
  EXPECT_EQ(get(t2, "x") + get(t2, "y"), 30);
  set(t1, "x", -20);
  set(t2, "y", -10);
  EXPECT_TRUE(commits(t1));
  const bool both = repeatable_read() || early_snapshot();
  EXPECT_EQ(commits(t2), both);
  EXPECT_EQ(now("x") + now("y"), both ? -30 : 0);
}

TEST_P(Levels, ReadSkewHappensAtRepeatableReadOnly) {
  for (const bool writes : {false, true}) {
    put("x", 10);
    put("y", 20);
    Transaction t1 = begin(), t2 = begin();
    EXPECT_EQ(get(t1, "x"), 10);
    set(t2, "x", 11);
    set(t2, "y", 21);
    EXPECT_TRUE(commits(t2));
    EXPECT_EQ(get(t1, "y"), 21);
    if (writes) set(t1, "z", 1);
    EXPECT_EQ(commits(t1), repeatable_read()) << writes;
  }
}

TEST_P(Levels, NoUpdateIsLost) {
  Transaction t1 = begin(), t2 = begin();
  const int seen = get(t1, "x");
  set(t2, "x", get(t2, "x") + 1);
  EXPECT_TRUE(commits(t2));
  set(t1, "x", seen + 1);
  EXPECT_FALSE(commits(t1));
  EXPECT_EQ(now("x"), 11);
}

TEST_P(Levels, NoUpdateIsLostBetweenInserts) {
  Transaction t1 = begin(), t2 = begin();
  EXPECT_EQ(t1.insert(table_, "new", "1"), Outcome::kOk);
  (void)t2.insert(table_, "new", "2");
  const bool first = commits(t1), second = commits(t2);
  EXPECT_NE(first, second);
  EXPECT_EQ(now("new"), first ? 1 : 2);
}

TEST_P(Levels, ARecordIsReadInOneVersion) {
  for (const bool writes : {false, true}) {
    put("x", 10);
    Transaction t1 = begin();
    EXPECT_EQ(get(t1, "x"), 10);
    put("x", 11);
    const int again = get(t1, "x");
    if (writes) set(t1, "z", 1);
    EXPECT_FALSE(again != 10 && commits(t1)) << writes;
  }
}

TEST_P(Levels, ARecordThatMovedIsReadInOneVersion) {
  Transaction t1 = begin();
  EXPECT_EQ(get(t1, "x"), 10);
  db_.put(table_, "x", std::string(1000, '1'));
  std::string again;
  EXPECT_EQ(t1.get(table_, "x", again), Outcome::kOk);
  EXPECT_FALSE(again.size() > 2 && commits(t1));
}

TEST_P(Levels, PhantomsHappenAtRepeatableReadOnly) {
  Transaction t1 = begin();
  EXPECT_EQ(count(t1), 2u);
  put("z", 30);
  EXPECT_EQ(count(t1), 3u);
  EXPECT_EQ(commits(t1), repeatable_read());
}

TEST_P(Levels, AMissingKeyMayComeAtRepeatableReadOnly) {
  put("other", 1);
  Transaction t1 = begin();
  EXPECT_EQ(get(t1, "z"), -1);
  put("z", 30);
  put("other", 2);
  EXPECT_EQ(get(t1, "other"), 2);
  set(t1, "x", 11);
  EXPECT_EQ(commits(t1), repeatable_read());
}

TEST_P(Levels, OnlyCommittedValuesAreSeen) {
  Transaction t1 = begin(), t2 = begin();
  set(t1, "x", 101);
  EXPECT_EQ(get(t2, "x"), 10);
  set(t1, "x", 11);
  EXPECT_TRUE(commits(t1));
  EXPECT_NE(get(t2, "x"), 101);
  t2.abort();
}

TEST_P(Levels, WritesTakeEffectTogether) {
  Transaction t1 = begin(), t2 = begin();
  set(t1, "x", 11);
  set(t2, "x", 12);
  set(t2, "y", 22);
  EXPECT_TRUE(commits(t2));
  set(t1, "y", 21);
  const bool first = commits(t1);
  EXPECT_EQ(now("x"), first ? 11 : 12);
  EXPECT_EQ(now("y"), first ? 21 : 22);
}

/// The moment of the reads is before the claims. Somebody else, who has read what is about to be written, writes in
/// between: write skew, if it is what was only read.
TEST(SnapshotLevel, WhatItWritesIsUnchangedSinceItsReads) {
  if (!base::kTestHooks) GTEST_SKIP() << "a build without sync points";
  if (!asked_protocol.in_real_time) GTEST_SKIP() << "its reads are checked behind the claims";
  for (const std::string_view key : {"read", "blind", "only_read"}) {
    ManualDatabase db(2);
    const Table table = db->create_table("rows").value();
    for (const char* each : {"read", "blind", "only_read"}) db.put(table, each, "1");
    Transaction t = db.begin({.isolation = Level::kSnapshot});
    std::string value;
    EXPECT_EQ(t.get(table, "read", value), Outcome::kOk);
    EXPECT_EQ(t.get(table, "only_read", value), Outcome::kOk);
    EXPECT_EQ(t.put(table, "read", "2"), Outcome::kOk);
    EXPECT_EQ(t.put(table, "blind", "2"), Outcome::kOk);
    const AtSyncPoint meanwhile("snapshot.reads_checked", [&] {
      Transaction other = db.begin();
      EXPECT_EQ(other.get(table, "read", value), Outcome::kOk);
      EXPECT_EQ(value, "1");
      EXPECT_EQ(other.put(table, key, "3"), Outcome::kOk);
      EXPECT_TRUE(other.commit().committed());
    });
    EXPECT_EQ(t.commit().committed(), key == "only_read") << key;
  }
}

/// Somebody puts the same key while a put that has not found it is under way: one of the two goes over the other's row,
/// and its index entry with it, or does not commit.
class IndexedLevels : public Levels {
 protected:
  void SetUp() override {
    if (!base::kTestHooks) GTEST_SKIP() << "a build without sync points";
  }
  /// Begins to put a row, and does `meanwhile` once it has not found the key.
  void put(Transaction& t, const std::function<void()>& meanwhile) {
    const AtSyncPoint between("index.row_read", meanwhile);
    static_cast<void>(t.put(people_, "ada", "Paris"));
  }
  void put_other(Transaction& t) { EXPECT_EQ(t.put(people_, "ada", "Berlin"), Outcome::kOk); }
  /// As many entries as rows.
  void expect_index_in_step() {
    Transaction t = db_.begin();
    const auto visit = [](std::string_view, std::string_view) { return true; };
    const ScanResult rows = t.scan(people_, {}, visit), entries = t.scan(by_town_, {}, visit);
    EXPECT_TRUE(t.commit().committed());
    EXPECT_EQ(rows.count, 1u);
    EXPECT_EQ(entries.count, rows.count);
  }

  Table people_ = db_.table("people");
  granary::Index by_town_ =
      db_->create_index(people_, "by town", {.parts = {{.length = 1, .encoding = IndexEncoding::kBytes}}}).value();
};
INSTANTIATE_TEST_SUITE_P(All, IndexedLevels,
                         testing::Values(Level::kSerializable, Level::kSnapshot, Level::kRepeatableRead), level_name);

TEST_P(IndexedLevels, APutGoesOverARowThatCameMeanwhile) {
  Transaction t1 = begin(), t2 = begin();
  put(t1, [&] {
    put_other(t2);
    EXPECT_TRUE(t2.commit().committed());
  });
  static_cast<void>(commits(t1));
  expect_index_in_step();
}
TEST_P(IndexedLevels, APutGoesOverARowThatIsUnderWay) {
  Transaction t1 = begin(), t2 = begin();
  put(t1, [&] { put_other(t2); });
  const bool other = commits(t2), own = commits(t1);
  EXPECT_TRUE(other || own);
  expect_index_in_step();
}

}  // namespace
}  // namespace granary::tests
