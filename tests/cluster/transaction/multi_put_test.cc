// multi_put of rows of several nodes: what single puts do, and in tables with secondary indexes with fewer round trips.
// One node alone: tests/isolation/multi_put_test.cc.

#include <array>
#include <string>

#include <gtest/gtest.h>

#include "tests/cluster/transaction/across_nodes.h"

namespace granary::cluster::test {
namespace {

using MultiPutsAcrossNodes = AcrossNodes;
INSTANTIATE_TEST_SUITE_P(Kinds, MultiPutsAcrossNodes, testing::Values(IndexKind::kHash, IndexKind::kOrdered),
                         [](const auto& kind) { return kind.param == IndexKind::kHash ? "Hash" : "Ordered"; });

TEST_P(MultiPutsAcrossNodes, WriteRowsOfAllNodes) {
  commit(0, [&](Transaction& t, const Table& table) {
    std::array<MultiPut, 6> puts{{{table, "1x", "1"},
                                  {table, "0x", "2"},
                                  {table, "2new", "3"},
                                  {table, "1x", "4"},
                                  {table, "0new", "5"},
                                  {table, "1a key of many bytes", "6"}}};
    EXPECT_EQ(t.multi_put(puts), Outcome::kOk);
    EXPECT_EQ(value_of(t, table, "1x"), "4") << "the last of two";
    EXPECT_EQ(value_of(t, table, "2new"), "3");
  });
  for (std::size_t node = 0; node < 3; ++node) {
    EXPECT_EQ(at(node, "1x"), "4");
    EXPECT_EQ(at(node, "0x"), "2");
    EXPECT_EQ(at(node, "2new"), "3");
    EXPECT_EQ(at(node, "0new"), "5");
    EXPECT_EQ(at(node, "1a key of many bytes"), "6");
  }
}

TEST_P(MultiPutsAcrossNodes, ThatAreRefusedLeaveTheOthersAlone) {
  const std::string too_large(33, 'v');
  commit(0, [&](Transaction& t, const Table& table) {
    std::array<MultiPut, 3> puts{{{table, "0x", "1"}, {table, "1x", too_large}, {table, "2x", "3"}}};
    EXPECT_EQ(t.multi_put(puts), Outcome::kOk);
    EXPECT_EQ(puts[0].outcome, Outcome::kOk);
    EXPECT_EQ(puts[1].outcome, Outcome::kValueTooLarge);
    EXPECT_EQ(puts[2].outcome, Outcome::kOk);
  });
  EXPECT_EQ(at(0, "0x"), "1");
  EXPECT_EQ(at(0, "1x"), "old");
  EXPECT_EQ(at(0, "2x"), "3");
}

class MultiPutsOfImmutableRows : public AcrossNodes {
 protected:
  MultiPutsOfImmutableRows()
      : AcrossNodes({.max_value_bytes = 32, .index = GetParam(), .shared = true, .immutable = true}) {}
};
INSTANTIATE_TEST_SUITE_P(Kinds, MultiPutsOfImmutableRows, testing::Values(IndexKind::kHash, IndexKind::kOrdered),
                         [](const auto& kind) { return kind.param == IndexKind::kHash ? "Hash" : "Ordered"; });

/// The owner of a key writes it there, and nobody else.
TEST_P(MultiPutsOfImmutableRows, AreRefusedForAnotherNodes) {
  commit(0, [&](Transaction& t, const Table& table) {
    std::array<MultiPut, 3> puts{{{table, "1x", "1"}, {table, "0x", "2"}, {table, "2x", "3"}}};
    EXPECT_EQ(t.multi_put(puts), Outcome::kOk);
    EXPECT_EQ(puts[0].outcome, Outcome::kImmutable);
    EXPECT_EQ(puts[1].outcome, Outcome::kOk);
    EXPECT_EQ(puts[2].outcome, Outcome::kImmutable);
  });
  EXPECT_EQ(at(1, "1x"), "old");
  EXPECT_EQ(at(0, "0x"), "2");
}

/// A put into a table with an index reads the row that it replaces.
class MultiPutsOfIndexedRows : public testing::Test {
 protected:
  MultiPutsOfIndexedRows() {
    for (std::size_t node = 0; node < 2; ++node) {
      tables_.push_back(cluster_.node(node).table(
          "people", {.max_value_bytes = 16, .index = IndexKind::kHash, .expected_keys = 16, .shared = true}));
      // The first byte of an entry's key is the record's home again, then comes the value.
      by_name_.push_back(
          cluster_.node(node).index(tables_.back(), "by_name",
                                    {.parts = {{.source = IndexPart::Source::kKey, .offset = 0, .length = 1},
                                               {.source = IndexPart::Source::kValue, .offset = 0, .length = 4}}}));
    }
    cluster_.start();
    cluster_.pass_epochs(2);
  }
  /// Returns in how many round trips the body was executed, before its commit.
  std::uint64_t trips_of(FunctionRef<void(Transaction&)> body) {
    const auto& rounds = cluster_.node(0).remote().counters().rounds[static_cast<std::size_t>(TripPhase::kExecute)];
    const std::uint64_t before = rounds;
    Transaction t = cluster_.node(0).worker().begin();
    body(t);
    const std::uint64_t executed = rounds - before;
    const CommitResult done = t.commit();
    EXPECT_TRUE(done.committed()) << name(done.reason);
    return executed;
  }
  std::array<MultiPut, 3> people(std::string_view a, std::string_view b, std::string_view c) const {
    return {{{tables_[0], "1a", a}, {tables_[0], "1b", b}, {tables_[0], "1c", c}}};
  }
  std::string names() {
    Transaction t = cluster_.node(0).worker().begin();
    std::string text = tests::scan_text(t, by_name_[0], {.from = "1"});
    EXPECT_TRUE(t.commit().committed());
    return text;
  }

  SimCluster cluster_{2};
  std::vector<Table> tables_;
  std::vector<Index> by_name_;
};

TEST_F(MultiPutsOfIndexedRows, ReadTheRowsThatTheyReplaceInOneRoundTrip) {
  const auto together = [](Transaction& t, std::array<MultiPut, 3> puts) {
    EXPECT_EQ(t.multi_put(puts), Outcome::kOk);
    for (const MultiPut& put : puts) EXPECT_EQ(put.outcome, Outcome::kOk) << put.key;
  };
  const auto singly = [](Transaction& t, const std::array<MultiPut, 3>& puts) {
    for (const MultiPut& put : puts) EXPECT_EQ(t.put(put.table, put.key, put.value), Outcome::kOk);
  };
  (void)trips_of([&](Transaction& t) { together(t, people("anna1", "bert1", "carl1")); });
  EXPECT_EQ(names(), "1a=anna1 1b=bert1 1c=carl1 ");
  (void)trips_of(
      [&](Transaction& t) { singly(t, people("anna2", "bert2", "carl2")); });  // now it is known where they are
  EXPECT_EQ(trips_of([&](Transaction& t) { singly(t, people("anna3", "bert3", "carl3")); }), 3u);
  EXPECT_EQ(trips_of([&](Transaction& t) { together(t, people("anna4", "bert4", "carl4")); }), 1u);
  EXPECT_EQ(names(), "1a=anna4 1b=bert4 1c=carl4 ");
  (void)trips_of([&](Transaction& t) {
    std::array<MultiPut, 3> puts = people("zoe!", "bert5", "anke5");
    puts[2].key = puts[0].key;
    EXPECT_EQ(t.multi_put(puts), Outcome::kOk);
  });
  EXPECT_EQ(names(), "1a=anke5 1b=bert5 1c=carl4 ") << "the entry of the first of two is gone again";
}

}  // namespace
}  // namespace granary::cluster::test
