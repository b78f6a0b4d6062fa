// Slabs: size classes, alignment, type stability (I3), limits, blocks freed by another worker.

#include "src/memory/slab.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <map>
#include <random>
#include <set>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "src/base/cache_line.h"
#include "src/record/record.h"
#include "tests/memory/slab_fixture.h"
#include "tests/support/allocations.h"
#include "tests/support/units.h"

namespace granary::memory {
namespace {

using tests::kMiB;

TEST(SlabClasses, EverySizeFitsItsClassTightly) {
  for (std::size_t bytes = 0; bytes <= kMaxSlabBytes; bytes += bytes < 5000 ? 1 : 61) {
    const std::size_t index = size_class(bytes);
    ASSERT_LT(index, size_class_count());
    ASSERT_GE(class_bytes(index), bytes);
    if (index != 0 && bytes != 0) {
      ASSERT_LT(class_bytes(index - 1), bytes) << "a smaller class would do";
    }
  }
  EXPECT_EQ(size_class(kMaxSlabBytes), size_class_count() - 1);
}

TEST(SlabClasses, GrowMonotonelyInWholeGrains) {
  for (std::size_t index = 0; index < size_class_count(); ++index) {
    EXPECT_EQ(class_bytes(index) % kSlabGrain, 0u);
    EXPECT_EQ(size_class(class_bytes(index)), index);
    if (index == 0) continue;
    EXPECT_GT(class_bytes(index), class_bytes(index - 1));
    if (class_bytes(index) <= 1024) continue;
    EXPECT_LE(class_bytes(index), class_bytes(index - 1) + class_bytes(index) / 8) << "waste of at most an eighth";
  }
}

TEST_F(Slab, RecordHeadersNeverStraddleACacheLine) {
  SlabCache cache(pool_);
  for (std::size_t bytes = 24; bytes < 20000; bytes += 13) {
    const auto at = reinterpret_cast<std::uintptr_t>(cache.allocate(SlabKind::kRecord, bytes));
    ASSERT_NE(at, 0u);
    ASSERT_EQ(at % kSlabGrain, 0u);
    ASSERT_EQ(at / base::kCacheLine, (at + sizeof(record::Record) - 1) / base::kCacheLine) << bytes;
  }
}

TEST_F(Slab, CapacityIsThatOfTheClass) {
  SlabCache cache(pool_);
  for (const std::size_t bytes : {1u, 32u, 33u, 124u, 1024u, 1025u, 70000u, 1024u * 1024u}) {
    const void* block = cache.allocate(SlabKind::kRecord, bytes);
    ASSERT_NE(block, nullptr);
    EXPECT_EQ(pool_.capacity(block), class_bytes(size_class(bytes)));
  }
}

TEST_F(Slab, LiveBlocksNeverOverlap) {
  SlabCache cache(pool_);
  std::mt19937 random(1);
  std::map<char*, std::size_t> live;  // begin → capacity
  for (int turn = 0; turn < 20000; ++turn) {
    if (!live.empty() && random() % 2 == 0) {
      const auto victim =
          std::next(live.begin(), static_cast<std::ptrdiff_t>(random() % std::min<std::size_t>(live.size(), 20)));
      cache.free(SlabKind::kRecord, victim->first);
      live.erase(victim);
      continue;
    }
    const std::size_t bytes = random() % 8 == 0 ? random() % 9000 : random() % 300;
    auto* block = static_cast<char*>(cache.allocate(SlabKind::kRecord, bytes));
    ASSERT_NE(block, nullptr);
    const auto [at, fresh] = live.emplace(block, pool_.capacity(block));
    ASSERT_TRUE(fresh);
    ASSERT_TRUE(at == live.begin() || std::prev(at)->first + std::prev(at)->second <= block);
    ASSERT_TRUE(std::next(at) == live.end() || block + at->second <= std::next(at)->first);
    std::memset(block, 0x5A, at->second);
  }
}

TEST_F(Slab, FreedBlocksAreUsedAgainForTheirClassOnly) {
  constexpr int kBlocks = 10 * SlabPool::kExtentBytes / 128;  // whole extents, so that none is left to cut
  SlabCache cache(pool_);
  std::set<void*> records;
  for (int i = 0; i < kBlocks; ++i) records.insert(cache.allocate(SlabKind::kRecord, 100));
  for (void* block : records) cache.free(SlabKind::kRecord, block);
  const std::uint64_t reserved = pool_.bytes_reserved();
  for (int i = 0; i < 1000; ++i) {
    EXPECT_FALSE(records.contains(cache.allocate(SlabKind::kNode, 100))) << "I3: a record's place became a node";
    EXPECT_FALSE(records.contains(cache.allocate(SlabKind::kRecord, 200))) << "I3: re-cut";
  }
  const std::uint64_t with_others = pool_.bytes_reserved();
  EXPECT_GT(with_others, reserved);
  for (int i = 0; i < kBlocks; ++i) EXPECT_TRUE(records.contains(cache.allocate(SlabKind::kRecord, 100)));
  EXPECT_EQ(pool_.bytes_reserved(), with_others);
}

TEST_F(Slab, SharedRecordsHaveBlocksOfTheirOwnThatNobodyTouches) {  // I3
  constexpr std::size_t kBytes = 2 * base::kCacheLine;
  constexpr std::size_t kBlocks = SlabPool::kExtentBytes / kBytes;
  SlabCache cache(pool_);
  std::set<std::uint64_t*> blocks;
  for (std::size_t i = 0; i < kBlocks; ++i) {
    auto* const block = static_cast<std::uint64_t*>(cache.allocate(SlabKind::kSharedRecord, kBytes));
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(block) % base::kCacheLine, 0u);
    EXPECT_EQ(std::count(block, block + kBytes / sizeof *block, 0u), kBytes / sizeof *block) << "new memory is zero";
    std::fill(block, block + kBytes / sizeof *block, reinterpret_cast<std::uint64_t>(block));
    blocks.insert(block);
  }
  for (std::uint64_t* const block : blocks) cache.free(SlabKind::kSharedRecord, block);
  cache.release();
  for (std::size_t i = 0; i < kBlocks; ++i) {
    EXPECT_FALSE(blocks.contains(static_cast<std::uint64_t*>(cache.allocate(SlabKind::kRecord, kBytes))));
    EXPECT_FALSE(blocks.contains(static_cast<std::uint64_t*>(cache.allocate(SlabKind::kNode, kBytes))));
  }
  SlabCache other(pool_);
  for (std::size_t i = 0; i < kBlocks; ++i) {
    auto* const block = static_cast<std::uint64_t*>(other.allocate(SlabKind::kSharedRecord, kBytes));
    EXPECT_TRUE(blocks.contains(block));
    EXPECT_EQ(std::count(block, block + kBytes / sizeof *block, reinterpret_cast<std::uint64_t>(block)),
              kBytes / sizeof *block);
  }
}

TEST_F(Slab, AccountsForWhatIsInUse) {
  SlabCache cache(pool_);
  void* block = cache.allocate(SlabKind::kNode, 100);
  EXPECT_EQ(in_use(cache), 128);
  void* large = cache.allocate(SlabKind::kNode, 2000);
  EXPECT_EQ(in_use(cache), 128 + 2048);
  cache.free(SlabKind::kNode, block);
  cache.free(SlabKind::kNode, large);
  EXPECT_EQ(in_use(cache), 0);
}

TEST_F(Slab, BlocksFreedInAnotherCacheComeBack) {
  SlabCache owner(pool_), other(pool_);
  for (int round = 0; round < 50; ++round) {
    std::vector<void*> blocks;
    for (int i = 0; i < 5000; ++i) blocks.push_back(owner.allocate(SlabKind::kRecord, 100));
    ASSERT_NE(blocks.back(), nullptr);
    for (void* block : blocks) other.free(SlabKind::kRecord, block);
  }
  EXPECT_LT(pool_.bytes_reserved(), 3u * 5000 * 128) << "one worker frees, the other must get it back";
  EXPECT_EQ(in_use(owner) + in_use(other), 0);
}

TEST_F(Slab, ACacheThatDiesLeavesItsBlocksToOthers) {
  for (int worker = 0; worker < 100; ++worker) {
    SlabCache cache(pool_);
    void* block = cache.allocate(SlabKind::kRecord, 100);
    ASSERT_NE(block, nullptr);
    cache.free(SlabKind::kRecord, block);
  }
  EXPECT_EQ(pool_.bytes_reserved(), SlabPool::kExtentBytes);
}

class LimitedSlab : public Slab {
 protected:
  LimitedSlab() : Slab({.limit_bytes = kMiB}) {}
};

TEST_F(LimitedSlab, ReturnsNullAtTheLimitAndGoesOnAfterAFree) {
  SlabCache cache(pool_);
  std::vector<void*> blocks;
  while (void* block = cache.allocate(SlabKind::kRecord, 1000)) blocks.push_back(block);
  EXPECT_EQ(blocks.size(), kMiB / 1024);
  EXPECT_EQ(pool_.bytes_reserved(), kMiB);
  EXPECT_EQ(cache.allocate(SlabKind::kNode, 1000), nullptr);
  cache.free(SlabKind::kRecord, blocks.back());
  EXPECT_EQ(cache.allocate(SlabKind::kRecord, 1000), blocks.back());
}

/// A request that cannot be granted takes nothing, not even for a moment.
TEST_F(LimitedSlab, ARefusalKeepsNobodyElseFromWhatIsLeft) {
  std::atomic<bool> over{false};
  int refused = 0;
  char* const kept = pool_.take_run(SlabPool::kExtentBytes);  // so that less is left than the limit
  std::thread greedy([&] {
    while (!over) EXPECT_EQ(pool_.take_run(pool_.limit_bytes()), nullptr);
  });
  for (int i = 0; i < 300'000; ++i) {
    char* const run = pool_.take_run(SlabPool::kExtentBytes);
    if (run == nullptr) {
      ++refused;
    } else {
      pool_.give_run(run, SlabPool::kExtentBytes);
    }
  }
  over = true;
  greedy.join();
  pool_.give_run(kept, SlabPool::kExtentBytes);
  EXPECT_EQ(refused, 0);
}

TEST_F(LimitedSlab, ABlockLargerThanTheLimitIsRefused) {
  SlabCache cache(pool_);
  EXPECT_EQ(cache.allocate(SlabKind::kRecord, kMaxSlabBytes), nullptr);
  EXPECT_EQ(pool_.bytes_reserved(), 0u);
}

TEST_F(ReservingSlab, NodesOfIndexesTakeHalfTheReserveAndUrgentAllocationsAllOfIt) {
  SlabCache cache(pool_);
  std::size_t normal = 0, index = 0, urgent = 0;
  while (cache.allocate(SlabKind::kRecord, 1000) != nullptr) ++normal;
  while (cache.allocate(SlabKind::kNode, 1000, Urgency::kIndex) != nullptr) ++index;
  while (cache.allocate(SlabKind::kRecord, 1000, Urgency::kUrgent) != nullptr) ++urgent;
  EXPECT_EQ(normal, kMiB / 1024);
  EXPECT_EQ(index, kMiB / 2 / 1024);
  EXPECT_EQ(urgent, kMiB / 2 / 1024);
}

class SimpleSlab : public Slab {
 protected:
  SimpleSlab() : Slab({.simple = true}) {}
};

TEST_F(Slab, BlocksOfWholeCacheLinesAreAlignedToThem) {
  const auto expect_aligned = [](SlabCache& cache) {
    for (const std::size_t lines : {1u, 2u, 3u, 4u}) {
      for (int i = 0; i < 50; ++i) {
        void* const block = cache.allocate(SlabKind::kNode, lines * base::kCacheLine);
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(block) % base::kCacheLine, 0u) << lines << " lines";
      }
    }
  };
  SlabCache cache(pool_);
  expect_aligned(cache);
  SlabPool simple_pool(*region_, {.simple = true});
  SlabCache simple(simple_pool);
  expect_aligned(simple);
}

TEST_F(Slab, RunsCountAsReservedAndAreZero) {
  char* const run = pool_.take_run(100);
  ASSERT_NE(run, nullptr);
  EXPECT_TRUE(std::all_of(run, run + 100, [](char byte) { return byte == 0; }));
  EXPECT_EQ(pool_.bytes_reserved(), SlabPool::kExtentBytes);
  EXPECT_EQ(pool_.take_run(std::size_t{1} << 50), nullptr);
  EXPECT_EQ(pool_.bytes_reserved(), SlabPool::kExtentBytes);
}

TEST_F(SimpleSlab, UsesMallocWithTheSameContract) {
  SlabCache cache(pool_), other(pool_);
  for (const std::size_t bytes : {1u, 100u, 5000u, 1000000u}) {
    void* block = cache.allocate(SlabKind::kRecord, bytes);
    ASSERT_NE(block, nullptr);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(block) % kSlabGrain, 0u);
    EXPECT_GE(pool_.capacity(block), bytes);
    std::memset(block, 1, bytes);
    other.free(SlabKind::kRecord, block);
  }
  EXPECT_EQ(in_use(cache) + in_use(other), 0);
  EXPECT_EQ(pool_.bytes_reserved(), 0u);
}

TEST_F(Slab, ThreadsExchangeBlocksUnderLoad) {
  // Each thread allocates, writes its mark, and leaves half of its blocks to the next thread to free.
  constexpr int kThreads = 4;
  std::vector<std::thread> threads;
  std::vector<std::vector<void*>> handed(kThreads);
  std::vector<std::mutex> mutexes(kThreads);
  for (int me = 0; me < kThreads; ++me) {
    threads.emplace_back([&, me] {
      SlabCache cache(pool_);
      std::mt19937 random(static_cast<unsigned>(me));
      for (int turn = 0; turn < 20000; ++turn) {
        const std::size_t bytes = 8 + random() % 500;
        void* block = cache.allocate(SlabKind::kRecord, bytes);
        ASSERT_NE(block, nullptr);
        std::memset(block, me, bytes);
        const auto next = static_cast<std::size_t>((me + 1) % kThreads);
        if (random() % 2 == 0) {
          const std::lock_guard lock(mutexes[next]);
          handed[next].push_back(block);
        } else {
          cache.free(SlabKind::kRecord, block);
        }
        const std::lock_guard lock(mutexes[static_cast<std::size_t>(me)]);
        for (void* other : handed[static_cast<std::size_t>(me)]) cache.free(SlabKind::kRecord, other);
        handed[static_cast<std::size_t>(me)].clear();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_LT(pool_.bytes_reserved(), 16 * kMiB);
}

/// Blocks are given to the pool by destructors and by the thread of epochs, which nothing may throw through.
TEST_F(Slab, ACacheKeepsItsBlocksWhileTheSystemHasNoMemoryToListThem) {
  if (!tests::kCountsAllocations) GTEST_SKIP() << "sanitizers have allocators of their own";
  SlabCache cache(pool_);
  std::set<void*> blocks;
  for (int i = 0; i < 10; ++i) blocks.insert(cache.allocate(SlabKind::kNode, 64));
  for (void* block : blocks) cache.free(SlabKind::kNode, block);
  tests::no_memory = true;
  EXPECT_NO_THROW(cache.release());
  tests::no_memory = false;
  for (int i = 0; i < 100; ++i) blocks.erase(cache.allocate(SlabKind::kNode, 64));
  EXPECT_TRUE(blocks.empty()) << blocks.size() << " blocks are lost";
}

/// The caller that gives a block back may hold locks, so an exception would stop all others that come there.
TEST_F(Slab, BlocksAreTakenBackThoughTheSystemHasNoMemoryToListThem) {
  if (!tests::kCountsAllocations) GTEST_SKIP() << "sanitizers have allocators of their own";
  SlabCache cache(pool_);
  std::vector<void*> blocks(10'000);
  for (void*& block : blocks) block = cache.allocate(SlabKind::kNode, 64);
  cache.free(SlabKind::kNode, blocks[0]);
  tests::no_memory = true;
  EXPECT_NO_THROW(for (std::size_t i = 1; i < blocks.size(); ++i) cache.free(SlabKind::kNode, blocks[i]));
  tests::no_memory = false;
  EXPECT_EQ(in_use(cache), 0);
  std::set<void*> again;
  for (std::size_t i = 0; i < blocks.size(); ++i) again.insert(cache.allocate(SlabKind::kNode, 64));
  EXPECT_EQ(again.size(), blocks.size()) << "no block is there twice";
}

}  // namespace
}  // namespace granary::memory
