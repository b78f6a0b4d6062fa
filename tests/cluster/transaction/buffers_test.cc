// The registered memory of a node: what a transaction had of it serves others of any size afterwards. Not covered:
// workers that take and give back at the same time.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "src/cluster/transaction/buffers.h"
#include "tests/cluster/transaction/across_nodes.h"
#include "tests/support/units.h"

namespace granary::cluster::test {
namespace {

using tests::kMiB;

class BufferPools : public testing::Test {
 protected:
  static constexpr std::size_t kChunk = BufferPool::kChunkBytes;
  static constexpr std::size_t kBytes = 2 * kMiB;

  /// Takes chunks until there are no more.
  std::vector<char*> take_all(std::size_t bytes) {
    std::vector<char*> chunks;
    while (char* const chunk = pool_.take(bytes)) {
      EXPECT_GE(chunk, region_->base());
      EXPECT_LE(chunk + bytes, region_->base() + kBytes);
      chunks.push_back(chunk);
    }
    return chunks;
  }
  void give_back(const std::vector<char*>& chunks, std::size_t bytes) {
    for (char* const chunk : chunks) pool_.give_back(chunk, bytes);
  }

  const std::unique_ptr<memory::Region> region_ =
      memory::Region::map({.reserve_bytes = kBytes, .huge_pages = HugePages::kOff}).value();
  BufferPool pool_{*region_};
};

TEST_F(BufferPools, WhatIsGivenBackServesEverySize) {
  for (const std::size_t chunks : {2u, 1u, 16u, 1u, 5u, 32u, 1u}) {
    const std::vector<char*> taken = take_all(chunks * kChunk);
    EXPECT_EQ(taken.size(), kBytes / kChunk / chunks) << chunks;
    give_back(taken, chunks * kChunk);
  }
}

TEST_F(BufferPools, ChunksThatLieSideBySideAreJoined) {
  std::vector<char*> taken = take_all(kChunk);
  std::vector<char*> others;
  for (std::size_t i = 0; i < taken.size(); ++i) {
    if (i / 2 % 2 == 0)
      pool_.give_back(taken[i], kChunk);
    else
      others.push_back(taken[i]);
  }
  EXPECT_EQ(take_all(3 * kChunk).size(), 0u) << "others lie between them";
  const std::vector<char*> pairs = take_all(2 * kChunk);
  EXPECT_EQ(pairs.size(), taken.size() / 4);
  give_back(others, kChunk);
  give_back(pairs, 2 * kChunk);
  EXPECT_NE(pool_.take(kBytes), nullptr);
}

TEST_F(BufferPools, ATransactionKeepsNoLargeChunk) {
  std::optional<Buffers> large(pool_), small(pool_);
  ASSERT_NE(large->allocate(kMiB), nullptr);
  ASSERT_NE(small->allocate(100), nullptr);
  large->clear();
  small->clear();
  EXPECT_EQ(large->bytes(), 0u);
  EXPECT_EQ(small->bytes(), kChunk);
  ASSERT_NE(large->allocate(100), nullptr) << "it is used again";
  large.reset();
  small.reset();
  EXPECT_NE(pool_.take(kBytes), nullptr);
}

/// The pool of a simulated node has 8 MiB. Node 0 uses records of node 1.
class LargeRecordsElsewhere : public testing::TestWithParam<IndexKind> {
 protected:
  static constexpr std::size_t kRows = 100, kLargeBytes = 100'000, kLargestBytes = 150'000;

  LargeRecordsElsewhere()
      : large_(cluster_.tables("large", {.max_value_bytes = kLargeBytes, .index = GetParam(), .shared = true})),
        small_(cluster_.tables("small", {.max_value_bytes = 32, .index = GetParam(), .shared = true})),
        largest_(cluster_.tables("largest", {.max_value_bytes = kLargestBytes, .index = GetParam(), .shared = true})) {
    cluster_.start();
    cluster_.pass_epochs(2);
    for (std::size_t row = 0; row < kRows; ++row) {
      Transaction t = cluster_.node(1).worker().begin();
      EXPECT_EQ(t.put(large_[1], key(row), std::string(kLargeBytes, 'v')), Outcome::kOk);
      EXPECT_EQ(t.put(small_[1], key(row), "small"), Outcome::kOk);
      EXPECT_EQ(t.put(largest_[1], key(row), std::string(kLargestBytes, 'w')), Outcome::kOk);
      EXPECT_TRUE(t.commit().committed());
    }
  }

  static std::string key(std::size_t row) { return "1-" + std::to_string(row); }

  SimCluster cluster_{2};
  const std::vector<Table> large_, small_, largest_;
};

INSTANTIATE_TEST_SUITE_P(Kinds, LargeRecordsElsewhere, testing::Values(IndexKind::kHash, IndexKind::kOrdered),
                         [](const auto& kind) { return kind.param == IndexKind::kHash ? "Hash" : "Ordered"; });

TEST_P(LargeRecordsElsewhere, TooManyInOneTransactionSpoilNothingForOthers) {
  {
    Transaction t = cluster_.node(0).worker().begin();
    std::string value;
    Outcome last = Outcome::kOk;
    for (std::size_t row = 0; row < kRows && last == Outcome::kOk; ++row) last = t.get(large_[0], key(row), value);
    EXPECT_EQ(last, Outcome::kAborted);
    EXPECT_EQ(t.commit().reason, AbortReason::kBuffersUsedUp);
  }
  Transaction t = cluster_.node(0).worker(1).begin();
  EXPECT_EQ(value_of(t, small_[0], key(0)), "small");
  EXPECT_EQ(value_of(t, large_[0], key(0)).size(), kLargeBytes);
  EXPECT_EQ(value_of(t, largest_[0], key(0)).size(), kLargestBytes);
  EXPECT_TRUE(t.commit().committed());
}

}  // namespace
}  // namespace granary::cluster::test
