// Whole runs of tiny benchmarks through the command: output, JSON, verification, interruption. No figure is judged.

#include <csignal>
#include <filesystem>

#include "tests/cli/json_of.h"
#include "tests/cli/signalled.h"

namespace granary::cli {
namespace {

constexpr const char* kTiny = " --keys=2000 --workers=2 --seconds=0.2 --warmup=0.05 --noprogress";

TEST(Run, YcsbWritesBenchBasesKeysAndOurs) {
  const nlohmann::json json = json_of(std::string("bench ycsb --repeat=2 --verify --seed=7") + kTiny);
  ASSERT_TRUE(json.is_object());
  EXPECT_EQ(json["Benchmark Type"], "ycsb");
  EXPECT_EQ(json["DBMS Type"], "granary");
  EXPECT_EQ(json["terminals"], 2);
  EXPECT_GT(json["Throughput (requests/second)"].get<double>(), 0);
  EXPECT_GT(json["Goodput (requests/second)"].get<double>(), 0);
  EXPECT_GT(json["Measured Requests"].get<std::uint64_t>(), 0u);
  EXPECT_GE(json["Elapsed Time (nanoseconds)"].get<std::uint64_t>(), 200'000'000u);
  for (const char* key :
       {"Minimum Latency (microseconds)", "25th Percentile Latency (microseconds)", "Median Latency (microseconds)",
        "75th Percentile Latency (microseconds)", "90th Percentile Latency (microseconds)",
        "95th Percentile Latency (microseconds)", "99th Percentile Latency (microseconds)",
        "Maximum Latency (microseconds)", "Average Latency (microseconds)"}) {
    EXPECT_TRUE(json["Latency Distribution"].contains(key)) << key;
  }
  const auto& ours = json["granary"];
  EXPECT_EQ(ours["parameters"]["seed"], 7);
  EXPECT_EQ(ours["repeats"].size(), 2u);
  EXPECT_TRUE(ours["repeats"][1]["verified"]);
  EXPECT_TRUE(ours["repeats"][1]["types"].contains("read_modify_write"));
  for (const auto& finding : ours["repeats"][1]["findings"]) EXPECT_TRUE(finding["holds"]) << finding.dump();
}

/// The results of the last epochs may be shown only after the end. Their latencies count as well.
TEST(Run, EachTimedRequestHasAReleasedLatency) {
  const nlohmann::json json = json_of(std::string("bench ycsb --repeat=1 --durability=tmpfs --epoch_ms=50") + kTiny);
  const auto& total = json["granary"]["repeats"][0]["total"];
  EXPECT_EQ(total["unreleased"], 0u);
  EXPECT_GT(total["released_latency"]["samples"], 0u);
  EXPECT_EQ(total["released_latency"]["samples"], total["latency"]["samples"]);
}

TEST(Run, WhatHtmReallyRanIsInTheJson) {
  const nlohmann::json json = json_of(std::string("bench ycsb --repeat=1 --htm=auto") + kTiny);
  const auto& htm = json["granary"]["repeats"][0]["memory"]["at_end"]["htm"];
  const bool works = htm["backend"] == "rtm";
  EXPECT_TRUE(works || htm["backend"] == "off") << htm.dump();
  const Ran asked = granary(std::string("bench ycsb --repeat=1 --htm=rtm") + kTiny);
  EXPECT_EQ(asked.exit_code, works ? 0 : 3) << "a machine without it is refused: " << asked.err;
}

class EveryMix : public testing::TestWithParam<const char*> {};

TEST_P(EveryMix, RunsAndVerifiesOnEngineAndBareIndex) {
  for (const char* bench : {"ycsb", "kv"}) {
    const Ran ran = granary(std::string("bench ") + bench + " --repeat=1 --verify --mix=" + GetParam() + kTiny);
    EXPECT_EQ(ran.exit_code, 0) << bench << ": " << ran.err;
    EXPECT_NE(ran.out.find("conditions hold"), std::string::npos) << ran.out;
  }
}

INSTANTIATE_TEST_SUITE_P(Ycsb, EveryMix, testing::Values("silo", "a", "b", "c", "d", "e", "f"));

TEST(Run, ReadsOfTheLatestKeysTellHowManyFoundNone) {
  const nlohmann::json json = json_of(std::string("bench ycsb --repeat=1 --mix=d") + kTiny);
  const nlohmann::json share = json["granary"]["repeats"][0]["extra"]["missing_share"];
  ASSERT_TRUE(share.is_number()) << share;
  EXPECT_GE(share, 0.0);
  EXPECT_LT(share, 0.5);
}

class EveryVariant : public testing::TestWithParam<const char*> {};

TEST_P(EveryVariant, RunsAndVerifies) {
  const Ran ran =
      granary(std::string("bench ycsb --repeat=1 --verify --load_order=random --variant=") + GetParam() + kTiny);
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
}

INSTANTIATE_TEST_SUITE_P(Ycsb, EveryVariant,
                         testing::Values("key-value", "memsilo", "global-tid", "no-snapshots", "no-snapshots,no-gc",
                                         "no-overwrites", "simple-allocator", "key-value,simple-allocator"));

TEST(Run, AHashIndexRunsAndVerifies) {
  for (const char* flags : {" --mix=silo", " --mix=d --durability=tmpfs", " --variant=simple-allocator,no-overwrites",
                            " --variant=key-value"}) {
    const Ran ran = granary(std::string("bench ycsb --index=hash --repeat=1 --verify") + flags + kTiny);
    EXPECT_EQ(ran.exit_code, 0) << flags << ": " << ran.err;
    EXPECT_NE(ran.out.find("conditions hold"), std::string::npos) << ran.out;
  }
}

/// The records that a request writes are more than its log ring holds, so each request is given up.
TEST(Run, RequestsThatAreGivenUpAreAnError) {
  const Ran ran = granary(std::string("bench ycsb --repeat=1 --mix=changes --ops=100 --value_bytes=1000") +
                          " --durability=tmpfs --ring_bytes=64KiB" + kTiny);
  EXPECT_EQ(ran.exit_code, 3) << ran.out;
  EXPECT_NE(ran.err.find(" requests were given up (log_entry_too_large: "), std::string::npos) << ran.err;
}

TEST(Run, TransactionsOfSeveralOperationsOnFieldsVerify) {
  for (const char* flags : {"--mix=high",
                            "--mix=high --index=hash --protocol=tictoc",
                            "--mix=f --ops=3",
                            "--mix=high --parts",
                            "--mix=a --fields=4 --parts",
                            "--mix=f --ops=5 --multi_get",
                            "--shares=put=60,rmw=40 --ops=5 --multi_get",
                            "--preset=ccbench --multi_get --protocol=tictoc",
                            "--mix=high --parts --protocol=tictoc",
                            "--mix=medium --parts --isolation=snapshot",
                            "--preset=dbx1000_high --parts",
                            "--preset=cicada_uniform --theta=0.5",
                            "--preset=cicada_reads --theta=0.5",
                            "--mix=a --fields=4",
                            "--mix=high --protocol=tictoc --variant=dta-bound",
                            "--mix=high --variant=dta",
                            "--mix=medium --variant=dta --index=hash",
                            "--mix=a --variant=dta",
                            "--mix=f --variant=dta --ops=5 --theta=0.9",
                            "--mix=high --variant=hekaton",
                            "--mix=f --variant=hekaton --timestamps=mutex --index=hash",
                            "--mix=high --variant=hekaton --timestamps=hardware_clock",
                            "--mix=high --variant=hekaton --timestamps=local_clock",
                            "--mix=high --variant=hekaton --isolation=snapshot",
                            "--mix=high --isolation=snapshot",
                            "--mix=high --isolation=repeatable_read --protocol=tictoc",
                            "--mix=medium --ops=5 --fields=1 --variant=key-value",
                            "--mix=d --ops=4",
                            "--mix=e --ops=3 --scan_length=20",
                            "--shares=put=50,rmw=50 --ops=3 --variant=dta",
                            "--shares=put=50,read=50 --variant=hekaton --ops=4"}) {
    const nlohmann::json json = json_of(std::string("bench ycsb --repeat=1 --verify ") + flags + kTiny);
    ASSERT_TRUE(json.is_object()) << flags;
    EXPECT_TRUE(json["granary"]["repeats"][0]["verified"]) << flags;
  }
}

/// A flag that is given counts; all others are the preset's, or the mix's.
TEST(Run, TheReportNamesWhatAPresetImplies) {
  const nlohmann::json preset =
      json_of(std::string("bench ycsb --repeat=1 --preset=dbx1000_high --ops=4 --protocol=tictoc") + kTiny);
  ASSERT_TRUE(preset.is_object());
  const nlohmann::json& parameters = preset["granary"]["parameters"];
  EXPECT_EQ(parameters["mix"], "high");
  EXPECT_EQ(parameters["shares"], "read=50,rmw=50");
  EXPECT_EQ(parameters["theta"], 0.9);
  EXPECT_EQ(parameters["value_bytes"], 1000);
  EXPECT_EQ(parameters["fields"], 10);
  EXPECT_EQ(parameters["ops"], 4);
  const nlohmann::json mix = json_of(std::string("bench ycsb --repeat=1 --mix=medium") + kTiny);
  ASSERT_TRUE(mix.is_object());
  EXPECT_EQ(mix["granary"]["parameters"]["theta"], 0.8);
  EXPECT_EQ(mix["granary"]["parameters"]["ops"], 16);
  EXPECT_EQ(json_of(std::string("bench kv --repeat=1 --mix=a") + kTiny)["granary"]["parameters"]["theta"], 0.99);
}

TEST(Run, TransactionsThatTakeTurnsVerify) {
  for (const char* command :
       {"bench ycsb --mix=silo --batch=16", "bench ycsb --mix=high --batch=5 --protocol=tictoc --workers=2",
        "bench ycsb --mix=d --batch=3 --durability=tmpfs", "bench ycsb --mix=f --index=hash --batch=8",
        "bench tpcc --items=200 --customers=30 --workers=2 --batch=4",
        "bench smallbank --accounts=1000 --batch=8 --protocol=dl_detect", "bench tatp --subscribers=1000 --batch=8"}) {
    const nlohmann::json json =
        json_of(std::string(command) + " --verify --seconds=0.3 --warmup=0 --repeat=1 --noprogress");
    ASSERT_TRUE(json.is_object()) << command;
    EXPECT_TRUE(json["granary"]["repeats"][0]["verified"]) << command;
    EXPECT_GT(json["Throughput (requests/second)"].get<double>(), 100) << command;
  }
}

TEST(Run, TheReportNamesTheIsolationLevel) {
  const auto level_of = [](const char* flags) {
    const nlohmann::json json = json_of(std::string("bench ycsb --repeat=1 ") + flags + kTiny);
    return json.is_object() ? json["isolation"].get<std::string>() : "";
  };
  EXPECT_EQ(level_of(""), "TRANSACTION_SERIALIZABLE");
  EXPECT_EQ(level_of("--isolation=repeatable_read"), "TRANSACTION_REPEATABLE_READ");
}

TEST(Run, ABreakdownAddsUpToAllOfTheTime) {
  for (const char* command :
       {"bench ycsb --mix=high --keys=2000 --protocol=tictoc", "bench tpcc --items=200 --customers=30 --workers=2"}) {
    const nlohmann::json json =
        json_of(std::string(command) + " --breakdown --seconds=1 --warmup=0 --repeat=2 --noprogress");
    ASSERT_TRUE(json.is_object()) << command;
    for (const nlohmann::json& repeat : json["granary"]["repeats"]) {
      double sum = 0;
      for (const auto& [name, value] : repeat["extra"].items()) {
        if (!name.starts_with("time_")) continue;
        EXPECT_GE(value.get<double>(), 0) << name;
        sum += value.get<double>();
      }
      EXPECT_NEAR(sum, 100, 0.01) << command;
      EXPECT_GT(repeat["extra"]["time_index_percent"].get<double>(), 1);
      EXPECT_GT(repeat["extra"]["time_commit_percent"].get<double>(), 1);
      EXPECT_GT(repeat["extra"]["commit_time_steps_per_transaction"].get<double>(), 0);
    }
  }
}

/// A transaction draws a timestamp at its beginning and one at its end, and one that aborts at least the first.
TEST(Run, ACounterOfTimestampsGrowsWithEachTransaction) {
  const std::string brief = " --variant=hekaton --seconds=0.1 --warmup=0 --repeat=1";
  for (const char* command :
       {"bench ycsb --mix=high --keys=1000 --workers=2", "bench ycsb --mix=high --keys=1000 --timestamps=mutex",
        "bench tpcc --mix=50,50,0,0,0 --items=200 --customers=30 --verify"}) {
    const nlohmann::json repeat = json_of(command + brief)["granary"]["repeats"][0];
    EXPECT_GE(repeat["extra"].value("commit_time_steps_per_transaction", 0.0), 2) << command;
  }
  const nlohmann::json clock = json_of("bench ycsb --mix=high --keys=1000 --timestamps=local_clock" + brief);
  EXPECT_FALSE(clock["granary"]["repeats"][0]["extra"].contains("commit_time_steps_per_transaction"));
}

TEST(Run, ABreakdownIsOfTheMeasurementAlone) {
  for (const char* command : {"bench ycsb --mix=medium --keys=50000 --protocol=tictoc --warmup=0",
                              "bench ycsb --mix=read_only --keys=50000 --protocol=tictoc --warmup=1",
                              "bench tpcc --mix=50,50,0,0,0 --items=200 --customers=30 --workers=2 --warmup=1",
                              "bench tatp --subscribers=20000 --verify --warmup=0"}) {
    // With short epochs, as those of the first one are not counted.
    const nlohmann::json json =
        json_of(std::string(command) + " --breakdown --epoch_ms=1 --seconds=0.5 --repeat=2 --noprogress");
    ASSERT_TRUE(json.is_object()) << command;
    for (const nlohmann::json& repeat : json["granary"]["repeats"]) {
      const double committed = repeat["total"]["committed"].get<double>();
      const double counted = repeat["extra"]["commit_time_transactions"].get<double>();
      EXPECT_LE(counted, committed) << command << ": neither the loading nor the warm-up";
      EXPECT_GT(counted, 0.7 * committed) << command << ": all but those of the first epoch";
    }
  }
}

TEST(Run, ABreakdownDoesNotCountTransactionsThatRollBackAsAborted) {
  const nlohmann::json json =
      json_of("bench tatp --subscribers=1000 --workers=1 --breakdown --seconds=0.5 --warmup=0 --repeat=1 --noprogress");
  ASSERT_TRUE(json.is_object());
  const nlohmann::json& repeat = json["granary"]["repeats"][0];
  EXPECT_GT(repeat["total"]["rolled_back"].get<double>(), 0);
  EXPECT_LT(repeat["extra"]["time_aborted_percent"].get<double>(), 0.1) << "nobody is in conflict with one worker";
}

TEST(Run, TpccWithHashTablesWhereNothingIsScanned) {
  const nlohmann::json json = json_of(
      "bench tpcc --index=mixed --items=200 --customers=30 --workers=2 --seconds=0.2 --warmup=0 --repeat=1 --verify "
      "--durability=tmpfs --noprogress");
  ASSERT_TRUE(json.is_object());
  EXPECT_EQ(json["granary"]["parameters"]["index"], "mixed");
  EXPECT_TRUE(json["granary"]["repeats"][0]["verified"]);
}

TEST(Run, TatpCommitsAllUpdatesOfLocationsAndRollsSomeOthersBack) {
  const nlohmann::json json = json_of(
      "bench tatp --subscribers=500 --partitions=2 --workers=2 --seconds=0.3 --warmup=0 --repeat=1 "
      "--durability=tmpfs --noprogress");
  ASSERT_TRUE(json.is_object());
  const nlohmann::json& repeat = json["granary"]["repeats"][0];
  EXPECT_TRUE(repeat["verified"]);
  EXPECT_EQ(repeat["types"].size(), 7u);
  EXPECT_EQ(repeat["types"]["update_location"]["rolled_back"], 0);
  EXPECT_GT(repeat["types"]["get_access_data"]["rolled_back"], 0);
}

TEST(Run, TheHashBenchmarkShowsTheSlidesFigures) {
  const nlohmann::json json = json_of("bench hash --slots=4096 --tables=2 --cache_keys=10000 --cache_lookups=100000");
  ASSERT_TRUE(json.is_object());
  EXPECT_EQ(json["granary"]["lookups"].size(), 18u) << "three tables, three occupancies, two popularities";
  EXPECT_GT(json["granary"]["cache"]["misses_per_lookup"].get<double>(), 0);
}

TEST(Run, TheFactorAnalysisTellsItsScale) {
  const nlohmann::json json = json_of(
      "bench factor --warehouses=2 --items=200 --customers=30 --prefault=0 --repeat=1 --seconds=0.1 --warmup=0 "
      "--noprogress");
  ASSERT_TRUE(json.is_object());
  EXPECT_EQ(json["scalefactor"], 2.0) << "of two warehouses";
  EXPECT_EQ(json["granary"]["bars"].size(), 5u);
}

TEST(Run, AnInterruptedRunReportsWhatItMeasured) {
  const std::string path = scratch(".json");
  const Ran ran = granary_signalled("bench ycsb --keys=2000 --seconds=60 --warmup=0.1 --json=" + path, SIGTERM,
                                    [](const Running& run) { return run.err.find(" 1 s]") != std::string::npos; });
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_NE(ran.out.find("interrupted"), std::string::npos) << ran.out;
  const nlohmann::json json = nlohmann::json::parse(contents(path), nullptr, false);
  std::remove(path.c_str());
  ASSERT_TRUE(json.is_object()) << ran.err;
  EXPECT_EQ(json["Final State"], "INTERRUPTED");
  EXPECT_GT(json["Measured Requests"].get<std::uint64_t>(), 0u);
  EXPECT_LT(json["Elapsed Time (nanoseconds)"].get<std::uint64_t>(), 30'000'000'000u);
}

TEST(Run, OneThatIsInterruptedInItsWarmUpHasNothingToReport) {
  const std::string path = scratch(".json");
  for (const std::string words : {"bench ycsb --keys=2000", "bench soak --keys=2000"}) {
    const Ran ran = granary_signalled(words + " --warmup=60 --seconds=60 --json=" + path, SIGINT,
                                      [](const Running& run) { return run.err.find("warm-up]") != std::string::npos; });
    EXPECT_EQ(ran.exit_code, 128 + SIGINT) << words << ran.err;
    EXPECT_NE(ran.err.find("granary: interrupted\n"), std::string::npos) << ran.err;
    EXPECT_EQ(ran.out, "") << words;
    EXPECT_FALSE(std::filesystem::exists(path)) << words;
  }
}

/// Ends the command by SIGTERM after ever more time: first nothing is measured yet, then some figures are complete. All
/// of them together take several times as long as the first one. The time begins when the command is ready for the
/// signal.
void expect_early_end(const std::string& words) {
  const std::string path = scratch(".json");
  for (int seconds = 1; seconds <= 64; seconds *= 2) {
    const Ran ran = granary_signalled(words + " --noprogress --json=" + path, SIGTERM, [=](const Running& run) {
      if (!handles(run.process, SIGTERM)) return false;
      std::this_thread::sleep_for(std::chrono::seconds(seconds));
      return true;
    });
    if (ran.exit_code == 128 + SIGTERM) {
      EXPECT_NE(ran.err.find("granary: interrupted"), std::string::npos) << words << ", " << seconds << " s";
      continue;
    }
    EXPECT_EQ(ran.exit_code, 0) << ran.err;
    EXPECT_NE(ran.out.find("interrupted: only the figures that were complete are here"), std::string::npos) << ran.out;
    const nlohmann::json json = nlohmann::json::parse(contents(path), nullptr, false);
    std::remove(path.c_str());
    ASSERT_TRUE(json.is_object()) << ran.err;
    EXPECT_EQ(json["granary"]["interrupted"], true);
    return;
  }
  ADD_FAILURE() << words << ": a signal never left anything to report";
}

TEST(Run, AnInterruptedFabricBenchmarkReportsItsFigures) {
  expect_early_end("bench fabric --region=64MiB --operations=10000000");
}

TEST(Run, AnInterruptedHashBenchmarkReportsItsFigures) { expect_early_end("bench hash --slots=500000"); }

TEST(Run, AnInterruptedRemoteBenchmarkReportsItsFigures) {
  expect_early_end("bench remote --keys=20000 --lookups=10000000");
}

/// It has nothing to report before the recovery, and the log of so many records takes longer than a second.
TEST(Run, AnInterruptedRecoveryBenchmarkSaysSo) {
  const Ran ran = granary_signalled(
      "bench recovery --records=20000000 --keys=1000 --value_bytes=8 --noprogress --directory=" + testing::TempDir(),
      SIGINT, [](const Running& run) { return handles(run.process, SIGINT); });
  EXPECT_EQ(ran.exit_code, 128 + SIGINT) << ran.out;
  EXPECT_EQ(ran.err, "\ngranary: interrupted\n");
}

TEST(Run, SoakNeedsTimeForAVerdict) {
  const Ran ran = granary("bench soak --seconds=1");
  EXPECT_EQ(ran.exit_code, 2);
  EXPECT_EQ(
      granary("bench soak --noverify --seconds=0.5 --warmup=0 --keys=500 --queue_length=100 --noprogress").exit_code,
      0);
}

}  // namespace
}  // namespace granary::cli
