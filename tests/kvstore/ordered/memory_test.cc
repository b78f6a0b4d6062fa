// Memory of the tree: bytes per key, level under churn, and no harm when it runs out at any point.

#include <map>
#include <random>

#include "tests/kvstore/ordered/tree_fixture.h"
#include "tests/support/allocations.h"

namespace granary::kvstore::ordered::test {
namespace {

TEST(OrderedMemory, KeysLoadedInOrderFillTheirLeaves) {
  Pool pool;
  Worker worker(pool);
  Tree tree(worker.memory);
  constexpr std::uint64_t kKeys = 200000;
  for (std::uint64_t i = 0; i < kKeys; ++i) ASSERT_TRUE(inserted(tree, number_key(i), 2, worker));
  EXPECT_LE(worker.cache.index_bytes_in_use(), static_cast<std::int64_t>(24 * kKeys));
  EXPECT_EQ(tree.statistics().node_bytes, static_cast<std::uint64_t>(worker.cache.index_bytes_in_use()));
}

TEST(OrderedMemory, SeveralOrderedStreamsFillTheirLeaves) {
  Pool pool;
  Worker worker(pool);
  Tree tree(worker.memory);
  constexpr std::uint64_t kKeys = 100000;
  for (std::uint64_t i = 0; i < kKeys; ++i) {
    ASSERT_TRUE(inserted(tree, number_key((i % 10) << 32 | i), 2, worker));
  }
  EXPECT_LE(worker.cache.index_bytes_in_use(), static_cast<std::int64_t>(25 * kKeys));
}

template <typename AnyTree>
class OrderedMemoryEach : public EachWidth<AnyTree> {};
TYPED_TEST_SUITE(OrderedMemoryEach, Widths);

TYPED_TEST(OrderedMemoryEach, ChurnReturnsToLevel) {
  Pool pool;
  Worker worker(pool);
  TypeParam tree(worker.memory);
  const std::int64_t empty = worker.cache.index_bytes_in_use();
  std::mt19937 random(3);
  std::int64_t level = 0;
  for (int round = 0; round < 10; ++round) {
    std::map<std::string, Value> present;
    for (int i = 0; i < 2000; ++i) {
      const std::string key = "common prefix " + std::to_string(random() % 100000) + std::string(random() % 20, 'x');
      if (inserted(tree, key, 2, worker)) present.emplace(key, 2);
    }
    for (const auto& [key, value] : present) ASSERT_TRUE(tree.remove(key, value, worker.memory));
    worker.drain();
    if (round == 0) level = worker.cache.index_bytes_in_use();
    EXPECT_EQ(worker.cache.index_bytes_in_use(), level);
  }
  EXPECT_EQ(level, empty) << "all the layers are gone with their keys";
}

TYPED_TEST(OrderedMemoryEach, OutOfMemoryLeavesTheTreeValid) {
  Pool pool(3 * memory::SlabPool::kExtentBytes);
  Worker worker(pool);
  TypeParam tree(worker.memory);
  std::map<std::string, Value> present;
  std::mt19937 random(4);
  int refused = 0;
  for (int i = 0; i < 20000; ++i) {
    const std::string key = std::string(8 * (random() % 3), 'p') + std::to_string(random() % 5000);
    const InsertResult result = tree.insert_if_absent(key, 2, worker.memory);
    refused += result.what == InsertResult::What::kOutOfMemory;
    if (result.what == InsertResult::What::kInserted) present.emplace(key, 2);
    if (refused > 50) {
      // Make some room, so that it runs out in many states.
      for (auto entry = present.begin(); entry != present.end();) {
        if (random() % 8 == 0) {
          ASSERT_TRUE(tree.remove(entry->first, entry->second, worker.memory));
          entry = present.erase(entry);
        } else {
          ++entry;
        }
      }
      worker.drain();
      refused = 0;
      ASSERT_EQ(tree.check(), "");
      ASSERT_EQ(tree.statistics().keys, present.size());
    }
  }
  for (const auto& [key, value] : present) ASSERT_EQ(tree.find(key).value, value);
  for (const auto& [key, value] : present) ASSERT_TRUE(tree.remove(key, value, worker.memory));
  worker.drain();
  const TreeStatistics left = tree.statistics();
  EXPECT_EQ(worker.cache.index_bytes_in_use(), static_cast<std::int64_t>(left.node_bytes))
      << "nothing leaked on the way";
}

/// While it lives, the system has no memory for this thread.
class WithoutMemory {
 public:
  WithoutMemory() { granary::tests::no_memory = true; }
  ~WithoutMemory() { granary::tests::no_memory = false; }
  WithoutMemory(const WithoutMemory&) = delete;
};

/// A new layer under a slice that two keys share is made under the lock of a leaf. An exception there would leave the
/// lock behind, and everybody who comes to the leaf would wait for ever.
TYPED_TEST(OrderedMemoryEach, AnInsertThatTheSystemHasNoMemoryForIsRefusedAndLeavesNoLock) {
  if (!granary::tests::kCountsAllocations) GTEST_SKIP() << "sanitizers have allocators of their own";
  Pool pool;
  Worker worker(pool);
  TypeParam tree(worker.memory);
  const std::string prefix(80, 'p');  // more layers than an insert tells of without memory for a list
  const std::string one = prefix + "one", two = prefix + "two";
  ASSERT_TRUE(inserted(tree, one, 2, worker));
  const TreeStatistics before = tree.statistics();
  InsertResult result;
  EXPECT_NO_THROW({
    const WithoutMemory now;
    result = tree.insert_if_absent(two, 4, worker.memory);
  });
  EXPECT_EQ(result.what, InsertResult::What::kOutOfMemory);
  EXPECT_EQ(tree.check(), "");
  EXPECT_EQ(tree.statistics().node_bytes, before.node_bytes);
  ASSERT_TRUE(inserted(tree, two, 4, worker)) << "there is memory again";
  EXPECT_EQ(tree.find(one).value, 2u);
  EXPECT_EQ(tree.find(two).value, 4u);
  ASSERT_TRUE(tree.remove(one, 2, worker.memory));
  ASSERT_TRUE(tree.remove(two, 4, worker.memory));
  EXPECT_EQ(tree.check(), "");
  EXPECT_EQ(tree.statistics().layers, 1u) << "all layers go with the last key";
}

/// Nodes that an insert or a removal takes out of the tree wait in a list of garbage.
TYPED_TEST(OrderedMemoryEach, ChangesAreDoneThoughTheSystemHasNoMemoryForTheListOfGarbage) {
  if (!granary::tests::kCountsAllocations) GTEST_SKIP() << "sanitizers have allocators of their own";
  Pool pool;
  Worker worker(pool);
  TypeParam tree(worker.memory);
  const std::string one = "prefix: one", two = "prefix: two", three = "prefix: three";  // they share a slice
  ASSERT_TRUE(inserted(tree, one, 2, worker));
  EXPECT_NO_THROW({
    const WithoutMemory now;
    EXPECT_TRUE(inserted(tree, two, 4, worker));
    EXPECT_TRUE(tree.remove(one, 2, worker.memory));
    EXPECT_TRUE(tree.remove(two, 4, worker.memory));
  });
  EXPECT_EQ(tree.check(), "");
  EXPECT_TRUE(inserted(tree, three, 6, worker)) << "no lock was left";
  EXPECT_EQ(tree.statistics().keys, 1u);
}

/// Returns keys that are spread evenly in any order of numbers. Leaves fill and split at about the same time, so all of
/// them are full at some moment.
std::string spread_key(std::uint64_t i) { return number_key(i * 0x9E3779B97F4A7C15); }

TYPED_TEST(OrderedMemoryEach, PackedKeysTakeWhatKeysLoadedInOrderTake) {
  Pool pool;
  Worker worker(pool);
  TypeParam tree(worker.memory), in_order(worker.memory);
  std::map<std::string, Value> present;
  std::mt19937 random(5);
  for (Value value = 2; value < 20000; value += 2) {
    const std::string key = random() % 2 == 0 ? number_key(random())
                                              : std::string(8 * (random() % 3), 'p') + std::to_string(random() % 5000);
    if (inserted(tree, key, value, worker)) present.emplace(key, value);
  }
  for (const auto& [key, value] : present) ASSERT_TRUE(inserted(in_order, key, value, worker));
  const TreeStatistics before = tree.statistics();
  tree.pack(worker.memory);
  ASSERT_EQ(tree.check(), "");
  const TreeStatistics packed = tree.statistics(), wanted = in_order.statistics();
  EXPECT_LT(packed.leaves, before.leaves);
  EXPECT_EQ(packed.leaves, wanted.leaves);
  EXPECT_EQ(packed.interior_nodes, wanted.interior_nodes);
  EXPECT_EQ(packed.layers, wanted.layers);
  EXPECT_EQ(packed.keys, present.size());
  worker.drain();
  EXPECT_EQ(static_cast<std::uint64_t>(worker.cache.bytes_in_use(memory::SlabKind::kTreeNode)),
            packed.node_bytes + wanted.node_bytes)
      << "the old nodes are free";
  Collector all;
  tree.scan({}, Direction::kForward, all);
  EXPECT_TRUE(std::equal(all.entries.begin(), all.entries.end(), present.begin(), present.end(),
                         [](const auto& a, const auto& b) { return a.first == b.first && a.second == b.second; }));
}

TYPED_TEST(OrderedMemoryEach, PackingNeedsNoMemoryAndMakesRoom) {
  Pool pool(4 * memory::SlabPool::kExtentBytes);
  Worker worker(pool);
  TypeParam tree(worker.memory);
  std::uint64_t keys = 0;
  for (int time = 0; time < 3; ++time) {
    while (inserted(tree, spread_key(keys), 2, worker)) ++keys;
    const std::uint64_t reserved = pool.slabs.bytes_reserved();
    tree.pack(worker.memory);
    ASSERT_EQ(tree.check(), "");
    ASSERT_EQ(tree.statistics().keys, keys);
    EXPECT_EQ(pool.slabs.bytes_reserved(), reserved);
  }
  for (std::uint64_t i = 0; i < keys; ++i) ASSERT_EQ(tree.find(spread_key(i)).value, 2u);
  for (std::uint64_t i = 0; i < keys; ++i) ASSERT_TRUE(tree.remove(spread_key(i), 2, worker.memory));
  worker.drain();
  EXPECT_EQ(tree.statistics().leaves, 1u);
}

}  // namespace
}  // namespace granary::kvstore::ordered::test
