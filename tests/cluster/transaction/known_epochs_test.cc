// What a worker remembers of the epochs of other nodes, by life of the node. What it saves: cost_test.cc.

#include "src/cluster/transaction/known_epochs.h"

#include <gtest/gtest.h>

namespace granary::cluster::test {
namespace {

TEST(KnownEpochs, KeepsTheGreatestOfEachNode) {
  KnownEpochs known;
  EXPECT_EQ(known.of(2, 1), 0u);
  known.note(2, 1, 7);
  known.note(2, 1, 6);
  known.note(0, 1, 3);
  EXPECT_EQ(known.of(2, 1), 7u);
  EXPECT_EQ(known.of(0, 1), 3u);
  EXPECT_EQ(known.of(1, 1), 0u);
}

TEST(KnownEpochs, ForgetsAFormerLife) {
  KnownEpochs known;
  known.note(1, 1, 7);
  EXPECT_EQ(known.of(1, 2), 0u);
  known.note(1, 2, 3);
  EXPECT_EQ(known.of(1, 2), 3u);
  known.note(1, 1, 9);  // an answer that is late
  EXPECT_EQ(known.of(1, 2), 3u);
}

}  // namespace
}  // namespace granary::cluster::test
