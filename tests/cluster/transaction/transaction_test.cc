// Transactions across simulated nodes, step by step: what they see, and what they conflict with.

#include <gtest/gtest.h>

#include "src/record/shared_record.h"
#include "tests/cluster/transaction/across_nodes.h"
#include "tests/support/at_sync_point.h"

namespace granary::cluster::test {
namespace {

INSTANTIATE_TEST_SUITE_P(Kinds, AcrossNodes, testing::Values(IndexKind::kHash, IndexKind::kOrdered),
                         [](const auto& kind) { return kind.param == IndexKind::kHash ? "Hash" : "Ordered"; });

TEST_P(AcrossNodes, ReadsAndWritesRecordsOfOthers) {
  const Ticket ticket = commit(0, [&](Transaction& t, const Table& table) {
    EXPECT_EQ(value_of(t, table, "1x"), "old");
    EXPECT_EQ(t.put(table, "1x", "new"), Outcome::kOk);
    EXPECT_EQ(t.update(table, "2x", "newer"), Outcome::kOk);
    EXPECT_EQ(t.put(table, "0x", "mine"), Outcome::kOk);
    EXPECT_EQ(value_of(t, table, "1x"), "new") << "its own write";
  });
  EXPECT_NE(ticket.tid, 0u);
  for (std::size_t node = 0; node < 3; ++node) {
    EXPECT_EQ(at(node, "1x"), "new") << node;
    EXPECT_EQ(at(node, "2x"), "newer") << node;
    EXPECT_EQ(at(node, "0x"), "mine") << node;
  }
}

TEST_P(AcrossNodes, NothingIsSeenOfWhatAborts) {
  {
    Transaction t = begin(0);
    EXPECT_EQ(t.put(table(0), "1x", "new"), Outcome::kOk);
    EXPECT_EQ(t.insert(table(0), "2new", "new"), Outcome::kOk);
  }
  EXPECT_EQ(at(1, "1x"), "old");
  EXPECT_EQ(at(2, "2new"), "(none)");
}

TEST_P(AcrossNodes, InsertsAndRemovesThere) {
  commit(0, [&](Transaction& t, const Table& table) {
    EXPECT_EQ(t.insert(table, "1new", "born"), Outcome::kOk);
    EXPECT_EQ(t.insert(table, "1x", "again"), Outcome::kAlreadyExists);
    EXPECT_EQ(t.put(table, "2new", "put"), Outcome::kOk);
    EXPECT_EQ(t.remove(table, "1y"), Outcome::kOk);
    EXPECT_EQ(t.remove(table, "2none"), Outcome::kNotFound);
    EXPECT_EQ(t.update(table, "2none", ""), Outcome::kNotFound);
    EXPECT_EQ(value_of(t, table, "1y"), "(none)");
    EXPECT_EQ(value_of(t, table, "1new"), "born");
  });
  for (std::size_t node = 0; node < 3; ++node) {
    EXPECT_EQ(at(node, "1new"), "born") << node;
    EXPECT_EQ(at(node, "2new"), "put") << node;
    EXPECT_EQ(at(node, "1y"), "(none)") << node;
  }
  commit(2, [&](Transaction& t, const Table& table) { EXPECT_EQ(t.insert(table, "1y", "back"), Outcome::kOk); });
  EXPECT_EQ(at(1, "1y"), "back");
}

TEST_P(AcrossNodes, WhatIsWrittenAndTakenBackIsNoWrite) {
  const Ticket ticket = commit(0, [&](Transaction& t, const Table& table) {
    EXPECT_EQ(t.put(table, "1new", "put"), Outcome::kOk);
    EXPECT_EQ(t.remove(table, "1new"), Outcome::kOk);
    EXPECT_EQ(t.insert(table, "2new", "inserted"), Outcome::kOk);
    EXPECT_EQ(t.remove(table, "2new"), Outcome::kOk);
    EXPECT_EQ(t.remove(table, "2new"), Outcome::kNotFound);
    EXPECT_EQ(value_of(t, table, "1new"), "(none)");
  });
  EXPECT_EQ(ticket.tid, 0u) << "it only read";
  commit(0, [&](Transaction& t, const Table& table) {
    EXPECT_EQ(t.put(table, "1x", "put"), Outcome::kOk);
    EXPECT_EQ(t.remove(table, "1x"), Outcome::kOk);
    EXPECT_EQ(t.insert(table, "1y", "put"), Outcome::kAlreadyExists);
    EXPECT_EQ(t.remove(table, "1y"), Outcome::kOk);
    EXPECT_EQ(t.insert(table, "1y", "again"), Outcome::kOk);
  });
  EXPECT_EQ(at(1, "1x"), "(none)");
  EXPECT_EQ(at(2, "1y"), "again");
}

TEST_P(AcrossNodes, ALostUpdateIsNoticed) {
  for (const std::size_t other : {1u, 2u}) {  // the owner, and another node
    Transaction one = begin(0);
    Transaction two = begin(other);
    (void)value_of(one, table(0), "1x");
    (void)value_of(two, table(other), "1x");
    EXPECT_EQ(one.put(table(0), "1x", "one"), Outcome::kOk);
    EXPECT_EQ(two.put(table(other), "1x", "two"), Outcome::kOk);
    EXPECT_TRUE(one.commit().committed());
    EXPECT_EQ(two.commit().reason, AbortReason::kReadChanged);
    EXPECT_EQ(at(1, "1x"), "one");
  }
}

TEST_P(AcrossNodes, AReadThatChangedIsNoticedByAReader) {
  for (const std::size_t writer : {1u, 2u}) {
    Transaction reader = begin(0);
    (void)value_of(reader, table(0), "1x");
    commit(writer, [&](Transaction& t, const Table& table) {
      EXPECT_EQ(t.put(table, "1x", "new"), Outcome::kOk);
      EXPECT_EQ(t.put(table, "2x", "new"), Outcome::kOk);
    });
    (void)value_of(reader, table(0), "2x");
    EXPECT_EQ(reader.commit().reason, AbortReason::kReadChanged);
  }
}

TEST_P(AcrossNodes, WriteSkewIsNoticed) {
  Transaction one = begin(0);
  Transaction two = begin(1);
  (void)value_of(one, table(0), "1x");
  (void)value_of(one, table(0), "2x");
  (void)value_of(two, table(1), "1x");
  (void)value_of(two, table(1), "2x");
  EXPECT_EQ(one.put(table(0), "1x", "one"), Outcome::kOk);
  EXPECT_EQ(two.put(table(1), "2x", "two"), Outcome::kOk);
  EXPECT_TRUE(one.commit().committed());
  EXPECT_EQ(two.commit().reason, AbortReason::kReadChanged);
}

TEST_P(AcrossNodes, AKeyThatAppearsWhereOneWasMissedIsAPhantom) {
  for (const std::size_t writer : {1u, 2u}) {
    const std::string key = "1new" + std::to_string(writer);
    Transaction reader = begin(0);
    EXPECT_EQ(value_of(reader, table(0), key), "(none)");
    EXPECT_EQ(reader.put(table(0), "2x", "relies on it"), Outcome::kOk);
    commit(writer, [&](Transaction& t, const Table& table) { EXPECT_EQ(t.insert(table, key, "new"), Outcome::kOk); });
    EXPECT_EQ(reader.commit().reason, AbortReason::kNodeChanged);
  }
}

/// The owner makes a placeholder for node 0, and somebody else commits to it before the owner looks at it. What node 0
/// learns then is not what it has relied on.
TEST_P(AcrossNodes, APlaceholderThatOthersHaveWrittenBeforeItIsTold) {
  if (!base::kTestHooks) GTEST_SKIP() << "a build without sync points";
  Transaction one = begin(0);
  EXPECT_EQ(value_of(one, table(0), "1new"), "(none)");
  EXPECT_EQ(one.put(table(0), "1new", "one"), Outcome::kOk);
  const tests::AtSyncPoint meanwhile("owner.placeholder_made", [&] {
    commit(1, [&](Transaction& t, const Table& table) { EXPECT_EQ(t.put(table, "1new", "other"), Outcome::kOk); });
  });
  EXPECT_EQ(one.commit().reason, AbortReason::kNodeChanged);
  EXPECT_EQ(at(1, "1new"), "other");
}

TEST_P(AcrossNodes, OnlyOneOfTwoInsertsOfAKeySucceeds) {
  Transaction one = begin(0);
  Transaction two = begin(2);
  EXPECT_EQ(one.insert(table(0), "1new", "one"), Outcome::kOk);
  EXPECT_EQ(two.insert(table(2), "1new", "two"), Outcome::kOk);
  EXPECT_TRUE(one.commit().committed());
  EXPECT_FALSE(two.commit().committed());
  EXPECT_EQ(at(1, "1new"), "one");
}

TEST_P(AcrossNodes, ManyGetsTravelTogether) {
  std::array<std::array<char, 32>, 4> buffers;
  Transaction t = begin(0);
  std::array<MultiGet, 4> gets = {MultiGet{table(0), "1x", buffers[0], {}}, MultiGet{table(0), "0x", buffers[1], {}},
                                  MultiGet{table(0), "2none", buffers[2], {}},
                                  MultiGet{table(0), "2x", buffers[3], {}}};
  EXPECT_EQ(t.multi_get(gets), Outcome::kOk);
  EXPECT_EQ(gets[0].result.outcome, Outcome::kOk);
  EXPECT_EQ(std::string_view(buffers[0].data(), gets[0].result.size), "old");
  EXPECT_EQ(gets[1].result.outcome, Outcome::kOk);
  EXPECT_EQ(gets[2].result.outcome, Outcome::kNotFound);
  EXPECT_EQ(gets[3].result.outcome, Outcome::kOk);
  EXPECT_TRUE(t.commit().committed());
}

TEST_P(AcrossNodes, ADeadNodeIsAnError) {
  Transaction open = begin(0);
  (void)value_of(open, table(0), "1x");
  EXPECT_EQ(open.put(table(0), "1x", "new"), Outcome::kOk);
  EXPECT_EQ(open.put(table(0), "0x", "new"), Outcome::kOk);
  cluster_.node(1).crash();
  EXPECT_EQ(open.commit().reason, AbortReason::kNodeUnreachable);
  Transaction later = begin(0);
  EXPECT_EQ(value_of(later, table(0), "1y"), "(aborted)");
  EXPECT_EQ(later.commit().reason, AbortReason::kNodeUnreachable);
  EXPECT_EQ(at(0, "0x"), "old");
  EXPECT_EQ(at(0, "2x"), "old") << "the others go on";
}

TEST_P(AcrossNodes, OldVersionsSurviveAWriteBack) {
  cluster_.pass_epochs(9);
  Snapshot snapshot = cluster_.node(1).worker().snapshot();
  commit(0, [&](Transaction& t, const Table& table) { EXPECT_EQ(t.put(table, "1x", "new"), Outcome::kOk); });
  std::string value;
  EXPECT_EQ(snapshot.get(table(1), "1x", value), Outcome::kOk);
  EXPECT_EQ(value, "old");
  EXPECT_EQ(at(1, "1x"), "new");
}

/// A holder only delays a snapshot: at its own node, and at another, whose owner has others to answer meanwhile.
TEST_P(AcrossNodes, ASnapshotWaitsForWhoHoldsARecord) {
  cluster_.pass_epochs(9);
  bool locked = false;
  std::string here;
  std::string there;
  std::array<char, 16> buffer{};
  std::array<MultiGet, 1> gets = {MultiGet{table(0), "1x", buffer, {}}};
  cluster_.scheduler.spawn([&] {
    Transaction holder = begin(2);
    const Declared key{table(2), "1x", true};
    EXPECT_EQ(holder.declare({&key, 1}), Outcome::kOk);
    locked = true;
    for (int turn = 0; turn < 200; ++turn) cluster_.scheduler.yield();
    EXPECT_EQ(holder.put(table(2), "1x", "new"), Outcome::kOk);
    EXPECT_TRUE(holder.commit().committed());
  });
  const auto read = [&](std::size_t node, std::string& value) {
    while (!locked) cluster_.scheduler.yield();
    Snapshot snapshot = cluster_.node(node).worker(1).snapshot();
    EXPECT_EQ(snapshot.get(table(node), "1x", value), Outcome::kOk);
  };
  cluster_.scheduler.spawn([&] { read(0, there); });
  cluster_.scheduler.spawn([&] { read(1, here); });
  cluster_.scheduler.spawn([&] {
    while (!locked) cluster_.scheduler.yield();
    Snapshot snapshot = cluster_.node(0).worker(0).snapshot();
    EXPECT_EQ(snapshot.multi_get(gets), Outcome::kOk);
  });
  cluster_.scheduler.run();
  EXPECT_EQ(there, "old");
  EXPECT_EQ(here, "old");
  EXPECT_EQ(gets[0].result.outcome, Outcome::kOk);
}

/// I11.
TEST_P(AcrossNodes, WhoIsNoMemberAnyMoreCommitsNothing) {
  membership::Fence fence;
  fence.extend(membership::kForever);
  fence.move(1);
  cluster_.node(0).database().engine().set_fence(fence);
  for (const std::string key : {"0x", "1x"}) {
    Transaction before = begin(0);
    EXPECT_EQ(before.put(table(0), key, "new"), Outcome::kOk);
    fence.move(2);
    EXPECT_EQ(before.commit().reason, AbortReason::kConfigurationChanged);
    fence.move(1);
  }
  // The configuration changes in the middle of the commit, when everything is locked.
  Transaction during = begin(0);
  EXPECT_EQ(during.put(table(0), "1x", "new"), Outcome::kOk);
  base::set_sync_hook([&](std::string_view point) {
    if (point == "across.validated") fence.move(2);
  });
  EXPECT_EQ(during.commit().reason, AbortReason::kConfigurationChanged);
  base::set_sync_hook({});
  fence.close();
  Transaction late = begin(0);
  EXPECT_EQ(late.put(table(0), "0x", "new"), Outcome::kOk);
  EXPECT_EQ(late.commit().reason, AbortReason::kMembershipLost);
  EXPECT_EQ(at(1, "1x"), "old") << "and nothing stays locked";
}

/// The node loses its right at the last moment: behind every wait of the commit, or, for one that only reads, behind
/// its validation.
TEST_P(AcrossNodes, TheRightToCommitIsAskedForBehindTheLastWait) {
  membership::Fence fence;
  fence.extend(membership::kForever);
  cluster_.node(0).database().engine().set_fence(fence);
  const auto lost_at = [&](std::string_view last, const std::vector<std::string>& reads,
                           const std::vector<std::string>& writes) {
    SCOPED_TRACE(last);
    fence.move(1);
    bool reached = false;
    base::set_sync_hook([&](std::string_view point) {
      if (point != last && point != "region.prepared") return;
      fence.move(2);
      reached = true;
    });
    Transaction t = begin(0);
    for (const std::string& key : reads) EXPECT_EQ(value_of(t, table(0), key), "old");
    for (const std::string& key : writes) EXPECT_EQ(t.put(table(0), key, "new"), Outcome::kOk);
    EXPECT_EQ(t.commit().reason, AbortReason::kConfigurationChanged);
    base::set_sync_hook({});
    EXPECT_TRUE(reached);
  };
  lost_at("commit.prepared", {}, {"0x"});
  lost_at("commit.validated", {"0x"}, {});
  lost_at("across.prepared", {}, {"1x"});
  lost_at("across.prepared", {"2x"}, {"0x", "1x"});
  lost_at("across.validated", {"0x", "1x"}, {});
  fence.move(3);
  for (const char* key : {"0x", "1x"}) {
    EXPECT_EQ(at(1, key), "old");
    commit(0, [&](Transaction& t, const Table& table) { EXPECT_EQ(t.put(table, key, "new"), Outcome::kOk); });
  }
}

/// Other nodes keep old versions for the snapshots of members only, so what they say to others may be of another time.
TEST_P(AcrossNodes, WhoIsNoMemberAnyMoreReadsNoSnapshotOfOthers) {
  cluster_.pass_epochs(9);
  membership::Fence fence;
  fence.extend(membership::kForever);
  fence.move(1);
  cluster_.node(0).database().engine().set_fence(fence);
  std::string value;
  Snapshot snapshot = cluster_.node(0).worker().snapshot();
  EXPECT_EQ(snapshot.get(table(0), "1x", value), Outcome::kOk);
  fence.move(2);
  EXPECT_EQ(snapshot.get(table(0), "1x", value), Outcome::kOk) << "it is a member still";
  fence.close();
  EXPECT_EQ(snapshot.get(table(0), "1x", value), Outcome::kUnreachable);
  EXPECT_EQ(snapshot.get(table(0), "0x", value), Outcome::kOk) << "its own are whole, if old";
}

/// What it waits for may have ended long ago without its hearing of it.
TEST_P(AcrossNodes, WhoIsNoMemberAnyMoreDoesNotTryAgain) {
  membership::Fence fence;
  cluster_.node(0).database().engine().set_fence(fence);
  for (const std::string key : {"0x", "1x"}) {
    const auto value = table(home_of(key)).core()->index().find(key).value;
    auto& held = record::shared_of(*reinterpret_cast<record::Record*>(value));
    base::store_word(&held.state_word, record::x_lock_word({.node = 2, .generation = 1, .worker = 0, .sequence = 9}));
    const RunResult done =
        cluster_.node(0).worker().run([&](Transaction& t) { (void)value_of(t, table(0), key); }, {.max_attempts = 3});
    EXPECT_EQ(done.reason, AbortReason::kMembershipLost) << key;
    EXPECT_EQ(done.attempts, 1u);
  }
}

/// The TIDs that are read and overwritten may be ahead of every E that was READ.
TEST_P(AcrossNodes, TidsGrowAcrossNodes) {
  const Ticket first =
      commit(0, [&](Transaction& t, const Table& table) { EXPECT_EQ(t.put(table, "1x", "a"), Outcome::kOk); });
  const Ticket second =
      commit(2, [&](Transaction& t, const Table& table) { EXPECT_EQ(t.put(table, "1x", "b"), Outcome::kOk); });
  const Ticket third =
      commit(1, [&](Transaction& t, const Table& table) { EXPECT_EQ(t.put(table, "1x", "c"), Outcome::kOk); });
  Ticket reader;
  reader = commit(0, [&](Transaction& t, const Table& table) {
    EXPECT_EQ(value_of(t, table, "1x"), "c");
    EXPECT_EQ(t.put(table, "2y", "d"), Outcome::kOk);
  });
  EXPECT_LT(first.tid, second.tid);
  EXPECT_LT(second.tid, third.tid);
  EXPECT_LE(third.tid, reader.tid);
  EXPECT_TRUE(third.tid < reader.tid || !tests::asked_protocol.in_real_time) << "who only reads it may have its time";
}

}  // namespace
}  // namespace granary::cluster::test
