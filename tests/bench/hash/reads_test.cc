// READs per lookup, against slide 42 of DrTM, with smaller tables than the benchmark's. Not covered: what a lookup of a
// missing key takes.

#include <gtest/gtest.h>

#include "bench/hash/reads.h"

namespace granary::bench::hash {
namespace {

double reads(const TableKind& kind, double occupancy, double theta) {
  const Filling filling{.slots = 1 << 14, .occupancy = occupancy, .theta = theta, .tables = 48};
  const Result<double> result = reads_per_lookup(kind, filling);
  EXPECT_TRUE(result.ok()) << result.status().message();
  return result.ok() ? *result : 0;
}

class ReadsTest : public ::testing::TestWithParam<std::size_t> {
 protected:
  const std::size_t at_ = GetParam();
  const double occupancy_ = kOccupancies[at_];
};

TEST_P(ReadsTest, ClusterChainingReadsWhatTheSlideSays) {
  const TableKind& cluster = kTableKinds[0];
  EXPECT_NEAR(reads(cluster, occupancy_, 0), cluster.slide_uniform[at_], 0.02);
  EXPECT_NEAR(reads(cluster, occupancy_, 0.99), cluster.slide_zipf[at_], 0.02);
}

TEST_P(ReadsTest, TheOtherTablesReadAboutWhatTheSlideSays) {
  for (const TableKind& kind : {kTableKinds[1], kTableKinds[2]}) {
    EXPECT_NEAR(reads(kind, occupancy_, 0), kind.slide_uniform[at_], 0.05) << kind.name;
    EXPECT_NEAR(reads(kind, occupancy_, 0.99), kind.slide_zipf[at_], 0.08) << kind.name;
  }
}

INSTANTIATE_TEST_SUITE_P(Occupancies, ReadsTest, ::testing::Range<std::size_t>(0, kOccupancies.size()));

TEST(CountedReads, SecondHeadersCountTwice) {
  // One bucket and sixteen keys: eight in the main header, eight in an indirect one.
  const Filling filling{.slots = 8, .occupancy = 2, .theta = 0, .tables = 1};
  const Result<double> uniform = reads_per_lookup(kTableKinds[0], filling);
  ASSERT_TRUE(uniform.ok());
  EXPECT_DOUBLE_EQ(*uniform, 1.5);
}

TEST(CountedReads, ATableThatIsFullSaysSo) {
  const Filling filling{.slots = 64, .occupancy = 1.5, .theta = 0, .tables = 1};
  EXPECT_FALSE(reads_per_lookup(kTableKinds[2], filling).ok());
}

}  // namespace
}  // namespace granary::bench::hash
