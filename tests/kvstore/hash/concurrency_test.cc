// Several threads on one small table whose chains grow, with epochs that pass and names that are freed. Some keys are
// always there and must always be found; of each pair at least one is there, so both may not be missed at one validated
// moment. Not covered: rebuild(), which runs alone.

#include <atomic>
#include <chrono>
#include <functional>
#include <random>
#include <thread>

#include "tests/kvstore/hash/table_fixture.h"

namespace granary::kvstore::hash::test {
namespace {

constexpr std::uint64_t kStable = 60;
constexpr std::uint64_t kPairs = 40;
constexpr auto kDuration = std::chrono::milliseconds(1500);

class Crowd {
 public:
  Crowd(std::uint64_t buckets, std::size_t key_bytes) : one_(buckets), key_bytes_(key_bytes) {
    for (std::uint64_t i = 0; i < kStable; ++i) EXPECT_TRUE(one_.insert(key(i), i));
    for (std::uint64_t pair = 0; pair < kPairs; ++pair) EXPECT_TRUE(one_.insert(key(member(pair, 0)), member(pair, 0)));
  }

  void run() {
    one_.worker.leave();  // or it would hold the epoch back
    std::vector<std::thread> threads;
    threads.emplace_back([this] { tick(); });
    for (unsigned i = 0; i < 2; ++i) threads.emplace_back([this, i] { write(i); });
    threads.emplace_back([this] { find_stable(); });
    threads.emplace_back([this] { miss_pairs(); });
    std::this_thread::sleep_for(kDuration);
    stop_.store(true, std::memory_order_relaxed);
    for (std::thread& thread : threads) thread.join();
    one_.worker.enter();
    EXPECT_EQ(one_.table.check(), "");
    EXPECT_GT(validated_.load(), 0u) << "some pairs were judged";
  }

 private:
  bool stopped() const { return stop_.load(std::memory_order_relaxed); }
  std::uint64_t member(std::uint64_t pair, std::uint64_t which) const { return kStable + 2 * pair + which; }
  std::string key(std::uint64_t number) const {
    std::string bytes = number_key(number);
    bytes.resize(key_bytes_, '.');
    return bytes;
  }

  void tick() {
    while (!stopped()) {
      one_.pool.epochs.tick();
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }

  /// Each writer has every second pair: puts the missing one in, then takes the other out.
  void write(std::uint64_t me) {
    Worker worker(one_.pool);
    std::mt19937 random(static_cast<unsigned>(me));
    std::vector<std::uint64_t> there(kPairs, 0);
    for (std::uint64_t writes = 0; !stopped(); ++writes) {
      const std::uint64_t pair = random() % (kPairs / 2) * 2 + me;
      const std::uint64_t in = member(pair, 1 - there[pair]), out = member(pair, there[pair]);
      EXPECT_EQ(one_.table.insert_if_absent(key(in), one_.value(in), worker.memory).what,
                InsertResult::What::kInserted);
      if (random() % 8 == 0) {
        EXPECT_TRUE(one_.table.replace(key(in), one_.value(in), one_.value(in)));
      }
      EXPECT_TRUE(one_.table.remove(key(out), one_.value(out), worker.memory));
      there[pair] = 1 - there[pair];
      if (writes % 16 == 0) worker.rest();
      if (random() % 32 == 0) std::this_thread::yield();
    }
  }

  void find_stable() {
    Worker worker(one_.pool);
    while (!stopped()) {
      for (std::uint64_t i = 0; i < kStable; ++i) EXPECT_EQ(one_.table.find(key(i)).value, one_.value(i));
      std::uint64_t seen = 0;
      one_.table.visit(0, one_.table.buckets(), [&](std::string_view, Value value) {
        if (value <= one_.value(kStable - 1)) ++seen;
      });
      EXPECT_EQ(seen, kStable);
      worker.rest();
    }
  }

  void miss_pairs() {
    Worker worker(one_.pool);
    std::mt19937 random(7);
    std::uint64_t validated = 0;
    while (!stopped()) {
      const std::uint64_t pair = random() % kPairs;
      const Lookup first = one_.table.find(key(member(pair, 0)));
      const Lookup second = one_.table.find(key(member(pair, 1)));
      EXPECT_TRUE(first.value == 0 || first.value == one_.value(member(pair, 0)));
      EXPECT_TRUE(second.value == 0 || second.value == one_.value(member(pair, 1)));
      const bool both_missing = first.value == 0 && second.value == 0;
      const bool holds =
          Table::unchanged(first.bucket, first.version) && Table::unchanged(second.bucket, second.version);
      EXPECT_FALSE(both_missing && holds) << "pair " << pair;
      validated += holds ? 1 : 0;
      worker.rest();
    }
    validated_.fetch_add(validated);
  }

  Fixture one_;
  const std::size_t key_bytes_;
  std::atomic<bool> stop_{false};
  std::atomic<std::uint64_t> validated_{0};
};

TEST(HashConcurrency, ManyBucketsDirectKeys) { Crowd(64, 8).run(); }
TEST(HashConcurrency, LongChainsDirectKeys) { Crowd(3, 8).run(); }
TEST(HashConcurrency, LongChainsNamedKeys) { Crowd(3, 21).run(); }
TEST(HashConcurrency, ManyBucketsShortNames) { Crowd(64, 3).run(); }

}  // namespace
}  // namespace granary::kvstore::hash::test
