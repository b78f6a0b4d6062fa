// Nodes as processes of their own, one of which is killed or stopped: what needs it ends in clean errors, everything else goes on, and
// nothing is half done.

#include <chrono>
#include <string>

#include <granary/cluster.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/cluster/local_cluster.h"
#include "tests/support/crash_child.h"

namespace granary {
namespace {

using tests::ClusterFile;
using tests::CrashChild;
using Clock = std::chrono::steady_clock;

constexpr NodeNumber kVictim = 2;
constexpr std::uint64_t kKeys = 8;  ///< of each node
constexpr std::int64_t kMoney = 100;

NodeNumber home_of(std::string_view key) {
  std::uint64_t number = 0;
  (void)decode_key(key, number);
  return static_cast<NodeNumber>(number / kKeys + 1);
}

using Accounts = TypedTable<std::uint64_t, std::int64_t>;

/// Moves money between two accounts. What a dead node held stays locked until it is recovered, so nobody tries for ever.
RunResult transfer(ClusterWorker& worker, const Accounts& accounts, std::uint64_t from, std::uint64_t to) {
  return worker.run(
      [&](Transaction& t) {
        const auto source = t.get(accounts, from);
        const auto target = t.get(accounts, to);
        if (!source || !target) return;
        (void)t.put(accounts, from, *source - 1);
        (void)t.put(accounts, to, *target + 1);
      },
      {.max_attempts = 20});
}

void begin(Cluster& cluster, Accounts& accounts, std::unique_ptr<ClusterWorker>& worker) {
  accounts =
      cluster.create_table<std::uint64_t, std::int64_t>("accounts", {.index = IndexKind::kHash}, Placement{home_of})
          .value();
  const Status started = cluster.start();
  ASSERT_TRUE(started.ok()) << started.message();
  worker = cluster.register_worker().value();
  for (std::uint64_t i = 0; i < kKeys; ++i) {
    const std::uint64_t key = (cluster.node() - 1) * kKeys + i;
    ASSERT_TRUE(worker->run([&](Transaction& t) { (void)t.put(accounts, key, kMoney); }).committed());
  }
  ASSERT_TRUE(cluster.barrier().ok());
}

/// A node that moves money all over until somebody is dead, then shows that the rest goes on.
void survive(const ClusterFile& file, NodeNumber node, const CrashChild::Report& report) {
  auto cluster = Cluster::join(tests::node_options(file, node)).value();
  Accounts accounts;
  std::unique_ptr<ClusterWorker> worker;
  begin(*cluster, accounts, worker);
  report("runs");
  std::uint64_t turn = node;
  const auto dead_by = Clock::now() + std::chrono::seconds(20);
  AbortReason reason = AbortReason::kNone;
  while (reason != AbortReason::kNodeUnreachable && Clock::now() < dead_by) {
    turn = turn * 6364136223846793005u + 1442695040888963407u;
    reason = transfer(*worker, accounts, (turn >> 33) % (3 * kKeys), (turn >> 20) % (3 * kKeys)).reason;
  }
  report(std::string(name(reason)));
  // Its accounts stay out of reach, at once each time.
  const auto asked = Clock::now();
  report(std::string(name(transfer(*worker, accounts, (kVictim - 1) * kKeys, 0).reason)));
  const bool soon = Clock::now() - asked < std::chrono::seconds(2);
  // Between the others it goes on, and so do the epochs.
  std::uint64_t first_epoch = 0;
  std::uint64_t last_epoch = 0;
  std::uint64_t moved = 0;
  const auto until = Clock::now() + std::chrono::seconds(1);
  for (std::uint64_t tried = 0; Clock::now() < until; ++tried) {
    const std::uint64_t there = (node == 1 ? 2 : 0) * kKeys + tried % kKeys;
    const RunResult done = transfer(*worker, accounts, (node - 1) * kKeys + tried % kKeys, there);
    if (!done.committed()) continue;  // what the dead held is locked until it is recovered
    ++moved;
    if (first_epoch == 0) first_epoch = done.ticket.epoch;
    last_epoch = done.ticket.epoch;
  }
  report(soon && moved > 0 && last_epoch > first_epoch ? "goes on" : "stuck: " + std::to_string(moved));
}

void be_victim(const ClusterFile& file, const CrashChild::Report& report) {
  auto cluster = Cluster::join(tests::node_options(file, kVictim)).value();
  Accounts accounts;
  std::unique_ptr<ClusterWorker> worker;
  begin(*cluster, accounts, worker);
  report("runs");
  for (std::uint64_t turn = 1;; ++turn) {
    (void)transfer(*worker, accounts, (turn * 7) % (3 * kKeys), (turn * 5) % (3 * kKeys));
  }
}

TEST(ClusterKill, TheOthersGoOnWithoutADeadNode) {
  const ClusterFile file(3);
  CrashChild first([&](const CrashChild::Report& report) { survive(file, 1, report); });
  CrashChild third([&](const CrashChild::Report& report) { survive(file, 3, report); });
  CrashChild victim([&](const CrashChild::Report& report) { be_victim(file, report); });
  for (CrashChild* const child : {&victim, &first, &third}) ASSERT_TRUE(child->run_until("runs"));
  victim.run_for(std::chrono::milliseconds(100));
  victim.kill();
  for (CrashChild* const survivor : {&first, &third}) {
    EXPECT_EQ(survivor->wait().exit_code, 0);
    EXPECT_THAT(survivor->lines(), testing::ElementsAre("runs", "node_unreachable", "node_unreachable", "goes on"));
  }
}

}  // namespace
}  // namespace granary
