// Flags that would have no effect are refused in one line, with exit code 2: where there is no log, where Granary's
// engine does not run, and where a cluster's nodes have nothing of the kind.

#include <fstream>

#include <nlohmann/json.hpp>

#include "tests/cli/command_line.h"
#include "tests/support/temporary_directory.h"

namespace granary::cli {
namespace {

struct Refused {
  const char* arguments;
  const char* line;
};

/// `file` is the cluster file, if the command has one: it stands at the end of the line.
void expect_refused(const Refused& refused, const std::string& file = "") {
  const Ran ran = granary(refused.arguments + (file.empty() ? "" : " --cluster=" + file));
  EXPECT_EQ(ran.exit_code, 2) << refused.arguments;
  EXPECT_EQ(ran.out, "") << refused.arguments;
  EXPECT_EQ(ran.err, std::string("granary: ") + refused.line + "\n") << refused.arguments;
}

TEST(FlagEffects, FlagsOfTheEngineNeedIt) {
  constexpr Refused kAll[] = {
      {"bench kv --htm=auto", "--htm=auto: kv does not run Granary's engine; leave it out"},
      {"bench hash --htm=off", "--htm=off: hash does not run Granary's engine; leave it out"},
      {"bench ycsb --variant=key-value --htm=auto",
       "--htm=auto: --variant=key-value does not run Granary's engine; leave one of them out"},
      {"bench ycsb --variant=dta --htm=sim",
       "--htm=sim: --variant=dta does not run Granary's engine; leave one of them out"},
      {"bench ycsb --variant=hekaton --htm=sim",
       "--htm=sim: --variant=hekaton does not run Granary's engine; leave one of them out"},
      {"bench lease --variant=partitioned-store --htm=rtm",
       "--htm=rtm: --variant=partitioned-store does not run Granary's engine; leave one of them out"},
      {"bench ycsb --variant=key-value --protocol=tictoc",
       "--protocol=tictoc: --variant=key-value does not run Granary's engine; leave one of them out"},
      {"bench tpcc --variant=partitioned-store --protocol=silo",
       "--protocol=silo: --variant=partitioned-store does not run Granary's engine; leave one of them out"},
      {"bench ycsb --variant=dta --protocol=tictoc",
       "--protocol=tictoc: --variant=dta does not run Granary's engine; leave one of them out"},
      {"bench ycsb --variant=hekaton --protocol=silo",
       "--protocol=silo: --variant=hekaton does not run Granary's engine; leave one of them out"}};
  for (const Refused& each : kAll) expect_refused(each);
}

TEST(FlagEffects, FlagsOfTheLogAreNotForWhatHasNone) {
  constexpr Refused kAll[] = {
      {"bench kv --loggers=2", "--loggers=2: kv logs nothing; leave it out"},
      {"bench kv --checkpoint_interval=1", "--checkpoint_interval=1: kv logs nothing; leave it out"},
      {"bench fabric --compress=lz4", "--compress=lz4: fabric logs nothing; leave it out"},
      {"bench ycsb --variant=key-value --loggers=2",
       "--loggers=2: --variant=key-value has no log; leave one of them out"},
      {"bench ycsb --variant=dta --compress=lz4", "--compress=lz4: --variant=dta has no log; leave one of them out"},
      {"bench ycsb --variant=dta --durability=tmpfs",
       "--durability=tmpfs: --variant=dta has no log; leave one of them out"},
      {"bench ycsb --variant=hekaton --ring_bytes=1MiB",
       "--ring_bytes=1MiB: --variant=hekaton has no log; leave one of them out"},
      {"bench tatp --variant=partitioned-store --log_reserve=1GiB",
       "--log_reserve=1GiB: --variant=partitioned-store has no log; leave one of them out"},
      {"bench tpcc --variant=partitioned-store --durability=disk",
       "--durability=disk: --variant=partitioned-store has no log; leave one of them out"},
      {"bench ycsb --variant=memsilo --release=commit",
       "--release=commit: --variant=memsilo has no log; leave one of them out"},
      {"bench ycsb --durability=tmpfs --variant=compress --compress=zstd",
       "--variant=compress: it sets --compress=lz4; leave one of them out"},
      {"bench ycsb --variant=memsilo,small-records --durability=tmpfs",
       "--durability=tmpfs: --variant=memsilo has no log; leave one of them out"}};
  for (const Refused& each : kAll) expect_refused(each);
}

TEST(FlagEffects, FlagsOfTheLogGoWithDurability) {
  for (const char* flag :
       {"--loggers=2", "--ring_bytes=1MiB", "--log_reserve=1GiB", "--release=commit", "--compress=lz4",
        "--checkpoint_interval=1", "--variant=small-records", "--variant=compress"}) {
    const std::string line =
        std::string(flag) + ": it is about the log, but --durability is none; expected both or neither";
    for (const char* bench : {"bench ycsb ", "bench soak --durability=none "})
      expect_refused({(std::string(bench) + flag).c_str(), line.c_str()});
  }
}

TEST(FlagEffects, OldVersionsAreNeededWhereTheyAreAskedFor) {
  constexpr Refused kAll[] = {
      {"bench ycsb --durability=tmpfs --variant=no-snapshots --checkpoint_interval=1",
       "--checkpoint_interval=1: it needs the old versions that --variant=no-snapshots does not keep; leave one of "
       "them out"},
      {"bench tpcc --variant=no-snapshots --snapshot_epochs=7",
       "--snapshot_epochs=7: it needs the old versions that --variant=no-snapshots does not keep; leave one of them "
       "out"},
      {"bench tpcc --variant=partitioned-store --snapshot_epochs=7",
       "--snapshot_epochs=7: --variant=partitioned-store does not run Granary's engine; leave one of them out"},
      {"bench kv --snapshot_epochs=7", "--snapshot_epochs=7: kv does not run Granary's engine; leave it out"}};
  for (const Refused& each : kAll) expect_refused(each);
}

TEST(FlagEffects, VariantsOfTicTocNeedIt) {
  for (const std::string variant : {"no-wait", "preempt", "history"}) {
    for (const std::string protocol : {"silo", "dl_detect"}) {
      const std::string given = "--variant=tictoc-" + variant;
      const std::string line =
          given + ": it is for --protocol=tictoc, and the protocol is " + protocol + "; expected both or neither";
      expect_refused({("bench ycsb " + given + " --protocol=" + protocol).c_str(), line.c_str()});
      if (protocol == "silo") expect_refused({("bench ycsb " + given).c_str(), line.c_str()});
    }
  }
}

/// The library refuses these, and names its options.
TEST(FlagEffects, WhatAProtocolCannotDoIsToldInFlags) {
  for (const std::string run :
       {"--protocol=no_wait --htm=sim", "--protocol=drtm --htm=off", "--protocol=tictoc --variant=global-tid"}) {
    const Ran ran = granary("bench ycsb --keys=1000 " + run);
    EXPECT_EQ(ran.exit_code, 2) << run << ran.err;
    EXPECT_TRUE(ran.err.starts_with("granary: --protocol is '")) << ran.err;
    EXPECT_EQ(ran.err.find("Options::"), std::string::npos) << ran.err;
  }
}

TEST(FlagEffects, FlagsOfAClusterNeedOne) {
  constexpr Refused kAll[] = {
      {"bench tpcc --restart_after=3", "--restart_after: nothing is killed; see --kill"},
      {"bench ycsb --start_timeout=5", "--start_timeout: there are no other nodes to wait for; see 'granary cluster'"},
      {"cluster run kv --cluster=c.toml",
       "cluster run kv: it does not run on the nodes of a cluster; expected tpcc, ycsb, smallbank, tatp, lease, "
       "append"},
      {"cluster run", "cluster run: which one? expected tpcc, ycsb, smallbank, tatp, lease, append"},
      {"cluster run smallbank --driven --cluster=c.toml",
       "cluster run smallbank: --driven: each node gets it without being told; leave it out"}};
  for (const Refused& each : kAll) expect_refused(each);
}

TEST(FlagEffects, WhereNothingRunsFlagsOfRunsAreRefused) {
  expect_refused({"bench append --check=h.edn --keys=5",
                  "bench append: --keys: with --check nothing runs; leave one of them out"});
  expect_refused({"cluster merge smallbank --cluster=c.toml --reports=a,b --workers=3",
                  "cluster merge smallbank: --workers: nothing runs here, and the reports tell with which flags the "
                  "nodes ran; leave it out"});
}

class FlagEffectsOnNodes : public testing::Test {
 protected:
  void SetUp() override {
    std::ofstream(file_) << "[cluster]\nname = \"test\"\nrun_directory = \"run\"\n[defaults]\nmemory = \"256MiB\"\n"
                            "[[node]]\nid = 3\n[[node]]\nid = 5\n";
  }
  const tests::TemporaryDirectory directory_;
  const std::string file_ = directory_ / "cluster.toml";
};

TEST_F(FlagEffectsOnNodes, VariantsOfOneNodeAreRefused) {
  for (const auto& [bench, variant] : {std::pair{"ycsb", "key-value"},
                                       {"ycsb", "dta"},
                                       {"ycsb", "hekaton"},
                                       {"smallbank", "partitioned-store"},
                                       {"tatp", "partitioned-store --index=hash"},
                                       {"lease", "partitioned-store"},
                                       {"tpcc", "partitioned-store --index=mixed"},
                                       {"tpcc", "hekaton --mix=50,50,0,0,0"},
                                       {"tpcc", "split"}}) {
    const std::string words = std::string(bench) + " --workers=1 --variant=" + variant;
    const std::string name = std::string(variant).substr(0, std::string_view(variant).find(' '));
    const std::string line = "--variant=" + name + ": it is for one node alone, not for a cluster's";
    expect_refused({("cluster run " + words).c_str(), line.c_str()}, file_);
    expect_refused({("bench " + words + " --node=3").c_str(), line.c_str()}, file_);
  }
}

TEST_F(FlagEffectsOnNodes, TheBaselineHasNothingOfTheEngines) {
  constexpr Refused kAll[] = {
      {"cluster run smallbank --protocol=two_pc_tcp --htm=auto",
       "--htm=auto: --protocol=two_pc_tcp does not run Granary's engine; leave one of them out"},
      {"cluster run tpcc --protocol=two_pc_tcp --loggers=2",
       "--loggers=2: --protocol=two_pc_tcp has no log; leave one of them out"},
      {"cluster run tatp --protocol=two_pc_tcp --variant=compress",
       "--variant=compress: --protocol=two_pc_tcp has no log; leave one of them out"}};
  for (const Refused& each : kAll) expect_refused(each, file_);
}

TEST_F(FlagEffectsOnNodes, FlagsOfTheLogGoWithDataDirectories) {
  const std::string line =
      ": it is about logs, but no node has one; leave it out, or set 'data_directory' in [defaults] or [[node]] of '" +
      file_ + "'";
  for (const std::string flag : {"--compress=lz4", "--loggers=2", "--variant=small-records"}) {
    expect_refused({("cluster run ycsb --workers=1 " + flag).c_str(), (flag + line).c_str()}, file_);
    expect_refused({("bench ycsb --workers=1 --node=3 " + flag).c_str(), (flag + line).c_str()}, file_);
  }
  std::ofstream(file_, std::ios::app) << "data_directory = \"data\"\n";
  const std::string json = directory_ / "result.json";
  const Ran ran = granary(
      "cluster run ycsb --keys=1000 --compress=lz4 --loggers=2 --variant=small-records --workers=1 --seconds=0.2 "
      "--warmup=0 --repeat=1 --noprogress --cluster=" +
      file_ + " --json=" + json);
  EXPECT_EQ(ran.exit_code, 0) << ran.out << ran.err;
  const auto report = nlohmann::json::parse(contents(json), nullptr, false);
  ASSERT_TRUE(report.is_object());
  EXPECT_EQ(report["granary"]["parameters"]["durability"], "disk");
  EXPECT_EQ(report["granary"]["parameters"]["index"], "hash");
  EXPECT_EQ(report["granary"]["variants"], nlohmann::json{"small-records"});
}

/// Each node refuses it.
TEST_F(FlagEffectsOnNodes, YcsbInsertsAndScansOnOneNodeOnly) {
  constexpr Refused kAll[] = {
      {"bench ycsb --workers=1 --node=3 --shares=read=95,insert=5",
       "--shares=read=95,insert=5: keys of nodes are ranges of fixed size; in a cluster, use shares without inserts"},
      {"bench ycsb --workers=1 --node=3 --mix=d",
       "--mix=d: keys of nodes are ranges of fixed size; in a cluster, use a mix without inserts"},
      {"bench ycsb --workers=1 --node=3 --shares=read=95,scan=5",
       "--shares=read=95,scan=5: in a cluster, keys are in hash tables, which cannot be scanned; use shares without "
       "scans"}};
  for (const Refused& each : kAll) expect_refused(each, file_);
}

TEST_F(FlagEffectsOnNodes, TheFactorAnalysisIsForOneNode) {
  expect_refused(
      {"cluster run factor --cluster=c.toml",
       "cluster run factor: it does not run on the nodes of a cluster; expected tpcc, ycsb, smallbank, tatp, "
       "lease, append"});
  expect_refused({"bench factor --node=3 --cluster=c.toml",
                  "--node: 'bench factor' has no such flag; see 'granary bench factor --help'"});
  const Ran help = granary("cluster run --help");
  EXPECT_EQ(help.exit_code, 0) << help.err;
  EXPECT_EQ(help.out.find("factor"), std::string::npos) << help.out;
  EXPECT_NE(granary("bench factor --help").out.find("--protocol="), std::string::npos);
}

}  // namespace
}  // namespace granary::cli
