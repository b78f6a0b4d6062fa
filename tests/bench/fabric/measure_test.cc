// That each figure is made, of operations that took some time; not how long.

#include "bench/fabric/measure.h"

#include <gtest/gtest.h>

#include "tests/support/temporary_directory.h"

namespace granary::bench::fabric {
namespace {

TEST(FabricBench, MeasuresEveryOperationEachWay) {
  const tests::TemporaryDirectory directory;
  const auto figures =
      measure({.region_bytes = 4u << 20, .operations = 10'000, .seed = 1, .run_directory = directory.path()});
  ASSERT_TRUE(figures.ok()) << figures.status().message();
  EXPECT_EQ(figures->size(), 3u * (5 + 2 + 2) + 2 + 5 + 1);
  for (const Figure& figure : *figures) {
    SCOPED_TRACE(figure.operation + " " + figure.how);
    EXPECT_GT(figure.nanoseconds, 0);
    if (figure.how.find("fiber") != std::string::npos) continue;
    EXPECT_GT(figure.p50_ns, 0);
    EXPECT_GE(figure.p99_ns, figure.p50_ns);
  }
  for (const Comparison& one : compare(*figures)) {
    EXPECT_GT(one.ours, 0) << one.what;
    EXPECT_GT(one.most, one.plain) << one.what;
  }
}

TEST(FabricBench, ADirectoryThatIsNotThereIsAnError) {
  EXPECT_FALSE(measure({.region_bytes = 1u << 20, .operations = 16, .seed = 1, .run_directory = "/none"}).ok());
}

}  // namespace
}  // namespace granary::bench::fabric
