// What the owner does for another node that writes its records back (src/cc/holder_requests.h): versions that snapshots need
// survive the write-back (I12), and what it deleted is collected. Not covered: the messages.

#include "src/cc/holder_requests.h"

#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "src/txn/worker_core.h"
#include "tests/isolation/isolation_test.h"
#include "tests/support/at_sync_point.h"
#include "tests/isolation/remote_holder.h"

namespace granary::tests {
namespace {

using cc::Kept;

constexpr std::uint32_t kMaxValue = 200;

class HolderRequests : WithSharedTables, public testing::Test {
 protected:
  HolderRequests() {
    db_.put(table_, "x", kOld);
    db_.put(table_, "y", "20");
    db_.pass_snapshot_period();
  }

  record::SharedRecord& record(std::string_view key = "x") { return shared_record(table_, key); }
  epoch::Epoch epoch() { return db_->current_epoch(); }
  cc::WorkerState& owner() { return db_.worker().core()->state(); }
  cc::Index& index() { return table_.core()->index(); }
  Kept keep(record::StateWord holder, std::string_view key = "x") {
    return cc::keep_version(owner(), index(), key, holder, epoch());
  }
  record::TidWord write_back(RemoteHolder& holder, std::optional<std::string_view> value) {
    WriteBack back(record(), "x", value, holder.next_tid(epoch()));
    back.rest();
    holder.release();
    return back.tid();
  }
  std::string text(Snapshot& snapshot) { return scan_text(snapshot, table_); }
  std::uint64_t versions() { return db_->statistics().versions_created; }

  static Options small_options() {
    Options options = manual_options();
    options.memory_limit_bytes = std::uint64_t{16} << 20;
    return options;
  }

  const std::string kOld = std::string(100, 'o');
  const std::string kAllOld = "x=" + kOld + " y=20 ";
  ManualDatabase db_{1, small_options()};
  Table table_ = db_.table("shared", {.max_value_bytes = kMaxValue, .shared = true});
};

TEST_F(HolderRequests, ASnapshotReadsWhatAHolderHasOverwritten) {  // I12
  Snapshot snapshot = db_.snapshot();
  RemoteHolder holder(record());
  ASSERT_TRUE(holder.lock());
  ASSERT_EQ(keep(holder.word()), Kept::kDone);
  EXPECT_TRUE(holder.is_clear()) << "the owner's lock bit is gone";
  write_back(holder, std::string(kMaxValue, 'n'));
  EXPECT_EQ(text(snapshot), kAllOld);
  EXPECT_EQ(db_.value(table_, "x"), std::string(kMaxValue, 'n'));
}

TEST_F(HolderRequests, ASnapshotReadsWhatAHolderHasDeleted) {  // I12
  Snapshot snapshot = db_.snapshot();
  RemoteHolder holder(record());
  ASSERT_TRUE(holder.lock());
  ASSERT_EQ(keep(holder.word()), Kept::kDone);
  write_back(holder, std::nullopt);
  EXPECT_EQ(text(snapshot), kAllOld);
  EXPECT_EQ(db_.value(table_, "x"), "(none)");
}

TEST_F(HolderRequests, WithoutTheRequestTheVersionIsLost) {
  Snapshot snapshot = db_.snapshot();
  RemoteHolder holder(record());
  ASSERT_TRUE(holder.lock());
  write_back(holder, "new");
  EXPECT_EQ(text(snapshot), "y=20 ") << "which is why it is an invariant";
}

TEST_F(HolderRequests, OneVersionASnapshotPeriod) {
  RemoteHolder first(record());
  ASSERT_TRUE(first.lock());
  const std::uint64_t before = versions();
  ASSERT_EQ(keep(first.word()), Kept::kDone);
  EXPECT_EQ(versions(), before + 1);
  write_back(first, "first");
  Snapshot snapshot = db_.snapshot();
  RemoteHolder second(record(), 8, 2);
  ASSERT_TRUE(second.lock());
  ASSERT_EQ(keep(second.word()), Kept::kDone);
  EXPECT_EQ(versions(), before + 1) << "no snapshot is between the two";
  write_back(second, "second");
  EXPECT_EQ(text(snapshot), kAllOld);
}

TEST_F(HolderRequests, NothingIsKeptForWhoDoesNotHoldTheRecord) {
  const std::uint64_t before = versions();
  RemoteHolder holder(record());
  EXPECT_EQ(keep(holder.word()), Kept::kNotHeld) << "not yet";
  ASSERT_TRUE(holder.lock());
  EXPECT_EQ(keep(RemoteHolder(record(), 8).word()), Kept::kNotHeld) << "somebody else does";
  EXPECT_EQ(keep(holder.word(), "no such key"), Kept::kNotHeld);
  EXPECT_EQ(versions(), before);
  EXPECT_TRUE(holder.is_clear());
  holder.release();
}

TEST_F(HolderRequests, AHolderThatGivesUpLeavesAllAsItWas) {
  RemoteHolder holder(record());
  ASSERT_TRUE(holder.lock());
  ASSERT_EQ(keep(holder.word()), Kept::kDone);
  holder.release();
  Snapshot snapshot = db_.snapshot();
  EXPECT_EQ(text(snapshot), kAllOld);
  db_.put(table_, "x", "11");
  EXPECT_EQ(text(snapshot), kAllOld) << "the owner has kept it once more";
  snapshot = Snapshot();
  db_.collect_everything();
  EXPECT_EQ(db_->statistics().garbage_items, 0u) << "both copies are gone";
  EXPECT_EQ(db_.value(table_, "x"), "11");
}

TEST_F(HolderRequests, NobodyChangesTheRecordWhileItIsCopiedEvenIfItsHolderGivesUp) {
  if (!base::kTestHooks) GTEST_SKIP() << "a build without sync points";
  RemoteHolder holder(record()), next(record(), 8);
  ASSERT_TRUE(holder.lock());
  {
    const AtSyncPoint at("holder.copied", [&] {
      holder.release();
      EXPECT_FALSE(next.lock()) << "another holder sees the owner's bit";
      Transaction t = db_.begin();
      EXPECT_EQ(t.put(table_, "x", "11"), Outcome::kOk);
      EXPECT_EQ(t.commit().reason, AbortReason::kWriteLocked);
    });
    EXPECT_EQ(keep(holder.word()), Kept::kDone);
  }
  EXPECT_TRUE(next.lock());
  next.release();
  EXPECT_EQ(db_.value(table_, "x"), kOld);
}

TEST_F(HolderRequests, AHolderThatDoesNotWaitLosesTheVersionAndBreaksNothing) {
  if (!base::kTestHooks) GTEST_SKIP() << "a build without sync points";
  Snapshot snapshot = db_.snapshot();
  RemoteHolder holder(record());
  ASSERT_TRUE(holder.lock());
  const std::uint64_t before = versions();
  {
    const AtSyncPoint at("holder.copying", [&] { write_back(holder, std::string(kMaxValue, 'n')); });
    EXPECT_EQ(keep(holder.word()), Kept::kNotHeld) << "what was to be kept is gone, and does not fit either";
  }
  EXPECT_EQ(versions(), before);
  EXPECT_EQ(text(snapshot), "y=20 ") << "no version was linked that nobody has filled";
  EXPECT_EQ(db_.value(table_, "x"), std::string(kMaxValue, 'n'));
}

TEST_F(HolderRequests, AnOwnersTransactionThatStaysMakesItBusy) {
  RemoteHolder holder(record());
  ASSERT_TRUE(record().head.try_lock(record().head.tid()));
  EXPECT_EQ(keep(holder.word()), Kept::kBusy);
  record().head.unlock_unchanged();
}

TEST_F(HolderRequests, WithoutMemoryTheHolderIsToldNotToWrite) {
  std::vector<void*> taken;
  const auto take = [&] {
    return owner().slabs.allocate(memory::SlabKind::kRecord, record::record_bytes(kOld.size()));
  };
  while (void* const block = take()) taken.push_back(block);
  RemoteHolder holder(record());
  ASSERT_TRUE(holder.lock());
  EXPECT_EQ(keep(holder.word()), Kept::kOutOfMemory);
  EXPECT_TRUE(holder.is_clear());
  holder.release();
  for (void* const block : taken) owner().slabs.free(memory::SlabKind::kRecord, block);
}

TEST_F(HolderRequests, WhatAHolderHasDeletedIsCollected) {
  RemoteHolder holder(record());
  ASSERT_TRUE(holder.lock());
  const record::TidWord tid = write_back(holder, std::nullopt);
  db_.collect_everything();
  ASSERT_TRUE(in_index(table_, "x")) << "nobody has said so yet";
  cc::note_removed(owner(), index(), "x", tid);
  db_.collect_everything();
  EXPECT_FALSE(in_index(table_, "x"));
  cc::note_removed(owner(), index(), "x", tid);  // too late: no such key
}

TEST_F(HolderRequests, WhatHasChangedSinceItsDeletionIsNotCollected) {
  RemoteHolder holder(record());
  ASSERT_TRUE(holder.lock());
  const record::TidWord tid = write_back(holder, std::nullopt);
  db_.put(table_, "x", "again");
  cc::note_removed(owner(), index(), "x", tid);
  db_.collect_everything();
  EXPECT_EQ(db_.value(table_, "x"), "again");
}

}  // namespace
}  // namespace granary::tests
