// Nodes that live and cannot reach each other for a while, whenever that begins: what a transaction held there is given
// back when they can again, with what it had decided or without. That other nodes' memory and messages come through is
// for rdma/ and messages/.

#include <gtest/gtest.h>

#include "tests/cluster/transaction/across_nodes.h"

namespace granary::cluster::test {
namespace {

class Undelivered : public AcrossNodes {
 protected:
  /// A transaction of node 0 that writes at node 1. Whether it has committed.
  bool write_there() { return write({"1x", "1y"}) == AbortReason::kNone; }
  AbortReason write(const std::vector<std::string>& keys) {
    Transaction t = begin(0);
    for (const std::string& key : keys) EXPECT_EQ(t.put(table(0), key, "new"), Outcome::kOk);
    return t.commit().reason;
  }
  /// It is cut off once it is decided.
  AbortReason write_and_be_cut_off(const std::vector<std::string>& keys) {
    base::set_sync_hook([this](std::string_view point) {
      if (point == "across.logged") cluster_.network.partition({0}, {1});
    });
    const AbortReason reason = write(keys);
    base::set_sync_hook({});
    return reason;
  }
  void write_there_and_be_cut_off() {
    EXPECT_EQ(write_and_be_cut_off({"1x", "1y"}), AbortReason::kNone);
    EXPECT_EQ(cluster_.node(0).remote().counters().unfinished, 2u);
    EXPECT_TRUE(locked());
  }
  /// For node 2, which only tries once.
  bool locked() {
    Transaction t = begin(2);
    (void)value_of(t, table(2), "1x");
    return t.commit().reason == AbortReason::kRecordBusy;
  }
  void heal() {
    for (const auto& [from, to] : {std::pair{0, 1}, {1, 0}})
      cluster_.network.heal_link(static_cast<rdma::NodeId>(from), static_cast<rdma::NodeId>(to));
  }
  /// Time passes, in which the worker does something else now and then.
  template <typename Act>
  void go_on(Act&& act) {
    for (int turn = 0; turn < 10; ++turn) {
      cluster_.network.run_for(100'000'000);
      act(cluster_.node(0).worker());
    }
  }
  void go_on() {
    go_on([this](Worker&) { EXPECT_EQ(at(0, "0x"), "old"); });
  }
  void put_back(const std::string& key) {
    commit(2, [&](Transaction& t, const Table& table) { EXPECT_EQ(t.put(table, key, "old"), Outcome::kOk); });
  }
};

INSTANTIATE_TEST_SUITE_P(Kinds, Undelivered, testing::Values(IndexKind::kHash, IndexKind::kOrdered),
                         [](const auto& kind) { return kind.param == IndexKind::kHash ? "Hash" : "Ordered"; });

TEST_P(Undelivered, IsGivenBackWheneverTheConnectionsWereLost) {
  for (std::uint64_t after_ns = 0; after_ns < 400'000; after_ns += 4'000) {
    EXPECT_EQ(at(0, "1x") + at(0, "1y"), "oldold") << "connected";
    cluster_.network.schedule(2, after_ns, [this] { cluster_.network.partition({0}, {1}); });
    const bool committed = write_there();
    cluster_.network.run_for(500'000);  // or it was not cut off at all
    heal();
    go_on();
    for (const std::string key : {"1x", "1y"}) {
      EXPECT_EQ(at(2, key), committed ? "new" : "old") << "cut off after " << after_ns << " ns";
      put_back(key);
    }
  }
  EXPECT_GT(cluster_.node(0).remote().counters().unfinished, 0u);
}

/// Not one that is taken for dead: its records are for whoever recovers it.
TEST_P(Undelivered, IsNotForTheDead) {
  membership::Configuration configuration;
  for (membership::NodeId id = 0; id < 3; ++id)
    configuration.add(id) = {.id = id, .generation = 1, .state = membership::MemberState::kServing, .address = ""};
  membership::Living living;
  living.follow(configuration);
  cluster_.node(0).set_living(living);
  write_there_and_be_cut_off();
  configuration.find(1)->state = membership::MemberState::kDead;
  living.follow(configuration);
  heal();
  go_on();
  EXPECT_TRUE(locked());
}

/// Nor from one that others may take for dead (I11).
TEST_P(Undelivered, IsNotFromANodeThatIsOut) {
  membership::Fence fence;
  fence.extend(membership::kForever);
  fence.move(1);
  cluster_.node(0).database().engine().set_fence(fence);
  write_there_and_be_cut_off();
  heal();
  fence.extend(0);
  for (int turn = 0; turn < 10; ++turn) {
    cluster_.network.run_for(100'000'000);
    Transaction t = begin(0);
    EXPECT_EQ(t.commit().reason, AbortReason::kMembershipLost);
  }
  EXPECT_TRUE(locked());
  fence.extend(membership::kForever);
  go_on();
  EXPECT_EQ(at(2, "1x"), "new") << "it is still a member";
}

/// What else the transaction did is there, so a key of its that is not must not pass for missing.
TEST_P(Undelivered, ASnapshotIsNotTakenBetweenTheHalvesOfAnInsert) {
  base::set_sync_hook([this](std::string_view point) {
    if (point == "across.logged") cluster_.network.partition({0}, {1});
  });
  commit(0, [&](Transaction& t, const Table& table) {
    for (const char* key : {"0z", "1z"}) EXPECT_EQ(t.put(table, key, "new"), Outcome::kOk);
  });
  base::set_sync_hook({});
  heal();
  cluster_.pass_epochs(9);
  const auto seen = [this](std::size_t node, const char* key) {
    Snapshot snapshot = cluster_.node(node).worker().snapshot();
    std::string value;
    const Outcome outcome = snapshot.get(table(node), key, value);
    return outcome == Outcome::kOk ? value : std::string(name(outcome));
  };
  for (const std::size_t node : {1, 2}) {
    EXPECT_EQ(seen(node, "0z"), "new") << node;
    EXPECT_EQ(seen(node, "1z"), name(Outcome::kBusy)) << node;
  }
  go_on();
  for (const std::size_t node : {1, 2}) EXPECT_EQ(seen(node, "1z"), "new") << node;
}

/// The owner can take its record out of the index only then.
TEST_P(Undelivered, ARemovalIsToldWhenItHasArrived) {
  const auto in_index = [this] { return table(1).core()->index().find("1x").value != 0; };
  base::set_sync_hook([this](std::string_view point) {
    if (point == "across.logged") cluster_.network.partition({0}, {1});
  });
  commit(0, [&](Transaction& t, const Table& table) { EXPECT_EQ(t.remove(table, "1x"), Outcome::kOk); });
  base::set_sync_hook({});
  EXPECT_TRUE(locked());
  heal();
  go_on();
  EXPECT_EQ(at(2, "1x"), "(none)");
  EXPECT_TRUE(in_index());
  for (int i = 0; i < 40; ++i) {
    cluster_.pass_epochs(1);
    epoch::ControlBlock& control = cluster_.node(1).control();
    control.by_leader.snapshot_reclamation.store(control.by_leader.epoch - 1);
    cluster_.node(1).worker().collect_garbage();
    cluster_.node(1).collect_garbage();
  }
  EXPECT_FALSE(in_index());
}

TEST_P(Undelivered, IsGivenBackByAWorkerThatOnlyTakesSnapshots) {
  write_there_and_be_cut_off();
  heal();
  go_on([this](Worker& worker) {
    std::string value;
    (void)worker.snapshot().get(table(0), "0x", value);
  });
  EXPECT_EQ(at(2, "1x"), "new");
}

TEST_P(Undelivered, IsGivenBackByAnIdleWorker) {
  write_there_and_be_cut_off();
  heal();
  go_on([](Worker& worker) { worker.collect_garbage(); });
  EXPECT_EQ(at(2, "1x"), "new");
}

/// A worker that has a transaction open would hold back E while it waits for a connection.
TEST_P(Undelivered, WaitsForOpenTransactions) {
  write_there_and_be_cut_off();
  heal();
  Transaction open = begin(0);
  go_on([](Worker& worker) { worker.collect_garbage(); });
  EXPECT_TRUE(locked());
  open.abort();
  EXPECT_EQ(at(2, "1x"), "new");
}

/// The worker keeps memory of each, and the others need theirs.
TEST_P(Undelivered, HasALimitBehindWhichNothingIsLocked) {
  AbortReason reason = AbortReason::kNone;
  int left = 0;
  for (; left < 100 && reason == AbortReason::kNone; ++left) {
    heal();
    reason = write_and_be_cut_off({"1" + std::to_string(left)});
  }
  EXPECT_EQ(reason, AbortReason::kTooMuchUndelivered);
  EXPECT_GT(left, 10);
  heal();
  Transaction declaring = begin(0);
  const Declared declared[] = {{table(0), "1x", /*write=*/true}};
  EXPECT_EQ(declaring.declare(declared), Outcome::kAborted);
  EXPECT_EQ(declaring.commit().reason, AbortReason::kTooMuchUndelivered);
  EXPECT_EQ(write({"0y"}), AbortReason::kNone) << "its own node's";
  EXPECT_EQ(at(0, "1x"), "old") << "reads go on";
  go_on();
  EXPECT_EQ(write({"1x", "1y"}), AbortReason::kNone);
  for (int i = 0; i < left - 1; ++i) EXPECT_EQ(at(2, "1" + std::to_string(i)), "new") << i;
}

TEST_P(Undelivered, IsGivenBackWhenTheWorkerEnds) {
  write_there_and_be_cut_off();
  cluster_.network.schedule(2, 3'000'000, [this] { heal(); });
  cluster_.node(0).remote().finish();
  EXPECT_EQ(at(2, "1x"), "new");
}

}  // namespace
}  // namespace granary::cluster::test
