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

/// A set that has so many places that it looks them up by its map.
Set large_set(int places) {
  Set set;
  for (int place = 0; place < places; ++place) set.note(place, 10);
  return set;
}

TEST(NodeSet, ALargeSetFollowsTheSameRules) {
  Set set = large_set(1000);
  EXPECT_TRUE(set.note_once(500, 10));
  EXPECT_FALSE(set.note_once(500, 11));
  EXPECT_TRUE(set.note_once(1000, 10));
  EXPECT_EQ(set.size(), 1001u);
  EXPECT_TRUE(set.note_change({.place = 700, .before = 10, .after = 12}));
  EXPECT_TRUE(set.note_change({.place = 2000, .before = 30, .after = 32})) << "which was not seen";
  EXPECT_TRUE(set.note_change({.place = 3000, .after = 50, .split_from = 700, .made = true}));
  EXPECT_TRUE(set.note_change({.place = 3001, .after = 60, .split_from = 2000, .made = true}));
  EXPECT_EQ(set.size(), 1002u);
  EXPECT_EQ(seen(set)[700], std::pair(700, std::uint64_t{12}));
  EXPECT_EQ(seen(set)[1001], std::pair(3000, std::uint64_t{50}));
  EXPECT_FALSE(set.note_change({.place = 800, .before = 11, .after = 12}));
}

TEST(NodeSet, ALargeSetKeepsWhatWasSeenAtTwoVersions) {
  Set set = large_set(1000);
  ASSERT_TRUE(set.note_once(0, 10));  // makes the map
  set.note(7, 11);
  set.note(8, 10);
  ASSERT_TRUE(set.note_once(0, 10));
  EXPECT_EQ(set.size(), 1001u) << "of place 8 nothing new was noted";
  EXPECT_EQ(seen(set)[1000], std::pair(7, std::uint64_t{11})) << "so that the commit finds one of both wrong";
}

TEST(NodeSet, AClearedSetForgetsItsMap) {
  Set set = large_set(1000);
  ASSERT_TRUE(set.note_once(0, 10));
  set.clear();
  for (int place = 0; place < 100; ++place) EXPECT_TRUE(set.note_once(place, 20));
  EXPECT_EQ(set.size(), 100u);
}

// With a walk over all places for each change this would take hours.
TEST(NodeSet, AMillionPlacesAreKeptUpToDate) {
  constexpr int kPlaces = 1'000'000;
  Set set = large_set(kPlaces);
  for (int place = 0; place < kPlaces; ++place) {
    ASSERT_TRUE(set.note_change({.place = place, .before = 10, .after = 12}));
    set.note(place, 12);  // what was noted already leaves again
  }
  EXPECT_TRUE(set.note_once(0, 12));
  EXPECT_EQ(set.size(), std::size_t{kPlaces});
}

}  // namespace
}  // namespace granary::cc
