// Nodes as processes of their own, one of which is killed: what needs it ends in clean errors, everything else goes on,
// and nothing is half done.

#include <chrono>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/node/bank.h"
#include "tests/support/crash_child.h"

namespace granary {
namespace {

using tests::Branch;
using tests::ClusterFile;
using tests::CrashChild;
using tests::first_of;
using tests::kBankNodes;
using tests::kKeys;
using Clock = std::chrono::steady_clock;

constexpr NodeNumber kKilled = 2;

/// A node that moves money all over until somebody is dead, then shows that the rest goes on. No transaction that needs
/// the dead node, or what it held, is tried for ever. `done` counts the survivors that have shown it: each needs the
/// other until then.
void survive(const ClusterFile& file, NodeNumber node, std::atomic<int>& done, const CrashChild::Report& report) {
  Branch branch(tests::node_options(file, node));
  report("runs");
  std::uint64_t turn = node;
  AbortReason reason = AbortReason::kNone;
  while (reason != AbortReason::kNodeUnreachable) {
    turn = turn * 6364136223846793005u + 1442695040888963407u;
    reason = branch.transfer((turn >> 33) % (kBankNodes * kKeys), (turn >> 20) % (kBankNodes * kKeys)).reason;
  }
  report(std::string(name(reason)));
  // Its accounts stay out of reach, at once each time.
  const auto asked = Clock::now();
  report(std::string(name(branch.transfer(first_of(kKilled), 0).reason)));
  const bool soon = Clock::now() - asked < std::chrono::seconds(2);
  // Between the others it goes on, and so do the epochs.
  std::uint64_t first_epoch = 0;
  std::uint64_t last_epoch = 0;
  std::uint64_t moved = 0;
  const auto until = Clock::now() + std::chrono::seconds(10);
  for (std::uint64_t tried = 0; last_epoch == first_epoch && Clock::now() < until; ++tried) {
    const NodeNumber there = node == 1 ? 3 : 1;
    const RunResult ran = branch.transfer(first_of(node) + tried % kKeys, first_of(there) + tried % kKeys);
    if (!ran.committed()) continue;  // what the dead held is locked until it is recovered
    ++moved;
    if (first_epoch == 0) first_epoch = ran.ticket.epoch;
    last_epoch = ran.ticket.epoch;
  }
  report(soon && moved > 0 && last_epoch > first_epoch ? "goes on" : "stuck: " + std::to_string(moved));
  ++done;
  (void)tests::comes_true([&] { return done == 2; });
}

void be_victim(const ClusterFile& file, const CrashChild::Report& report) {
  Branch branch(tests::node_options(file, kKilled));
  report("runs");
  for (std::uint64_t turn = 1;; ++turn)
    (void)branch.transfer((turn * 7) % (kBankNodes * kKeys), (turn * 5) % (kBankNodes * kKeys));
}

TEST(ClusterKill, TheOthersGoOnWithoutADeadNode) {
  const ClusterFile file(kBankNodes);
  auto& done = tests::map_shared<std::atomic<int>>();
  CrashChild first([&](const CrashChild::Report& report) { survive(file, 1, done, report); });
  CrashChild third([&](const CrashChild::Report& report) { survive(file, 3, done, report); });
  CrashChild victim([&](const CrashChild::Report& report) { be_victim(file, report); });
  for (CrashChild* const child : {&victim, &first, &third}) ASSERT_TRUE(child->run_until("runs"));
  victim.run_for(std::chrono::milliseconds(100));
  victim.kill();
  for (CrashChild* const survivor : {&first, &third}) {
    EXPECT_EQ(survivor->wait().exit_code, 0);
    EXPECT_THAT(survivor->lines(), testing::ElementsAre("runs", "node_unreachable", "node_unreachable", "goes on"));
  }
}

/// It dies in the middle of a commit, with locks here and there: whoever meets them is told, with any number of
/// attempts.
class KilledHolding : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Points, KilledHolding,
                         testing::Values("across.locked", "across.validated", "across.installed"),
                         [](const auto& point) { return std::string(point.param).substr(7); });

TEST_P(KilledHolding, WhatItHeldIsNotWaitedForForEver) {
  if (!base::kTestHooks) GTEST_SKIP() << "a build without sync points";
  const ClusterFile file(kBankNodes);
  const std::uint64_t held = first_of(1), held_too = first_of(3);
  auto& ready = tests::map_shared<std::atomic<bool>>();
  auto& dead = tests::map_shared<std::atomic<bool>>();
  auto& done = tests::map_shared<std::atomic<int>>();
  const auto survivor = [&](NodeNumber node) {
    return [&, node](const CrashChild::Report& report) {
      Branch branch(tests::node_options(file, node));
      report("runs");
      (void)tests::comes_true([&] { return dead.load(); });
      // At its owner and from elsewhere; the first one perhaps before the holder is known to be dead.
      for (const std::uint64_t key : {held, held_too, held})
        report(std::string(name(branch.transfer(key, first_of(node) + 1).reason)));
      report(std::string(name(branch.surely_transfer(first_of(1) + 2, first_of(3) + 2).reason)));
      ++done;
      (void)tests::comes_true([&] { return done == 2; });  // then the other may end
    };
  };
  CrashChild first(survivor(1));
  CrashChild third(survivor(3));
  CrashChild victim([&](const CrashChild::Report& report) {
    Branch branch(tests::node_options(file, kKilled));
    report("runs");
    (void)tests::comes_true([&] { return ready.load(); });
    base::set_sync_hook(tests::die_at(GetParam()));
    (void)branch.transfer(held, held_too);
  });
  for (CrashChild* const child : {&victim, &first, &third}) ASSERT_TRUE(child->run_until("runs"));
  ready = true;
  EXPECT_TRUE(victim.wait().killed);
  dead = true;
  for (CrashChild* const child : {&first, &third}) {
    EXPECT_EQ(child->wait().exit_code, 0);
    EXPECT_THAT(child->lines(),
                testing::ElementsAre("runs", "node_unreachable", "node_unreachable", "node_unreachable", "none"));
  }
}

/// D stands still from the death on, for which a checkpoint waits.
TEST(ClusterKill, ACheckpointThatCannotCountYetKeepsNobodyFromEnding) {
  const ClusterFile file(kBankNodes, 2, "", "data_directory = \"data\"\nreliable_directory = \"rings\"\n");
  auto& dead = tests::map_shared<std::atomic<bool>>();
  const auto survivor = [&](NodeNumber node) {
    return [&, node](const CrashChild::Report& report) {
      ClusterOptions options = tests::node_options(file, node);
      options.database.checkpoint_interval_s = 1;
      Branch branch(options);
      report("runs");
      (void)tests::comes_true([&] { return dead.load(); });
      std::this_thread::sleep_for(std::chrono::milliseconds(2'500));
      const auto told = Clock::now();
      branch.worker.reset();
      const Status left = branch.cluster->leave();
      branch.cluster.reset();
      const bool soon = Clock::now() - told < std::chrono::seconds(5);
      report(left.ok() && soon ? "ended" : "late: " + left.message());
    };
  };
  CrashChild first(survivor(1));
  CrashChild third(survivor(3));
  CrashChild victim([&](const CrashChild::Report& report) { be_victim(file, report); });
  for (CrashChild* const child : {&victim, &first, &third}) ASSERT_TRUE(child->run_until("runs"));
  victim.kill();
  dead = true;
  for (CrashChild* const child : {&first, &third}) {
    EXPECT_EQ(child->wait().exit_code, 0);
    EXPECT_THAT(child->lines(), testing::ElementsAre("runs", "ended"));
  }
}

/// Also if it happens as soon as all have started.
TEST(ClusterKill, TheDeathIsToldToTheSinksOfTheOthers) {
  const ClusterFile file(kBankNodes);
  auto& dead = tests::map_shared<std::atomic<bool>>();
  const auto survivor = [&](NodeNumber node) {
    return [&, node](const CrashChild::Report& report) {
      std::atomic<bool> told = false;
      ClusterOptions options = tests::node_options(file, node);
      options.database.notices = [&](const Notice& notice) {
        if (notice.topic != NoticeTopic::kPeers || notice.node != kKilled || told) return;
        report(std::string(name(notice.severity)) + " before: " + (dead ? "no" : "yes"));
        told = true;
      };
      Branch branch(options);
      report("runs");
      (void)tests::comes_true([&] { return told.load(); });
    };
  };
  CrashChild first(survivor(1));
  CrashChild third(survivor(3));
  CrashChild victim([&](const CrashChild::Report& report) { be_victim(file, report); });
  for (CrashChild* const child : {&victim, &first, &third}) ASSERT_TRUE(child->run_until("runs"));
  dead = true;
  victim.kill();
  for (CrashChild* const child : {&first, &third}) {
    EXPECT_EQ(child->wait().exit_code, 0);
    EXPECT_THAT(child->lines(), testing::ElementsAre("runs", "error before: no"));
  }
}

TEST(ClusterKill, OneNodeDoesNotComeBackAlone) {
  const ClusterFile file(kBankNodes);
  auto& late = tests::map_shared<std::atomic<bool>>();
  const auto runs = [&](NodeNumber node) {
    return [&, node](const CrashChild::Report& report) {
      Branch branch(tests::node_options(file, node));
      report("runs");
      (void)tests::comes_true([&] { return late.load(); });
    };
  };
  CrashChild first(runs(1));
  CrashChild second(runs(kKilled));
  CrashChild third(runs(3));
  for (CrashChild* const child : {&first, &second, &third}) ASSERT_TRUE(child->run_until("runs"));
  second.kill();
  CrashChild again([&](const CrashChild::Report& report) {
    report(Cluster::join(tests::node_options(file, kKilled)).status().message());
  });
  EXPECT_EQ(again.wait().exit_code, 0);
  late = true;
  EXPECT_THAT(again.lines(),
              testing::ElementsAre(testing::HasSubstr("one node cannot come back alone. End all nodes")));
}

}  // namespace
}  // namespace granary
