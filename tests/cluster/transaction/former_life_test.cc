// A node dies and comes back, with its tables elsewhere: what others know of its former life leads nowhere any more,
// and once they have learnt it anew they use it again.

#include <array>

#include <gtest/gtest.h>

#include "tests/cluster/transaction/across_nodes.h"
#include "tests/support/at_sync_point.h"

namespace granary::cluster::test {
namespace {

constexpr unsigned kBack = 1;

class FormerLife : public AcrossNodes {
 protected:
  /// Node 1 has begun its next life, and has a record "1x" again.
  void come_back() {
    SimClusterNode& node = cluster_.restart(kBack, 2);
    tables_[kBack] = node.table("t", {.max_value_bytes = 32, .index = GetParam(), .shared = true});
    node.listen();
    node.add_worker();
    Transaction t = node.worker().begin();
    EXPECT_EQ(t.put(tables_[kBack], "1x", "anew"), Outcome::kOk);
    EXPECT_TRUE(t.commit().committed());
    cluster_.network.run_for(20'000'000);  // whoever was connected notices
  }
  /// What the membership says of node 1, to nodes that have got living_.
  void tell(membership::Generation generation, membership::MemberState state) {
    membership::Configuration configuration;
    for (membership::NodeId id = 0; id < 3; ++id)
      configuration.add(id) = {.id = id, .generation = 1, .state = membership::MemberState::kServing, .address = ""};
    configuration.find(kBack)->generation = generation;
    configuration.find(kBack)->state = state;
    living_.follow(configuration);
  }
  /// Node 0 learns where the tables are by now. No transaction is open that could use what was known before.
  void learn() {
    const auto former = cluster_.node(0).directory().learn(kBack, 2, cluster_.node(kBack).describe());
    EXPECT_NE(former, nullptr);
  }
  AbortReason get(std::string& value) {
    Transaction t = begin(0);
    (void)t.get(table(0), "1x", value);
    return t.commit().reason;
  }
  AbortReason get() {
    std::string value;
    return get(value);
  }
  AbortReason put() {
    Transaction t = begin(0);
    (void)t.put(table(0), "1x", "mine");
    return t.commit().reason;
  }

  /// The version blocks that node 0's worker has borrowed of a life of node 1.
  BorrowedBlocks::Stock& stock(membership::Generation life) {
    return cluster_.node(0).remote().reach().borrowed.of(kBack, life, table(0).core()->id());
  }
  /// Snapshots may need all versions that there are by now.
  void pass_period() { cluster_.pass_epochs(2 * std::uint64_t{tests::manual_options().snapshot_epochs}); }

  membership::Living living_;
};
INSTANTIATE_TEST_SUITE_P(Kinds, FormerLife, testing::Values(IndexKind::kHash, IndexKind::kOrdered),
                         [](const auto& kind) { return kind.param == IndexKind::kHash ? "Hash" : "Ordered"; });

TEST_P(FormerLife, IsReplacedByWhatTheNodeSaysWhenItIsBack) {
  EXPECT_EQ(at(0, "1x"), "old") << "its place is known";
  come_back();
  // Of an ordered table the owner tells each place, so only the addresses of hash tables are of the former life.
  if (GetParam() == IndexKind::kHash) {
    EXPECT_EQ(get(), AbortReason::kNodeUnreachable);
    EXPECT_EQ(put(), AbortReason::kNodeUnreachable);
  }
  learn();
  std::string value;
  EXPECT_EQ(get(value), AbortReason::kNone);
  EXPECT_EQ(value, "anew");
  EXPECT_EQ(put(), AbortReason::kNone);
  EXPECT_EQ(at(0, "1x"), "mine");
  EXPECT_EQ(at(kBack, "1x"), "mine");
}

TEST_P(FormerLife, HasNoTablesOnceItIsForgotten) {
  EXPECT_EQ(at(0, "1x"), "old");
  EXPECT_NE(cluster_.node(0).directory().forget_former(kBack, 0), nullptr);
  EXPECT_EQ(get(), AbortReason::kNodeUnreachable);
  EXPECT_EQ(put(), AbortReason::kNodeUnreachable);
  EXPECT_EQ(at(0, "2x"), "old") << "everything else goes on";
}

/// A location that was cached would lead to another record, or to none.
TEST_P(FormerLife, ServesNoLocationOnceItWasLearntAnew) {
  if (GetParam() == IndexKind::kOrdered) GTEST_SKIP() << "nothing is cached of ordered tables";
  EXPECT_EQ(at(0, "1x") + at(0, "1x"), "oldold");
  const auto hits = [this] { return cluster_.node(0).remote().counters().locations.hits.load(); };
  EXPECT_EQ(hits(), 1u);
  come_back();
  learn();
  EXPECT_EQ(at(0, "1x"), "anew");
  EXPECT_EQ(hits(), 1u);
  EXPECT_EQ(at(0, "1x"), "anew");
  EXPECT_EQ(hits(), 2u) << "where it is in this life";
}

/// The leaf that leads to the record is of the former life, and the lock would be taken in the next one.
TEST_P(FormerLife, IsNotLockedWhenItEndsBetweenTheLeafAndTheRecord) {
  if (GetParam() == IndexKind::kHash) GTEST_SKIP() << "no leaf leads to the record";
  EXPECT_EQ(at(0, "1x"), "old") << "its leaf is known";
  {
    const tests::AtSyncPoint meanwhile("locked_reads.placed", [this] { come_back(); });
    Transaction t = begin(0);
    std::array<char, 32> buffer;
    EXPECT_EQ(t.get_to_write(table(0), "1x", buffer).outcome, Outcome::kAborted);
    EXPECT_EQ(t.commit().reason, AbortReason::kNodeUnreachable);
  }
  learn();
  EXPECT_EQ(at(0, "1x"), "anew");
  EXPECT_EQ(put(), AbortReason::kNone) << "nobody holds it";
}

/// A transaction that has seen something of the former life ends, whenever it meets the next one, and whatever it does
/// then.
TEST_P(FormerLife, EndsTransactionsThatHaveSeenIt) {
  Transaction reads = begin(0);
  EXPECT_EQ(value_of(reads, table(0), "1x"), "old");
  Transaction writes = begin(0);
  EXPECT_EQ(value_of(writes, table(0), "1x"), "old");
  EXPECT_EQ(writes.put(table(0), "1x", "mine"), Outcome::kOk);
  Transaction declares = begin(2);
  EXPECT_EQ(value_of(declares, table(2), "1x"), "old");
  come_back();
  const auto former = cluster_.node(0).directory().learn(kBack, 2, cluster_.node(kBack).describe());
  EXPECT_EQ(reads.commit().reason, AbortReason::kNodeUnreachable);
  EXPECT_EQ(writes.commit().reason, AbortReason::kNodeUnreachable);
  EXPECT_EQ(declares.declare(std::vector<Declared>{{table(2), "1x", true}}), Outcome::kAborted);
  EXPECT_EQ(declares.commit().reason, AbortReason::kNodeUnreachable);
  EXPECT_EQ(at(0, "1x"), "anew") << "it wrote nothing";
}

/// Where nodes recover one another it is worth while to try again, also before this node has learnt where the tables
/// are by now.
TEST_P(FormerLife, IsOverForAWhileOnlyWhereNodesComeBack) {
  tell(1, membership::MemberState::kServing);
  cluster_.node(0).set_living(living_);
  cluster_.node(0).set_comes_back([](rdma::NodeId) { return false; });
  Transaction reads = begin(0);
  EXPECT_EQ(value_of(reads, table(0), "1x"), "old");
  Transaction writes = begin(0);
  EXPECT_EQ(value_of(writes, table(0), "1x"), "old");
  EXPECT_EQ(writes.put(table(0), "1x", "mine"), Outcome::kOk);
  come_back();
  tell(2, membership::MemberState::kServing);
  EXPECT_EQ(reads.commit().reason, AbortReason::kNodeRecovering);
  EXPECT_EQ(writes.commit().reason, AbortReason::kNodeRecovering);
  EXPECT_NE(cluster_.node(0).directory().forget_former(kBack, 2), nullptr);
  EXPECT_EQ(get(), AbortReason::kNodeRecovering) << "nothing is known of its present life";
  EXPECT_EQ(put(), AbortReason::kNodeRecovering);
  EXPECT_EQ(cluster_.node(0).directory().learn(kBack, 2, cluster_.node(kBack).describe()), nullptr);
  EXPECT_EQ(at(0, "1x"), "anew") << "it wrote nothing";
}

/// A transaction that the node takes part in says what it would be told if it began now: that nobody recovers the node.
TEST_P(FormerLife, IsNotSaidToComeBackWhereNobodyRecoversIt) {
  tell(1, membership::MemberState::kServing);
  cluster_.node(0).set_living(living_);
  cluster_.node(0).set_comes_back([](rdma::NodeId) { return false; });
  Transaction reads = begin(0);
  EXPECT_EQ(value_of(reads, table(0), "1x"), "old");
  tell(1, membership::MemberState::kDead);
  EXPECT_NE(cluster_.node(0).directory().forget_former(kBack, 0), nullptr);
  std::string value;
  EXPECT_EQ(reads.get(table(0), "1y", value), Outcome::kAborted);
  EXPECT_EQ(reads.commit().reason, AbortReason::kNodeUnreachable);
}

/// Memory that the former life has lent is anything by now: an old version that were WRITTEN there would destroy it.
TEST_P(FormerLife, HasLentNothingToTheNextOne) {
  pass_period();
  EXPECT_EQ(put(), AbortReason::kNone);
  EXPECT_FALSE(stock(1).blocks.empty());
  come_back();
  learn();
  pass_period();
  Snapshot before = cluster_.node(kBack).worker().snapshot();
  EXPECT_EQ(put(), AbortReason::kNone);
  EXPECT_EQ(stock(2).life, 2u);
  EXPECT_EQ(stock(2).blocks.size(), BorrowedBlocks::kAskedAtOnce - 1) << "those of the former life are forgotten";
  std::string value;
  EXPECT_EQ(before.get(table(kBack), "1x", value), Outcome::kOk);
  EXPECT_EQ(value, "anew");
  EXPECT_EQ(at(kBack, "1x"), "mine");
}

/// Another transaction of the worker has borrowed of the next life already when one of the former life needs a block.
/// It takes none, and ends.
TEST_P(FormerLife, UsesNothingThatTheNextOneHasLent) {
  pass_period();
  const std::vector<std::uint64_t> lent = {8, 16};
  stock(2).blocks = lent;
  EXPECT_EQ(put(), AbortReason::kNodeUnreachable);
  EXPECT_EQ(stock(1).life, 2u) << "lives only ascend";
  EXPECT_EQ(stock(2).blocks, lent);
}

/// What a transaction held there is gone with that life: it is not given back, and does not keep the next life waiting.
TEST_P(FormerLife, HasTakenItsLocksWithIt) {
  tell(1, membership::MemberState::kServing);
  cluster_.node(0).set_living(living_);
  base::set_sync_hook([this](std::string_view point) {
    if (point == "across.logged") cluster_.network.partition({0}, {kBack});
  });
  EXPECT_EQ(put(), AbortReason::kNone);
  base::set_sync_hook({});
  RemoteWorker& worker = cluster_.node(0).remote();
  EXPECT_TRUE(worker.has_left_locks());
  come_back();
  // The next life is a member before it can be reached.
  tell(2, membership::MemberState::kJoining);
  cluster_.network.run_for(100'000'000);
  EXPECT_EQ(at(0, "0x"), "old") << "the worker tries between its transactions";
  EXPECT_FALSE(worker.has_left_locks());
  for (const auto& [from, to] : {std::pair{0u, kBack}, {kBack, 0u}})
    cluster_.network.heal_link(static_cast<rdma::NodeId>(from), static_cast<rdma::NodeId>(to));
  tell(2, membership::MemberState::kServing);
  learn();
  EXPECT_EQ(at(0, "1x"), "anew");
  EXPECT_EQ(put(), AbortReason::kNone);
}

/// The same, told by the fabric alone.
TEST_P(FormerLife, HasTakenItsLocksWithItAlsoForANodeThatIsNotTold) {
  base::set_sync_hook([this](std::string_view point) {
    if (point == "across.logged") cluster_.network.lose_connections(0, kBack);
    if (point == "across.logged") cluster_.network.partition({0}, {kBack});
  });
  EXPECT_EQ(put(), AbortReason::kNone);
  base::set_sync_hook({});
  RemoteWorker& worker = cluster_.node(0).remote();
  EXPECT_TRUE(worker.has_left_locks());
  come_back();
  for (const auto& [from, to] : {std::pair{0u, kBack}, {kBack, 0u}})
    cluster_.network.heal_link(static_cast<rdma::NodeId>(from), static_cast<rdma::NodeId>(to));
  cluster_.network.run_for(100'000'000);
  EXPECT_EQ(at(0, "0x"), "old");
  EXPECT_FALSE(worker.has_left_locks());
  learn();
  EXPECT_EQ(at(0, "1x"), "anew");
}

}  // namespace
}  // namespace granary::cluster::test
