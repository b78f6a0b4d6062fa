// Memory of a running cluster's nodes that another node uses up, or sets free: the memory limit of the node that has
// the rows, and the registered buffers of the node that reads them. Not covered: several nodes that empty one, and a
// node that is full of old versions for a snapshot.

#include <atomic>
#include <chrono>
#include <string>
#include <thread>

#include "tests/node/local_cluster.h"

namespace granary {
namespace {

using tests::ClusterFile;
using tests::on_each_node;

constexpr unsigned kNodes = 2;

/// A key begins with its node's number.
NodeNumber home_of(std::string_view key) { return static_cast<NodeNumber>(key[0] - '0'); }
std::string key_of(NodeNumber node, std::size_t number) { return std::to_string(node) + "-" + std::to_string(number); }

class FullNode : public testing::TestWithParam<IndexKind> {
 protected:
  static Table make_table(Cluster& cluster, std::string_view name, std::size_t value_bytes) {
    const TableOptions options{.max_value_bytes = static_cast<std::uint32_t>(value_bytes),
                               .index = GetParam(),
                               .expected_keys = 10'000,
                               .shared = true};
    return cluster.create_table(name, options, Placement{home_of}).value();
  }
  static void pass_periods(Cluster& cluster, std::uint64_t periods) {
    const std::uint64_t end = cluster.database().current_epoch() + periods * Options().snapshot_epochs;
    while (cluster.database().current_epoch() < end) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
};
INSTANTIATE_TEST_SUITE_P(Kinds, FullNode, testing::Values(IndexKind::kHash, IndexKind::kOrdered),
                         [](const auto& kind) { return kind.param == IndexKind::kHash ? "Hash" : "Ordered"; });

/// Node 2 fills its memory, and node 1 removes most of the rows and updates the others.
TEST_P(FullNode, IsEmptiedAndUpdatedFromAnotherNode) {
  constexpr std::size_t kValueBytes = 20'000, kOneStays = 10, kRounds = 3;
  const std::string value(kValueBytes, 'v');
  const ClusterFile file(kNodes);
  std::atomic<std::size_t> rows = 0;  // counted by node 2, read by node 1 behind the barrier
  on_each_node(file, kNodes, [&](Cluster& cluster) {
    const Table table = make_table(cluster, "t", kValueBytes);
    ASSERT_TRUE(cluster.start().ok());
    const auto worker = cluster.register_worker().value();
    if (cluster.node() == 2) {
      RunResult last;
      while ((last = worker->run([&](Transaction& t) { (void)t.insert(table, key_of(2, rows), value); }))) ++rows;
      EXPECT_EQ(last.reason, AbortReason::kOutOfMemory) << name(last.reason);
    }
    ASSERT_TRUE(cluster.barrier().ok());
    if (cluster.node() == 1) {
      pass_periods(cluster, 2);  // snapshots need all of it
      for (std::size_t i = 0; i < rows; ++i) {
        if (i % kOneStays == 0) continue;
        const RunResult done = worker->run([&](Transaction& t) { (void)t.remove(table, key_of(2, i)); });
        EXPECT_TRUE(done) << i << " of " << rows << ": " << name(done.reason);
        if (!done) break;
      }
      for (std::size_t round = 0; round < kRounds; ++round) {
        pass_periods(cluster, 4);
        for (std::size_t i = 0; i < rows; i += kOneStays) {
          const RunResult done = worker->run([&](Transaction& t) { (void)t.update(table, key_of(2, i), value); });
          EXPECT_TRUE(done) << i << " of " << rows << " in round " << round << ": " << name(done.reason);
          if (!done) break;
        }
      }
    }
    ASSERT_TRUE(cluster.barrier().ok());
  });
}

/// A transaction of node 1 reads more of node 2 than node 1 has buffers for. Another worker reads records of all sizes
/// afterwards. Buffers have room for the largest value of a table, whatever the present one is.
TEST_P(FullNode, ATransactionThatUsesUpTheBuffersSpoilsNoneForOthers) {
  constexpr std::size_t kRows = 250, kSmallBytes = 20, kLargeBytes = 100'000, kLargestBytes = 150'000;
  const ClusterFile file(kNodes);
  const auto read_all = [&](Cluster& cluster) {
    const Table small = make_table(cluster, "small", kSmallBytes), large = make_table(cluster, "large", kLargeBytes),
                largest = make_table(cluster, "largest", kLargestBytes);
    ASSERT_TRUE(cluster.start().ok());
    const auto worker = cluster.register_worker().value(), other = cluster.register_worker().value();
    const auto put = [&](const Table& table, std::size_t row) {
      EXPECT_TRUE(worker->run([&](Transaction& t) { (void)t.put(table, key_of(2, row), "value"); }));
    };
    if (cluster.node() == 2) {
      for (std::size_t row = 0; row < kRows; ++row) put(large, row);
      put(small, 0);
      put(largest, 0);
    }
    ASSERT_TRUE(cluster.barrier().ok());
    if (cluster.node() == 1) {
      std::string seen;
      const RunResult used_up = worker->run(
          [&](Transaction& t) {
            for (std::size_t i = 0; i < kRows && t.get(large, key_of(2, i), seen) == Outcome::kOk; ++i) continue;
          },
          {.max_attempts = 1});
      EXPECT_EQ(used_up.reason, AbortReason::kBuffersUsedUp);
      for (const Table& table : {small, large, largest, small}) {
        Outcome got = Outcome::kOk;
        const RunResult done = other->run([&](Transaction& t) { got = t.get(table, key_of(2, 0), seen); });
        EXPECT_EQ(got, Outcome::kOk) << name(got);
        EXPECT_TRUE(done) << name(done.reason);
      }
    }
    ASSERT_TRUE(cluster.barrier().ok());
  };
  // The reads take longer than a transaction may be open, on a machine that is busy or under a sanitizer.
  on_each_node(file, kNodes, read_all, [](ClusterOptions& options) { options.database.max_open_epochs = 0; });
}

}  // namespace
}  // namespace granary
