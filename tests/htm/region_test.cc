// What becomes of aborts: retries by cause, waits between, counters. Each cause is injected on purpose.

#include "htm/region.h"

#include <gtest/gtest.h>

#include <vector>

#include "src/base/shared_words.h"

namespace granary::htm {
namespace {

class CountingWaiter final : public base::Waiter {
 public:
  void pause(std::uint32_t) override { ++pauses; }
  int pauses = 0;
};

struct alignas(base::kCacheLine) Line {
  std::uint64_t word = 0;
};

class RegionTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!base::kTestHooks) GTEST_SKIP() << "a build without the simulation";
  }
  static std::uint64_t aborts(const Region& region, Cause cause) {
    return region.counters().aborts[static_cast<std::size_t>(cause)].load();
  }
  /// Only this cause was counted.
  static void expect_aborts(const Region& region, Cause cause, std::uint64_t count) {
    for (const Cause each : {Cause::kConflict, Cause::kCapacity, Cause::kExplicit, Cause::kOther})
      EXPECT_EQ(aborts(region, each), each == cause ? count : 0) << name(each);
  }

  CountingWaiter waiter_;
  const Support support_{Backend::kSim, {.lines = 2}};
  Region region_{support_, 0, waiter_, {.retries = {3, 1, 4, 2}}};
  std::array<Line, 4> lines_;
  int runs_ = 0;
};

TEST_F(RegionTest, CommitsAtOnceWhenNothingIsInTheWay) {
  const Attempt ending = region_.run([&](auto& memory) {
    memory.store(&lines_[0].word, 1);
    return Verdict::done();
  });
  EXPECT_TRUE(ending.committed);
  EXPECT_EQ(region_.counters().commits.load(), 1u);
  expect_aborts(region_, Cause::kOther, 0);
  EXPECT_EQ(waiter_.pauses, 0);
}

TEST_F(RegionTest, AConflictIsTriedAgainAfterAWait) {
  const Attempt ending = region_.run([&](auto& memory) {
    memory.store(&lines_[1].word, memory.load(&lines_[0].word));
    if (++runs_ <= 3) base::store_word(&lines_[0].word, 7);
    return Verdict::done();
  });
  EXPECT_TRUE(ending.committed);
  EXPECT_EQ(lines_[1].word, 7u);
  expect_aborts(region_, Cause::kConflict, 3);
  EXPECT_GE(waiter_.pauses, 3);
}

TEST_F(RegionTest, ConflictsWithoutEndAreGivenUp) {
  const Attempt ending = region_.run([&](auto& memory) {
    (void)memory.load(&lines_[0].word);
    base::store_word(&lines_[0].word, 7);
    return Verdict::done();
  });
  EXPECT_FALSE(ending.committed);
  EXPECT_EQ(ending.cause, Cause::kConflict);
  expect_aborts(region_, Cause::kConflict, 4);
  EXPECT_EQ(region_.counters().commits.load(), 0u);
}

TEST_F(RegionTest, WantOfCapacityIsTriedOnceMoreWithoutAWait) {
  const Attempt ending = region_.run([&](auto& memory) {
    for (Line& line : lines_) (void)memory.load(&line.word);
    return Verdict::done();
  });
  EXPECT_EQ(ending.cause, Cause::kCapacity);
  expect_aborts(region_, Cause::kCapacity, 2);
  EXPECT_EQ(waiter_.pauses, 0);
}

TEST_F(RegionTest, WhatTheBodyWantsToRetryIsRetriedWithItsCode) {
  const Attempt ending = region_.run([&](auto&) {
    ++runs_;
    return Verdict::retry(3);
  });
  EXPECT_EQ(ending.cause, Cause::kExplicit);
  EXPECT_EQ(ending.verdict.code(), 3);
  EXPECT_EQ(runs_, 5);
  expect_aborts(region_, Cause::kExplicit, 5);
}

TEST_F(RegionTest, WhatTheBodyGivesUpIsNotRetried) {
  const Attempt ending = region_.run([&](auto&) {
    ++runs_;
    return Verdict::give_up(6);
  });
  EXPECT_EQ(ending.verdict.code(), 6);
  EXPECT_EQ(runs_, 1);
  expect_aborts(region_, Cause::kExplicit, 1);
}

TEST_F(RegionTest, AbortsWithoutAReasonAreTriedSeldom) {
  const Support unlucky(Backend::kSim, {.spurious_per_thousand = 1000});
  Region region(unlucky, 0, waiter_, {.retries = {3, 1, 4, 2}});
  const Attempt ending = region.run([&](auto&) { return Verdict::done(); });
  EXPECT_EQ(ending.cause, Cause::kOther);
  expect_aborts(region, Cause::kOther, 3);
}

TEST_F(RegionTest, EachCauseHasRetriesOfItsOwn) {
  const Attempt ending = region_.run([&](auto& memory) {
    ++runs_;
    if (runs_ % 2 == 0) return Verdict::retry(1);
    (void)memory.load(&lines_[0].word);
    base::store_word(&lines_[0].word, 7);
    return Verdict::done();
  });
  EXPECT_EQ(ending.cause, Cause::kConflict);
  EXPECT_EQ(aborts(region_, Cause::kConflict), 4u);
  EXPECT_EQ(aborts(region_, Cause::kExplicit), 3u);
}

TEST_F(RegionTest, WaitsAreBounded) {
  Region patient(support_, 0, waiter_, {.retries = {1000, 0, 0, 0}, .max_pauses = 4});
  (void)patient.run([&](auto& memory) {
    (void)memory.load(&lines_[0].word);
    base::store_word(&lines_[0].word, 7);
    return Verdict::done();
  });
  EXPECT_LE(waiter_.pauses, 4 * 1000);
  EXPECT_GT(waiter_.pauses, 1000) << "no jitter";
}

}  // namespace
}  // namespace granary::htm
