// Transactions across nodes allocate nothing once their memory is warm: neither as SmallBank's transfers nor as TPC-C's orders, of
// which one line after the other is another node's. Not covered: what goes by message (ordered tables, new keys, removals, old versions
// for snapshots), and scans.

#include <array>
#include <functional>
#include <memory>

#include <granary/cluster.h>
#include <gtest/gtest.h>

#include "tests/node/local_cluster.h"
#include "tests/support/allocations.h"

namespace granary {
namespace {

constexpr std::uint64_t kKeysEach = 32;  ///< of each node
constexpr unsigned kTwoNodes = 2;
constexpr int kWarm = 50;
constexpr int kMeasured = 50;

using Table64 = TypedTable<std::uint64_t, std::uint64_t>;
using Work = std::function<void(Transaction&, const Table64&, std::uint64_t turn)>;

NodeNumber home_of_number(std::string_view key) {
  std::uint64_t number = 0;
  (void)decode_key(key, number);
  return static_cast<NodeNumber>(number / kKeysEach + 1);
}

/// Allocations of so many transactions of node 1, behind others of the same kind; node 2 has the keys from kKeysEach on.
std::uint64_t allocations_of(const Work& work) {
  const tests::ClusterFile file(kTwoNodes, 1);
  std::uint64_t counted = 0;
  tests::on_each_node(
      file, kTwoNodes,
      [&](Cluster& cluster) {
        const Table64 table =
            cluster
                .create_table<std::uint64_t, std::uint64_t>("t", {.index = IndexKind::kHash}, Placement{home_of_number})
                .value();
        ASSERT_TRUE(cluster.start().ok());
        const std::unique_ptr<ClusterWorker> worker = cluster.register_worker().value();
        const auto run = [&](std::uint64_t turn) {
          return worker->run([&](Transaction& t) { work(t, table, turn); }).committed();
        };
        for (std::uint64_t i = 0; i < kKeysEach; ++i) {
          const std::uint64_t key = (cluster.node() - 1) * kKeysEach + i;
          ASSERT_TRUE(worker->run([&](Transaction& t) { (void)t.put(table, key, std::uint64_t{1}); }).committed());
        }
        ASSERT_TRUE(cluster.barrier().ok());
        if (cluster.node() == 1) {
          for (int i = 0; i < kWarm; ++i) ASSERT_TRUE(run(static_cast<std::uint64_t>(i)));
          const std::uint64_t before = tests::allocations;
          for (int i = 0; i < kMeasured; ++i) ASSERT_TRUE(run(static_cast<std::uint64_t>(i)));
          counted = tests::allocations - before;
        }
        ASSERT_TRUE(cluster.barrier().ok());
      },
      [](ClusterOptions& options) { options.database.snapshots = false; });
  return counted;
}

void move_one(Transaction& t, const Table64& table, std::uint64_t turn) {
  const std::uint64_t from = turn % kKeysEach, to = kKeysEach + turn % kKeysEach;
  const auto source = t.get(table, from), target = t.get(table, to);
  if (!source || !target) return;
  (void)t.put(table, from, *source - 1);
  (void)t.put(table, to, *target + 1);
}

class Allocations : public testing::Test {
 protected:
  void SetUp() override {
    if (!tests::kCountsAllocations) GTEST_SKIP() << "a sanitizer allocates";
  }
};

TEST_F(Allocations, NoneOfATransfer) { EXPECT_EQ(allocations_of(move_one), 0u); }

TEST_F(Allocations, NoneOfADeclaredTransfer) {
  EXPECT_EQ(allocations_of([](Transaction& t, const Table64& table, std::uint64_t turn) {
              const auto from = encode_key<std::uint64_t>(turn % kKeysEach);
              const auto to = encode_key<std::uint64_t>(kKeysEach + turn % kKeysEach);
              const std::array<Declared, 2> keys = {Declared{table, from, true}, Declared{table, to, true}};
              if (t.declare(keys) == Outcome::kOk) move_one(t, table, turn);
            }),
            0u);
}

TEST_F(Allocations, NoneOfAnOrderWithTenLinesElsewhere) {
  EXPECT_EQ(allocations_of([](Transaction& t, const Table64& table, std::uint64_t turn) {
              (void)t.put(table, turn % kKeysEach, turn);
              for (std::uint64_t line = 0; line < 10; ++line) {
                const std::uint64_t stock = kKeysEach + (turn + line) % kKeysEach;
                const auto quantity = t.get(table, stock);
                if (quantity) (void)t.put(table, stock, *quantity + 1);
              }
            }),
            0u);
}

TEST_F(Allocations, NoneOfGetsTogetherElsewhere) {
  EXPECT_EQ(
      allocations_of([](Transaction& t, const Table64& table, std::uint64_t turn) {
        std::array<std::array<char, 8>, 2> buffers;
        const auto one = encode_key<std::uint64_t>(kKeysEach + turn % kKeysEach);
        const auto other = encode_key<std::uint64_t>(kKeysEach + (turn + 1) % kKeysEach);
        std::array<MultiGet, 2> gets = {MultiGet{table, one, buffers[0], {}}, MultiGet{table, other, buffers[1], {}}};
        EXPECT_EQ(t.multi_get(gets), Outcome::kOk);
      }),
      0u);
}

}  // namespace
}  // namespace granary
