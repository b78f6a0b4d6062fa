// Several threads on one tree, with epochs that pass and memory that is freed and used again. Each test keeps some
// keys always there and checks that finds and scans in both directions see them, once and in order. Not covered: that
// versions reported by one thread's insert catch another's scan (the transaction tests do).

#include <algorithm>
#include <atomic>
#include <chrono>
#include <random>
#include <thread>

#include "tests/kvstore/ordered/tree_fixture.h"

namespace granary::kvstore::ordered::test {
namespace {

constexpr std::uint64_t kStable = 60;   // keys that are always there
constexpr std::uint64_t kBetween = 12;  // keys that come and go behind each of them
constexpr auto kDuration = std::chrono::milliseconds(1500);

/// Key number `i` of one of several shapes: short, with a suffix, deep below shared slices.
std::string shaped_key(unsigned shape, std::uint64_t i) {
  switch (shape) {
    case 0: return number_key(i);
    case 1: return "shared__" + number_key(i) + "suffix";
    case 2: return number_key(i / 20) + "mid" + number_key(i % 20) + std::string(i % 3, '\0');
    default: return std::string(8 * (i % 4), 's') + number_key(i);
  }
}

Value value_of(std::string_view key) { return (std::hash<std::string_view>{}(key) | 2) & ~Value{1}; }

/// Checks order and values, and counts the stable keys.
class OrderChecker final : public ScanVisitor {
 public:
  explicit OrderChecker(Direction direction) : direction_(direction) {}
  void on_leaf(const Leaf*, Version) override {}
  bool on_entry(std::string_view key, Value value) override {
    const bool ordered = seen_ == 0 || (direction_ == Direction::kForward ? last_ < key : key < last_);
    EXPECT_TRUE(ordered) << ::testing::PrintToString(last_) << " then " << ::testing::PrintToString(std::string(key));
    EXPECT_EQ(value & ~Value{1}, value_of(key));
    last_ = key;
    ++seen_;
    keys_.push_back(last_);
    return ordered;
  }
  const std::vector<std::string>& keys() const { return keys_; }

 private:
  Direction direction_;
  std::string last_;
  std::size_t seen_ = 0;
  std::vector<std::string> keys_;
};

template <typename AnyTree>
class Run {
 public:
  Run(unsigned shape, bool overlapping)
      : shape_(shape),
        overlapping_(overlapping),
        setup_(pool_),
        tree_(setup_.memory) {
    for (std::uint64_t i = 0; i < kStable; ++i) stable_.push_back(shaped_key(shape_, i * (kBetween + 1)));
    std::sort(stable_.begin(), stable_.end());
    for (const std::string& key : stable_) EXPECT_TRUE(inserted(tree_, key, value_of(key), setup_));
    setup_.drain();
  }

  void run() {
    std::vector<std::thread> threads;
    threads.emplace_back([this] { tick(); });
    for (unsigned i = 0; i < 2; ++i) threads.emplace_back([this, i] { write(i); });
    threads.emplace_back([this] { find(); });
    threads.emplace_back([this] { scan(); });
    setup_.leave();  // or it would hold the epoch back
    std::this_thread::sleep_for(kDuration);
    stop_.store(true, std::memory_order_relaxed);
    for (std::thread& thread : threads) thread.join();
    setup_.enter();
    EXPECT_EQ(tree_.check(), "");
    EXPECT_GT(writes_.load(), 0u);
    expect_scan(Direction::kForward);
  }

 private:
  bool stopped() const { return stop_.load(std::memory_order_relaxed); }

  void tick() {
    while (!stopped()) {
      pool_.epochs.tick();
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }

  void write(unsigned number) {
    Worker worker(pool_);
    std::mt19937 random(number);
    std::uint64_t writes = 0;
    while (!stopped()) {
      // In turns grow and shrink, so that leaves and layers come and go.
      const bool grow = (writes / 500) % 2 == 0;
      std::uint64_t between = random() % kBetween;
      if (!overlapping_) between = between / 2 * 2 + number;
      const std::string key = shaped_key(shape_, random() % kStable * (kBetween + 1) + 1 + between);
      if (random() % 8 < (grow ? 6u : 1u)) {
        const InsertResult result = tree_.insert_if_absent(key, value_of(key), worker.memory);
        EXPECT_NE(result.what, InsertResult::What::kOutOfMemory);
        expect_alone(key, value_of(key));
      } else {
        tree_.remove(key, value_of(key), worker.memory);
        expect_alone(key, 0);
      }
      if (++writes % 16 == 0) worker.rest();
    }
    writes_.fetch_add(writes);
  }

  /// Where no other writer touches this key.
  void expect_alone(const std::string& key, Value value) {
    if (overlapping_) return;
    EXPECT_EQ(tree_.find(key).value, value);
  }

  void find() {
    Worker worker(pool_);
    std::mt19937 random(99);
    while (!stopped()) {
      const std::string& key = stable_[random() % kStable];
      EXPECT_EQ(tree_.find(key).value, value_of(key));
      const std::vector<std::string_view> keys(stable_.begin(), stable_.end());
      std::vector<Lookup> results(keys.size());
      tree_.find_many(keys, results);
      for (std::size_t i = 0; i < keys.size(); ++i) EXPECT_EQ(results[i].value, value_of(keys[i]));
      worker.rest();
    }
  }

  void scan() {
    Worker worker(pool_);
    while (!stopped()) {
      expect_scan(Direction::kForward);
      expect_scan(Direction::kReverse);
      worker.rest();
    }
  }

  void expect_scan(Direction direction) {
    OrderChecker checker(direction);
    tree_.scan({}, direction, checker);
    std::vector<std::string> seen = checker.keys();
    std::sort(seen.begin(), seen.end());
    EXPECT_TRUE(std::includes(seen.begin(), seen.end(), stable_.begin(), stable_.end()));
  }

  const unsigned shape_;
  const bool overlapping_;
  Pool pool_;
  Worker setup_;
  AnyTree tree_;
  std::vector<std::string> stable_;
  std::atomic<bool> stop_{false};
  std::atomic<std::uint64_t> writes_{0};
};

template <typename AnyTree>
class OrderedConcurrency : public EachWidth<AnyTree> {};
TYPED_TEST_SUITE(OrderedConcurrency, Widths);

TYPED_TEST(OrderedConcurrency, DisjointWritersShortKeys) { Run<TypeParam>(0, false).run(); }
TYPED_TEST(OrderedConcurrency, OverlappingWritersShortKeys) { Run<TypeParam>(0, true).run(); }
TYPED_TEST(OrderedConcurrency, DisjointWritersSuffixes) { Run<TypeParam>(1, false).run(); }
TYPED_TEST(OrderedConcurrency, OverlappingWritersManyLayers) { Run<TypeParam>(2, true).run(); }
TYPED_TEST(OrderedConcurrency, DisjointWritersManyLayers) { Run<TypeParam>(2, false).run(); }
TYPED_TEST(OrderedConcurrency, OverlappingWritersNestedPrefixes) { Run<TypeParam>(3, true).run(); }

}  // namespace
}  // namespace granary::kvstore::ordered::test
