// Memory of the tree: bytes per key, level under churn, and no harm when it runs out at any point.

#include <map>
#include <random>

#include "tests/kvstore/ordered/tree_fixture.h"

namespace granary::kvstore::ordered::test {
namespace {

TEST(OrderedMemory, KeysLoadedInOrderFillTheirLeaves) {
  Pool pool;
  Worker worker(pool);
  Tree tree(worker.memory);
  constexpr std::uint64_t kKeys = 200000;
  for (std::uint64_t i = 0; i < kKeys; ++i) ASSERT_TRUE(inserted(tree, number_key(i), 2, worker));
  EXPECT_LE(worker.cache.bytes_in_use(memory::SlabKind::kNode), static_cast<std::int64_t>(24 * kKeys));
  EXPECT_EQ(tree.statistics().node_bytes,
            static_cast<std::uint64_t>(worker.cache.bytes_in_use(memory::SlabKind::kNode)));
}

TEST(OrderedMemory, SeveralOrderedStreamsFillTheirLeaves) {
  Pool pool;
  Worker worker(pool);
  Tree tree(worker.memory);
  constexpr std::uint64_t kKeys = 100000;
  for (std::uint64_t i = 0; i < kKeys; ++i) {
    ASSERT_TRUE(inserted(tree, number_key((i % 10) << 32 | i), 2, worker));
  }
  EXPECT_LE(worker.cache.bytes_in_use(memory::SlabKind::kNode), static_cast<std::int64_t>(25 * kKeys));
}

template <typename AnyTree>
class OrderedMemoryEach : public EachWidth<AnyTree> {};
TYPED_TEST_SUITE(OrderedMemoryEach, Widths);

TYPED_TEST(OrderedMemoryEach, ChurnReturnsToLevel) {
  Pool pool;
  Worker worker(pool);
  TypeParam tree(worker.memory);
  const std::int64_t empty = worker.cache.bytes_in_use(memory::SlabKind::kNode);
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
    if (round == 0) level = worker.cache.bytes_in_use(memory::SlabKind::kNode);
    EXPECT_EQ(worker.cache.bytes_in_use(memory::SlabKind::kNode), level);
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
  EXPECT_EQ(worker.cache.bytes_in_use(memory::SlabKind::kNode), static_cast<std::int64_t>(left.node_bytes))
      << "nothing leaked on the way";
}

}  // namespace
}  // namespace granary::kvstore::ordered::test
