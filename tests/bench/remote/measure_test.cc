// Which keys are looked up: all of them alike where no skew is asked for, and other ones in each pass. Not covered: how
// long lookups take.

#include "bench/remote/measure.h"

#include <gtest/gtest.h>

#include "tests/support/temporary_directory.h"

namespace granary::bench::remote {
namespace {

constexpr std::uint64_t kBytesOfKey = 16;  // in the cache

constexpr std::size_t kWarm = 3;  // the figure with the cache that a pass has filled before

/// Returns the READs of a lookup with that cache.
double reads_with_warm_cache(const Load& load) {
  const tests::TemporaryDirectory directory;
  Load here = load;
  here.run_directory = directory.path();
  const auto figures = measure(here);
  EXPECT_TRUE(figures.ok()) << figures.status().message();
  if (!figures.ok() || figures->size() != kWarm + 2) return 0;
  for (const LookupFigure& figure : *figures) EXPECT_EQ(figure.wrong, 0u) << figure.what;
  return (*figures)[kWarm].reads;
}

TEST(RemoteBench, ACacheForAQuarterOfUniformKeysSavesAQuarterOfTheSearches) {
  constexpr std::uint64_t kKeys = 4096;
  const double reads = reads_with_warm_cache(
      {.data = {.keys = kKeys, .value_bytes = 24}, .lookups = 40'000, .location_cache = kKeys / 4 * kBytesOfKey});
  EXPECT_GT(reads, 1.73);
}

/// The pass that fills the cache sees two fifths of the keys, so a later one has to search for the others.
TEST(RemoteBench, AWarmCacheHasNotSeenWhatComes) {
  constexpr std::uint64_t kKeys = 20'000;
  const double reads = reads_with_warm_cache(
      {.data = {.keys = kKeys, .value_bytes = 24}, .lookups = kKeys / 2, .location_cache = 4 * kKeys * kBytesOfKey});
  EXPECT_GT(reads, 1.3);
  EXPECT_LT(reads, 1.6);
}

}  // namespace
}  // namespace granary::bench::remote
