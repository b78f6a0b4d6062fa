// `granary cluster run`: real processes, one a node, on a cluster file; conditions judged over all of them. No figure
// is judged.

#include <csignal>
#include <filesystem>

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include "src/base/test_hooks.h"
#include "tests/cli/command_line.h"
#include "tests/support/scale.h"
#include "tests/support/temporary_directory.h"

namespace granary::cli {
namespace {

using testing::HasSubstr;

class ClusterRun : public testing::Test {
 protected:
  void SetUp() override {
    std::ofstream(file_) << "[cluster]\nname = \"test\"\nrun_directory = \"run\"\n[defaults]\nmemory = \"256MiB\"\n"
                            "[[node]]\nid = 3\n[[node]]\nid = 5\n";
  }
  /// Two nodes run it; checks what all runs have in common, and returns what transactions did at other nodes.
  nlohmann::json run(const std::string& benchmark, const std::string& flags, std::uint64_t least_commits = 1) {
    nlohmann::json figures;
    run(benchmark, flags, least_commits, figures);
    return figures;
  }
  /// By lease_2pl. On a machine that stops processes for longer than a lease, nothing commits.
  nlohmann::json run_with_leases(const std::string& benchmark, const std::string& flags) {
    return run(benchmark, flags + " --protocol=lease_2pl", 0);
  }

  const tests::TemporaryDirectory directory_;
  const std::string file_ = directory_ / "cluster.toml";
  /// How many of these operations a transaction made that touched another node.
  static double of_each(const nlohmann::json& figures, const char* operations) {
    return figures[operations].get<double>() / figures["distributed"].get<double>();
  }

 private:
  void run(const std::string& benchmark, const std::string& flags, std::uint64_t least_commits,
           nlohmann::json& figures) {
    const std::string path = directory_ / "result.json";
    const Ran ran = granary("cluster run " + benchmark + " --cluster=" + file_ + " --json=" + path +
                            " --workers=1 --warmup=0.1 --repeat=1 --noprogress " + flags);
    ASSERT_EQ(ran.exit_code, 0) << ran.out << ran.err;
    for (const char* expected : {"node 3", "node 5", "2 nodes", "conditions hold"})
      EXPECT_NE(ran.out.find(expected), std::string::npos) << expected << " missing in\n" << ran.out;
    const auto json = nlohmann::json::parse(contents(path), nullptr, false);
    ASSERT_TRUE(json.is_object());
    const auto& repeat = json["granary"]["repeats"][0];
    EXPECT_TRUE(repeat["verified"]);
    for (const auto& finding : repeat["findings"]) EXPECT_TRUE(finding["holds"]) << finding;
    const auto& nodes = json["granary"]["nodes"][0];
    EXPECT_EQ(repeat["total"]["committed"].get<std::uint64_t>(),
              nodes["node 3"]["total"]["committed"].get<std::uint64_t>() +
                  nodes["node 5"]["total"]["committed"].get<std::uint64_t>());
    EXPECT_GE(repeat["total"]["committed"].get<std::uint64_t>(), least_commits) << benchmark << " " << flags << "\n"
                                                                                << ran.out;
    const bool baseline = flags.find("two_pc_tcp") != std::string::npos;
    for (const char* node : {"node 3", "node 5"})
      EXPECT_EQ(nodes[node]["memory"]["at_end"]["protocol"], baseline ? "" : protocol_of(flags));
    figures = repeat[baseline ? "extra" : "cluster"];
    if (!baseline) check_operations(repeat, nodes);
  }
  /// The protocol that the nodes' databases should have.
  static std::string protocol_of(const std::string& flags) {
    for (const char* name : {"tictoc", "drtm"}) {
      if (flags.find(name) != std::string::npos) return name;
    }
    return "silo";
  }
  /// What the nodes say of one-sided operations.
  static void check_operations(const nlohmann::json& repeat, const nlohmann::json& nodes) {
    EXPECT_EQ(repeat["cluster"]["clock"]["source"], "host");
    std::uint64_t attempts = 0, reads = 0;
    for (const auto& [name, node] : nodes.items()) {
      attempts += node["cluster"]["attempts"].get<std::uint64_t>();
      reads += node["cluster"]["reads"].get<std::uint64_t>();
    }
    EXPECT_GE(attempts, repeat["total"]["committed"].get<std::uint64_t>());
    EXPECT_GT(reads, 0u);
    EXPECT_EQ(repeat["cluster"]["reads"], reads);
  }
};

TEST_F(ClusterRun, SmallBank) { run("smallbank", "--seconds=0.3 --accounts=500 --distributed_percent=20"); }

TEST_F(ClusterRun, Tatp) { run("tatp", "--seconds=0.3 --subscribers=500 --distributed_percent=20"); }

TEST_F(ClusterRun, TpccWithManyRemoteLines) {
  run("tpcc", "--seconds=1.5 --warehouses=2 --items=200 --customers=30 --cross_warehouse_percent=20");
}

TEST_F(ClusterRun, TpccWithPaymentsInPieces) {
  run("tpcc",
      "--seconds=0.3 --warehouses=2 --items=200 --customers=30 --mix=0,100,0,0,0 --cross_warehouse_percent=50 "
      "--chopping");
}

TEST_F(ClusterRun, Ycsb) { run("ycsb", "--seconds=0.3 --keys=1000 --distributed_percent=20"); }

TEST_F(ClusterRun, YcsbWithSharesOfOnesOwn) {
  run("ycsb", "--seconds=0.3 --keys=1000 --distributed_percent=50 --ops=3 --shares=read=40,update=20,put=25,rmw=15");
  run("ycsb", "--seconds=0.3 --keys=1000 --distributed_percent=50 --ops=3 --shares=read=30,put=30,rmw=40 --multi_get");
  run_with_leases("ycsb", "--seconds=0.3 --keys=1000 --distributed_percent=50 --ops=3 --shares=read=90.5,put=9.5");
}

TEST_F(ClusterRun, Lease) { run("lease", "--seconds=0.3 --keys=1000 --hotspot=10"); }

TEST_F(ClusterRun, OneNodeIsAClusterToo) {
  const std::string alone = directory_ / "alone.toml";
  std::ofstream(alone) << "[cluster]\nname = \"alone\"\nrun_directory = \"alone\"\n[defaults]\nmemory = \"256MiB\"\n"
                          "[[node]]\nid = 3\n";
  const std::string common = " --cluster=" + alone + " --workers=1 --seconds=0.2 --warmup=0 --repeat=1 ";
  for (const char* run :
       {"smallbank --accounts=500", "tatp --subscribers=500", "tpcc --items=200 --customers=30", "ycsb --keys=1000"}) {
    const Ran ran = granary("cluster run " + (run + common));
    EXPECT_EQ(ran.exit_code, 0) << ran.err;
    EXPECT_NE(ran.out.find("node 3"), std::string::npos) << ran.out;
  }
  EXPECT_EQ(granary("cluster run ycsb --distributed_percent=10" + common).exit_code, 2);
}

/// What is only read is leased, by a compare-and-swap; optimistic transactions have none then.
TEST_F(ClusterRun, LeaseByBothProtocols) {
  const std::string reads = "--seconds=0.3 --keys=1000 --read_percent=100 --distributed_percent=50";
  EXPECT_EQ(of_each(run("lease", reads), "compare_swaps"), 0);
  const auto leased = run_with_leases("lease", reads);
  EXPECT_GT(of_each(leased, "compare_swaps"), 1);
  const auto locked = run_with_leases("lease", reads + " --read_lock=exclusive");
  EXPECT_GT(of_each(locked, "compare_swaps"), 1);
  EXPECT_GT(of_each(locked, "writes"), 0) << "what is locked is let go";
  EXPECT_LT(of_each(leased, "writes"), of_each(locked, "writes")) << "only a machine that stood still locks";
}

TEST_F(ClusterRun, YcsbWithLeases) {
  const auto figures = run_with_leases("ycsb", "--seconds=0.3 --keys=1000 --distributed_percent=20");
  EXPECT_GT(of_each(figures, "compare_swaps"), 0.5);
}

/// The nodes know of each other that accounts are sealed (I31), so these are not leased. What else a transaction reads
/// of the other customer, it writes as well, so it locks that.
TEST_F(ClusterRun, SmallBankWithLeases) {
  const auto figures = run_with_leases("smallbank", "--seconds=0.3 --accounts=500 --distributed_percent=100");
  EXPECT_GT(of_each(figures, "compare_swaps"), 0.9);
  EXPECT_LT(figures["leases"].get<double>() / figures["distributed"].get<double>(), 0.5);
}

/// The index entry of a number is leased, and then the subscriber locked.
TEST_F(ClusterRun, TatpWithLeases) {
  const auto figures = run_with_leases("tatp", "--seconds=0.3 --subscribers=500 --distributed_percent=20");
  EXPECT_GT(of_each(figures, "compare_swaps"), 0.5);
}

TEST_F(ClusterRun, TpccWithLeases) {
  run_with_leases("tpcc", "--seconds=0.4 --warehouses=2 --items=200 --customers=30 --cross_warehouse_percent=20");
}

TEST_F(ClusterRun, ByTicToc) {
  run("smallbank", "--protocol=tictoc --seconds=0.3 --accounts=500 --distributed_percent=20");
  run("tpcc", "--protocol=tictoc --seconds=0.4 --warehouses=2 --items=200 --customers=30 --cross_warehouse_percent=20");
}

/// Simulated regions here see what the other node's process does to this one's records.
TEST_F(ClusterRun, ByDrTm) {
  if (!base::kTestHooks) GTEST_SKIP() << "a build without the simulation";
  const std::string drtm = "--protocol=drtm --htm=sim --seconds=0.4 ";
  run("smallbank", drtm + "--accounts=500 --distributed_percent=20", 0);
  run("tpcc", drtm + "--warehouses=2 --items=200 --customers=30 --cross_warehouse_percent=20", 0);
}

TEST_F(ClusterRun, SmallBankByTwoPhaseCommit) {
  const auto figures = run("smallbank", "--seconds=0.3 --accounts=500 --distributed_percent=20 --protocol=two_pc_tcp");
  EXPECT_GT(figures["distributed_share"].get<double>(), 0);
  EXPECT_GT(figures["round_trip_us"].get<double>(), 0);
}

TEST_F(ClusterRun, TatpByTwoPhaseCommit) {
  const auto figures = run("tatp", "--seconds=0.3 --subscribers=500 --distributed_percent=20 --protocol=two_pc_tcp");
  EXPECT_GT(figures["distributed_share"].get<double>(), 0);
}

TEST_F(ClusterRun, TpccByTwoPhaseCommit) {
  run("tpcc",
      "--protocol=two_pc_tcp --seconds=0.3 --warehouses=2 --items=200 --customers=30 --cross_warehouse_percent=20");
}

/// Long enough that something commits on a busy machine, too. Threads that wait give the processor away often there
/// (src/base/give_way.h).
TEST_F(ClusterRun, WithFibers) {
  const std::string bank = "--accounts=500 --distributed_percent=50 --fibers=4 ";
  for (const char* protocol : {"occ", "tictoc", "lease_2pl"})
    run("smallbank", bank + "--seconds=2 --protocol=" + protocol);
  run("tpcc", "--seconds=2 --warehouses=2 --items=200 --customers=30 --cross_warehouse_percent=50 --fibers=2");
  run("ycsb", "--seconds=1 --keys=1000 --distributed_percent=50 --fibers=8");
}

TEST_F(ClusterRun, RefusesFibersThatThereAreNot) {
  const auto refusal = [&](const std::string& command) {
    const Ran ran = granary(command);
    EXPECT_EQ(ran.exit_code, 2) << ran.out << ran.err;
    return ran.err;
  };
  EXPECT_THAT(refusal("bench smallbank --fibers=2"), HasSubstr("--fibers=2: a node alone waits for no other"));
  const std::string on_nodes = "cluster run smallbank --fibers=2 --cluster=" + file_;
  EXPECT_THAT(refusal(on_nodes + " --protocol=two_pc_tcp"), HasSubstr("--protocol=two_pc_tcp has no fibers"));
}

/// A prediction of the run that it was made from is that run.
TEST_F(ClusterRun, IsPredicted) {
  const auto report = [&](const std::string& name, const std::string& command) {
    const std::string path = directory_ / name;
    const Ran ran = granary(command + " --json=" + path);
    EXPECT_EQ(ran.exit_code, 0) << ran.out << ran.err;
    return path;
  };
  const std::string bank =
      "cluster run smallbank --seconds=1 --warmup=0.1 --repeat=1 --accounts=500 --cluster=" + file_;
  const std::string less = report("less", bank + " --distributed_percent=0");
  std::filesystem::remove_all(directory_ / "run");
  const std::string more = report("more", bank + " --distributed_percent=100");
  const std::string fabric = report("fabric", "bench fabric --region=1MiB --operations=1000");
  const Ran ran = granary("bench predict --less=" + less + " --more=" + more + " --fabric=" + fabric +
                          " --check=" + less + "," + more);
  EXPECT_EQ(ran.exit_code, 0) << ran.out << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("smallbank: a request of one node takes "));
  const Ran card = granary("bench predict --round_trip=2500 --fibers=4 --nodes=24 --workers=8 --less=" + less +
                           " --more=" + more + " --fabric=" + fabric);
  EXPECT_EQ(card.exit_code, 0) << card.err;
  EXPECT_THAT(card.out, HasSubstr("24 nodes of 8 workers, 4 transactions of each open at once"));
  EXPECT_EQ(granary("bench predict --less=" + less + " --more=" + less + " --fabric=" + fabric).exit_code, 2);
  EXPECT_EQ(granary("bench predict --less=" + less + " --more=" + more).exit_code, 2);
  EXPECT_EQ(granary("bench predict --message=5000 --less=" + less + " --more=" + more + " --fabric=" + fabric).err,
            "granary: bench predict: --message has an effect with --round_trip only; give both, or leave it out\n");
  const Ran of_directory = granary("bench predict --less=/tmp --more=" + more + " --fabric=" + fabric);
  EXPECT_EQ(of_directory.exit_code, 3);
  EXPECT_EQ(of_directory.err, "granary: bench predict: cannot read '/tmp'\n");
  const std::string words = "granary: bench predict: '" + less + "' is no report of 'granary bench fabric --json': ";
  const Ran of_another = granary("bench predict --less=" + less + " --more=" + more + " --fabric=" + less);
  EXPECT_EQ(of_another.exit_code, 2);
  EXPECT_EQ(of_another.err, words + "key 'figures' not found\n");
}

TEST_F(ClusterRun, RefusesWhatTheBaselineDoesNotHave) {
  const std::string words = "cluster run smallbank --workers=1 --protocol=two_pc_tcp --cluster=";
  const Ran ran = granary(words + file_ + " --variant=no-gc");
  EXPECT_EQ(ran.exit_code, 2) << ran.err;
  EXPECT_NE(ran.err.find("--protocol=two_pc_tcp"), std::string::npos) << ran.err;
  std::ofstream(file_, std::ios::app) << "data_directory = \"data\"\n";
  const Ran logged = granary(words + file_);
  EXPECT_EQ(logged.exit_code, 2) << logged.err;
  EXPECT_NE(logged.err.find("data_directory"), std::string::npos) << logged.err;
  EXPECT_EQ(granary("cluster run ycsb --protocol=two_pc_tcp --cluster=" + file_).exit_code, 2);
}

TEST_F(ClusterRun, RefusesWhatCannotRun) {
  EXPECT_EQ(granary("cluster run").exit_code, 2);
  EXPECT_EQ(granary("cluster run soak").exit_code, 2);
  EXPECT_EQ(granary("cluster run smallbank").exit_code, 2);
  EXPECT_EQ(granary("cluster run smallbank --cluster=" + file_ + " --node=3").exit_code, 2);
  EXPECT_EQ(granary("cluster run smallbank --cluster=/nowhere/cluster.toml").exit_code, 2);
  EXPECT_EQ(granary("bench smallbank --cluster=" + file_).exit_code, 2);
  EXPECT_EQ(granary("bench smallbank --protocol=lease_2pl").exit_code, 2);
  EXPECT_EQ(granary("cluster run smallbank --protocol=3pl --cluster=" + file_).exit_code, 2);
  EXPECT_EQ(granary("cluster run smallbank --read_lock=lease --workers=1 --cluster=" + file_).exit_code, 2);
  EXPECT_EQ(granary("cluster run append --index=hash --cluster=" + file_).exit_code, 2);
  EXPECT_EQ(granary("bench smallbank --cluster=" + file_ + " --node=4").exit_code, 2);
  const Ran too_many = granary("cluster run smallbank --workers=2 --cluster=" + file_);
  EXPECT_EQ(too_many.exit_code, 2);
  EXPECT_NE(too_many.err.find("--workers=2"), std::string::npos) << too_many.err;
}

/// Said once, before any node is started.
TEST_F(ClusterRun, RefusesFlagsThatTheFileHasTheSayOf) {
  for (const char* flag : {"--durability=disk", "--release=commit", "--memory_limit=1GiB", "--pin=on"}) {
    const Ran ran = granary("cluster run smallbank --workers=1 --cluster=" + file_ + " " + flag);
    EXPECT_EQ(ran.exit_code, 2) << flag;
    EXPECT_TRUE(ran.err.starts_with("granary: " + std::string(flag).substr(0, std::string(flag).find('=')) + ": "))
        << ran.err;
    EXPECT_EQ(std::count(ran.err.begin(), ran.err.end(), '\n'), 1) << ran.err;
    EXPECT_EQ(granary("bench smallbank --node=3 --workers=1 --cluster=" + file_ + " " + flag).exit_code, 2) << flag;
  }
  EXPECT_EQ(granary("cluster run append --epoch_ms=5 --cluster=" + file_).exit_code, 2);
  EXPECT_EQ(granary("cluster run ycsb --workers=1 --index=ordered --cluster=" + file_).exit_code, 2);
}

/// A log that a variant is without is not the file's to bring.
TEST_F(ClusterRun, RefusesAVariantThatTheFileContradicts) {
  std::ofstream(file_, std::ios::app) << "data_directory = \"data\"\n";
  const Ran ran = granary("bench smallbank --variant=memsilo --node=5 --workers=1 --cluster=" + file_);
  EXPECT_EQ(ran.exit_code, 2);
  EXPECT_NE(ran.err.find("'data_directory'"), std::string::npos) << ran.err;
}

TEST_F(ClusterRun, RefusesWhatTheNodesMemoryDoesNotHold) {
  const std::string words = "smallbank --workers=1 --accounts=1000000 --cluster=" + file_;
  for (const std::string& run : {"cluster run " + words, "bench " + words + " --node=5"}) {
    const Ran ran = granary(run);
    EXPECT_EQ(ran.exit_code, 2) << run;
    EXPECT_NE(ran.err.find(" has, by 'memory' in '" + file_ + "', 256.0 MiB"), std::string::npos) << ran.err;
  }
}

TEST_F(ClusterRun, RepeatsInEmptyDirectoriesOnly) {
  std::ofstream(file_, std::ios::app) << "data_directory = \"data\"\n";
  const std::string words =
      "cluster run smallbank --workers=1 --accounts=100 --seconds=0.1 --warmup=0 --repeat=2 --noprogress --cluster=" +
      file_;
  const Ran ran = granary(words);
  EXPECT_EQ(ran.exit_code, 0) << ran.out << ran.err;
  const Ran again = granary(words);
  EXPECT_EQ(again.exit_code, 3) << again.err;
  EXPECT_NE(again.err.find("' is not empty, and a run loads its data anew"), std::string::npos) << again.err;
  EXPECT_NE(again.err.find("cluster.sh wipe"), std::string::npos) << again.err;
}

TEST_F(ClusterRun, OneThatIsInterruptedInItsWarmUpHasNothingToReport) {
  const std::string path = scratch(".json");
  const Ran ran =
      granary("cluster run ycsb --keys=1000 --workers=1 --warmup=60 --seconds=60 --noprogress --json=" + path +
                  " --cluster=" + file_,
              "timeout --foreground --preserve-status -s INT 5");
  EXPECT_EQ(ran.exit_code, 128 + SIGINT) << ran.err;
  EXPECT_NE(ran.err.find("granary: interrupted\n"), std::string::npos) << ran.err;
  EXPECT_EQ(ran.out, "");
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST_F(ClusterRun, ChecksNothingIfToldSo) {
  const Ran ran = granary(
      "cluster run ycsb --keys=1000 --workers=1 --seconds=0.1 --warmup=0 --repeat=1 --noverify "
      "--noprogress --cluster=" +
      file_);
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_NE(ran.out.find("verified    nothing"), std::string::npos) << ran.out;
}

/// How often a record was read under a lease, by what `cluster run append` prints.
std::uint64_t leases_in(const std::string& out) {
  const std::string kLeases = "leases      ";
  const std::size_t at = out.find(kLeases);
  EXPECT_NE(at, std::string::npos) << out;
  std::string digits;
  for (std::size_t i = at + kLeases.size(); at != std::string::npos && out[i] != ' '; ++i) {
    if (out[i] != ',') digits.push_back(out[i]);
  }
  return digits.empty() ? 0 : std::stoull(digits);
}

/// Lists of three nodes, with clients on all of them, over shared memory: the judge looks at one history of all
/// processes. `defaults`: what the cluster file says of all nodes beside the rest. Time ends only what hangs. How many
/// commit is told by the machine if there are leases, as above.
void expect_valid(std::uint64_t transactions, const std::string& flags, const std::string& defaults = "") {
  const bool leases = flags.find("lease_2pl") != std::string::npos;
  const tests::TemporaryDirectory directory;
  const std::string file = directory / "cluster.toml";
  std::ofstream(file) << "[cluster]\nname = \"test\"\nrun_directory = \"run\"\nepoch_ms = 5\n"
                         "[defaults]\nmemory = \"64MiB\"\nworkers = 2\n"
                      << defaults << "[[node]]\nid = 1\n[[node]]\nid = 2\n[[node]]\nid = 3\n";
  const std::string history = directory / "history.edn";
  const Ran ran =
      granary("cluster run append --cluster=" + file + " --keys=2 --max_length=20 --yields=0.1 --history=" + history +
              " --transactions=" + std::to_string(tests::scaled(transactions)) +
              " --seconds=" + std::to_string(tests::scaled(30)) + " " + flags);
  ASSERT_EQ(ran.exit_code, 0) << ran.out << ran.err;
  const std::string kValid = "transactions, strictly serializable: valid: ";
  const std::size_t at = ran.out.find(kValid);
  ASSERT_NE(at, std::string::npos) << ran.out;
  EXPECT_GT(std::stoull(ran.out.substr(at + kValid.size())), leases ? 0 : tests::scaled(transactions) / 20) << ran.out;
  const bool has_time = ran.out.find("clock       host, synchronized") != std::string::npos;
  if (!leases) {
    EXPECT_EQ(leases_in(ran.out), 0u) << ran.out;
  } else if (has_time) {
    EXPECT_GT(leases_in(ran.out), 0u) << ran.out;
  }
  EXPECT_EQ(granary("bench append --check=" + history).exit_code, 0);
}

TEST(ClusterAppend, IsStrictlySerializable) {
  expect_valid(3'000, "--index=hash --scans=0");
  expect_valid(2'000, "--index=ordered --scans=0.3 --snapshots=0.1");
}

TEST(ClusterAppend, IsStrictlySerializableByLeases) {
  expect_valid(2'000, "--protocol=lease_2pl --index=hash --scans=0");
}

TEST(ClusterAppend, IsStrictlySerializableAsReleased) {
  const std::string directories = "data_directory = \"data\"\nreliable_directory = \"rings\"\n";
  expect_valid(150, "--outcomes=released --index=hash --scans=0", directories);
  expect_valid(150, "--outcomes=released --index=ordered --scans=0.2 --protocol=lease_2pl", directories);
}

}  // namespace
}  // namespace granary::cli
