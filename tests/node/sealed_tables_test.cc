// Immutable tables of a running cluster: each node seals its own keys, and the others know it behind a barrier.

#include <chrono>
#include <thread>

#include "tests/node/accounts.h"
#include "tests/node/local_cluster.h"

namespace granary {
namespace {

using tests::Account;
using tests::ClusterFile;
using tests::home_of;
using tests::kAccounts;
using tests::on_each_node;

constexpr unsigned kNodes = 2;

class SealedTables : public testing::TestWithParam<IndexKind> {};
INSTANTIATE_TEST_SUITE_P(Kinds, SealedTables, testing::Values(IndexKind::kHash, IndexKind::kOrdered),
                         [](const auto& kind) { return kind.param == IndexKind::kHash ? "Hash" : "Ordered"; });

/// What a node has sealed before a barrier is known to the others behind it.
TEST_P(SealedTables, AreNotValidated) {
  const ClusterFile file(kNodes);
  on_each_node(file, kNodes, [&](Cluster& cluster) {
    const auto names =
        cluster
            .create_table<std::uint64_t, Account>("names", {.index = GetParam(), .immutable = true}, Placement{home_of})
            .value();
    const auto copies =
        cluster.create_table<std::uint64_t, Account>("copies", {.immutable = true}, Placement::replicated()).value();
    ASSERT_TRUE(cluster.start().ok());
    auto worker = cluster.register_worker().value();
    for (std::uint64_t i = 0; i < kAccounts; ++i) {
      const std::uint64_t name = (cluster.node() - 1) * kAccounts + i;
      EXPECT_TRUE(worker
                      ->run([&](Transaction& t) {
                        EXPECT_EQ(t.put(names, name, {1}), Outcome::kOk);
                        EXPECT_EQ(t.put(copies, i, {1}), Outcome::kOk);
                      })
                      .committed());
    }
    for (const Table& table : {static_cast<const Table&>(names), static_cast<const Table&>(copies)}) {
      const Status sealed = cluster.database().seal(table);
      EXPECT_TRUE(sealed.ok()) << sealed.message();
    }
    ASSERT_TRUE(cluster.barrier().ok());
    const std::uint64_t sealed_in = cluster.database().current_epoch();
    while (cluster.database().current_epoch() < sealed_in + 3)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    const std::uint64_t before = cluster.statistics().validate_rounds;
    EXPECT_TRUE(worker
                    ->run([&](Transaction& t) {
                      for (std::uint64_t name = 0; name < kNodes * kAccounts; ++name)
                        EXPECT_TRUE(t.get(names, name).has_value());
                    })
                    .committed());
    EXPECT_EQ(cluster.statistics().validate_rounds, before);
    for (std::uint64_t name = 0; name < kNodes * kAccounts; name += kAccounts) {
      (void)worker->run([&](Transaction& t) { EXPECT_EQ(t.put(names, name, {0}), Outcome::kImmutable); });
    }
    ASSERT_TRUE(cluster.barrier().ok());
  });
}

}  // namespace
}  // namespace granary
