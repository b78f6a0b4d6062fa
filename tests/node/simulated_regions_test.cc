// Nodes whose commits run in simulated HTM regions, in a process each: what other nodes do to a node's memory and its
// own regions exclude each other. How regions notice it: tests/rdma/shm/watched_memory_test.cc.

#include <fstream>

#include <granary/cluster.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "src/base/test_hooks.h"
#include "tests/node/accounts.h"
#include "tests/node/local_cluster.h"
#include "tests/support/crash_child.h"

namespace granary {
namespace {

using tests::Account;
using tests::ClusterFile;
using tests::CrashChild;
using tests::kAccounts;
using tests::node_options;

constexpr std::uint64_t kTwoNodes = 2;
constexpr std::int64_t kOfEach = 100;

/// One node's part: it adds up all accounts now and then, moves money between its own ones and between all of them, and
/// tells at the end whether nothing was lost and its regions have committed.
void run_node(const ClusterFile& file, NodeNumber node, const CrashChild::Report& report) {
  constexpr int kTransfers = 400;
  ClusterOptions options = node_options(file, node);
  options.database.htm = Htm::kSim;
  options.database.htm_simulation.spurious_per_thousand = 50;
  auto joined = Cluster::join(options);
  if (!joined.ok()) return report(joined.status().message());
  Cluster& cluster = **joined;
  const auto accounts = tests::make_accounts(cluster, IndexKind::kHash);
  if (const Status started = cluster.start(); !started.ok()) return report(started.message());
  auto worker = cluster.register_worker().value();
  const std::uint64_t own = (node - 1) * kAccounts;
  for (std::uint64_t i = 0; i < kAccounts; ++i)
    (void)worker->run([&](Transaction& t) { (void)t.put(accounts, own + i, {kOfEach}); });
  if (!cluster.barrier().ok()) return report("no barrier");
  std::uint64_t random = node * 77777u;
  std::int64_t sum = 0;
  for (int i = 0; i < kTransfers; ++i) {
    random = random * 6364136223846793005u + 1442695040888963407u;
    const bool far = i % 2 == 0;
    const std::uint64_t range = far ? kTwoNodes * kAccounts : kAccounts;
    const std::uint64_t from = (far ? 0 : own) + (random >> 33) % range;
    const std::uint64_t to = (far ? 0 : own) + (random >> 13) % range;
    const RunResult done = worker->run([&](Transaction& t) {
      const auto source = t.get(accounts, from);
      const auto target = t.get(accounts, to);
      if (!source || !target || from == to) return;
      (void)t.put(accounts, from, {source->balance - 1});
      (void)t.put(accounts, to, {target->balance + 1});
    });
    if (!done.committed()) return report("transfer: " + std::string(name(done.reason)));
    if (i % 40 != 39) continue;
    const RunResult added = worker->run([&](Transaction& t) {
      sum = 0;
      for (std::uint64_t account = 0; account < kTwoNodes * kAccounts; ++account) {
        const auto found = t.get(accounts, account);
        if (found) sum += found->balance;
      }
    });
    if (!added.committed()) return report("sum: " + std::string(name(added.reason)));
    if (sum != std::int64_t{kTwoNodes * kAccounts} * kOfEach) return report("the sum is " + std::to_string(sum));
  }
  if (!cluster.barrier().ok()) return report("no barrier at the end");
  report(cluster.database().statistics().htm.commits > 0 ? "whole" : "no region has committed");
}

TEST(SimulatedRegions, OfNodesInProcessesOfTheirOwnLoseNoMoney) {
  if (!base::kTestHooks) GTEST_SKIP() << "a build without the simulation";
  const ClusterFile file(kTwoNodes);
  std::vector<std::unique_ptr<CrashChild>> nodes;
  for (NodeNumber node = 1; node <= kTwoNodes; ++node) {
    nodes.push_back(std::make_unique<CrashChild>(
        [&file, node](const CrashChild::Report& report) { run_node(file, node, report); }));
  }
  for (const auto& node : nodes) {
    (void)node->wait();
    EXPECT_THAT(node->lines(), testing::ElementsAre("whole"));
  }
}

TEST(SimulatedRegions, AreRefusedWhereDevicesReachTheMemory) {
  const tests::TemporaryDirectory directory;
  const std::string path = directory / "cluster.toml";
  std::ofstream(path)
      << "[cluster]\nname = \"test\"\nrun_directory = \"run\"\nprovider = \"verbs\"\nkey_file = \"key\"\n"
         "[[node]]\nid = 1\naddress = \"127.0.0.1\"\n";
  ClusterOptions options{.file = path, .node = 1};
  options.database.htm = Htm::kSim;
  const Status refused = Cluster::join(options).status();
  EXPECT_EQ(refused.code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(refused.message(), testing::HasSubstr("kSim"));
  EXPECT_THAT(refused.message(), testing::HasSubstr("provider 'shm'"));
}

}  // namespace
}  // namespace granary
