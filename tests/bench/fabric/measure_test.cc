// That each figure is made, of operations that took some time; not how long.

#include "bench/fabric/measure.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "bench/fabric/nodes.h"
#include "bench/fabric/post_and_wait.h"
#include "tests/support/temporary_directory.h"

namespace granary::bench::fabric {
namespace {

TEST(FabricBench, MeasuresEveryOperationEachWay) {
  const tests::TemporaryDirectory directory;
  const auto figures =
      measure({.region_bytes = 4u << 20, .operations = 10'000, .seed = 1, .run_directory = directory.path()});
  ASSERT_TRUE(figures.ok()) << figures.status().message();
  EXPECT_EQ(figures->size(), 3u * (5 + 2 + 2) + 2 + 5 + 1);
  for (const OperationFigure& figure : *figures) {
    SCOPED_TRACE(figure.operation + " " + figure.how);
    EXPECT_GT(figure.nanoseconds, 0);
    if (figure.how.find("fiber") != std::string::npos) continue;
    EXPECT_GT(figure.p50_ns, 0);
    EXPECT_GE(figure.p99_ns, figure.p50_ns);
  }
  const auto median_of = [&](std::size_t length) {
    const auto is_it = [&](const OperationFigure& figure) {
      return figure.operation == "READ" && figure.bytes == 1024 && figure.length == length;
    };
    return std::find_if(figures->begin(), figures->end(), is_it)->p50_ns;
  };
  EXPECT_GT(median_of(16), median_of(1)) << "the percentiles of a chain are of all of its operations";
  for (const Comparison& one : compare(*figures)) {
    EXPECT_GT(one.ours, 0) << one.what;
    EXPECT_GT(one.most, one.plain) << one.what;
  }
}

/// A chain that the fabric refuses has no completion: a benchmark that waits for it would never end.
TEST(FabricBench, AChainThatIsRefusedIsAnError) {
  const tests::TemporaryDirectory directory;
  auto nodes = open_nodes(cluster_config::Provider::kShm, 1u << 20, 4096, directory.path());
  ASSERT_TRUE(nodes.ok()) << nodes.status().message();
  const auto read_at = [&](std::uint64_t offset) {
    const rdma::Operation read = rdma::Operation::read(nodes->here->base(), nodes->first.plus(offset), 64);
    return post_and_wait(*nodes->endpoint, nodes->connection, {&read, 1});
  };
  EXPECT_EQ(read_at(0), rdma::PostResult::kPosted);
  const rdma::PostResult beyond = read_at(std::uint64_t{1} << 40);
  EXPECT_EQ(beyond, rdma::PostResult::kInvalidRemote);
  EXPECT_EQ(failure_of(beyond).code(), StatusCode::kUnavailable);
  EXPECT_EQ(post_and_wait(*nodes->endpoint, nodes->connection, {}), rdma::PostResult::kInvalidChain);
}

TEST(FabricBench, ADirectoryThatIsNotThereIsAnError) {
  EXPECT_FALSE(measure({.region_bytes = 1u << 20, .operations = 16, .seed = 1, .run_directory = "/none"}).ok());
}

}  // namespace
}  // namespace granary::bench::fabric
