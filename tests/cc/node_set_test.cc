// The node set's rules (Silo 4.6), over places of no index.

#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "src/cc/node_set.h"

namespace granary::cc {
namespace {

using Set = NodeSet<int>;
using Seen = std::vector<std::pair<int, std::uint64_t>>;

Seen seen(const Set& set) {
  Seen all;
  for (const Set::Seen& one : set) all.emplace_back(one.place, one.version);
  return all;
}

TEST(NodeSet, APlaceIsNotedOnceIfThatIsAsked) {
  Set set;
  EXPECT_TRUE(set.note_once(1, 10));
  EXPECT_TRUE(set.note_once(2, 20));
  EXPECT_TRUE(set.note_once(1, 10));
  EXPECT_FALSE(set.note_once(1, 11)) << "it was seen at another version";
  EXPECT_EQ(seen(set), (Seen{{1, 10}, {2, 20}}));
  EXPECT_TRUE(set.is_last(2, 20));
  EXPECT_FALSE(set.is_last(1, 10));
}

TEST(NodeSet, OwnChangesArePassedOver) {
  Set set;
  set.note(1, 10);
  set.note(2, 20);
  set.note(1, 10);
  EXPECT_TRUE(set.note_change({.place = 1, .before = 10, .after = 12}));
  EXPECT_TRUE(set.note_change({.place = 3, .before = 30, .after = 32})) << "which was not seen";
  EXPECT_EQ(seen(set), (Seen{{1, 12}, {2, 20}, {1, 12}}));
}

TEST(NodeSet, AnothersChangeBeforeOnesOwnIsAPhantom) {
  Set set;
  set.note(1, 10);
  EXPECT_FALSE(set.note_change({.place = 1, .before = 11, .after = 12}));
}

TEST(NodeSet, KeysThatMovedAreWatchedInTheirNewPlace) {
  Set set;
  set.note(1, 10);
  EXPECT_TRUE(set.note_change({.place = 5, .after = 50, .split_from = 1, .made = true}));
  EXPECT_TRUE(set.note_change({.place = 6, .after = 60, .split_from = 4, .made = true}));
  EXPECT_EQ(seen(set), (Seen{{1, 10}, {5, 50}}));
}

}  // namespace
}  // namespace granary::cc
