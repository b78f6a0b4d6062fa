// What a node held when it died stays locked until it is recovered: whoever meets it, at its owner's or from elsewhere,
// is told so instead of trying again for ever. The same with processes that are killed is in tests/node/kill_test.cc.

#include <gtest/gtest.h>

#include "src/record/shared_record.h"
#include "tests/cluster/transaction/sim_cluster.h"
#include "tests/support/allocations.h"

namespace granary::cluster::test {
namespace {

using membership::MemberState;

constexpr rdma::NodeId kDead = 1;

/// Keys "0…" are node 0's, and so on. Node 1 holds what the test says.
class DeadHolder : public testing::TestWithParam<IndexKind> {
 protected:
  DeadHolder() : tables_(cluster_.tables("t", {.max_value_bytes = 32, .index = GetParam(), .shared = true})) {
    cluster_.start();
    cluster_.pass_epochs(2);
    cluster_.set_time(1'000'000);
    become(MemberState::kServing);
    for (unsigned id = 0; id < 3; ++id) cluster_.node(id).set_living(living_);
    for (const std::string key : {"0x", "2x"}) EXPECT_EQ(put(home_of(key), key), AbortReason::kNone);
  }

  /// From now on nodes recover one another, and node 1 is on its way back if `comes_back`.
  void recover(bool comes_back) {
    for (unsigned id = 0; id < 3; ++id)
      cluster_.node(id).set_comes_back([comes_back](rdma::NodeId node) { return comes_back && node == kDead; });
  }
  /// All nodes are told what node 1 is.
  void become(MemberState state, membership::Generation generation = 1) {
    membership::Configuration configuration;
    for (membership::NodeId id = 0; id < 3; ++id)
      configuration.add(id) = {.id = id, .generation = 1, .state = MemberState::kServing, .address = ""};
    configuration.find(kDead)->state = state;
    configuration.find(kDead)->generation = generation;
    living_.follow(configuration);
  }
  record::SharedRecord& record(std::string_view key) {
    const auto value = tables_[home_of(key)].core()->index().find(key).value;
    return record::shared_of(*reinterpret_cast<record::Record*>(value));
  }
  void hold(std::string_view key) {
    base::store_word(&record(key).state_word,
                     record::x_lock_word({.node = kDead, .generation = 1, .worker = 0, .sequence = 9}));
  }
  void free(std::string_view key) { base::store_word(&record(key).state_word, record::kFree); }

  AbortReason reason_of(unsigned node, FunctionRef<void(Transaction&)> body) {
    Transaction t = cluster_.node(node).worker().begin();
    body(t);
    return t.commit().reason;
  }
  AbortReason put(unsigned node, std::string_view key) {
    return reason_of(node, [&](Transaction& t) { (void)t.put(tables_[node], key, "value"); });
  }
  AbortReason get(unsigned node, std::string_view key) {
    return reason_of(node, [&](Transaction& t) {
      std::string value;
      (void)t.get(tables_[node], key, value);
    });
  }
  /// One that has read the key and meets the holder later: at its commit, or when it declares that it will read on.
  AbortReason put_what_was_read(unsigned node, std::string_view key) {
    return after_reading(node, key, [&](Transaction& t) { (void)t.put(tables_[node], key, "value"); });
  }
  AbortReason declare_what_was_read(unsigned node, std::string_view key) {
    return after_reading(node, key, [&](Transaction& t) {
      (void)t.declare(std::vector<Declared>{{tables_[node], key, false}});
    });
  }
  AbortReason after_reading(unsigned node, std::string_view key, FunctionRef<void(Transaction&)> body) {
    return reason_of(node, [&](Transaction& t) {
      std::string value;
      free(key);
      EXPECT_EQ(t.get(tables_[node], key, value), Outcome::kOk);
      hold(key);
      body(t);
    });
  }

  SimCluster cluster_{3};
  const std::vector<Table> tables_;
  membership::Living living_;
};
INSTANTIATE_TEST_SUITE_P(Kinds, DeadHolder, testing::Values(IndexKind::kHash, IndexKind::kOrdered),
                         [](const auto& kind) { return kind.param == IndexKind::kHash ? "Hash" : "Ordered"; });

TEST_P(DeadHolder, IsNotWaitedForByTheOwner) {
  hold("0x");
  EXPECT_EQ(get(0, "0x"), AbortReason::kRecordBusy) << "it lives, and may give it back";
  EXPECT_EQ(put(0, "0x"), AbortReason::kRemotelyLocked);
  become(MemberState::kDead);
  EXPECT_EQ(get(0, "0x"), AbortReason::kNodeUnreachable);
  EXPECT_EQ(put(0, "0x"), AbortReason::kNodeUnreachable);
  EXPECT_EQ(reason_of(0, [&](Transaction& t) { (void)t.update(tables_[0], "0x", "new"); }),
            AbortReason::kNodeUnreachable);
  EXPECT_EQ(put(0, "0y"), AbortReason::kNone) << "everything else goes on";
}

TEST_P(DeadHolder, IsNotWaitedForFromElsewhere) {
  hold("2x");
  EXPECT_EQ(get(0, "2x"), AbortReason::kRecordBusy);
  EXPECT_EQ(put_what_was_read(0, "2x"), AbortReason::kRemotelyLocked);
  EXPECT_EQ(declare_what_was_read(0, "2x"),
            tests::asked_protocol.has_leases ? AbortReason::kRecordBusy : AbortReason::kRemotelyLocked);
  become(MemberState::kDead);
  EXPECT_EQ(get(0, "2x"), AbortReason::kNodeUnreachable);
  EXPECT_EQ(put(0, "2x"), AbortReason::kNodeUnreachable);
  EXPECT_EQ(put_what_was_read(0, "2x"), AbortReason::kNodeUnreachable);
  EXPECT_EQ(declare_what_was_read(0, "2x"), AbortReason::kNodeUnreachable);
  EXPECT_EQ(put(0, "2y"), AbortReason::kNone);
}

TEST_P(DeadHolder, IsOneWhoseNodeHasBegunANewLife) {
  hold("0x");
  become(MemberState::kServing, 2);
  EXPECT_EQ(put(0, "0x"), AbortReason::kNodeUnreachable);
  become(MemberState::kServing, 1 + (1u << record::kHolderGenerationBits));
  EXPECT_EQ(put(0, "0x"), AbortReason::kRemotelyLocked) << "lock words have the lower bits of a generation";
  become(MemberState::kServing, 0xffff);
  EXPECT_EQ(put(0, "0x"), AbortReason::kRemotelyLocked) << "a later life, of which nobody has told yet";
}

/// A process that was taken for dead may go on, and its memory answer: nobody has to do with it any more (I11).
TEST_P(DeadHolder, IsNotReachedThoughItRuns) {
  EXPECT_EQ(get(0, "1x"), AbortReason::kNone);
  Snapshot snapshot = cluster_.node(0).worker().snapshot();
  become(MemberState::kDead);
  EXPECT_EQ(get(0, "1x"), AbortReason::kNodeUnreachable);
  EXPECT_EQ(put(2, "1x"), AbortReason::kNodeUnreachable);
  std::string value;
  EXPECT_EQ(snapshot.get(tables_[0], "1x", value), Outcome::kUnreachable);
}

/// Each attempt is refused before it has reached any node, so none may leave memory in use.
TEST_P(DeadHolder, CostsNoMemoryWhileItIsAway) {
  if (!tests::kCountsAllocations) GTEST_SKIP() << "sanitizers have allocators of their own";
  become(MemberState::kDead);
  std::vector<MultiGet> gets(100, {.table = tables_[0], .key = "1x", .buffer = {}, .result = {}});
  const std::vector<Declared> declared(100, {tables_[0], "1x", true});
  const auto attempts = [&](int count) {
    const std::uint64_t before = tests::allocations;
    for (int i = 0; i < count; ++i) {
      EXPECT_EQ(reason_of(0, [&](Transaction& t) { (void)t.multi_get(gets); }), AbortReason::kNodeUnreachable);
      EXPECT_EQ(reason_of(0, [&](Transaction& t) { (void)t.declare(declared); }), AbortReason::kNodeUnreachable);
    }
    return tests::allocations - before;
  };
  (void)attempts(100);
  EXPECT_EQ(attempts(10'000), 0u);
}

/// What it held is given back, or redone, by the recovery: it is worth while to try again, for what meets it here and
/// elsewhere.
TEST_P(DeadHolder, IsWaitedForWhileItIsRecovered) {
  become(MemberState::kDead);
  for (const bool comes_back : {true, false}) {
    recover(comes_back);
    const AbortReason reason = comes_back ? AbortReason::kNodeRecovering : AbortReason::kNodeUnreachable;
    for (const std::string key : {"0x", "2x"}) {
      hold(key);
      EXPECT_EQ(get(0, key), reason) << key;
      EXPECT_EQ(put(0, key), reason) << key;
      EXPECT_EQ(reason_of(0, [&](Transaction& t) { (void)t.update(tables_[0], key, "new"); }), reason) << key;
      if (GetParam() == IndexKind::kOrdered) {
        const auto visit = [](std::string_view, std::string_view) { return true; };
        EXPECT_EQ(reason_of(0, [&](Transaction& t) { (void)t.scan(tables_[0], {.from = key}, visit); }), reason) << key;
      }
      free(key);
      EXPECT_EQ(put(0, key), AbortReason::kNone) << key;
    }
    EXPECT_EQ(put_what_was_read(0, "2x"), reason);
    EXPECT_EQ(declare_what_was_read(0, "2x"), reason);
    EXPECT_EQ(get(0, "1x"), reason) << "one of its own records";
    EXPECT_EQ(put(2, "1x"), reason);
  }
  EXPECT_TRUE(is_retryable(AbortReason::kNodeRecovering));
}

/// Run again and again until the holder's recovery has given the record back.
TEST_P(DeadHolder, IsOutlastedByWhoTriesAgain) {
  hold("2x");
  become(MemberState::kDead);
  recover(true);
  unsigned attempts = 0;
  const RunResult done = cluster_.node(0).worker().run([&](Transaction& t) {
    if (++attempts == 5) free("2x");
    (void)t.put(tables_[0], "2x", "mine");
  });
  EXPECT_TRUE(done.committed()) << name(done.reason);
  EXPECT_EQ(attempts, 5u);
}

/// It lives, and lets nobody connect yet; what a transaction meets meanwhile tells so.
TEST_P(DeadHolder, IsOnItsWayBack) {
  recover(true);
  become(MemberState::kDead);
  EXPECT_EQ(get(0, "1x"), AbortReason::kNodeRecovering);
  become(MemberState::kServing);
  recover(false);
  EXPECT_EQ(get(0, "1x"), AbortReason::kNone);
  cluster_.node(kDead).crash();
  EXPECT_EQ(get(0, "1x"), AbortReason::kNodeUnreachable) << "nobody knows yet that it is dead";
  recover(true);
  EXPECT_EQ(get(0, "1x"), AbortReason::kNodeRecovering);
}

/// Scans, and snapshots, here and there. A snapshot needs what is there now if nothing older was kept.
TEST_P(DeadHolder, IsNotWaitedForByScansAndSnapshots) {
  for (const std::string key : {"0x", "2x"}) hold(key);
  cluster_.pass_epochs(9);
  for (const bool dead : {false, true}) {
    if (dead) become(MemberState::kDead);
    const AbortReason reason = dead ? AbortReason::kNodeUnreachable : AbortReason::kRecordBusy;
    const Outcome outcome = dead ? Outcome::kUnreachable : Outcome::kBusy;
    for (const std::string home : {"0", "2"}) {
      Snapshot snapshot = cluster_.node(0).worker().snapshot();
      std::string value;
      EXPECT_EQ(snapshot.get(tables_[0], home + "x", value), outcome) << home;
      if (GetParam() != IndexKind::kOrdered) continue;
      const auto visit = [](std::string_view, std::string_view) { return true; };
      EXPECT_EQ(snapshot.scan(tables_[0], {.from = home}, visit).outcome, outcome) << home;
      EXPECT_EQ(reason_of(0, [&](Transaction& t) { (void)t.scan(tables_[0], {.from = home}, visit); }), reason) << home;
    }
  }
}

}  // namespace
}  // namespace granary::cluster::test
