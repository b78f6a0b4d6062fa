// Touching ahead: how much of a region is in memory after each step, by mincore(). Not covered: what it saves
// (docs/performance.md).

#include "src/memory/touch_ahead.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/units.h"

namespace granary::memory {
namespace {

using tests::kMiB;

class TouchAheadTest : public testing::TestWithParam<bool> {
 protected:
  TouchAheadTest() {
    auto mapped = Region::map({.reserve_bytes = 64 * kMiB, .huge_pages = HugePages::kOff, .shared = GetParam()});
    EXPECT_TRUE(mapped.ok()) << mapped.status().message();
    region_ = std::move(*mapped);
  }
  void SetUp() override {
    void* const page = ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    const bool can = ::madvise(page, 4096, /*MADV_POPULATE_WRITE*/ 23) == 0;
    ::munmap(page, 4096);
    if (!can) GTEST_SKIP() << "this kernel cannot populate memory";
  }

  /// How many bytes of the range are in memory.
  std::uint64_t resident(std::uint64_t from, std::uint64_t to) const {
    std::vector<unsigned char> pages((to - from) / 4096);
    EXPECT_EQ(::mincore(region_->base() + from, to - from, pages.data()), 0);
    return 4096 * static_cast<std::uint64_t>(
                      std::count_if(pages.begin(), pages.end(), [](unsigned char page) { return (page & 1) != 0; }));
  }

  std::unique_ptr<Region> region_;
};
INSTANTIATE_TEST_SUITE_P(Of, TouchAheadTest, testing::Bool(),
                         [](const auto& made) { return made.param ? "SharedRegions" : "PrivateRegions"; });

TEST_P(TouchAheadTest, BeginsAtAPageIfTheBytesTouchedBeforeEndWithinOne) {
  TouchAhead ahead(*region_, 2 * kMiB + 1);
  ASSERT_NE(region_->take(3 * kMiB), nullptr);
  EXPECT_GT(ahead.step(), 0u);
}

TEST_P(TouchAheadTest, TouchesWhatWillBeUsedSoonAndNothingWhileNothingIsUsed) {
  TouchAhead ahead(*region_, 0);
  EXPECT_EQ(ahead.step(), 0u);
  ASSERT_NE(region_->take(3 * kMiB), nullptr);
  EXPECT_GT(ahead.step(), 0u);
  EXPECT_EQ(resident(4 * kMiB, 9 * kMiB), 5 * kMiB) << "twice as much as was taken";
  EXPECT_EQ(resident(12 * kMiB, 64 * kMiB), 0u);
  EXPECT_EQ(ahead.step(), 0u) << "nothing was taken since";
  ASSERT_NE(region_->take(kMiB), nullptr);
  EXPECT_EQ(ahead.step(), 0u) << "there is enough";
}

TEST_P(TouchAheadTest, IsBoundedByALimitAndByTheRegion) {
  TouchAhead ahead(*region_, 0);
  ASSERT_NE(region_->take(20 * kMiB), nullptr);
  EXPECT_GT(ahead.step(), 0u);
  EXPECT_EQ(resident(20 * kMiB, 20 * kMiB + TouchAhead::kMost), TouchAhead::kMost);
  EXPECT_EQ(resident(20 * kMiB + TouchAhead::kMost, 64 * kMiB), 0u);
  ASSERT_NE(region_->take(43 * kMiB), nullptr);
  EXPECT_GT(ahead.step(), 0u);
  EXPECT_EQ(resident(63 * kMiB, 64 * kMiB), kMiB);
  ASSERT_NE(region_->take(kMiB), nullptr);
  EXPECT_EQ(ahead.step(), 0u);
}

TEST_P(TouchAheadTest, IsOfUseWhereARegionIsBoundToANode) { EXPECT_TRUE(TouchAhead::of_use(0)); }

TEST_P(TouchAheadTest, ChangesNothing) {
  TouchAhead ahead(*region_, 2 * kMiB);
  char* const taken = region_->take(kMiB);
  std::fill(taken, taken + kMiB, 'x');
  char* const more = region_->base() + 2 * kMiB;  // as if it were taken while the step is in progress
  std::fill(more, more + kMiB, 'y');
  EXPECT_GT(ahead.step(), 0u);
  EXPECT_TRUE(std::all_of(taken, taken + kMiB, [](char byte) { return byte == 'x'; }));
  EXPECT_TRUE(std::all_of(more, more + kMiB, [](char byte) { return byte == 'y'; }));
}

}  // namespace
}  // namespace granary::memory
