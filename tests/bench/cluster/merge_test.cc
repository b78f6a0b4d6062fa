// Nodes' reports, written as a node writes them, read back, merged, and shown side by side.

#include "bench/cluster/merge.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "bench/cluster/node_report.h"
#include "bench/cluster/node_table.h"
#include "bench/harness/json_report.h"

namespace granary::bench::cluster {
namespace {

/// A node that committed so many requests of one type, half of them in 10 us and half in 1000 us per `slowness`.
Measurement node(std::uint64_t committed, std::uint64_t slowness = 1) {
  Measurement run;
  run.elapsed_ns = 2'000'000'000;
  run.nanoseconds_per_tick = 0.5;
  run.types.resize(2);
  run.types[0].name = "pay";
  run.types[0].committed = committed;
  run.types[0].rolled_back = 10;
  run.types[0].transactions = 2 * committed + 10;
  run.types[0].unreleased = 5;
  run.begun.emplace();
  run.begun->log_bytes = 8;
  run.types[0].aborts[static_cast<std::size_t>(AbortReason::kNodeChanged)] = 7;
  run.types[1].name = "look";
  run.types[0].latency.record(20'000, committed / 2);
  run.types[0].latency.record(2'000'000 * slowness, committed / 2);
  run.store.memory_bytes = 100;
  run.store.page_kind = "4 KiB";
  run.store.htm.backend = "off";
  run.store.htm.conflicts = 3;
  run.extra = {{"some_share", slowness == 1 ? 0.1 : 0.4}};
  run.verified = true;
  return run;
}

/// As it arrives from another process.
Measurement sent(const Measurement& run, const NodeShare& share = {.node = 0, .nodes = 2, .in_cluster = true}) {
  const BenchCommand command{.name = "bank"};
  const FlagValues flags;
  Settings settings;
  settings.share = share;
  const auto read = measurement_of(json_report({command, flags, settings, {}, 1, {run}}));
  EXPECT_TRUE(read.ok()) << read.status().message();
  return read.ok() ? *read : Measurement{};
}

TEST(MergedReports, AddUpCounts) {
  const Measurement all = merged(std::vector{sent(node(1000)), sent(node(3000))});
  EXPECT_EQ(all.total().committed, 4000u);
  EXPECT_EQ(all.total().rolled_back, 20u);
  EXPECT_EQ(all.total().transactions, 8020u);
  EXPECT_EQ(all.total().unreleased, 10u);
  EXPECT_EQ(all.baseline().log_bytes, 16u);
  EXPECT_EQ(all.types[0].aborts[static_cast<std::size_t>(AbortReason::kNodeChanged)], 14u);
  EXPECT_DOUBLE_EQ(all.throughput(), 2010);
  EXPECT_EQ(all.store.memory_bytes, 200u);
  EXPECT_EQ(all.store.page_kind, "4 KiB");
  EXPECT_EQ(all.store.htm.conflicts, 6u);
}

TEST(MergedReports, LatenciesAreThoseOfAllRequestsTogether) {
  const Measurement all = merged(std::vector{sent(node(100)), sent(node(1900, 5))});
  EXPECT_NEAR(all.percentile_us(all.types[0], 50), 10, 0.1);
  EXPECT_NEAR(all.percentile_us(all.types[0], 51), 1000, 10);
  EXPECT_NEAR(all.percentile_us(all.types[0], 60), 5000, 50);
  EXPECT_EQ(all.types[0].latency.count(), 2000u);
}

TEST(MergedReports, FiguresAreMeansByRequests) {
  const Measurement all = merged(std::vector{sent(node(990)), sent(node(2990, 5))});
  ASSERT_EQ(all.extra.size(), 1u);
  EXPECT_DOUBLE_EQ(all.extra[0].value, (0.1 * 1000 + 0.4 * 3000) / 4000);
}

/// A mean over the distributed transactions of each node: the node that has few of them counts little, however many
/// requests it had.
TEST(MergedReports, MeansAreMergedByHowManyTheyAreOf) {
  std::vector<Measurement> nodes{node(9000), node(1000)};
  nodes[0].extra = {{"messages_each", 2, 10}, {"ping_us", 0, 0}};
  nodes[1].extra = {{"messages_each", 4, 30}, {"ping_us", 0, 0}};
  const Measurement all = merged(std::vector{sent(nodes[0]), sent(nodes[1])});
  ASSERT_EQ(all.extra.size(), 2u);
  EXPECT_DOUBLE_EQ(all.extra[0].value, 3.5);
  EXPECT_EQ(all.extra[0].of, 40);
  EXPECT_EQ(all.extra[1].value, 0) << "of none";
}

/// A node of which so many transactions, of 100, read three records of others each.
Measurement node_with_others(std::uint64_t distributed, const ClockStatus& clock) {
  Measurement run = node(1000);
  run.cluster = ClusterFigures{.attempts = 100, .elsewhere = {}, .clock = clock};
  run.cluster->elsewhere.transactions = distributed;
  run.cluster->elsewhere.reads = 3 * distributed;
  return run;
}

TEST(MergedReports, WhatNodesDidAtEachOtherAddsUp) {
  const ClockStatus near{.source = "ptp", .state = "synchronized", .synchronized = true, .delta_us = 50, .jumps = 1};
  const ClockStatus far{.source = "ptp", .state = "synchronized", .synchronized = true, .delta_us = 90, .jumps = 0};
  const Measurement all = merged(std::vector{sent(node_with_others(10, near)), sent(node_with_others(50, far))});
  ASSERT_TRUE(all.cluster);
  EXPECT_EQ(all.cluster->elsewhere.reads, 180u);
  EXPECT_EQ(all.cluster->clock.delta_us, 90u);
  EXPECT_EQ(all.cluster->clock.jumps, 1u);
  EXPECT_TRUE(all.cluster->clock.synchronized);
  const auto named = [&](const std::string& name) {
    const auto figures = ratios(*all.cluster);
    const auto found = std::find_if(figures.begin(), figures.end(), [&](const auto& f) { return f.name == name; });
    return found == figures.end() ? -1 : found->value;
  };
  EXPECT_DOUBLE_EQ(named("distributed_share"), 0.3);
  EXPECT_DOUBLE_EQ(named("reads_each"), 3);
}

TEST(MergedReports, TheClockIsTheWorstOfAll) {
  const ClockStatus good{.source = "ptp", .state = "synchronized", .synchronized = true, .delta_us = 50, .jumps = 0};
  const ClockStatus bad{.source = "ptp", .state = "jumped", .synchronized = false, .delta_us = 0, .jumps = 1};
  for (const auto& nodes : {std::vector{good, bad}, std::vector{bad, good}}) {
    const Measurement all =
        merged(std::vector{sent(node_with_others(1, nodes[0])), sent(node_with_others(1, nodes[1]))});
    EXPECT_FALSE(all.cluster->clock.synchronized);
    EXPECT_EQ(all.cluster->clock.state, "jumped");
  }
}

TEST(NodeTable, HasAColumnForEachNodeAndOneForAll) {
  const ClockStatus clock{.source = "host", .state = "synchronized", .synchronized = true, .delta_us = 0, .jumps = 0};
  std::vector<Measurement> nodes{node_with_others(10, clock), node_with_others(50, clock)};
  for (Measurement& run : nodes) run.store.htm.backend = "sim";
  const std::string labels[] = {"node 1", "node 2"};
  const std::string table = node_table(labels, nodes, merged(nodes));
  const auto line = [&](const std::string& begin) {
    const std::size_t from = table.find("\n" + begin) + 1;
    std::string found = table.substr(from, table.find('\n', from) - from);
    found.erase(std::unique(found.begin(), found.end(), [](char a, char b) { return a == ' ' && b == ' '; }),
                found.end());
    return found;
  };
  EXPECT_NE(table.find("node 1"), std::string::npos);
  EXPECT_EQ(line("requests"), "requests 1,010 1,010 2,020");
  EXPECT_EQ(line("  node_changed"), " node_changed 7 7 14");
  EXPECT_EQ(line("htm aborts, conflict"), "htm aborts, conflict 3 3 6");
  EXPECT_EQ(line("distributed_share"), "distributed_share 0.1 0.5 0.3");
  EXPECT_EQ(line("reads_each"), "reads_each 3 3 3");
  EXPECT_EQ(line("clock_synchronized"), "clock_synchronized yes yes yes");
}

TEST(MergedReports, SumsAreJudgedOverAllNodes) {
  const auto with = [](Tally tally) {
    Measurement run = node(100);
    run.findings = {sums_agree("money", tally, {.node = 0, .nodes = 2, .in_cluster = true})};
    EXPECT_TRUE(run.findings[0].holds) << "a node cannot tell";
    return sent(run);
  };
  const auto minus = [](std::uint64_t value) { return 0 - value; };
  EXPECT_TRUE(merged(std::vector{with({100, 70}), with({100, 130})}).findings[0].holds);
  EXPECT_TRUE(merged(std::vector{with({100, minus(5)}), with({minus(100), 5})}).findings[0].holds);
  const Measurement lost = merged(std::vector{with({100, 70}), with({100, 129})});
  EXPECT_FALSE(lost.findings[0].holds);
  EXPECT_EQ(lost.findings[0].detail, "expected 200, found 199");
}

TEST(MergedReports, AConditionMustHoldOnEachNode) {
  Measurement good = node(100), bad = node(100), other = node(100);
  good.findings = {{"c", true, "fine"}};
  bad.findings = {{"c", false, "torn"}};
  other.findings = {{"d", true, "fine"}};
  const Measurement all = merged(std::vector{sent(good), sent(bad)});
  EXPECT_FALSE(all.findings[0].holds);
  EXPECT_EQ(all.findings[0].detail, "node 2 of 2: torn");
  EXPECT_TRUE(merged(std::vector{sent(good), sent(good)}).findings[0].holds);
  EXPECT_FALSE(merged(std::vector{sent(good), sent(other)}).findings[0].holds);
}

TEST(MergedReports, ADamagedReportIsAnError) {
  const auto read = measurement_of(nlohmann::ordered_json::parse(R"({"granary": {"repeats": []}})"));
  ASSERT_FALSE(read.ok());
  EXPECT_EQ(read.status().code(), StatusCode::kDamaged);
}

}  // namespace
}  // namespace granary::bench::cluster
