// Table and JSON of made-up measurements.

#include <gtest/gtest.h>

#include "bench/harness/json_report.h"
#include "bench/harness/progress.h"
#include "bench/harness/table.h"
#include "bench/harness/trial.h"

namespace granary::bench {
namespace {

Measurement measurement(std::uint64_t committed, std::uint64_t rolled_back) {
  Measurement run;
  run.elapsed_ns = 2'000'000'000;
  run.nanoseconds_per_tick = 0.5;
  run.types.resize(2);
  run.types[0].name = "new_order";
  run.types[0].committed = committed;
  run.types[0].rolled_back = rolled_back;
  run.types[0].aborts[static_cast<std::size_t>(AbortReason::kNodeChanged)] = 7;
  for (int i = 0; i < 100; ++i) run.types[0].latency.record(20000);  // 10 us
  run.types[1].name = "payment";
  return run;
}

TEST(Report, MedianIsByThroughput) {
  const std::vector<Measurement> runs{measurement(300, 0), measurement(100, 0), measurement(200, 0)};
  EXPECT_EQ(median_by_throughput(runs), 2u);
  EXPECT_EQ(median_by_throughput({measurement(300, 0), measurement(100, 0)}), 1u);
}

TEST(Report, RolledBackRequestsAreThroughputButNotGoodput) {
  const Measurement run = measurement(900, 100);
  EXPECT_DOUBLE_EQ(run.throughput(), 500);
  EXPECT_DOUBLE_EQ(run.goodput(), 450);
}

/// Each of ten requests was ten transactions, and each of these lost an attempt.
TEST(Report, AbortShareIsThatOfTransactionsAttempts) {
  Measurement run = measurement(10, 0);
  run.types[0].transactions = 100;
  run.types[0].aborts = {};
  run.types[0].aborts[static_cast<std::size_t>(AbortReason::kReadChanged)] = 100;
  run.types[1].committed = run.types[1].transactions = 50;
  EXPECT_DOUBLE_EQ(abort_share(run.types[0]), 0.5);
  EXPECT_DOUBLE_EQ(abort_share(run.total()), 0.4);
  EXPECT_NE(result_text("title", {run}).find("aborts 40.000 % of attempts"), std::string::npos);
  const auto json = repeat_json(run);
  EXPECT_EQ(json["types"]["new_order"]["transactions"], 100);
  EXPECT_EQ(json["total"]["transactions"], 150);
  EXPECT_DOUBLE_EQ(json["total"]["abort_share"].get<double>(), 0.4);
}

TEST(Report, ColumnsAlign) {
  EXPECT_EQ(aligned({{"a", "b"}, {"long", "1"}, {"x", "12345"}}), "a         b\nlong      1\nx     12345\n");
}

TEST(Report, TableShowsTypesAbortReasonsAndFailedChecks) {
  Measurement run = measurement(900, 100);
  run.verified = true;
  run.findings = {{"3.3.2.1", true, "fine"}, {"3.3.2.2", false, "off by 5"}};
  const std::string text = result_text("title", {run});
  for (const char* expected : {"new_order", "payment", "total", "node_changed", "10.0", "1 of 2 conditions hold",
                               "FAILED  3.3.2.2  off by 5"}) {
    EXPECT_NE(text.find(expected), std::string::npos) << expected << " missing in\n" << text;
  }
  EXPECT_EQ(text.find("read_changed"), std::string::npos) << "reasons that did not occur have no column";
}

TEST(Report, TellsWhyNothingWasVerified) {
  Measurement run = measurement(900, 100);
  EXPECT_NE(result_text("title", {run}).find("verified    nothing (--verify was not asked for)\n"), std::string::npos);
  EXPECT_NE(result_text("title", {run}, kNotBack).find("verified    nothing (a killed node did not come back)\n"),
            std::string::npos);
  run.interrupted = true;
  EXPECT_NE(result_text("title", {run}, kNotBack).find("verified    nothing (the run was interrupted)\n"),
            std::string::npos);
}

/// Requests that want of memory ended make less of a workload than its figures seem to be of.
TEST(Report, TellsThatMemoryRanOut) {
  Measurement run = measurement(900, 100);
  EXPECT_EQ(check_given_up({run, run}), ExitCode::kOk);
  EXPECT_EQ(result_text("title", {run}).find("RAN OUT"), std::string::npos);
  Measurement starved = run;
  starved.types[1].aborts[static_cast<std::size_t>(AbortReason::kOutOfMemory)] = 1234;
  EXPECT_NE(result_text("title", {starved}).find("RAN OUT: 1,234 requests were given up"), std::string::npos);
  testing::internal::CaptureStderr();
  EXPECT_EQ(check_given_up({run, starved}), ExitCode::kEnvironment);
  EXPECT_NE(testing::internal::GetCapturedStderr().find("1,234 requests"), std::string::npos);
}

TEST(Report, TellsThatRequestsTookTooLong) {
  Measurement run = measurement(900, 100);
  EXPECT_EQ(result_text("title", {run}).find("TOO LONG"), std::string::npos);
  Measurement slow = run;
  slow.types[0].gave_up = slow.types[0].too_long = 1234;
  EXPECT_NE(result_text("title", {slow}).find("TOO LONG: 1,234 requests were given up"), std::string::npos);
  testing::internal::CaptureStderr();
  EXPECT_EQ(check_given_up({run, slow}), ExitCode::kEnvironment);
  EXPECT_NE(testing::internal::GetCapturedStderr().find("1,234 requests were given up, each after ten attempts"),
            std::string::npos);
}

/// Whatever no retry mends makes figures that are not the workload's. Nodes that are killed on purpose are part of what
/// is measured.
TEST(Report, RequestsThatWereGivenUpAreAnError) {
  const auto judged = [](AbortReason reason, std::uint64_t gave_up, NodesDie nodes_die, std::string* told) {
    Measurement run = measurement(900, 100);
    run.types[0].gave_up = gave_up;
    run.types[0].aborts[static_cast<std::size_t>(reason)] += gave_up;
    testing::internal::CaptureStderr();
    const ExitCode code = check_given_up({run}, nodes_die, "a step");
    *told = testing::internal::GetCapturedStderr();
    return code;
  };
  std::string told;
  for (std::size_t i = 0; i < kAbortReasons; ++i) {
    const auto reason = static_cast<AbortReason>(i);
    const bool of_nodes = reason == AbortReason::kNodeUnreachable || reason == AbortReason::kNodeRecovering ||
                          reason == AbortReason::kMembershipLost || reason == AbortReason::kTooMuchUndelivered;
    for (const NodesDie nodes_die : {NodesDie::kNo, NodesDie::kYes}) {
      const bool expected = of_nodes && nodes_die == NodesDie::kYes;
      EXPECT_EQ(judged(reason, 1234, nodes_die, &told), expected ? ExitCode::kOk : ExitCode::kEnvironment)
          << name(reason);
      EXPECT_EQ(told.find("a step: 1,234 requests were given up") == std::string::npos, expected) << told;
    }
  }
  judged(AbortReason::kLogEntryTooLarge, 5, NodesDie::kNo, &told);
  EXPECT_NE(told.find("5 requests were given up (log_entry_too_large: the transaction writes more"), std::string::npos)
      << told;
  judged(AbortReason::kWriteLocked, 50, NodesDie::kNo, &told);
  EXPECT_NE(told.find("most attempts failed by write_locked: "), std::string::npos) << told;
}

/// The table tells of the log during the measurement alone, and counts results that could not be shown before its end.
TEST(Report, TableTellsWhatWasLoggedAndWhatWasNotReleased) {
  Measurement run = measurement(900, 100);
  run.loaded.log_bytes = 1 << 20;
  run.begun = run.loaded;
  run.begun->log_bytes = 3 << 20;
  run.store.log_bytes = 10 << 20;
  run.store.durable_epoch = 7;
  run.types[0].durable.record(2'000'000);
  std::string text = result_text("title", {run});
  EXPECT_NE(text.find("log         7.0 MiB,"), std::string::npos) << text;
  EXPECT_NE(text.find("max 1.0 ms after the request began\n"), std::string::npos) << text;
  run.types[0].unreleased = 1200;
  run.types[1].unreleased = 34;
  text = result_text("title", {run});
  EXPECT_NE(
      text.find("after the request began; 1,234 more of those that were timed could not be shown within two seconds "
                "of the end\n"),
      std::string::npos)
      << text;
  const auto json = repeat_json(run);
  EXPECT_EQ(json["total"]["unreleased"], 1234);
  EXPECT_EQ(json["memory"]["at_begin"]["log_bytes"], 3 << 20);
}

TEST(Report, TableTellsWhatCheckpointsCost) {
  Measurement run = measurement(900, 100);
  EXPECT_EQ(result_text("title", {run}).find("checkpoints"), std::string::npos);
  run.loaded.checkpoints = 1;
  run.store.checkpoints = 3;
  run.store.checkpoint_bytes = 5 << 20;
  run.store.checkpoint_seconds = 1.5;
  EXPECT_NE(result_text("title", {run}).find("checkpoints 2 taken, 5.0 MiB written, in progress for 1.50 s\n"),
            std::string::npos);
  run.checkpoint_cost.begin({});
  run.checkpoint_cost.observe({.ns = 1'000'000'000, .requests = 100});
  run.checkpoint_cost.observe({.ns = 2'000'000'000, .requests = 195, .seconds_in_progress = 1});
  EXPECT_NE(result_text("title", {run}).find("s; throughput meanwhile 0.950 of that without\n"), std::string::npos);
}

TEST(Report, TableTellsOfHardwareTransactionsAndOfOtherNodes) {
  Measurement run = measurement(900, 100);
  EXPECT_EQ(result_text("title", {run}).find("htm"), std::string::npos);
  run.loaded.htm.conflicts = 5;
  run.store.htm = {.backend = "sim", .commits = 1000, .fallbacks = 6, .conflicts = 7, .capacity = 3};
  run.cluster = ClusterFigures{.attempts = 200, .elsewhere = {}, .clock = {}};
  run.cluster->elsewhere.transactions = 10;
  run.cluster->elsewhere.compare_swaps = 25;
  run.cluster->elsewhere.leases = 4321;
  run.cluster->clock = {
      .source = "ptp", .state = "no bound known: asleep", .synchronized = false, .delta_us = 0, .jumps = 0};
  std::string text = result_text("title", {run});
  for (const char* expected :
       {"htm         sim: 1,000 commits, 6 (0.60 %) gave way to locks; aborts by conflict 2, capacity 3 (0.30 % of "
        "attempts), explicit 0, other 0\n",
        "distributed 5.00 % of attempts; each 0.00 READs, 0.00 WRITEs, 2.50 compare-and-swaps, 0.00 messages\n",
        "leases      4,321 times a record was read under one\n", "clock       ptp, no bound known: asleep\n"}) {
    EXPECT_NE(text.find(expected), std::string::npos) << expected << " missing in\n" << text;
  }
  EXPECT_EQ(text.find("cut off"), std::string::npos);
  run.cluster->elsewhere.cut_off = 3;
  run.cluster->clock = {.source = "ptp", .state = "synchronized", .synchronized = true, .delta_us = 100, .jumps = 0};
  text = result_text("title", {run});
  EXPECT_NE(text.find("clock       ptp, synchronized; no two nodes differ by more than 100 us\n"), std::string::npos)
      << text;
  EXPECT_NE(text.find("cut off     3 times a worker of another node, for malformed messages\n"), std::string::npos)
      << text;
}

TEST(Report, JsonHasBenchBasesKeysAndOurs) {
  const BenchCommand command{.name = "tpcc"};
  FlagValues flags;
  flags.set("workers", {.kind = FlagKind::kInteger, .given = true, .whole = 2, .text = "2"});
  const Settings settings;
  const Machine machine = describe_machine();
  const std::vector<Measurement> runs{measurement(900, 100), measurement(1000, 0), measurement(800, 0)};
  const auto json = json_report({command, flags, settings, machine, 2.0, runs});
  EXPECT_EQ(json["Benchmark Type"], "tpcc");
  EXPECT_DOUBLE_EQ(json["Throughput (requests/second)"].get<double>(), 500);
  EXPECT_DOUBLE_EQ(json["Goodput (requests/second)"].get<double>(), 450);
  EXPECT_EQ(json["Elapsed Time (nanoseconds)"], 2'000'000'000u);
  EXPECT_EQ(json["scalefactor"], 2.0);
  EXPECT_EQ(json["terminals"], 2);
  EXPECT_EQ(json["Latency Distribution"].size(), 9u);
  EXPECT_NEAR(json["Latency Distribution"]["Median Latency (microseconds)"].get<double>(), 10, 0.1);
  const auto& ours = json["granary"];
  EXPECT_EQ(ours["schema_version"], kJsonSchemaVersion);
  EXPECT_EQ(ours["parameters"]["workers"], 2);
  EXPECT_EQ(ours["repeats"].size(), 3u);
  EXPECT_DOUBLE_EQ(ours["throughput"]["min"].get<double>(), 400);
  EXPECT_EQ(ours["repeats"][0]["types"]["new_order"]["aborts_by_reason"]["node_changed"], 7);
  EXPECT_FALSE(ours["machine"]["cpu_model"].get<std::string>().empty());
  EXPECT_EQ(ours["machine"]["shared_huge_pages"], machine.shared_huge_pages);
  EXPECT_FALSE(ours["build"]["commit"].get<std::string>().empty());
}

/// A merged report of nodes knows no course of time, and a run without checkpoints nothing of their cost. 0 would be a
/// figure.
TEST(Report, WhatWasNotSeenIsNull) {
  Measurement run = measurement(900, 100);
  nlohmann::ordered_json json = repeat_json(run);
  for (const char* key : {"samples", "released_latency_over_time"}) EXPECT_TRUE(json[key].is_null()) << key;
  for (const char* key : {"throughput_during", "throughput_without", "ratio"})
    EXPECT_TRUE(json["checkpoint_cost"][key].is_null()) << key;
  run.checkpoint_cost.begin({});
  run.checkpoint_cost.observe({.ns = 1'000'000'000, .requests = 100});
  run.samples.emplace_back();
  json = repeat_json(run);
  EXPECT_EQ(json["checkpoint_cost"]["throughput_without"], 100);
  EXPECT_TRUE(json["checkpoint_cost"]["ratio"].is_null());
  EXPECT_EQ(json["samples"].size(), 1u);
  run.checkpoint_cost.observe({.ns = 2'000'000'000, .requests = 100, .seconds_in_progress = 1});
  EXPECT_EQ(repeat_json(run)["checkpoint_cost"]["ratio"], 0) << "nothing was done meanwhile";
}

/// What a shorter run has measured would count as much as the others, and might be the median.
TEST(Report, ARunThatWasCutShortIsNoRepeatBesideWholeOnes) {
  const BenchCommand command{.name = "tpcc"};
  const FlagValues flags;
  const Settings settings;
  const Machine machine;
  std::vector<Measurement> runs{measurement(900, 100), measurement(1000, 0), measurement(800, 0)};
  EXPECT_FALSE(leave_out_interrupted(runs));
  EXPECT_EQ(runs.size(), 3u);
  EXPECT_EQ(json_report({command, flags, settings, machine, 2.0, runs})["Final State"], "EXIT");
  runs.push_back(measurement(10, 0));
  runs.back().interrupted = true;
  ASSERT_TRUE(leave_out_interrupted(runs));
  EXPECT_EQ(runs.size(), 3u);
  const auto json = json_report({command, flags, settings, machine, 2.0, runs, /*interrupted=*/true});
  EXPECT_EQ(json["Final State"], "INTERRUPTED");
  EXPECT_DOUBLE_EQ(json["granary"]["throughput"]["min"].get<double>(), 400);
  std::vector<Measurement> only{measurement(10, 0)};
  only.back().interrupted = true;
  ASSERT_TRUE(leave_out_interrupted(only));
  EXPECT_EQ(only.size(), 1u) << "the only run is better than none";
  EXPECT_EQ(json_report({command, flags, settings, machine, 2.0, only})["Final State"], "INTERRUPTED");
}

TEST(Report, UnwritableFileIsAnErrorThatNamesIt) {
  const Status status = write_json("/nonexistent/x.json", {});
  ASSERT_FALSE(status.ok());
  EXPECT_NE(status.message().find("/nonexistent/x.json"), std::string::npos);
}

TEST(Report, NumbersForPeople) {
  EXPECT_EQ(with_commas(0), "0");
  EXPECT_EQ(with_commas(999), "999");
  EXPECT_EQ(with_commas(1234567), "1,234,567");
  EXPECT_EQ(human_bytes(171), "171 B");
  EXPECT_EQ(human_bytes(3 << 20), "3.0 MiB");
}

}  // namespace
}  // namespace granary::bench
