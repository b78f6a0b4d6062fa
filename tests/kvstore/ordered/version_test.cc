// What node sets rely on: which operations change a leaf's version, and that insert reports every change. Not covered:
// the same under concurrency (concurrency_test.cc), and the engine's use of it.

#include <algorithm>
#include <random>
#include <set>

#include "src/base/test_hooks.h"
#include "tests/kvstore/ordered/tree_fixture.h"

namespace granary::kvstore::ordered::test {
namespace {

template <typename AnyTree>
class OrderedVersion : public EachWidth<AnyTree> {};
TYPED_TEST_SUITE(OrderedVersion, Widths);

TYPED_TEST(OrderedVersion, InsertOfAMissedKeyChangesTheLeafOfTheMiss) {
  Pool pool;
  Worker worker(pool);
  TypeParam tree(worker.memory);
  const Lookup miss = tree.find("a");
  ASSERT_EQ(miss.value, 0u);
  const InsertResult result = tree.insert_if_absent("a", 2, worker.memory);
  EXPECT_FALSE(TypeParam::unchanged(miss.leaf, miss.version));
  ASSERT_EQ(result.changes.size(), 1u);
  EXPECT_EQ(result.changes[0].leaf, miss.leaf);
  EXPECT_EQ(result.changes[0].before, miss.version);
  EXPECT_EQ(result.changes[0].after, TypeParam::version_of(miss.leaf));
}

TYPED_TEST(OrderedVersion, ReplaceRemoveAndPresentInsertDoNot) {
  Pool pool;
  Worker worker(pool);
  TypeParam tree(worker.memory);
  for (const std::string key : {"a", "b", "a long key"}) ASSERT_TRUE(inserted(tree, key, 2, worker));
  const Lookup seen = tree.find("c");
  EXPECT_TRUE(tree.replace("a", 2, 4));
  EXPECT_TRUE(tree.replace("a long key", 2, 4));
  EXPECT_EQ(tree.insert_if_absent("a", 6, worker.memory).at.version, seen.version);
  EXPECT_TRUE(tree.remove("b", 2, worker.memory));
  EXPECT_TRUE(TypeParam::unchanged(seen.leaf, seen.version));
  // The freed slot taken again is an insert.
  ASSERT_TRUE(inserted(tree, "b", 2, worker));
  EXPECT_FALSE(TypeParam::unchanged(seen.leaf, seen.version));
}

TYPED_TEST(OrderedVersion, ANewLayerIsReportedWithTheLeafThatLinksToIt) {
  Pool pool;
  Worker worker(pool);
  TypeParam tree(worker.memory);
  ASSERT_TRUE(inserted(tree, "12345678abcdefghX", 2, worker));
  const Lookup miss = tree.find("12345678abcdefghY");
  const InsertResult result = tree.insert_if_absent("12345678abcdefghY", 4, worker.memory);
  EXPECT_FALSE(TypeParam::unchanged(miss.leaf, miss.version));
  ASSERT_EQ(result.changes.size(), 3u);
  EXPECT_EQ(result.changes[0].leaf, miss.leaf);
  EXPECT_EQ(result.changes[0].before, miss.version);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(result.changes[i].after, TypeParam::version_of(result.changes[i].leaf));
    if (i == 0) continue;
    EXPECT_EQ(result.changes[i].before, 0u);
    EXPECT_EQ(result.changes[i].split_from, miss.leaf);
  }
  EXPECT_EQ(tree.find("12345678abcdefghZ").leaf, result.changes[2].leaf);
  EXPECT_EQ(tree.find("12345678zzz").leaf, result.changes[1].leaf);
}

/// Another node may compare a leaf's version long after its block was used again, for whatever.
TYPED_TEST(OrderedVersion, DoesNotComeBackWhenABlockIsUsedAgain) {
  Pool pool;
  Worker worker(pool);
  TypeParam tree(worker.memory);
  std::vector<std::pair<const Leaf*, Version>> seen;
  const auto fill_and_empty = [&] {
    for (std::uint64_t i = 0; i < 100; ++i) ASSERT_TRUE(inserted(tree, number_key(i), 2, worker));
    Collector leaves;
    tree.scan({}, Direction::kForward, leaves);
    seen.insert(seen.end(), leaves.leaves.begin(), leaves.leaves.end());
    for (std::uint64_t i = 0; i < 100; ++i) ASSERT_TRUE(tree.remove(number_key(i), 2, worker.memory));
    worker.drain();
  };
  fill_and_empty();
  const std::size_t first = seen.size();
  // The worst that a suffix can do: its first word is its value.
  const auto long_key = [](std::size_t i) { return number_key(i) + std::string(16 + i % 20 * 16, 'x'); };
  for (std::size_t i = 0; i < 500; ++i) ASSERT_TRUE(inserted(tree, long_key(i), seen[i % first].second, worker));
  for (std::size_t i = 0; i < first; ++i) ASSERT_FALSE(TypeParam::unchanged(seen[i].first, seen[i].second));
  for (std::size_t i = 0; i < 500; ++i) ASSERT_TRUE(tree.remove(long_key(i), seen[i % first].second, worker.memory));
  worker.drain();
  fill_and_empty();
  fill_and_empty();
  const std::set<std::pair<const Leaf*, Version>> different(seen.begin(), seen.end());
  EXPECT_EQ(different.size(), seen.size());
}

TYPED_TEST(OrderedVersion, AnUnlinkedLeafIsChangedForEver) {
  Pool pool;
  Worker worker(pool);
  TypeParam tree(worker.memory);
  for (std::uint64_t i = 0; i < 100; ++i) ASSERT_TRUE(inserted(tree, number_key(i), 2, worker));
  const Lookup last = tree.find(number_key(99));
  for (std::uint64_t i = 50; i < 100; ++i) ASSERT_TRUE(tree.remove(number_key(i), 2, worker.memory));
  EXPECT_NE(tree.find(number_key(99)).leaf, last.leaf);
  EXPECT_FALSE(TypeParam::unchanged(last.leaf, last.version));
  EXPECT_NE(TypeParam::version_of(last.leaf), last.version);
}

TYPED_TEST(OrderedVersion, ALeafThatGrowsOverAnUnlinkedOneKeepsItsVersion) {
  Pool pool;
  Worker worker(pool);
  TypeParam tree(worker.memory);
  for (std::uint64_t i = 0; i < 100; ++i) ASSERT_TRUE(inserted(tree, number_key(i), 2, worker));
  const Lookup first = tree.find(number_key(0));
  for (std::uint64_t i = 1; i < 100; ++i) ASSERT_TRUE(tree.remove(number_key(i), 2, worker.memory));
  EXPECT_EQ(tree.find(number_key(99)).leaf, first.leaf);
  EXPECT_TRUE(TypeParam::unchanged(first.leaf, first.version));
}

TYPED_TEST(OrderedVersion, AnEmptiedLayerIsChangedForEver) {
  Pool pool;
  Worker worker(pool);
  TypeParam tree(worker.memory);
  ASSERT_TRUE(inserted(tree, "12345678a", 2, worker));
  ASSERT_TRUE(inserted(tree, "12345678b", 2, worker));
  const Lookup miss = tree.find("12345678c");
  ASSERT_TRUE(tree.remove("12345678a", 2, worker.memory));
  ASSERT_TRUE(tree.remove("12345678b", 2, worker.memory));
  EXPECT_EQ(tree.statistics().layers, 1u);
  EXPECT_FALSE(TypeParam::unchanged(miss.leaf, miss.version));
}

/// A node set kept as an engine does: from a scan, then in step with inserts.
template <typename AnyTree>
class NodeSet : public Collector {
 public:
  bool unchanged() const {
    return std::all_of(leaves.begin(), leaves.end(),
                       [](const auto& seen) { return AnyTree::unchanged(seen.first, seen.second); });
  }
  void follow(const NodeChanges& changes) {
    for (std::size_t i = 0; i < changes.size(); ++i) {
      const NodeChange& change = changes[i];
      for (std::size_t n = 0, count = leaves.size(); n < count; ++n) {
        if (change.before == 0 && leaves[n].first == change.split_from) {
          leaves.emplace_back(change.leaf, change.after);
          break;
        }
        if (change.before != 0 && leaves[n].first == change.leaf) {
          ASSERT_EQ(leaves[n].second, change.before);
          leaves[n].second = change.after;
        }
      }
    }
  }
};

std::string random_key(std::mt19937& random) {
  std::string key(random() % 20, 'a');
  for (char& c : key) c = static_cast<char>('a' + (random() % 4 == 0));
  return key;
}

/// Scan a range; insert any keys (followed as one's own); then a foreign insert into the range must show.
TYPED_TEST(OrderedVersion, AScanFollowedByAnInsertIntoItsRangeShows) {
  std::mt19937 random(7);
  for (int round = 0; round < 300; ++round) {
    Pool pool;
    Worker worker(pool);
    TypeParam tree(worker.memory);
    for (std::uint32_t i = random() % 40; i > 0; --i) inserted(tree, random_key(random), 2, worker);
    std::string from = random_key(random), to = random_key(random);
    if (to < from) std::swap(from, to);
    const Direction direction = random() % 2 == 0 ? Direction::kForward : Direction::kReverse;
    NodeSet<TypeParam> scanned;
    tree.scan({from, true, to, true, false}, direction, scanned);
    ASSERT_TRUE(scanned.unchanged());
    for (int i = 0; i < 10; ++i) {
      const InsertResult own = tree.insert_if_absent(random_key(random), 2, worker.memory);
      if (own.what == InsertResult::What::kInserted) scanned.follow(own.changes);
      ASSERT_TRUE(scanned.unchanged()) << "own inserts are followed";
    }
    for (int i = 0; i < 30; ++i) {
      const std::string foreign = random_key(random);
      if (foreign < from || foreign > to || !inserted(tree, foreign, 2, worker)) continue;
      ASSERT_FALSE(scanned.unchanged()) << from << ' ' << to << ' ' << foreign << " round " << round;
      break;
    }
  }
}

/// The same for misses, with removals in between: they may make a miss look changed, never hide an insert.
TYPED_TEST(OrderedVersion, AMissFollowedByItsInsertShowsWhateverWasRemovedBetween) {
  std::mt19937 random(8);
  for (int round = 0; round < 300; ++round) {
    Pool pool;
    Worker worker(pool);
    TypeParam tree(worker.memory);
    std::set<std::string> present;
    for (std::uint32_t i = random() % 40; i > 0; --i) {
      const std::string key = random_key(random);
      if (inserted(tree, key, 2, worker)) present.insert(key);
    }
    const std::string wanted = random_key(random);
    const Lookup miss = tree.find(wanted);
    if (miss.value != 0) continue;
    for (const std::string& key : present) {
      if (random() % 3 == 0) continue;
      ASSERT_TRUE(tree.remove(key, 2, worker.memory));
    }
    ASSERT_TRUE(inserted(tree, wanted, 2, worker));
    ASSERT_FALSE(TypeParam::unchanged(miss.leaf, miss.version)) << wanted << " round " << round;
  }
}

TYPED_TEST(OrderedVersion, TheInjectedBugIsSeen) {
  if constexpr (!base::kTestHooks) GTEST_SKIP() << "needs a build with test hooks";
  Pool pool;
  Worker worker(pool);
  TypeParam tree(worker.memory);
  const Lookup miss = tree.find("a");
  base::inject_bug("insert-keeps-version");
  EXPECT_TRUE(inserted(tree, "a", 2, worker));
  base::inject_bug("");
  EXPECT_TRUE(TypeParam::unchanged(miss.leaf, miss.version));
}

}  // namespace
}  // namespace granary::kvstore::ordered::test
