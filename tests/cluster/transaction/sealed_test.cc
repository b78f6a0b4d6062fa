// Immutable tables of other nodes (I31): only their owner writes them, and once the owner has said that they are
// sealed, reads of them are not validated, nor held.

#include <gtest/gtest.h>

#include "tests/cluster/transaction/across_nodes.h"

namespace granary::cluster::test {
namespace {

class SealedAcrossNodes : public AcrossNodes {
 protected:
  SealedAcrossNodes() : AcrossNodes({.max_value_bytes = 32, .index = GetParam(), .shared = true, .immutable = true}) {}

  /// All nodes have sealed their keys.
  void seal() {
    for (std::size_t node = 0; node < 3; ++node) EXPECT_TRUE(cluster_.node(node).database().seal(table(node)).ok());
    cluster_.pass_epochs(1);
  }
  void tell_node_0() {
    for (std::size_t node = 1; node < 3; ++node) {
      SimClusterNode& owner = cluster_.node(node);
      cluster_.node(0).directory().note_sealed(owner.id(), 1, owner.describe());
    }
  }
  const ReachCounters& counters() { return cluster_.node(0).remote().counters(); }
};
INSTANTIATE_TEST_SUITE_P(Both, SealedAcrossNodes, testing::Values(IndexKind::kOrdered, IndexKind::kHash),
                         [](const auto& made) { return made.param == IndexKind::kHash ? "Hash" : "Ordered"; });

TEST_P(SealedAcrossNodes, OnlyTheOwnerWrites) {
  for (const bool sealed : {false, true}) {
    if (sealed) seal();
    commit(0, [&](Transaction& t, const Table& table) {
      EXPECT_EQ(t.put(table, "1x", "new"), Outcome::kImmutable);
      EXPECT_EQ(t.insert(table, "1z", "new"), Outcome::kImmutable);
      EXPECT_EQ(t.update(table, "1x", "new"), Outcome::kImmutable);
      EXPECT_EQ(t.remove(table, "1x"), Outcome::kImmutable);
      EXPECT_EQ(t.put(table, "0x", "new"), sealed ? Outcome::kImmutable : Outcome::kOk);
    });
  }
  EXPECT_EQ(at(0, "1x"), "old");
  EXPECT_EQ(at(0, "1z"), "(none)");
}

/// Their owner waits for its own transactions only.
TEST_P(SealedAcrossNodes, WhatIsSealedStaysWhateverOthersHaveOpen) {
  Transaction t = begin(0);
  (void)t.put(table(0), "1x", "late");
  EXPECT_TRUE(cluster_.node(1).database().seal(table(1)).ok());
  (void)t.commit();
  EXPECT_EQ(at(1, "1x"), "old");
}

/// Both would be serial before the other one.
TEST_P(SealedAcrossNodes, BeforeTheOwnerHasSaidSoReadsAreValidated) {
  Transaction here = begin(0), there = begin(1);
  EXPECT_EQ(value_of(here, table(0), "1x"), "old");
  EXPECT_EQ(value_of(there, table(1), "0x"), "old");
  EXPECT_EQ(here.put(table(0), "0x", "new"), Outcome::kOk);
  EXPECT_EQ(there.put(table(1), "1x", "new"), Outcome::kOk);
  const bool first = here.commit().committed();
  EXPECT_FALSE(there.commit().committed() && first);
}

TEST_P(SealedAcrossNodes, BeforeTheOwnerHasSaidSoMissesAreValidated) {
  Transaction here = begin(0), there = begin(1);
  EXPECT_EQ(value_of(here, table(0), "1new"), "(none)");
  EXPECT_EQ(value_of(there, table(1), "0new"), "(none)");
  EXPECT_EQ(here.put(table(0), "0new", "new"), Outcome::kOk);
  EXPECT_EQ(there.put(table(1), "1new", "new"), Outcome::kOk);
  const bool first = here.commit().committed();
  EXPECT_FALSE(there.commit().committed() && first);
}

TEST_P(SealedAcrossNodes, ReadsAreNotValidated) {
  seal();
  tell_node_0();
  const auto run = [](Transaction& t, const Table& table) {
    EXPECT_EQ(value_of(t, table, "1x"), "old");
    EXPECT_EQ(value_of(t, table, "1never"), "(none)");
    EXPECT_EQ(value_of(t, table, "2x"), "old");
  };
  commit(0, run);
  const std::uint64_t before = counters().rounds[static_cast<std::size_t>(TripPhase::kValidate)];
  commit(0, run);
  EXPECT_EQ(counters().rounds[static_cast<std::size_t>(TripPhase::kValidate)], before);
}

/// Who asks to lock what it will write, or declares it, locks nothing there.
TEST_P(SealedAcrossNodes, NothingIsHeld) {
  seal();
  tell_node_0();
  cluster_.set_time(1'000'000);
  const auto run = [](Transaction& t, const Table& table) {
    const std::array<Declared, 2> declared = {Declared{table, "1x", false}, Declared{table, "1y", true}};
    EXPECT_EQ(t.declare(declared), Outcome::kOk);
    std::array<char, 32> buffer;
    EXPECT_EQ(t.get_to_write(table, "2x", buffer).outcome, Outcome::kOk);
    EXPECT_EQ(value_of(t, table, "1x") + value_of(t, table, "1y"), "oldold");
  };
  commit(0, run);
  const std::uint64_t swaps = counters().compare_swaps, leases = counters().leases;
  commit(0, run);
  EXPECT_EQ(counters().compare_swaps, swaps);
  EXPECT_EQ(counters().leases, leases);
}

TEST_P(SealedAcrossNodes, AScanIsNotValidated) {
  if (GetParam() == IndexKind::kHash) return;
  seal();
  tell_node_0();
  const std::uint64_t before = counters().rounds[static_cast<std::size_t>(TripPhase::kValidate)];
  commit(0, [](Transaction& t, const Table& table) {
    std::string keys;
    const auto visit = [&](std::string_view key, std::string_view) { return keys += key, true; };
    EXPECT_EQ(t.scan(table, {.from = "1", .to = "2"}, visit).outcome, Outcome::kOk);
    EXPECT_EQ(keys, "1x1y");
  });
  EXPECT_EQ(counters().rounds[static_cast<std::size_t>(TripPhase::kValidate)], before);
}

/// The owner's seal holds for whoever begins an epoch later, also if it has been told of before.
TEST_P(SealedAcrossNodes, NotBeforeItsEpoch) {
  EXPECT_TRUE(cluster_.node(1).database().seal(table(1)).ok());
  tell_node_0();
  const auto validated = [&] {
    const std::uint64_t before = counters().rounds[static_cast<std::size_t>(TripPhase::kValidate)];
    EXPECT_EQ(at(0, "1x"), "old");
    return counters().rounds[static_cast<std::size_t>(TripPhase::kValidate)] - before;
  };
  EXPECT_EQ(validated(), 1u);
  cluster_.pass_epochs(1);
  EXPECT_EQ(validated(), 0u);
}

/// A node that has come back says itself whether its tables are sealed.
TEST_P(SealedAcrossNodes, ALaterLifeSaysItAnew) {
  seal();
  const messages::DescribeAnswer said = cluster_.node(1).describe();
  cluster_.node(0).directory().note_sealed(1, 2, said);
  EXPECT_EQ(cluster_.node(0).directory().find(1, table(0).id())->sealed_from.load(), txn::kNotSealed)
      << "of another life than the one that is known";
  cluster_.node(0).directory().note_sealed(1, 1, said);
  EXPECT_LT(cluster_.node(0).directory().find(1, table(0).id())->sealed_from.load(), txn::kNotSealed);
}

}  // namespace
}  // namespace granary::cluster::test
