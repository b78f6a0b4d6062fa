// Memory between size classes: what is given back to the pool serves any class, and what stays what it is does not lie
// in the way.

#include <algorithm>
#include <cstring>
#include <vector>

#include <gtest/gtest.h>

#include "src/memory/free_runs.h"
#include "tests/memory/slab_fixture.h"
#include "tests/support/allocations.h"
#include "tests/support/units.h"

namespace granary::memory {
namespace {

using tests::kMiB;

class FullSlab : public Slab {
 protected:
  static constexpr std::uint64_t kLimit = 4 * kMiB;
  FullSlab() : Slab({.limit_bytes = kLimit}) {}

  std::vector<void*> fill(SlabCache& cache, SlabKind kind, std::size_t bytes) {
    std::vector<void*> blocks;
    while (void* const block = cache.allocate(kind, bytes)) {
      std::memset(block, 0xff, bytes);
      blocks.push_back(block);
    }
    return blocks;
  }
  void fill_and_free(SlabKind kind, std::size_t bytes) {
    SlabCache cache(pool_);
    for (void* const block : fill(cache, kind, bytes)) cache.free(kind, block);
  }
};

TEST_F(FullSlab, WhatIsAllFreeServesAnyClassOnceItIsRegained) {
  for (const std::size_t bytes : {100u, 5000u, 300'000u, 1000u, 60'000u, 40u}) {
    SlabCache cache(pool_);
    pool_.regain();
    EXPECT_EQ(pool_.bytes_reserved(), 0u);
    const std::vector<void*> blocks = fill(cache, SlabKind::kRecord, bytes);
    EXPECT_GE(blocks.size() * class_bytes(size_class(bytes)), kLimit * 6 / 10) << bytes;
    EXPECT_LE(pool_.bytes_reserved(), kLimit);
    for (void* const block : blocks) EXPECT_EQ(pool_.capacity(block), class_bytes(size_class(bytes)));
    for (void* const block : blocks) cache.free(SlabKind::kRecord, block);
  }
}

TEST_F(FullSlab, ABlockThatIsInUseKeepsItsExtent) {
  SlabCache cache(pool_);
  const std::vector<void*> blocks = fill(cache, SlabKind::kRecord, 1000);
  for (std::size_t i = 1; i < blocks.size(); ++i) cache.free(SlabKind::kRecord, blocks[i]);
  cache.release();
  EXPECT_EQ(pool_.regain(), kLimit - SlabPool::kExtentBytes);
  EXPECT_EQ(pool_.capacity(blocks[0]), 1024u);
  for (const void* const other : fill(cache, SlabKind::kNode, 3000)) {
    EXPECT_NE((static_cast<const char*>(other) - region_->base()) >> SlabPool::kExtentShift,
              (static_cast<const char*>(blocks[0]) - region_->base()) >> SlabPool::kExtentShift);
  }
  cache.free(SlabKind::kRecord, blocks[0]);
  cache.release();
  EXPECT_EQ(pool_.regain(), SlabPool::kExtentBytes);
}

TEST_F(FullSlab, NothingIsLostOrThereTwiceWhereTheSystemHasNoMemoryForTheListOfFreeMemory) {
  if (!tests::kCountsAllocations) GTEST_SKIP() << "sanitizers have allocators of their own";
  fill_and_free(SlabKind::kRecord, 1000);
  tests::no_memory = true;
  EXPECT_EQ(pool_.regain(), 0u);
  tests::no_memory = false;
  EXPECT_EQ(pool_.bytes_reserved(), kLimit);
  EXPECT_EQ(pool_.regain(), kLimit);
}

TEST(FreeRunsWithoutMemory, StayAsTheyWere) {
  if (!tests::kCountsAllocations) GTEST_SKIP() << "sanitizers have allocators of their own";
  std::vector<char> memory(100);
  FreeRuns runs;
  ASSERT_TRUE(runs.add(&memory[40], 10));
  tests::no_memory = true;
  const bool alone = runs.add(&memory[80], 10), before = runs.add(&memory[30], 10), behind = runs.add(&memory[50], 10);
  tests::no_memory = false;
  EXPECT_FALSE(alone);
  EXPECT_TRUE(before);
  EXPECT_TRUE(behind);
  EXPECT_EQ(runs.take(30), &memory[30]);
  EXPECT_EQ(runs.take(1), nullptr);
}

TEST_F(FullSlab, WhatACacheHasIsNotRegained) {
  SlabCache cache(pool_);
  void* const block = cache.allocate(SlabKind::kRecord, 1000);
  cache.free(SlabKind::kRecord, block);
  EXPECT_EQ(pool_.regain(), 0u);
  EXPECT_EQ(cache.allocate(SlabKind::kRecord, 1000), block);
}

TEST_F(FullSlab, PlacesThatOtherNodesRememberStayWhatTheyAre) {
  for (const SlabKind kind : {SlabKind::kSharedRecord, SlabKind::kTreeNode}) {
    SlabPool pool(*region_, {.limit_bytes = kMiB});
    SlabCache cache(pool);
    cache.free(kind, cache.allocate(kind, 1000));
    cache.release();
    EXPECT_EQ(pool.regain(), 0u);
    EXPECT_EQ(pool.bytes_reserved(), SlabPool::kExtentBytes);
  }
}

class SlabOfSmallRows : public Slab {
 protected:
  static constexpr std::size_t kRow = 128, kNode = 320, kLarge = 1024 * 1024 + 24;
  static constexpr std::size_t kRowsOfANode = 12;
  SlabOfSmallRows() : Slab({.limit_bytes = 64 * kMiB}) {}
};

TEST_F(SlabOfSmallRows, OnceTheyAreGoneHasRoomForLargeBlocks) {
  std::size_t node_bytes = 0;
  {
    SlabCache cache(pool_);
    std::vector<void*> rows, nodes;
    for (std::size_t i = 0;; ++i) {
      void* const row = cache.allocate(SlabKind::kRecord, kRow);
      if (row == nullptr) break;
      rows.push_back(row);
      if (i % kRowsOfANode != 0) continue;
      void* const node = cache.allocate(SlabKind::kTreeNode, kNode);
      if (node == nullptr) break;
      nodes.push_back(node);
    }
    node_bytes = nodes.size() * kNode;
    for (void* const row : rows) cache.free(SlabKind::kRecord, row);
    for (void* const node : nodes) cache.free(SlabKind::kTreeNode, node);
  }
  pool_.regain();
  SlabCache cache(pool_);
  std::size_t blocks = 0;
  while (cache.allocate(SlabKind::kRecord, kLarge) != nullptr) ++blocks;
  const std::size_t at_most = (64 * kMiB - node_bytes) / class_bytes(size_class(kLarge));
  EXPECT_GE(blocks, at_most * 3 / 4) << "of " << at_most;
  EXPECT_GE(pool_.limit_bytes(), pool_.bytes_reserved());
}

TEST_F(SlabOfSmallRows, LeavesNoExtentOfTheRegionUnused) {
  SlabCache cache(pool_);
  ASSERT_NE(cache.allocate(SlabKind::kTreeNode, kNode), nullptr);
  ASSERT_NE(cache.allocate(SlabKind::kSharedRecord, kNode), nullptr);
  while (const void* const row = cache.allocate(SlabKind::kRecord, kRow)) ASSERT_EQ(pool_.capacity(row), kRow);
  EXPECT_EQ(pool_.bytes_reserved(), pool_.limit_bytes());
}

TEST_F(FullSlab, RegainedMemoryIsZero) {
  fill_and_free(SlabKind::kRecord, 1000);
  pool_.regain();
  SlabCache cache(pool_);
  for (int i = 0; i < 100; ++i) {
    const auto* const block = static_cast<const char*>(cache.allocate(SlabKind::kSharedRecord, 2048));
    ASSERT_TRUE(std::all_of(block, block + 2048, [](char byte) { return byte == 0; }));
  }
}

TEST_F(FullSlab, ARunThatIsGivenBackServesAnyClass) {
  constexpr std::size_t kBytes = kLimit - SlabPool::kExtentBytes - 100;
  for (int round = 0; round < 3; ++round) {
    char* const run = pool_.take_run(kBytes);
    ASSERT_NE(run, nullptr) << round;
    EXPECT_EQ(std::count(run, run + kBytes, 0), static_cast<std::ptrdiff_t>(kBytes));
    std::fill_n(run, kBytes, 'x');
    EXPECT_EQ(pool_.take_run(kBytes), nullptr);
    pool_.give_run(run, kBytes);
    EXPECT_EQ(pool_.bytes_reserved(), 0u);
    SlabCache cache(pool_);
    const std::vector<void*> blocks = fill(cache, SlabKind::kRecord, 1000);
    EXPECT_EQ(pool_.bytes_reserved(), kLimit);
    for (void* const block : blocks) cache.free(SlabKind::kRecord, block);
    cache.release();
    pool_.regain();
  }
}

/// A fourth of 4 MiB is left to what can be given back.
class LeavingSlab : public Slab {
 protected:
  static constexpr std::uint64_t kReserve = kMiB / 2, kLeft = kMiB;
  static constexpr std::size_t kBytes = 1024;
  LeavingSlab() : Slab({.limit_bytes = 4 * kMiB, .reserve_bytes = kReserve, .left_to_others_bytes = kLeft}) {}

  /// Returns the bytes of all blocks that there are.
  std::size_t fill(SlabKind kind, Urgency urgency = Urgency::kNormal) {
    std::size_t bytes = 0;
    for (; void* const block = cache_.allocate(kind, kBytes, urgency); bytes += kBytes) blocks_.push_back(block);
    return bytes;
  }

  SlabCache cache_{pool_};
  std::vector<void*> blocks_;
};

TEST_F(LeavingSlab, WhatStaysDoesNotGetEverything) {
  EXPECT_EQ(fill(SlabKind::kSharedRecord) + fill(SlabKind::kTreeNode), pool_.limit_bytes() - kReserve - kLeft);
  EXPECT_TRUE(pool_.short_of_memory());
  EXPECT_EQ(fill(SlabKind::kTreeNode, Urgency::kIndex), kReserve / 2);
  EXPECT_EQ(fill(SlabKind::kRecord), kLeft - kReserve / 2);
  EXPECT_EQ(fill(SlabKind::kSharedRecord), 0u);
  EXPECT_EQ(fill(SlabKind::kRecord, Urgency::kUrgent), kReserve);
}

TEST_F(LeavingSlab, WhatIsGivenBackServesWhatStaysUpToItsShare) {
  EXPECT_EQ(fill(SlabKind::kRecord), pool_.limit_bytes() - kReserve);
  EXPECT_EQ(fill(SlabKind::kSharedRecord), 0u);
  for (void* const block : blocks_) cache_.free(SlabKind::kRecord, block);
  cache_.release();
  pool_.regain();
  EXPECT_EQ(fill(SlabKind::kSharedRecord), pool_.limit_bytes() - kReserve - kLeft);
}

TEST_F(LeavingSlab, NothingHasToBeLeft) {
  pool_.leave_to_others(0);
  EXPECT_EQ(fill(SlabKind::kSharedRecord), pool_.limit_bytes() - kReserve);
  pool_.leave_to_others(kLeft);
  cache_.free(SlabKind::kSharedRecord, blocks_.back());
  EXPECT_EQ(fill(SlabKind::kSharedRecord), kBytes) << "what it has already stays its own";
}

TEST_F(FullSlab, AShortageIsOverWhenNothingIsRefusedForAWhile) {
  fill_and_free(SlabKind::kRecord, 1000);
  EXPECT_TRUE(pool_.short_of_memory());
  pool_.age_shortage();
  EXPECT_TRUE(pool_.short_of_memory());
  pool_.age_shortage();
  EXPECT_FALSE(pool_.short_of_memory());
}

TEST_F(ReservingSlab, RegainedMemoryLeavesTheReserve) {
  for (const std::size_t bytes : {1000u, 3000u, 200u}) {
    SlabCache cache(pool_);
    std::vector<void*> blocks;
    while (void* const block = cache.allocate(SlabKind::kRecord, bytes)) blocks.push_back(block);
    EXPECT_EQ(pool_.bytes_reserved(), kMiB);
    void* const urgent = cache.allocate(SlabKind::kRecord, bytes, Urgency::kUrgent);
    EXPECT_NE(urgent, nullptr);
    blocks.push_back(urgent);
    for (void* const block : blocks) cache.free(SlabKind::kRecord, block);
    cache.release();
    pool_.regain();
  }
}

TEST(FreeRanges, JoinNeighboursAndGiveTheSmallestThatSuffices) {
  std::vector<char> memory(1000);
  char* const base = memory.data();
  FreeRuns runs;
  EXPECT_EQ(runs.take(1), nullptr);
  EXPECT_TRUE(runs.add(base + 100, 100));
  EXPECT_TRUE(runs.add(base + 300, 50));
  EXPECT_EQ(runs.take(200), nullptr);
  EXPECT_TRUE(runs.add(base + 200, 100));  // between the two
  EXPECT_EQ(runs.take(250), base + 100);
  EXPECT_TRUE(runs.add(base, 100));
  EXPECT_TRUE(runs.add(base + 500, 20));
  EXPECT_EQ(runs.take(20), base + 500);
  EXPECT_EQ(runs.take(20), base + 80);
  EXPECT_EQ(runs.take(80), base);
  EXPECT_EQ(runs.take(1), nullptr);
}

/// A pool whose reserve was lowered while 1000-byte records were loaded until there was no more memory.
class LoadedSlab : public ReservingSlab {
 protected:
  LoadedSlab() {
    pool_.lower_reserve(2 * SlabPool::kExtentBytes);
    while (void* const block = cache_.allocate(SlabKind::kRecord, 1000)) blocks_.push_back(block);
    pool_.restore_reserve();
  }
  std::size_t more(SlabKind kind, Urgency urgency) {
    std::size_t count = 0;
    while (cache_.allocate(kind, 1000, urgency) != nullptr) ++count;
    return count;
  }

  SlabCache cache_{pool_};
  std::vector<void*> blocks_;
};

TEST_F(LoadedSlab, IndexesAndDeletionsShareWhatIsLeft) {
  EXPECT_EQ(pool_.bytes_reserved(), pool_.limit_bytes() - 2 * SlabPool::kExtentBytes);
  EXPECT_EQ(more(SlabKind::kRecord, Urgency::kNormal), 0u);
  EXPECT_EQ(more(SlabKind::kNode, Urgency::kIndex), SlabPool::kExtentBytes / 1024);
  EXPECT_EQ(more(SlabKind::kRecord, Urgency::kUrgent), SlabPool::kExtentBytes / 1024);
}

TEST_F(LoadedSlab, TheReserveIsFilledUpBeforeOthersGetMemory) {
  const std::uint64_t missing = pool_.options().reserve_bytes - 2 * SlabPool::kExtentBytes;
  for (std::size_t i = 0; i < missing / 1024; ++i) cache_.free(SlabKind::kRecord, blocks_[i]);
  cache_.release();
  EXPECT_EQ(pool_.regain(), missing);
  pool_.restore_reserve();
  EXPECT_EQ(more(SlabKind::kRecord, Urgency::kNormal), 0u);
  EXPECT_EQ(more(SlabKind::kNode, Urgency::kIndex), pool_.options().reserve_bytes / 2 / 1024);
}

}  // namespace
}  // namespace granary::memory
