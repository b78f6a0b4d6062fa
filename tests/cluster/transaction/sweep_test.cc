// Lookups that had to be made bring pieces of the other node's main header along, so that most keys are never looked up
// (header_sweep.h).

#include <gtest/gtest.h>

#include "tests/cluster/transaction/sim_cluster.h"

namespace granary::cluster::test {
namespace {

constexpr int kKeys = 900;

class SweepAcrossNodes : public testing::Test {
 protected:
  SweepAcrossNodes()
      : tables_(cluster_.tables(
            "t", {.max_value_bytes = 16, .index = IndexKind::kHash, .expected_keys = kKeys, .shared = true})) {
    cluster_.start();
    cluster_.pass_epochs(2);
  }

  /// A key of node 1, of 8 bytes.
  static std::string key_of(int number) { return "1" + std::to_string(1'000'000 + number); }
  void put(int from, int to) {
    for (int i = from; i < to; ++i) {
      Transaction t = cluster_.node(1).worker().begin();
      EXPECT_EQ(t.put(tables_[1], key_of(i), "value"), Outcome::kOk);
      EXPECT_TRUE(t.commit().committed());
    }
  }
  /// Node 0 reads the keys, each in a transaction. Returns how many of them it had to look up.
  std::uint64_t look_ups(int from, int to) {
    const auto& misses = cluster_.node(0).remote().counters().locations.misses;
    const std::uint64_t before = misses.load();
    for (int i = from; i < to; ++i) {
      Transaction t = cluster_.node(0).worker().begin();
      std::string value;
      EXPECT_EQ(t.get(tables_[0], key_of(i), value), Outcome::kOk) << i;
      EXPECT_EQ(value, "value");
      EXPECT_TRUE(t.commit().committed());
    }
    return misses.load() - before;
  }

  SimCluster cluster_{2};
  std::vector<Table> tables_;
};

TEST_F(SweepAcrossNodes, FewKeysAreLookedUp) {
  put(0, kKeys);
  EXPECT_LT(look_ups(0, kKeys), kKeys / 8u);
  EXPECT_LT(look_ups(0, kKeys), kKeys / 50u) << "those behind links, or whose sets were full, are remembered by now";
}

TEST_F(SweepAcrossNodes, WhatCameLaterIsSweptOnceManyWereLookedUp) {
  put(0, 10);
  look_ups(0, 10);
  for (int i = 0; i < 40; ++i) look_ups(0, 10);  // the sweep ends when somebody looks for what it has not seen
  put(10, kKeys);
  EXPECT_LT(look_ups(10, kKeys), kKeys * 3 / 4u);
}

/// Their places are beside their names, not in the header.
TEST_F(SweepAcrossNodes, KeysOfOtherLengthsBringNoPiece) {
  Transaction put = cluster_.node(1).worker().begin();
  EXPECT_EQ(put.put(tables_[1], "1 long key", "value"), Outcome::kOk);
  EXPECT_TRUE(put.commit().committed());
  Transaction t = cluster_.node(0).worker().begin();
  std::string value;
  EXPECT_EQ(t.get(tables_[0], "1 long key", value), Outcome::kOk);
  EXPECT_TRUE(t.commit().committed());
  EXPECT_EQ(cluster_.node(0).directory().find(1, tables_[0].id())->sweep->next(), 0u)
      << "the first piece is still there";
}

TEST_F(SweepAcrossNodes, NothingIsFoundWhereARecordWasBefore) {
  put(0, kKeys);
  look_ups(0, 100);
  for (int i = 0; i < kKeys; ++i) {
    Transaction t = cluster_.node(1).worker().begin();
    EXPECT_EQ(t.remove(tables_[1], key_of(i)), Outcome::kOk);
    EXPECT_TRUE(t.commit().committed());
  }
  cluster_.pass_epochs(4);
  for (int i = 0; i < kKeys; ++i) {
    Transaction t = cluster_.node(0).worker().begin();
    std::string value;
    EXPECT_EQ(t.get(tables_[0], key_of(i), value), Outcome::kNotFound) << i;
    EXPECT_TRUE(t.commit().committed());
  }
}

}  // namespace
}  // namespace granary::cluster::test
