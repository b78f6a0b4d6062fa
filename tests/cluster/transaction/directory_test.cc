// The directory learns a node anew while workers read it: what they find is all of one life, and stays until they have
// ended. Not covered here: transactions that use it (former_life_test.cc).

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "src/base/random.h"
#include "src/cluster/transaction/directory.h"
#include "src/epoch/entered.h"
#include "src/epoch/epoch.h"
#include "tests/support/enough.h"

namespace granary::cluster {
namespace {

using kvstore::remote::Location;
using kvstore::remote::LocationCacheCounters;
using messages::DescribeAnswer;
using messages::TableKind;

constexpr rdma::NodeId kNode = 3;
constexpr messages::TableId kTable = 2;
constexpr std::uint64_t kBudget = 64 << 10;

/// What a life says of itself: its tables lie where its number tells.
DescribeAnswer said_by(rdma::Generation life) {
  return {.region_base = std::uint64_t{life} << 20,
          .tables = {{.id = kTable, .kind = TableKind::kHash, .name = "t", .main_offset = std::uint64_t{life} * 64},
                     {.id = kTable + 1, .kind = TableKind::kOrdered, .name = "u"}}};
}

TEST(Directory, KnowsTheTablesOfNodesThatItHasLearnt) {
  Directory directory(kBudget);
  EXPECT_EQ(directory.find(kNode, kTable), nullptr);
  EXPECT_EQ(directory.learn(kNode, 1, said_by(1)), nullptr) << "nothing was known of it";
  const KnownTable* const table = directory.find(kNode, kTable);
  ASSERT_NE(table, nullptr);
  EXPECT_TRUE(table->hashed());
  EXPECT_EQ(table->remote.main.generation, 1u);
  EXPECT_EQ(table->remote.main.offset, 64u);
  EXPECT_FALSE(directory.find(kNode, kTable + 1)->hashed());
  EXPECT_EQ(directory.find(kNode, kTable + 2), nullptr);
  EXPECT_EQ(directory.find(kNode, 0), nullptr) << "no table for others has this id";
  EXPECT_EQ(directory.find(kNode + 1, kTable), nullptr);
  EXPECT_EQ(directory.find(membership::kMostMembers, kTable), nullptr);
}

/// The next life could be reached by the former one's tables before it serves.
TEST(Directory, ForgetsALifeThatIsOver) {
  for (const rdma::Generation now : {0u, 2u}) {
    Directory directory(kBudget);
    EXPECT_EQ(directory.forget_former(kNode, now), nullptr) << "nothing was known of it";
    (void)directory.learn(kNode, 1, said_by(1));
    EXPECT_EQ(directory.forget_former(kNode, 1), nullptr) << "it goes on";
    EXPECT_TRUE(directory.knows(kNode));
    const KnownTable* const found = directory.find(kNode, kTable);
    const FormerLife former = directory.forget_former(kNode, now);
    ASSERT_NE(former, nullptr);
    EXPECT_EQ(former->find(kTable), found) << "whoever has found it may go on with it";
    EXPECT_FALSE(directory.knows(kNode));
  }
}

TEST(Directory, HandsOutWhatItKnewOfAFormerLife) {
  Directory directory(kBudget);
  (void)directory.learn(kNode, 1, said_by(1));
  const KnownTable* const found = directory.find(kNode, kTable);
  const FormerLife former = directory.learn(kNode, 2, said_by(2));
  ASSERT_NE(former, nullptr);
  EXPECT_EQ(former->find(kTable), found) << "whoever has found it may go on with it";
  EXPECT_EQ(found->remote.main.generation, 1u);
  EXPECT_EQ(directory.find(kNode, kTable)->remote.main.generation, 2u);
}

TEST(Directory, ForgetsANode) {
  Directory directory(kBudget);
  (void)directory.learn(kNode, 1, said_by(1));
  (void)directory.learn(kNode + 1, 1, said_by(1));
  const FormerLife former = directory.forget_former(kNode, 0);
  ASSERT_NE(former, nullptr);
  EXPECT_EQ(directory.find(kNode, kTable), nullptr);
  EXPECT_NE(directory.find(kNode + 1, kTable), nullptr);
  EXPECT_EQ(directory.forget_former(kNode, 0), nullptr) << "once";
  EXPECT_EQ(directory.learn(kNode, 2, said_by(2)), nullptr);
  EXPECT_EQ(directory.find(kNode, kTable)->remote.main.generation, 2u);
}

/// More keys than the first cache has room for, so that it grows.
void fill(kvstore::remote::LocationCache& cache) {
  LocationCacheCounters counters;
  for (std::uint64_t key = 1; key < 4000; ++key) cache.remember(key, Location(key * 8, 0), counters);
}

TEST(Directory, GetsTheMemoryOfAFormerLifesCachesBack) {
  Directory directory(kBudget);
  for (rdma::Generation life = 1; life < 20; ++life) {
    FormerLife former = directory.learn(kNode, life, said_by(life));
    EXPECT_EQ(directory.find(kNode, kTable)->cache->entries() * kvstore::remote::LocationCache::kEntryBytes,
              kvstore::remote::LocationCache::kFirstBytes);
    LocationCacheCounters counters;
    EXPECT_FALSE(directory.find(kNode, kTable)->cache->find(1, counters)) << "no location of the former life";
    former.reset();
    EXPECT_EQ(directory.budget().left(), kBudget);
    fill(*directory.find(kNode, kTable)->cache);
    EXPECT_LT(directory.budget().left(), kBudget);
  }
  directory.forget_former(kNode, 0).reset();
  EXPECT_EQ(directory.budget().left(), kBudget);
}

/// What the readers of a stress test have met.
struct Met {
  std::atomic<std::uint64_t> found{0}, missed{0}, hits{0};
};

/// Looks at the table in one transaction after the other, and checks that what it finds there is of one life.
void read_until(const std::atomic<bool>& stop, unsigned me, const Directory& directory, epoch::EpochManager& epochs,
                Met& met) {
  epoch::Slot& slot = *epochs.acquire_slot();
  LocationCacheCounters counters;
  base::Random random(me + 1);
  rdma::Generation last = 0;
  std::uint64_t hits = 0;
  while (!stop.load(std::memory_order_relaxed)) {
    const epoch::Entered entered(epochs, slot);
    const KnownTable* const table = directory.find(kNode, kTable);
    (table == nullptr ? met.missed : met.found).fetch_add(1, std::memory_order_relaxed);
    if (table == nullptr) continue;
    const rdma::Generation life = table->remote.main.generation;
    EXPECT_GE(life, last) << "a life that is over is not found again";
    last = life;
    EXPECT_EQ(table->remote.main.offset, std::uint64_t{life} * 64);
    EXPECT_EQ(table->remote.owner_base, std::uint64_t{life} << 20);
    for (unsigned use = 0; use < 20; ++use) {
      const std::uint64_t key = random.below(4000) + 1;
      const auto place = table->cache->find(key, counters);
      if (!place) table->cache->remember(key, Location(std::uint64_t{life} * 8, 0), counters);
      EXPECT_TRUE(!place || place->offset() == std::uint64_t{life} * 8) << "a location of another life";
    }
    met.hits.fetch_add(counters.hits.load() - hits, std::memory_order_relaxed);
    hits = counters.hits.load();
    if (random.below(16) == 0) std::this_thread::yield();
  }
  epochs.release_slot(&slot);
}

/// Transactions of real threads, each in its epoch slot, use one life's tables and caches while another thread learns
/// the next ones, and drops a former one as soon as it may: too soon would end the process, since the memory of its
/// caches is unmapped.
TEST(DirectoryStress, ReadersMeetWholeLivesWhileANodeIsLearntAnew) {
  constexpr unsigned kReaders = 3;
  constexpr auto kDuration = std::chrono::milliseconds(1500);
  Directory directory(kBudget);
  epoch::EpochManager epochs({.snapshot_epochs = 2, .max_open_epochs = 0});
  std::atomic<bool> stop{false};
  Met met;
  std::vector<std::thread> threads;
  for (unsigned me = 0; me < kReaders; ++me)
    threads.emplace_back([&, me] { read_until(stop, me, directory, epochs, met); });
  const auto drop = [&](FormerLife former) {
    const epoch::Epoch now = epochs.current();
    while (epochs.complete() < now) epochs.tick();
    former.reset();
  };
  const auto begin = std::chrono::steady_clock::now();
  rdma::Generation life = 0;
  const auto enough = [&] {
    return life > 20 && tests::are_above({{met.found, 1000}, {met.missed, 0}, {met.hits, 1000}});
  };
  const auto goes_on = [&](auto took) { return took < kDuration || (!enough() && took < std::chrono::minutes(1)); };
  while (goes_on(std::chrono::steady_clock::now() - begin)) {
    ++life;
    drop(directory.learn(kNode, life, said_by(life)));
    std::this_thread::yield();
    if (life % 4 == 0) drop(directory.forget_former(kNode, 0));
  }
  stop.store(true);
  for (std::thread& thread : threads) thread.join();
  directory.forget_former(kNode, 0).reset();
  EXPECT_EQ(directory.budget().left(), kBudget);
  EXPECT_GT(life, 20u);
  EXPECT_GT(met.found.load(), 1000u);
  EXPECT_GT(met.missed.load(), 0u);
  EXPECT_GT(met.hits.load(), 1000u);
}

}  // namespace
}  // namespace granary::cluster
