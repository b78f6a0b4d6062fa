// I12: snapshots read what transactions of other nodes have overwritten. These keep the old versions themselves, in
// memory that the records' owner has lent them.

#include <gtest/gtest.h>

#include "src/base/test_hooks.h"
#include "src/cluster/messages/lent_blocks.h"
#include "tests/cluster/transaction/across_nodes.h"
#include "tests/support/at_sync_point.h"

namespace granary::cluster::test {
namespace {

class OldVersionsElsewhere : public AcrossNodes {
 protected:
  OldVersionsElsewhere() { pass_period(); }

  void pass_period() { cluster_.pass_epochs(2 * std::uint64_t{tests::manual_options().snapshot_epochs}); }
  Snapshot snapshot(std::size_t node) { return cluster_.node(node).worker(1).snapshot(); }
  std::string seen(Snapshot& snapshot, std::size_t node, std::string_view key) {
    std::string value;
    const Outcome got = snapshot.get(table(node), key, value);
    return got == Outcome::kOk ? value : "(" + std::string(name(got)) + ")";
  }
  void put(std::string_view key, std::string_view value) {
    commit(0, [&](Transaction& t, const Table& table) { EXPECT_EQ(t.put(table, key, value), Outcome::kOk); });
  }
  /// Reads the key before it is written.
  void update(std::string_view key, std::string_view value) {
    commit(0, [&](Transaction& t, const Table& table) {
      (void)value_of(t, table, key);
      EXPECT_EQ(t.put(table, key, value), Outcome::kOk);
    });
  }
  std::uint64_t messages() { return cluster_.node(0).remote().counters().messages; }
  std::uint64_t rounds(TripPhase phase) {
    return cluster_.node(0).remote().counters().rounds[static_cast<std::size_t>(phase)];
  }
  /// Old versions that the node's garbage collection knows of.
  std::uint64_t registered(std::size_t node) { return cluster_.node(node).database().statistics().versions_created; }
};

INSTANTIATE_TEST_SUITE_P(Kinds, OldVersionsElsewhere, testing::Values(IndexKind::kHash, IndexKind::kOrdered),
                         [](const auto& kind) { return kind.param == IndexKind::kHash ? "Hash" : "Ordered"; });

TEST_P(OldVersionsElsewhere, ASnapshotSeesWhatWasReadAndOverwritten) {
  Snapshot before = snapshot(1);
  update("1x", "new");
  EXPECT_EQ(seen(before, 1, "1x"), "old");
  EXPECT_EQ(at(1, "1x"), "new");
}

TEST_P(OldVersionsElsewhere, AndWhatWasOverwrittenUnread) {
  Snapshot before = snapshot(1), elsewhere = snapshot(2);
  put("1x", "a longer value than there was");
  EXPECT_EQ(seen(before, 1, "1x"), "old");
  EXPECT_EQ(seen(elsewhere, 2, "1x"), "old") << "asked of the owner";
}

TEST_P(OldVersionsElsewhere, AndWhatWasDeleted) {
  Snapshot before = snapshot(1);
  commit(0, [](Transaction& t, const Table& table) { EXPECT_EQ(t.remove(table, "1x"), Outcome::kOk); });
  EXPECT_EQ(seen(before, 1, "1x"), "old");
  pass_period();
  Snapshot between = snapshot(1);
  put("1x", "again");
  EXPECT_EQ(seen(between, 1, "1x"), "(not_found)") << "the absent version is kept as well";
  EXPECT_EQ(seen(before, 1, "1x"), "old") << "through both";
}

TEST_P(OldVersionsElsewhere, EachSnapshotSeesItsOwn) {
  std::vector<Snapshot> snapshots;
  for (int i = 0; i < 4; ++i) {
    snapshots.push_back(snapshot(1));
    if (i % 2 == 0) {
      update("1x", "version " + std::to_string(i));
    } else {
      commit(1, [&](Transaction& t, const Table& table) {
        EXPECT_EQ(t.put(table, "1x", "version " + std::to_string(i)), Outcome::kOk) << "by the owner";
      });
    }
    pass_period();
    if (snapshots.size() == 2) snapshots.erase(snapshots.begin());
    EXPECT_EQ(seen(snapshots.back(), 1, "1x"), i == 0 ? "old" : "version " + std::to_string(i - 1));
  }
}

TEST_P(OldVersionsElsewhere, OneVersionAPeriod) {
  Snapshot before = snapshot(1);
  update("1x", "first");
  const std::uint64_t writes = cluster_.node(0).remote().counters().writes;
  update("1x", "second");
  EXPECT_EQ(cluster_.node(0).remote().counters().writes - writes, 2u) << "no snapshot is between the two";
  EXPECT_EQ(seen(before, 1, "1x"), "old");
}

TEST_P(OldVersionsElsewhere, OneMessageForManyVersionsAndNoRoundOfTheirOwn) {
  if (GetParam() != IndexKind::kHash) GTEST_SKIP() << "ordered tables are asked about by message";
  const auto run = [](Transaction& t, const Table& table) {
    std::array<std::array<char, 32>, 2> buffers;
    std::array<MultiGet, 2> gets = {MultiGet{table, "1x", buffers[0], {}}, MultiGet{table, "1y", buffers[1], {}}};
    EXPECT_EQ(t.multi_get(gets), Outcome::kOk);
    EXPECT_EQ(t.put(table, "1x", "new"), Outcome::kOk);
  };
  commit(0, run);
  const std::uint64_t asked = messages(), validations = rounds(TripPhase::kValidate);
  for (int i = 0; i < 10; ++i) {
    pass_period();
    commit(0, run);
  }
  EXPECT_EQ(messages(), asked);
  EXPECT_EQ(rounds(TripPhase::kValidate), validations + 10) << "along with the header of what was only read";
}

TEST_P(OldVersionsElsewhere, BlocksAreAskedForAgainWhenTheyAreUsed) {
  for (std::uint32_t i = 0; i < 2 * BorrowedBlocks::kAskedAtOnce; ++i) {
    Snapshot before = snapshot(1);
    const std::string old = at(1, "1x");
    update("1x", std::to_string(i));
    EXPECT_EQ(seen(before, 1, "1x"), old);
    pass_period();
  }
  EXPECT_GE(registered(1), std::uint64_t{BorrowedBlocks::kAskedAtOnce});
}

TEST_P(OldVersionsElsewhere, WhatIsUsedIsFreedWhenNoSnapshotNeedsItAnyMore) {
  std::uint64_t most = 0;
  for (std::uint32_t i = 0; i < 6 * BorrowedBlocks::kAskedAtOnce; ++i) {
    update("1x", std::to_string(i));
    pass_period();
    cluster_.node(1).collect_garbage();
    most = std::max(most, cluster_.node(1).database().statistics().version_bytes);
  }
  EXPECT_LE(most, 3 * BorrowedBlocks::kAskedAtOnce * 128);
}

TEST_P(OldVersionsElsewhere, WhatTheOwnerReadsForASnapshotIsKeptThoughTheAskerMayBeDead) {
  if (!base::kTestHooks) GTEST_SKIP() << "a build without sync points";
  const auto put_at_owner = [&](std::string_view key, std::string_view value) {
    commit(1, [&](Transaction& t, const Table& table) { EXPECT_EQ(t.put(table, key, value), Outcome::kOk); });
  };
  put_at_owner("1y", "other");
  pass_period();
  Snapshot asker = snapshot(2);
  put_at_owner("1x", "new");
  pass_period();
  const tests::AtSyncPoint dies("epoch.answer_pinned", [&] {
    epoch::ControlBlock& control = cluster_.node(1).control();
    control.by_leader.snapshot_reclamation.store(control.by_leader.epoch - 1);  // nobody waits for the asker any more
    cluster_.node(1).database().engine().epochs().tick();
    cluster_.node(1).worker().collect_garbage();
    put_at_owner("1y", "late");  // its former version takes what was freed
  });
  EXPECT_EQ(seen(asker, 2, "1x"), "old");
}

TEST_P(OldVersionsElsewhere, AnAbortedTransactionLeavesAHarmlessCopy) {
  Snapshot before = snapshot(1);
  {
    Transaction t = begin(0);
    (void)value_of(t, table(0), "1x");
    (void)value_of(t, table(0), "2x");
    EXPECT_EQ(t.put(table(0), "1x", "new"), Outcome::kOk);
    commit(2, [](Transaction& other, const Table& table) { EXPECT_EQ(other.put(table, "2x", "late"), Outcome::kOk); });
    EXPECT_FALSE(t.commit().committed());
  }
  EXPECT_EQ(seen(before, 1, "1x"), "old");
  EXPECT_EQ(at(1, "1x"), "old");
  update("1x", "new");
  EXPECT_EQ(seen(before, 1, "1x"), "old");
}

TEST_P(OldVersionsElsewhere, AWorkerThatBeginsAnewBorrowsAnew) {
  Snapshot before = snapshot(1);
  update("1x", "new");
  const std::uint64_t registered_before = registered(1);
  cluster_.node(0).replace_worker(0);
  update("1y", "new");
  EXPECT_EQ(registered(1), registered_before + BorrowedBlocks::kAskedAtOnce) << "what the former one had";
  EXPECT_EQ(seen(before, 1, "1x"), "old");
  EXPECT_EQ(seen(before, 1, "1y"), "old");
}

TEST_P(OldVersionsElsewhere, WhatADeadNodeHadIsTakenBack) {
  Snapshot before = snapshot(1);
  update("1x", "new");
  const std::uint64_t registered_before = registered(1);
  cluster_.node(1).service().forget(0);
  cluster_.node(1).poll();
  EXPECT_EQ(registered(1), registered_before + BorrowedBlocks::kAskedAtOnce);
  EXPECT_EQ(seen(before, 1, "1x"), "old");
  cluster_.node(1).service().forget(7);  // there is no such node
}

/// All memory of the database but what is kept for removals, until it ends.
class FullMemory {
 public:
  explicit FullMemory(Database& database) : worker_(database.register_worker().value()) {
    while (void* const block = slabs().allocate(memory::SlabKind::kRecord, record::record_bytes(32)))
      taken_.push_back(block);
  }
  ~FullMemory() {
    for (void* const block : taken_) slabs().free(memory::SlabKind::kRecord, block);
    slabs().release();
  }
  FullMemory(const FullMemory&) = delete;
  FullMemory& operator=(const FullMemory&) = delete;

 private:
  memory::SlabCache& slabs() { return worker_.core()->state().slabs; }

  Worker worker_;
  std::vector<void*> taken_;
};

TEST_P(OldVersionsElsewhere, WithoutMemoryTheWriteDoesNotHappen) {
  {
    const FullMemory full(cluster_.node(1).database());
    Transaction t = begin(0);
    (void)value_of(t, table(0), "1x");
    EXPECT_EQ(t.put(table(0), "1x", "new"), Outcome::kOk);
    EXPECT_EQ(t.commit().reason, AbortReason::kOutOfMemory);
  }
  update("1x", "new");
  EXPECT_EQ(at(1, "1x"), "new");
}

TEST_P(OldVersionsElsewhere, WithoutMemoryRemovalsGoOn) {
  const FullMemory full(cluster_.node(1).database());
  Snapshot before = snapshot(1);
  {
    Transaction t = begin(0);
    EXPECT_EQ(t.put(table(0), "1y", "new"), Outcome::kOk);
    EXPECT_EQ(t.commit().reason, AbortReason::kOutOfMemory);
  }
  commit(0, [](Transaction& t, const Table& table) {
    EXPECT_EQ(t.remove(table, "1x"), Outcome::kOk);
    EXPECT_EQ(t.remove(table, "1y"), Outcome::kOk);
  });
  EXPECT_EQ(seen(before, 1, "1x"), "old");
  EXPECT_EQ(at(1, "1x"), "(none)");
  EXPECT_EQ(at(1, "1y"), "(none)");
}

}  // namespace
}  // namespace granary::cluster::test
