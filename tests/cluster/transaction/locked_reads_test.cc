// Gets that say that their record will be written, and so lock it in the round trip that reads it, where the place of
// the record is known. What they lock may have been removed meanwhile. That they are serializable is in
// history_test.cc, and what they cost in cost_test.cc.

#include <array>

#include <gtest/gtest.h>

#include "tests/cluster/transaction/across_nodes.h"

namespace granary::cluster::test {
namespace {

class LockedReads : public AcrossNodes {
 protected:
  /// Node 0 knows where the record of 1x is, which its owner then removes. The record is absent for a while, and in its
  /// place.
  LockedReads() {
    EXPECT_EQ(at(0, "1x"), "old");
    commit(1, [](Transaction& t, const Table& table) { EXPECT_EQ(t.remove(table, "1x"), Outcome::kOk); });
  }
  static Outcome get_to_write(Transaction& t, const Table& table, std::string_view key) {
    std::array<char, 32> buffer;
    return t.get_to_write(table, key, buffer).outcome;
  }
};
INSTANTIATE_TEST_SUITE_P(Hash, LockedReads, testing::Values(IndexKind::kHash), [](const auto&) { return "Hash"; });

TEST_P(LockedReads, FindNothingThatWasRemoved) {
  commit(0, [](Transaction& t, const Table& table) {
    EXPECT_EQ(get_to_write(t, table, "1x"), Outcome::kNotFound);
    EXPECT_EQ(get_to_write(t, table, "1y"), Outcome::kOk);
  });
}

TEST_P(LockedReads, FindNothingThatWasRemovedBesideOthers) {
  EXPECT_EQ(at(0, "1y"), "old");
  commit(0, [](Transaction& t, const Table& table) {
    std::array<std::array<char, 32>, 2> buffers;
    std::array<MultiGet, 2> gets = {MultiGet{table, "1x", buffers[0], {}, true},
                                    MultiGet{table, "1y", buffers[1], {}, true}};
    EXPECT_EQ(t.multi_get(gets), Outcome::kOk);
    EXPECT_EQ(gets[0].result.outcome, Outcome::kNotFound);
    EXPECT_EQ(gets[1].result.outcome, Outcome::kOk);
  });
}

TEST_P(LockedReads, LetWhatWasRemovedBeInserted) {
  commit(0, [](Transaction& t, const Table& table) {
    (void)get_to_write(t, table, "1x");
    EXPECT_EQ(t.insert(table, "1x", "new"), Outcome::kOk);
  });
  EXPECT_EQ(at(1, "1x"), "new");
}

}  // namespace
}  // namespace granary::cluster::test
