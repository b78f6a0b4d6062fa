// The figures of a run in which a node was killed, from time lines made by hand.

#include "bench/cluster/killed_run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bench/cluster/recovery_report.h"

namespace granary::bench::cluster {
namespace {

constexpr std::uint64_t kMs = 1'000'000;
constexpr std::uint64_t kBegin = 7'000 * kMs;
constexpr std::size_t kTicksOfSecond = 200;

/// Three nodes with 10 commits in each tick of two seconds, and a release in each fourth. The second one is killed
/// after 500 ms, and started again after 1000 ms.
class Run : public testing::Test {
 protected:
  Run() {
    run_.victim = 1;
    run_.begins_ns = kBegin;
    run_.killed_ns = at(500);
    run_.restarted_ns = at(1000);
    for (int node = 0; node < 3; ++node) {
      NodeCourse course;
      for (std::size_t tick = 0; tick < 2 * kTicksOfSecond; ++tick) {
        course.ticks.push_back({4, 3, 3, 1, 2});
        course.released_ns.push_back(tick % 4 == 0 ? kBegin + tick * kTickNs : 0);
      }
      run_.nodes.push_back(std::move(course));
    }
    stop(1, 500, 1500);
  }
  static std::uint64_t at(std::uint64_t ms) { return kBegin + ms * kMs; }
  /// The node commits nothing from here to there.
  void stop(std::size_t node, std::size_t from_ms, std::size_t to_ms) {
    for (std::size_t tick = from_ms / 5; tick < to_ms / 5; ++tick) run_.nodes[node].ticks[tick] = {};
  }
  std::optional<double> figure(std::string_view name) const {
    for (const RecoveryFigure& each : recovery_figures(run_)) {
      if (each.name == name) return each.value;
    }
    ADD_FAILURE() << name;
    return std::nullopt;
  }

  KilledRun run_;
};

TEST_F(Run, StepsCountFromTheKill) {
  run_.steps = {at(510), at(512), at(513), at(520), at(530), at(1100), at(1400)};
  EXPECT_EQ(figure("noticed_ms"), 10);
  EXPECT_EQ(figure("quiet_ms"), 12);
  EXPECT_EQ(figure("claimed_ms"), 13);
  EXPECT_EQ(figure("settled_ms"), 20);
  EXPECT_EQ(figure("recovered_ms"), 30);
  EXPECT_EQ(figure("joins_ms"), 600);
  EXPECT_EQ(figure("serves_ms"), 900);
  run_.steps[4] = 0;
  EXPECT_EQ(figure("recovered_ms"), std::nullopt) << "it was not seen";
}

TEST_F(Run, KeysAreBackWhenTheFirstOtherNodeUsesThem) {
  EXPECT_EQ(figure("keys_back_ms"), std::nullopt);
  run_.nodes[0].victim_used_ns = at(1480);
  run_.nodes[1].victim_used_ns = at(1450);  // its own
  run_.nodes[2].victim_used_ns = at(1470);
  EXPECT_EQ(figure("keys_back_ms"), 970);
  EXPECT_EQ(figure("restart_to_keys_back_ms"), 470);
}

TEST_F(Run, SurvivorsThatGoOnHaveNoDip) {
  EXPECT_EQ(figure("dip_percent"), 0);
  EXPECT_EQ(figure("below_half_ms"), 0);
  EXPECT_EQ(figure("longest_silence_ms"), 0);
}

TEST_F(Run, ADipIsThatOfTheSurvivorsTogether) {
  stop(0, 500, 620);
  EXPECT_EQ(figure("dip_percent"), 50);
  EXPECT_EQ(figure("below_half_ms"), 0) << "the other one goes on";
  EXPECT_EQ(figure("longest_silence_ms"), 115) << "the tick of the kill does not count";
  stop(2, 520, 600);
  EXPECT_EQ(figure("dip_percent"), 100);
  EXPECT_EQ(figure("below_half_ms"), 100);
}

TEST_F(Run, WhatWasBeforeTheKillIsNoDip) {
  stop(0, 100, 200);
  EXPECT_EQ(figure("longest_silence_ms"), 0);
  EXPECT_EQ(figure("dip_percent"), 0);
}

TEST_F(Run, ADipNeedsSomethingBefore) {
  run_.killed_ns = at(20);
  EXPECT_EQ(figure("dip_percent"), std::nullopt);
  EXPECT_EQ(figure("below_half_ms"), std::nullopt);
  EXPECT_EQ(figure("full_rate_ms"), std::nullopt);
}

TEST_F(Run, AllAreAsFastAgainWhenTheNodeIs) {
  EXPECT_EQ(figure("full_rate_ms"), 950)
      << "of 250 ms less than 10 % of all commits may be missing: 50 ms of one node are 7 %";
  stop(1, 500, 2000);
  EXPECT_EQ(figure("full_rate_ms"), std::nullopt);
}

TEST_F(Run, ResultsWaitFromTheLastReleaseBeforeTheKill) {
  EXPECT_EQ(figure("longest_release_gap_ms"), 20);
  for (std::size_t tick = 490 / 5; tick < 700 / 5; ++tick) run_.nodes[2].released_ns[tick] = 0;
  EXPECT_EQ(figure("longest_release_gap_ms"), 220) << "from 480 to 700";
  for (std::size_t tick = 490 / 5; tick < 400; ++tick) run_.nodes[2].released_ns[tick] = 0;
  EXPECT_EQ(figure("longest_release_gap_ms"), 1520) << "to the end";
  for (NodeCourse& node : run_.nodes) node.released_ns.assign(400, 0);
  EXPECT_EQ(figure("longest_release_gap_ms"), std::nullopt) << "nothing ever was";
}

TEST_F(Run, AKillInTheLastBin) {
  run_.killed_ns = at(1999);
  run_.restarted_ns = 0;
  for (const RecoveryFigure& each : recovery_figures(run_)) EXPECT_GE(each.value.value_or(0), 0) << each.name;
}

TEST_F(Run, TheLastBinMayNotBeWhole) {
  for (NodeCourse& node : run_.nodes) {
    node.ticks.resize(397);
    node.released_ns.resize(397);
  }
  EXPECT_EQ(bins(run_), 40u);
  EXPECT_EQ(committed(counts_of(run_.nodes[0], 39)), 70u);
  EXPECT_EQ(figure("dip_percent"), 0) << "fewer ticks are no dip";
}

TEST_F(Run, MedianAndGreatestAreThoseOfTheRepeatsThatHaveOne) {
  std::vector<KilledRun> runs;
  for (const std::uint64_t noticed : {530u, 0u, 510u, 540u, 520u}) {
    run_.steps[0] = noticed == 0 ? 0 : at(noticed);
    runs.push_back(run_);
  }
  const std::vector<FigureOfAll> all = over_repeats(runs);
  EXPECT_EQ(all[0].figure.name, "noticed_ms");
  EXPECT_EQ(all[0].figure.value, 20);
  EXPECT_EQ(all[0].greatest, 40);
  EXPECT_EQ(all[0].runs, 4u);
  EXPECT_EQ(all[1].figure.value, std::nullopt);
  EXPECT_EQ(all[1].runs, 0u);
}

TEST_F(Run, AsText) {
  run_.steps = {at(510), at(512), 0, 0, 0, 0, 0};
  const std::string text = recovery_text({"node 1", "node 2", "node 3"}, {run_}, 0);
  for (const char* expected :
       {"node 2 was killed", "until its death was noticed, ms", "10.0", "0 of 1", "1 of 1", "of repeat 1 of 1",
        "node 2 is killed (0.0); death noticed (10.0)", "started again (500.0)", "-500 to -200"})
    EXPECT_NE(text.find(expected), std::string::npos) << expected << " missing in\n" << text;
}

TEST_F(Run, AsJson) {
  run_.steps = {at(510), at(512), 0, 0, 0, 0, 0};
  const auto json = recovery_json({"node 1", "node 2", "node 3"}, {run_, run_});
  EXPECT_EQ(json["node"], "node 2");
  EXPECT_EQ(json["bin_ms"], 50);
  EXPECT_EQ(json["figures"]["noticed_ms"]["median"], 10.0);
  EXPECT_EQ(json["figures"]["noticed_ms"]["greatest"], 10.0);
  EXPECT_EQ(json["figures"]["noticed_ms"]["runs"], 2);
  EXPECT_TRUE(json["figures"]["keys_back_ms"]["median"].is_null());
  ASSERT_EQ(json["repeats"].size(), 2u);
  const auto& repeat = json["repeats"][1];
  EXPECT_EQ(repeat["killed_ms"], 500.0);
  EXPECT_EQ(repeat["restarted_ms"], 1000.0);
  EXPECT_EQ(repeat["steps_ms"]["quiet"], 512.0);
  EXPECT_TRUE(repeat["steps_ms"]["serves"].is_null());
  EXPECT_EQ(repeat["figures"]["quiet_ms"], 12.0);
  for (const char* counts : {"committed", "here", "elsewhere", "with_killed_node", "gave_up", "aborted"})
    EXPECT_EQ(repeat["time_line"]["node 3"][counts].size(), 40u) << counts;
  EXPECT_EQ(repeat["time_line"]["node 3"]["committed"][0], 100);
  EXPECT_EQ(repeat["time_line"]["node 3"]["aborted"][0], 20);
  EXPECT_EQ(repeat["time_line"]["node 2"]["committed"][10], 0);
  ASSERT_EQ(repeat["committed"].size(), 40u);
  EXPECT_EQ(repeat["committed"][0]["since_kill_ms"], -500.0);
  EXPECT_EQ(repeat["committed"][0]["survivors_per_second"], 2 * 100 * 20.0) << "100 in 50 ms on each of two nodes";
  EXPECT_EQ(repeat["committed"][0]["killed_node_per_second"], 100 * 20.0);
  EXPECT_EQ(repeat["committed"][10]["killed_node_per_second"], 0.0);
}

}  // namespace
}  // namespace granary::bench::cluster
