// `granary cluster run`: real processes, one a node, on a cluster file; conditions judged over all of them. No figure is judged.

#include <nlohmann/json.hpp>

#include "tests/cli/command_line.h"
#include "tests/support/temporary_directory.h"

namespace granary::cli {
namespace {

class ClusterRun : public testing::Test {
 protected:
  void SetUp() override {
    std::ofstream(file_) << "[cluster]\nname = \"test\"\nrun_directory = \"run\"\n[defaults]\nmemory = \"256MiB\"\n"
                            "[[node]]\nid = 3\n[[node]]\nid = 5\n";
  }
  /// Two nodes run it; checks what all runs have in common.
  void run(const std::string& benchmark, const std::string& flags) {
    const std::string path = directory_ / "result.json";
    const Ran ran = granary("cluster run " + benchmark + " --cluster=" + file_ + " --json=" + path +
                            " --workers=1 --warmup=0.1 --repeat=1 --verify --noprogress " + flags);
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
    EXPECT_GT(repeat["total"]["committed"].get<std::uint64_t>(), 0u);
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

  const tests::TemporaryDirectory directory_;
  const std::string file_ = directory_ / "cluster.toml";
};

TEST_F(ClusterRun, SmallBank) { run("smallbank", "--seconds=0.3 --accounts=500 --distributed_percent=20"); }

TEST_F(ClusterRun, TpccWithManyRemoteLines) {
  run("tpcc", "--seconds=1.5 --warehouses=2 --items=200 --customers=30 --cross_warehouse_percent=20");
}

TEST_F(ClusterRun, TpccWithPaymentsInPieces) {
  run("tpcc",
      "--seconds=0.3 --warehouses=2 --items=200 --customers=30 --mix=0,100,0,0,0 --cross_warehouse_percent=50 "
      "--chopping");
}

TEST_F(ClusterRun, Ycsb) { run("ycsb", "--seconds=0.3 --keys=1000 --distributed_percent=20"); }

TEST_F(ClusterRun, Lease) { run("lease", "--seconds=0.3 --keys=1000 --hotspot=10"); }

TEST_F(ClusterRun, OneNodeIsAClusterToo) {
  const std::string alone = directory_ / "alone.toml";
  std::ofstream(alone) << "[cluster]\nname = \"alone\"\nrun_directory = \"alone\"\n[defaults]\nmemory = \"256MiB\"\n"
                          "[[node]]\nid = 3\n";
  const std::string common = " --cluster=" + alone + " --workers=1 --seconds=0.2 --warmup=0 --repeat=1 --verify ";
  for (const char* run : {"smallbank --accounts=500", "tpcc --items=200 --customers=30", "ycsb --keys=1000"}) {
    const Ran ran = granary("cluster run " + (run + common));
    EXPECT_EQ(ran.exit_code, 0) << ran.err;
    EXPECT_NE(ran.out.find("node 3"), std::string::npos) << ran.out;
  }
  EXPECT_EQ(granary("cluster run ycsb --distributed_percent=10" + common).exit_code, 2);
}

TEST_F(ClusterRun, RefusesWhatCannotRun) {
  EXPECT_EQ(granary("cluster run").exit_code, 2);
  EXPECT_EQ(granary("cluster run soak").exit_code, 2);
  EXPECT_EQ(granary("cluster run smallbank").exit_code, 2);
  EXPECT_EQ(granary("cluster run smallbank --cluster=" + file_ + " --node=3").exit_code, 2);
  EXPECT_EQ(granary("cluster run smallbank --cluster=/nowhere/cluster.toml").exit_code, 2);
  EXPECT_EQ(granary("bench smallbank --cluster=" + file_).exit_code, 2);
  EXPECT_EQ(granary("bench smallbank --cluster=" + file_ + " --node=4").exit_code, 2);
  const Ran too_many = granary("cluster run smallbank --workers=2 --cluster=" + file_);
  EXPECT_EQ(too_many.exit_code, 2);
  EXPECT_NE(too_many.err.find("--workers=2"), std::string::npos) << too_many.err;
}

}  // namespace
}  // namespace granary::cli
