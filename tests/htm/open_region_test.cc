// Regions that stay open between calls: what aborts them, what belongs to them, and how often they are tried again.

#include "htm/open_region.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include "src/base/cache_line.h"
#include "src/base/shared_words.h"

namespace granary::htm {
namespace {

class OpenRegionTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!base::kTestHooks) GTEST_SKIP() << "a build without the simulation";
  }
  bool adds_to(std::size_t line) {
    return region_.part([&](auto& memory) {
      memory.store(&lines_[line].word, memory.load(&lines_[line].word) + 1);
      return Verdict::done();
    });
  }
  /// Opens it and makes it abort; whether it could be opened.
  bool fails() {
    if (!region_.open()) return false;
    EXPECT_TRUE(adds_to(0));
    base::store_word(&lines_[0].word, 7);
    EXPECT_FALSE(region_.close());
    return true;
  }
  int failures_until_no() {
    int failures = 0;
    while (fails()) ++failures;
    return failures;
  }

  class Impatient final : public base::Waiter {
   public:
    void pause(std::uint32_t) override {}
  };
  struct alignas(base::kCacheLine) Line {
    std::uint64_t word = 0;
  };

  Impatient waiter_;
  const Support support_{Backend::kSim, {.lines = 3}};
  OpenRegion region_{support_, 0, waiter_, {.retries = {3, 1, 4, 2}}};
  std::array<Line, 4> lines_;
};

TEST_F(OpenRegionTest, AllItsPartsTakeEffectTogether) {
  ASSERT_TRUE(region_.open());
  EXPECT_TRUE(adds_to(0));
  EXPECT_TRUE(adds_to(1));
  EXPECT_EQ(lines_[0].word, 0u);
  EXPECT_TRUE(region_.close());
  EXPECT_EQ(lines_[0].word + lines_[1].word, 2u);
  EXPECT_EQ(region_.counters().commits.load(), 1u);
}

TEST_F(OpenRegionTest, AStoreBetweenItsPartsAbortsIt) {
  ASSERT_TRUE(region_.open());
  EXPECT_TRUE(adds_to(0));
  base::store_word(&lines_[0].word, 7);
  EXPECT_FALSE(adds_to(1));
  EXPECT_FALSE(region_.is_open());
  EXPECT_EQ(region_.lost().cause, Cause::kConflict);
  EXPECT_EQ(lines_[0].word, 7u);
}

TEST_F(OpenRegionTest, AStoreOfItsOwnThreadBelongsToIt) {
  ASSERT_TRUE(region_.open());
  EXPECT_TRUE(adds_to(0));
  {
    const OwnStores own(&region_);
    base::store_word(&lines_[0].word + 1, 7);
  }
  EXPECT_TRUE(adds_to(1));
  EXPECT_TRUE(region_.close());
  EXPECT_EQ(lines_[0].word, 1u);
}

TEST_F(OpenRegionTest, OneThatIsCancelledLeavesNothing) {
  ASSERT_TRUE(region_.open());
  EXPECT_TRUE(adds_to(0));
  region_.cancel();
  EXPECT_EQ(lines_[0].word, 0u);
  EXPECT_TRUE(region_.open()) << "it does not count as an abort";
}

TEST_F(OpenRegionTest, OneThatHasAbortedAndIsCancelledSaysNothingOfTheNext) {
  ASSERT_TRUE(region_.open());
  region_.abort(Verdict::give_up(2));
  region_.cancel();
  EXPECT_TRUE(region_.open());
  EXPECT_EQ(region_.counters().fallbacks.load(), 0u);
}

TEST_F(OpenRegionTest, WhatDoesNotFitIsLost) {
  ASSERT_TRUE(region_.open());
  for (std::size_t line = 0; line < 3; ++line) EXPECT_TRUE(adds_to(line));
  EXPECT_FALSE(adds_to(3));
  EXPECT_EQ(region_.lost().cause, Cause::kCapacity);
}

TEST_F(OpenRegionTest, AFinalVerdictIsNotTriedAgain) {
  ASSERT_TRUE(region_.open());
  region_.abort(Verdict::give_up(2));
  EXPECT_FALSE(region_.worth_retrying());
  EXPECT_FALSE(region_.open());
  EXPECT_EQ(region_.counters().fallbacks.load(), 1u);
  EXPECT_TRUE(region_.open()) << "what comes next is something else";
}

TEST_F(OpenRegionTest, RetriesThatWereInVainBecomeRarer) {
  EXPECT_EQ(failures_until_no(), 4) << "as the policy says";
  EXPECT_EQ(failures_until_no(), 2);
  EXPECT_EQ(failures_until_no(), 1);
  EXPECT_EQ(failures_until_no(), 1) << "once it is always tried";
}

TEST_F(OpenRegionTest, RetriesThatHelpBecomeMore) {
  EXPECT_EQ(failures_until_no(), 4);
  for (int i = 0; i < 2; ++i) {
    EXPECT_TRUE(fails());
    ASSERT_TRUE(region_.open());
    EXPECT_TRUE(region_.close());
  }
  EXPECT_EQ(failures_until_no(), 4);
}

TEST_F(OpenRegionTest, AfterManyFailuresARetryIsAllowedAgain) {
  int most = 0;
  for (int i = 0; i < 8; ++i) static_cast<void>(failures_until_no());
  for (int i = 0; i < 64; ++i) most = std::max(most, failures_until_no());
  EXPECT_EQ(most, 2);
}

}  // namespace
}  // namespace granary::htm
