// A node that died and came back has the newest version of each record, as logs have them: a snapshot that another node
// has had since before is refused there, instead of being told less than it should see (I16). Not covered: loading
// (tests/durability/come_back_test.cc).

#include "tests/cluster/transaction/across_nodes.h"

namespace granary::cluster::test {
namespace {

constexpr unsigned kBack = 1;

class CameBack : public AcrossNodes {
 protected:
  CameBack() {
    cluster_.pass_epochs(2 * std::uint64_t{tests::manual_options().snapshot_epochs});
    before_ = cluster_.node(0).worker().snapshot();
    std::string value;
    EXPECT_EQ(before_.get(table(0), "1x", value), Outcome::kOk);
    come_back();
  }
  /// Node 1 has begun its next life, with a version of "1x" that was written after the snapshot.
  void come_back() {
    SimClusterNode& node = cluster_.restart(kBack, 2);
    tables_[kBack] = node.table("t", {.max_value_bytes = 32, .index = GetParam(), .shared = true});
    node.listen();
    node.add_worker();
    commit(kBack, [](Transaction& t, const Table& table) { EXPECT_EQ(t.put(table, "1x", "newest"), Outcome::kOk); });
    epoch::EpochManager& epochs = node.database().engine().epochs();
    epochs.note_loaded(epochs.current());
    cluster_.network.run_for(20'000'000);  // whoever was connected notices
    for (const unsigned id : {0u, 2u}) (void)cluster_.node(id).directory().learn(kBack, 2, node.describe());
  }
  /// Node 1 is on its way back once more, and far ahead.
  void begin_without_serving() {
    SimClusterNode& node = cluster_.restart(kBack, 3);
    tables_[kBack] = node.table("t", {.max_value_bytes = 32, .index = GetParam(), .shared = true});
    node.control().by_leader.epoch.fetch_add(40);
    node.listen();
    cluster_.network.run_for(20'000'000);
    for (const rdma::NodeId id : {0, 2}) (void)cluster_.node(id).directory().forget_former(kBack, 3);
  }
  /// Tells what becomes of a transaction of node 0 that scans node 1 then.
  AbortReason scan_before_it_serves(granary::Order order) {
    begin_without_serving();
    Transaction t = begin(0);
    const auto nothing = [](std::string_view, std::string_view) { return true; };
    (void)t.scan(table(0), {.from = "1", .to = "2", .order = order}, nothing);
    return t.commit().reason;
  }
  Outcome scan(Snapshot& snapshot) {
    return snapshot.scan(table(0), {.from = "1"}, [](std::string_view, std::string_view) { return true; }).outcome;
  }

  Snapshot before_;  ///< node 0's
};
INSTANTIATE_TEST_SUITE_P(Kinds, CameBack, testing::Values(IndexKind::kHash, IndexKind::kOrdered),
                         [](const auto& kind) { return kind.param == IndexKind::kHash ? "Hash" : "Ordered"; });

TEST_P(CameBack, RefusesASnapshotFromBefore) {
  std::string value;
  EXPECT_EQ(before_.get(table(0), "1x", value), Outcome::kUnreachable);
  EXPECT_EQ(before_.get(table(0), "1y", value), Outcome::kUnreachable);
  if (GetParam() == IndexKind::kOrdered) {
    EXPECT_EQ(scan(before_), Outcome::kUnreachable);
  }
  EXPECT_EQ(before_.get(table(0), "2x", value), Outcome::kOk) << "nothing has happened to the others";
}

TEST_P(CameBack, AnswersSnapshotsThatSeeAllThatItLoaded) {
  const epoch::EpochManager& epochs = cluster_.node(kBack).database().engine().epochs();
  const epoch::Epoch loaded = epochs.current();
  std::string value;
  for (epoch::Epoch seen = 0; seen <= loaded;) {
    cluster_.pass_epochs(1);
    seen = epochs.snapshot_of(epochs.current());
    Snapshot snapshot = cluster_.node(0).worker().snapshot();
    EXPECT_EQ(snapshot.get(table(0), "1x", value), seen <= loaded ? Outcome::kUnreachable : Outcome::kOk) << seen;
  }
  EXPECT_EQ(value, "newest");
}

/// Until the others have learnt its tables it may lack data, and be epochs ahead: whoever waited for such an E would
/// hold all others back.
TEST_P(CameBack, IsNotReadBeforeItServes) {
  begin_without_serving();
  Transaction t = begin(0);
  std::string value;
  EXPECT_EQ(t.get(table(0), "1x", value), Outcome::kAborted);
  EXPECT_EQ(t.commit().reason, AbortReason::kNodeUnreachable);
}
TEST_P(CameBack, IsNotScannedBeforeItServes) {
  if (GetParam() != IndexKind::kOrdered) GTEST_SKIP() << "a hash table has no scans";
  EXPECT_EQ(scan_before_it_serves(granary::Order::kAscending), AbortReason::kNodeUnreachable);
}
TEST_P(CameBack, IsNotWaitedForBeforeItServes) {
  if (GetParam() != IndexKind::kOrdered) GTEST_SKIP() << "a hash table has no scans";
  EXPECT_NE(scan_before_it_serves(granary::Order::kDescending), AbortReason::kEpochsApart);
}

}  // namespace
}  // namespace granary::cluster::test
