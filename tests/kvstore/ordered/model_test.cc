// The tree against std::map: random operations on adversarial keys, scans with random bounds, structure checked on the
// way. One thread; concurrency_test.cc has many.

#include <map>
#include <random>

#include "tests/kvstore/ordered/tree_fixture.h"
#include "tests/support/seeds.h"

namespace granary::kvstore::ordered::test {
namespace {

using Model = std::map<std::string, Value>;

/// Makes keys that meet: few byte values, lengths around multiples of 8, long common prefixes.
class KeyMaker {
 public:
  explicit KeyMaker(std::uint32_t seed) : random_(seed) {}

  std::string operator()() {
    switch (random_() % 8) {
      case 0: return bytes(random_() % 4);
      case 1: return number_key(random_() % 512);
      case 2: return std::string(random_() % 40, '\0');
      case 3: return std::string(8 * (random_() % 5), 'p') + bytes(random_() % 3);
      case 4: return std::string(8 * (random_() % 3), '\xff') + bytes(7 + random_() % 3);
      case 5: return "prefix__" + bytes(8 * (1 + random_() % 2) - 1 + random_() % 3);
      default: return bytes(8 * (random_() % 4) + random_() % 3);
    }
  }
  std::uint32_t below(std::uint32_t limit) { return static_cast<std::uint32_t>(random_() % limit); }

 private:
  std::string bytes(std::size_t size) {
    static constexpr char kBytes[] = {'\0', '\0', '\1', 'a', 'a', '\xff'};
    std::string made(size, 'a');
    // Most bytes are equal, so that keys part late.
    for (char& c : made) {
      if (random_() % 3 == 0) c = kBytes[random_() % sizeof kBytes];
    }
    return made;
  }
  std::mt19937 random_;
};

template <typename AnyTree>
void expect_lookup(const AnyTree& tree, const Model& model, const std::string& key) {
  const Lookup found = tree.find(key);
  const auto in_model = model.find(key);
  ASSERT_EQ(found.value, in_model == model.end() ? 0 : in_model->second) << ::testing::PrintToString(key);
  ASSERT_NE(found.leaf, nullptr);
  ASSERT_EQ(AnyTree::version_of(found.leaf), found.version);
  ASSERT_TRUE(AnyTree::unchanged(found.leaf, found.version));
}

std::vector<std::pair<std::string, Value>> in_range(const Model& model, const Range& range, Direction direction) {
  std::vector<std::pair<std::string, Value>> expected;
  for (const auto& [key, value] : model) {
    if (range.from_inclusive ? key < range.from : key <= range.from) continue;
    if (!range.to_infinity && (range.to_inclusive ? key > range.to : key >= range.to)) continue;
    expected.emplace_back(key, value);
  }
  if (direction == Direction::kReverse) std::reverse(expected.begin(), expected.end());
  return expected;
}

template <typename AnyTree>
void expect_scan(const AnyTree& tree, const Model& model, KeyMaker& keys) {
  const std::string from = keys.below(4) == 0 ? "" : keys(), to = keys();
  const Range range{from, keys.below(2) == 0, to, keys.below(2) == 0, keys.below(4) == 0};
  const Direction direction = keys.below(2) == 0 ? Direction::kForward : Direction::kReverse;
  auto expected = in_range(model, range, direction);
  const std::size_t limit = keys.below(2) == 0 ? ~std::size_t{0} : 1 + keys.below(20);
  if (expected.size() > limit) expected.resize(limit);
  Collector collected(limit);
  tree.scan(range, direction, collected);
  ASSERT_EQ(collected.entries, expected) << ::testing::PrintToString(from) << " to " << ::testing::PrintToString(to);
}

template <typename AnyTree>
void expect_find_many(const AnyTree& tree, const Model& model, KeyMaker& keys) {
  std::vector<std::string> wanted(keys.below(40));
  for (std::string& key : wanted) key = keys();
  const std::vector<std::string_view> views(wanted.begin(), wanted.end());
  std::vector<Lookup> results(views.size());
  tree.find_many(views, results);
  for (std::size_t i = 0; i < views.size(); ++i) {
    const Lookup single = tree.find(views[i]);
    ASSERT_EQ(results[i].value, single.value);
    ASSERT_EQ(results[i].leaf, single.leaf);
    ASSERT_EQ(results[i].version, single.version);
    ASSERT_EQ(single.value != 0, model.count(wanted[i]) != 0);
  }
}

template <typename AnyTree>
void random_operations(std::uint32_t seed, int operations, std::uint32_t insert_percent) {
  Pool pool;
  Worker worker(pool);
  AnyTree tree(worker.memory);
  Model model;
  KeyMaker keys(seed);
  Value next_value = 0;
  LeafHint hint;  // half of the inserts begin where the last hinted one was, whatever became of that leaf
  for (int i = 0; i < operations; ++i) {
    const std::string key = keys();
    const auto in_model = model.find(key);
    const bool present = in_model != model.end();
    next_value += 2;
    if (const std::uint32_t choice = keys.below(100); choice < insert_percent) {
      const InsertResult result =
          tree.insert_if_absent(key, next_value, worker.memory, keys.below(2) == 0 ? &hint : nullptr);
      ASSERT_EQ(result.what, present ? InsertResult::What::kPresent : InsertResult::What::kInserted);
      if (present) {
        ASSERT_EQ(result.present, in_model->second);
      } else {
        model.emplace(key, next_value);
      }
    } else if (choice < 80) {
      ASSERT_FALSE(tree.remove(key, next_value, worker.memory));
      ASSERT_EQ(tree.remove(key, present ? in_model->second : 2, worker.memory), present);
      model.erase(key);
    } else if (choice < 90) {
      ASSERT_EQ(tree.replace(key, present ? in_model->second : 2, next_value), present);
      if (present) in_model->second = next_value;
    } else if (choice < 95) {
      ASSERT_NO_FATAL_FAILURE(expect_scan(tree, model, keys)) << "seed " << seed << " operation " << i;
    } else {
      ASSERT_NO_FATAL_FAILURE(expect_find_many(tree, model, keys)) << "seed " << seed << " operation " << i;
    }
    ASSERT_NO_FATAL_FAILURE(expect_lookup(tree, model, key)) << "seed " << seed << " operation " << i;
    if (i % 1024 == 500) {
      tree.pack(worker.memory);
      hint = {};
    }
    if (i % 256 == 0 || i % 1024 == 500) {
      ASSERT_EQ(tree.check(), "") << "seed " << seed << " operation " << i;
      ASSERT_EQ(tree.statistics().keys, model.size());
      pool.epochs.tick();
      worker.rest();
      hint = {};
    }
  }
  for (const auto& [key, value] : model) ASSERT_TRUE(tree.remove(key, value, worker.memory));
  ASSERT_EQ(tree.check(), "");
  EXPECT_EQ(tree.statistics().keys, 0u);
  EXPECT_EQ(tree.statistics().layers, 1u);
  EXPECT_EQ(tree.statistics().leaves, 1u);
}

template <typename AnyTree>
class OrderedModel : public EachWidth<AnyTree> {};
TYPED_TEST_SUITE(OrderedModel, Widths);

TYPED_TEST(OrderedModel, RandomOperationsGrowing) {
  for (const std::uint64_t seed : tests::seeds(6))
    random_operations<TypeParam>(static_cast<std::uint32_t>(seed), 6000, 60);
}

TYPED_TEST(OrderedModel, RandomOperationsShrinking) {
  for (const std::uint64_t seed : tests::seeds(6, 11))
    random_operations<TypeParam>(static_cast<std::uint32_t>(seed), 6000, 30);
}

TYPED_TEST(OrderedModel, InOrderBothWaysAndOutAgain) {
  for (const bool ascending : {true, false}) {
    Pool pool;
    Worker worker(pool);
    TypeParam tree(worker.memory);
    constexpr std::uint64_t kKeys = 3000;
    for (std::uint64_t i = 0; i < kKeys; ++i) {
      ASSERT_TRUE(inserted(tree, number_key(ascending ? i : kKeys - i), 2 + 2 * i, worker));
    }
    ASSERT_EQ(tree.check(), "");
    Collector all;
    tree.scan({}, Direction::kForward, all);
    EXPECT_EQ(all.entries.size(), kKeys);
    // From the front, as a queue empties, then from the back.
    for (std::uint64_t i = 0; i < kKeys; ++i) {
      const auto& [key, value] = i < kKeys / 2 ? all.entries[i] : all.entries[kKeys - 1 - (i - kKeys / 2)];
      ASSERT_TRUE(tree.remove(key, value, worker.memory));
      if (i % 100 == 0) {
        ASSERT_EQ(tree.check(), "") << i;
      }
    }
    EXPECT_EQ(tree.statistics().leaves, 1u);
  }
}

TYPED_TEST(OrderedModel, LongestKeysSharingNearlyAll) {
  Pool pool;
  Worker worker(pool);
  TypeParam tree(worker.memory);
  const std::string base(64 * 1024 - 1, 'k');
  ASSERT_TRUE(inserted(tree, base + 'a', 2, worker));
  const InsertResult result = tree.insert_if_absent(base + 'b', 4, worker.memory);
  ASSERT_EQ(result.what, InsertResult::What::kInserted);
  EXPECT_EQ(result.changes.size(), 8192u) << "the leaf and one leaf for each further slice";
  ASSERT_TRUE(inserted(tree, base, 6, worker));
  EXPECT_EQ(tree.check(), "");
  EXPECT_EQ(tree.find(base + 'a').value, 2u);
  EXPECT_EQ(tree.find(base + 'b').value, 4u);
  EXPECT_EQ(tree.find(base + 'c').value, 0u);
  const std::string beyond = base + 'b';
  Collector forward, reverse;
  tree.scan({base, false, "", false, true}, Direction::kForward, forward);
  tree.scan({"", true, beyond, false, false}, Direction::kReverse, reverse);
  ASSERT_EQ(forward.entries.size(), 2u);
  EXPECT_EQ(forward.entries[0].first, base + 'a');
  ASSERT_EQ(reverse.entries.size(), 2u);
  EXPECT_EQ(reverse.entries[1].first, base);
  ASSERT_TRUE(tree.remove(base + 'a', 2, worker.memory));
  ASSERT_TRUE(tree.remove(base + 'b', 4, worker.memory));
  ASSERT_TRUE(tree.remove(base, 6, worker.memory));
  EXPECT_EQ(tree.statistics().layers, 1u);
}

}  // namespace
}  // namespace granary::kvstore::ordered::test
