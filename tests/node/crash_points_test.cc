// A commit that writes at three nodes, and a process that is killed at each of its points: the coordinator's, or a
// participant's while the coordinator stands there. Then the others end, by SIGKILL or in order, and the whole cluster
// is started again on its directories, after a loss of power without the rings. What was decided, or without rings what
// is of an epoch that all logs have, is there on all nodes, the rest on none; every record can be written again.
//
// A failure names point and seed; all else follows from these. Not covered: recoveries that are cut short
// (tests/durability/), and what a loss of power may leave of the files (tests/durability/power_loss_test.cc).

#include <algorithm>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "tests/node/crash.h"
#include "tests/node/crash_points.h"
#include "tests/support/scale.h"
#include "tests/support/seeds.h"

namespace granary {
namespace {

using tests::Crash;
using tests::CrashChild;
using tests::Death;
using tests::Fate;
using tests::kBankNodes;
using tests::Point;
using tests::Setting;
using tests::Told;

/// The nodes that have not ended in order, when `victim` was killed.
std::vector<NodeNumber> not_ended(const Setting& setting, NodeNumber victim) {
  return setting.in_order ? std::vector<NodeNumber>{victim} : std::vector<NodeNumber>{1, 2, 3};
}

/// Starts again, and compares with what was told. `last`: the number of the last transaction.
void judge(Crash& crash, const Setting& setting, NodeNumber victim, const Told& told, std::uint64_t last, Fate fate) {
  std::uint64_t least = fate == Fate::kUndecided ? last - 1 : last;
  std::uint64_t most = least;
  ASSERT_GE(told.released, setting.rounds)
      << "the first rounds were not released, so nothing is asked of a loss of power";
  if (setting.power_lost) {
    const epoch::Epoch cut = crash.lose_power(not_ended(setting, victim));
    least = std::upper_bound(told.epochs.begin(), told.epochs.end(), cut) - told.epochs.begin();
    most = fate == Fate::kEnded && least + 1 == last && told.epochs.size() < last ? last : least;
    EXPECT_GE(least, told.released) << "what was released is in all logs";
    if (fate == Fate::kReleased) {
      EXPECT_EQ(least, last);
    }
    if (fate == Fate::kDecided) {
      EXPECT_LT(most, last);
    }
  }
  const std::optional<std::uint64_t> found = crash.start_again();
  ASSERT_TRUE(found.has_value());
  EXPECT_GE(*found, least) << "something is lost";
  EXPECT_LE(*found, most) << "something is there that was given up";
  if (!setting.power_lost) return;
  EXPECT_EQ(crash.start_again(), *found + kBankNodes) << "after all were killed once more, with their rings";
}

class CrashPoints : public testing::TestWithParam<std::pair<std::uint64_t, Point>> {
 protected:
  void SetUp() override {
    if (!base::kTestHooks) GTEST_SKIP() << "a build without sync points";
  }
  const Point& point() const { return GetParam().second; }
  /// Two settings that differ in the rings; others at other points, and all of them if there is time.
  void in_settings(const std::function<void(const Setting&)>& run) const {
    const std::uint64_t first = 2 * GetParam().first;
    for (const std::uint64_t seed : tests::seeds(tests::scaled(2), first)) {
      const Setting setting(seed);
      SCOPED_TRACE(tests::name_of(point().death) + ", " + setting.text());
      run(setting);
      if (HasFatalFailure()) return;
    }
  }
};

/// With their numbers.
auto numbered(const std::vector<Point>& all) {
  std::vector<std::pair<std::uint64_t, Point>> points;
  for (const Point& point : all) points.emplace_back(points.size(), point);
  return testing::ValuesIn(points);
}
std::string name_of(const testing::TestParamInfo<std::pair<std::uint64_t, Point>>& info) {
  return tests::name_of(info.param.second.death);
}

using CoordinatorDies = CrashPoints;
INSTANTIATE_TEST_SUITE_P(Points, CoordinatorDies, numbered(tests::coordinators_points()), name_of);

TEST_P(CoordinatorDies, AllOrNothingIsThereAfterwards) {
  in_settings([this](const Setting& setting) {
    const NodeNumber victim = setting.leader_dies ? 1 : 2;
    Crash crash(setting);
    CrashChild dying(crash.dying_coordinator(victim, point().death));
    CrashChild other(crash.bystander(3 - victim));
    CrashChild third(crash.bystander(3));
    for (CrashChild* const child : {&dying, &other, &third}) ASSERT_TRUE(child->run_until("runs"));
    crash.begin();
    ASSERT_TRUE(dying.wait().killed);
    const Told told = tests::read(dying.lines());
    ASSERT_NE(told.last, "has not died");
    crash.end({&other, &third});
    for (const auto& [lock, decided] : tests::locks_in_rings(crash.file(), victim))
      EXPECT_EQ(decided, point().fate != Fate::kUndecided) << lock;
    judge(crash, setting, victim, told, setting.rounds + 2, point().fate);
  });
}

using ParticipantDies = CrashPoints;
INSTANTIATE_TEST_SUITE_P(Points, ParticipantDies, numbered(tests::participants_points()), name_of);

/// Its coordinator goes on or is told, by one of the reasons for which a transaction ends, that it has not committed.
TEST_P(ParticipantDies, TheCoordinatorKnowsWhatBecameOfIt) {
  in_settings([this](const Setting& setting) {
    const NodeNumber victim = setting.leader_dies ? 1 : 3;
    Crash crash(setting);
    CrashChild dying(crash.bystander(victim));
    CrashChild coordinator(crash.standing_coordinator(2, point().death));
    CrashChild other(crash.bystander(4 - victim));
    for (CrashChild* const child : {&dying, &coordinator, &other}) ASSERT_TRUE(child->run_until("runs"));
    crash.begin();
    ASSERT_TRUE(coordinator.run_until("stands"));
    dying.kill();
    crash.somebody_died();
    ASSERT_TRUE(coordinator.run_until("has ended"));
    const Told told = tests::read(coordinator.lines());
    const std::uint64_t last = setting.rounds + 2;
    const bool committed = told.epochs.size() == last;
    crash.end({&coordinator, &other});
    judge(crash, setting, victim, told, last, committed ? Fate::kEnded : Fate::kUndecided);
  });
}

/// Durable at its coordinator, not at a participant: nobody is told that it is released, as without rings it is
/// nowhere.
TEST(CrashOfAllNodes, WhatOneLogDoesNotHaveYetIsGivenUpEverywhere) {
  if (!base::kTestHooks) GTEST_SKIP() << "a build without sync points";
  for (const std::uint64_t seed : tests::seeds(2, 0)) {
    const Setting setting(seed);
    SCOPED_TRACE(setting.text());
    constexpr NodeNumber kLate = 3;
    Crash crash(setting);
    CrashChild dying(crash.coordinator_with_own_log(2));
    CrashChild other(crash.bystander(1));
    CrashChild late(crash.bystander_with_late_log(kLate));
    for (CrashChild* const child : {&dying, &other, &late}) ASSERT_TRUE(child->run_until("runs"));
    crash.begin();
    ASSERT_TRUE(dying.wait().killed);
    crash.end({&other, &late});
    const Told told = tests::read(dying.lines());
    const std::uint64_t last = setting.rounds + 2;
    ASSERT_EQ(told.epochs.size(), last);
    EXPECT_EQ(told.last, "held back") << "one node's log has not the last transaction";
    ASSERT_GE(crash.durable(2), told.epochs.back());
    ASSERT_LT(crash.durable(kLate), told.epochs.back());
    judge(crash, setting, 2, told, last, Fate::kEnded);
  }
}

}  // namespace
}  // namespace granary
