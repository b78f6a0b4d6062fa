// I7, step by step: one participant is an epoch ahead, the others follow some time later.

#include <gtest/gtest.h>

#include "tests/cluster/transaction/across_nodes.h"

namespace granary::cluster::test {
namespace {

class OneNodeIsAhead : public AcrossNodes {
 protected:
  /// Runs the transaction; whatever it validates, it does so when all of its participants have reached its epoch.
  void run(Body body) {
    EXPECT_EQ(at(0, "1x") + at(0, "2x"), "oldold") << "connected";
    const epoch::Epoch ahead = epoch_of(1) + 1;
    epoch_word(1).store(ahead);
    follow(ahead);
    bool validated = false;
    base::set_sync_hook([&](std::string_view point) {
      if (point != "across.validated") return;
      validated = true;
      EXPECT_EQ(epoch_of(0), ahead) << "where it runs";
      EXPECT_EQ(epoch_of(2), ahead) << "a participant";
    });
    const Ticket ticket = commit(0, body);
    base::set_sync_hook({});
    EXPECT_TRUE(validated);
    EXPECT_EQ(ticket.epoch, ahead);
    EXPECT_GE(cluster_.node(0).remote().counters().epoch_waits, 1u);
  }

  /// The other nodes, after a while.
  void follow(epoch::Epoch ahead) {
    for (const rdma::NodeId node : {0, 2}) {
      cluster_.network.schedule(node, 3'000'000 + 1'000'000u * node,
                                [this, node, ahead] { epoch_word(node).store(ahead); });
    }
  }
  std::atomic<epoch::Epoch>& epoch_word(std::size_t node) { return cluster_.node(node).control().by_leader.epoch; }
  epoch::Epoch epoch_of(std::size_t node) { return epoch_word(node).load(); }
};

INSTANTIATE_TEST_SUITE_P(Hash, OneNodeIsAhead, testing::Values(IndexKind::kHash), [](const auto&) { return "Hash"; });

TEST_P(OneNodeIsAhead, AWriterWaitsForTheOthers) {
  run([](Transaction& t, const Table& table) {
    EXPECT_EQ(t.put(table, "1x", "new"), Outcome::kOk);
    EXPECT_EQ(t.put(table, "2x", "new"), Outcome::kOk);
  });
}

TEST_P(OneNodeIsAhead, AReaderToo) {
  if (!tests::asked_protocol.in_real_time) GTEST_SKIP() << "it is serial when what it reads was written";
  run([](Transaction& t, const Table& table) {
    EXPECT_EQ(value_of(t, table, "1x"), "old");
    EXPECT_EQ(value_of(t, table, "2x"), "old");
  });
}

TEST_P(OneNodeIsAhead, AndWhoWritesHereAndReadsThere) {
  run([](Transaction& t, const Table& table) {
    EXPECT_EQ(value_of(t, table, "1x"), "old");
    EXPECT_EQ(value_of(t, table, "2x"), "old");
    EXPECT_EQ(t.put(table, "0x", "new"), Outcome::kOk);
  });
}

/// I13: whatever it has done of its commit, no epoch of which the transaction could be counts as complete here.
TEST_P(OneNodeIsAhead, ATransactionHoldsItsEpochToItsEnd) {
  EXPECT_EQ(at(0, "1x") + at(0, "2x"), "oldold") << "connected";
  const epoch::Epoch begun = epoch_of(0);
  Transaction t = begin(0);
  EXPECT_EQ(value_of(t, table(0), "2x"), "old");
  for (const char* key : {"0x", "1x"}) EXPECT_EQ(t.put(table(0), key, "new"), Outcome::kOk);
  unsigned points = 0;
  base::set_sync_hook([&](std::string_view point) {
    if (!point.starts_with("across.")) return;
    if (points++ == 0) {
      for (const std::size_t node : {0u, 1u, 2u}) epoch_word(node).store(begun + 1);
    }
    (void)cluster_.node(0).database().step();
    EXPECT_EQ(cluster_.node(0).control().by_node.oldest.load(), begun) << point;
    EXPECT_LT(cluster_.node(0).control().by_node.durable.load(), begun) << point;
  });
  const CommitResult done = t.commit();
  base::set_sync_hook({});
  EXPECT_TRUE(done.committed());
  EXPECT_GE(points, 5u);
  (void)cluster_.node(0).database().step();
  EXPECT_EQ(cluster_.node(0).control().by_node.oldest.load(), begun + 1);
}

/// E does not come to a node that is no member any more, and nobody waits for it.
class ANodeIsOut : public OneNodeIsAhead {
 protected:
  /// Why a transaction ends that writes at node 1, which is ahead, and there; `leave` happens when it has locked.
  AbortReason reason_of(const std::vector<std::string>& keys, const std::function<void()>& leave) {
    EXPECT_EQ(at(0, "1x") + at(0, "2x"), "oldold") << "connected";
    epoch_word(1).store(epoch_of(1) + 1);
    base::set_sync_hook([&](std::string_view point) {
      if (point == "across.locked") leave();
    });
    Transaction t = begin(0);
    for (const std::string& key : keys) EXPECT_EQ(t.put(table(0), key, "new"), Outcome::kOk);
    const std::uint64_t before_ns = cluster_.network.now();
    const AbortReason reason = t.commit().reason;
    base::set_sync_hook({});
    EXPECT_LT(cluster_.network.now() - before_ns, 10'000'000u);
    return reason;
  }
  membership::Fence fence_;
  membership::Living living_;
};

INSTANTIATE_TEST_SUITE_P(Hash, ANodeIsOut, testing::Values(IndexKind::kHash), [](const auto&) { return "Hash"; });

TEST_P(ANodeIsOut, ItDoesNotWaitForItsOwnEpoch) {
  fence_.extend(membership::kForever);
  fence_.move(1);
  cluster_.node(0).database().engine().set_fence(fence_);
  EXPECT_EQ(reason_of({"1x"}, [&] { fence_.close(); }), AbortReason::kMembershipLost);
}

TEST_P(ANodeIsOut, NorForThatOfOthers) {
  fence_.extend(membership::kForever);
  fence_.move(1);
  cluster_.node(0).database().engine().set_fence(fence_);
  EXPECT_EQ(reason_of({"1x", "2x"}, [&] { fence_.close(); }), AbortReason::kMembershipLost);
}

TEST_P(ANodeIsOut, OthersDoNotWaitForIt) {
  membership::Configuration configuration;
  for (membership::NodeId id = 0; id < 3; ++id)
    configuration.add(id) = {.id = id, .generation = 1, .state = membership::MemberState::kServing, .address = ""};
  living_.follow(configuration);
  cluster_.node(0).set_living(living_);
  configuration.find(2)->state = membership::MemberState::kDead;
  EXPECT_EQ(reason_of({"1x", "2x"}, [&] { living_.follow(configuration); }), AbortReason::kNodeUnreachable);
}

/// The owner holds the record when the x-lock is taken, and gives it back in the next epoch: only from then on is it
/// locked.
class OwnerGivesWayLate : public OneNodeIsAhead {
 protected:
  void run(std::string_view read_too) {
    auto* const record = reinterpret_cast<cc::Record*>(table(1).core()->index().find("1x").value);
    const epoch::Epoch ahead = epoch_of(1) + 1;
    bool held = true;
    base::set_sync_hook([&](std::string_view point) {
      if (point == "across.locked") follow(ahead);
      if (point != "x_lock.taken" || !std::exchange(held, false)) return;
      epoch_word(1).store(ahead);
      record->unlock_unchanged();
    });
    const Ticket ticket = commit(0, [&](Transaction& t, const Table& table) {
      (void)value_of(t, table, "1x");
      if (!read_too.empty()) (void)value_of(t, table, read_too);
      EXPECT_TRUE(record->try_lock(record->tid()));
      EXPECT_EQ(t.put(table, "1x", "new"), Outcome::kOk);
    });
    base::set_sync_hook({});
    EXPECT_EQ(ticket.epoch, ahead);
  }
};

INSTANTIATE_TEST_SUITE_P(Hash, OwnerGivesWayLate, testing::Values(IndexKind::kHash),
                         [](const auto&) { return "Hash"; });

TEST_P(OwnerGivesWayLate, EIsReadBehindTheLastLook) { run(""); }
TEST_P(OwnerGivesWayLate, AlsoIfAnotherNodeTakesPart) { run("2x"); }

/// A lease that is shared by a READ alone: E is READ behind that, though it takes a lookup to find the record. A
/// packet's way takes 10 us.
TEST(SharedLease, EIsReadBehindTheRecord) {
  const tests::WithLeases with_leases;
  SimCluster cluster(3, 2, {.least_delay = 10'000, .most_delay = 10'000, .tear = 0});
  const std::vector<Table> tables =
      cluster.tables("t", {.max_value_bytes = 32, .index = IndexKind::kHash, .shared = true});
  cluster.start();
  cluster.pass_epochs(2);
  cluster.set_time(1'000'000);
  const auto commit = [&](unsigned node, FunctionRef<void(Transaction&)> body) {
    Transaction t = cluster.node(node).worker().begin();
    body(t);
    const CommitResult done = t.commit();
    EXPECT_EQ(done.reason, AbortReason::kNone);
    return done.ticket.epoch;
  };
  const auto lease = [&](unsigned node, std::string_view key) {
    return commit(node, [&](Transaction& t) {
      EXPECT_EQ(t.declare(std::vector<Declared>{{tables[node], key, false}}), Outcome::kOk);
    });
  };
  for (const std::string_view key : {"1x", "1y"})
    commit(1, [&](Transaction& t) { EXPECT_EQ(t.put(tables[1], key, "value"), Outcome::kOk); });
  lease(2, "1x");
  lease(0, "1y");  // connects

  const epoch::Epoch ahead = cluster.node(1).control().by_leader.epoch + 1;
  const auto follow = [&](rdma::NodeId node, std::uint64_t after) {
    cluster.network.schedule(node, after, [&, node] { cluster.node(node).control().by_leader.epoch = ahead; });
  };
  follow(1, 20'000);  // when the first answer comes
  for (const rdma::NodeId node : {0, 2}) follow(node, 1'000'000);
  const auto& counters = cluster.node(0).remote().counters();
  const std::uint64_t swaps = counters.compare_swaps;
  EXPECT_EQ(lease(0, "1x"), ahead);
  EXPECT_EQ(counters.compare_swaps, swaps) << "shared";
}

}  // namespace
}  // namespace granary::cluster::test
