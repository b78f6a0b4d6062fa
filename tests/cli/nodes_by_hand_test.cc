// `granary bench --cluster=FILE --node=N` and `granary cluster merge`: nodes that are started one by one, as on several
// hosts, meet through the cluster, and make one result of their reports. One that is killed and started again:
// tests/node/killed_bench.sh.

#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <thread>

#include <nlohmann/json.hpp>

#include "tests/cli/command_line.h"
#include "tests/support/temporary_directory.h"

namespace granary::cli {
namespace {

class NodesByHand : public testing::Test {
 protected:
  void SetUp() override {
    std::ofstream(file_) << "[cluster]\nname = \"test\"\nrun_directory = \"run\"\n[defaults]\nmemory = \"256MiB\"\n"
                            "[[node]]\nid = 3\n[[node]]\nid = 5\n";
  }
  /// Both at the same time, until both have ended. The fifth node has more to do, and the third has to wait for it.
  void run_both() {
    const std::string words = " bench smallbank --cluster=" + file_ +
                              " --workers=1 --accounts=500 --distributed_percent=50 --warmup=0 --noprogress ";
    int other = -1;
    std::thread fifth([&] {
      other = std::system((GRANARY_COMMAND + words + "--seconds=2 --node=5 --json=" + fifth_ + " >/dev/null").c_str());
    });
    const Ran ran = granary(words + "--seconds=0.2 --node=3 --json=" + third_);
    fifth.join();
    ASSERT_EQ(ran.exit_code, 0) << ran.err;
    ASSERT_EQ(other, 0);
    EXPECT_NE(ran.out.find("node 3 of 2"), std::string::npos) << ran.out;
    change([](auto& report) { report["parameters"]["seconds"] = 0.2; });
  }
  Ran merge(const std::string& reports, const std::string& flags = "") {
    return granary("cluster merge smallbank --cluster=" + file_ + " --reports=" + reports + " " + flags);
  }
  /// Wrong usage, and says so.
  void expect_refused(const Ran& ran, const std::string& says) {
    EXPECT_EQ(ran.exit_code, 2) << ran.out;
    EXPECT_NE(ran.err.find(says), std::string::npos) << ran.err;
  }
  /// Changes the report of the fifth node.
  void change(const std::function<void(nlohmann::ordered_json&)>& how) {
    auto report = nlohmann::ordered_json::parse(contents(fifth_));
    how(report["granary"]);
    std::ofstream(fifth_) << report;
  }
  const tests::TemporaryDirectory directory_;
  const std::string file_ = directory_ / "cluster.toml";
  const std::string third_ = directory_ / "third.json", fifth_ = directory_ / "fifth.json";
};

TEST_F(NodesByHand, AreMergedIntoOneResult) {
  run_both();
  const std::string path = directory_ / "both.json";
  const Ran ran = merge(third_ + "," + fifth_, "--json=" + path);
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  for (const char* expected :
       {"cluster merge smallbank, 2 nodes of 1 worker each", "node 3", "node 5", "conditions hold"})
    EXPECT_NE(ran.out.find(expected), std::string::npos) << expected << " missing in\n" << ran.out;
  const auto ours = nlohmann::json::parse(contents(path))["granary"];
  EXPECT_EQ(ours["parameters"]["accounts"], 500);
  EXPECT_GT(ours["repeats"][0]["cluster"]["distributed"], 0);
  EXPECT_GT(ours["nodes"][0]["node 3"]["total"]["committed"], 0);
  EXPECT_GT(ours["nodes"][0]["node 5"]["total"]["committed"], 0);
  EXPECT_FALSE(ours.contains("machine")) << "nodes may have run on others";
  for (const char* node : {"node 3", "node 5"}) {
    EXPECT_TRUE(ours["machines"][node].contains("cpu_model")) << ours["machines"];
    EXPECT_TRUE(ours["builds"][node].contains("compiler")) << ours["builds"];
  }
}

TEST_F(NodesByHand, AreMergedOnlyIfTheyRanTogether) {
  run_both();
  const std::string kept = contents(fifth_), both = third_ + "," + fifth_;
  expect_refused(merge(both, "--json=" + fifth_), "is one of --reports");
  EXPECT_TRUE(contents(fifth_) == kept) << "it was overwritten";
  change([](auto& report) { report["parameters"]["another"] = 7; });
  expect_refused(merge(both), "different --another");
  std::ofstream(fifth_) << kept;
  change([](auto& report) { report["parameters"].erase("accounts"); });
  expect_refused(merge(both), "different --accounts");
  std::ofstream(fifth_) << kept;
  const std::string earlier = contents(third_);
  run_both();
  EXPECT_EQ(merge(both).exit_code, 0);
  std::ofstream(third_) << earlier;
  expect_refused(merge(both), "were not started together");
}

TEST_F(NodesByHand, MoneyThatOnlyTheSumMissesIsMissed) {
  run_both();
  const std::string kept = contents(fifth_);
  change([](auto& report) { report["repeats"][0]["types"].erase("balance"); });
  const Ran of_others = merge(third_ + "," + fifth_);
  EXPECT_NE(of_others.err.find("other types of transactions"), std::string::npos) << of_others.err;
  std::ofstream(fifth_) << kept;
  change([](auto& report) { report["repeats"][0]["findings"][1]["tally"]["found"] = 7; });
  const Ran ran = merge(third_ + "," + fifth_);
  EXPECT_EQ(ran.exit_code, 1) << ran.out;
  change([](auto& report) { report["parameters"]["seed"] = 7; });
  const Ran others = merge(third_ + "," + fifth_);
  EXPECT_EQ(others.exit_code, 2);
  EXPECT_NE(others.err.find("nodes 3 and 5 ran with different --seed"), std::string::npos) << others.err;
  change([](auto& report) { report["parameters"] = 7; });
  EXPECT_EQ(merge(third_ + "," + fifth_).exit_code, 2);
  for (const std::string& wrong : {third_, fifth_ + "," + third_, third_ + "," + file_, third_ + ",/nowhere"})
    EXPECT_NE(merge(wrong).exit_code, 0) << wrong;
}

/// As the report of a process says that has taken the place of a killed one.
TEST_F(NodesByHand, WhatAKilledProcessHadDoneCounts) {
  run_both();
  const std::string both = third_ + "," + fifth_;
  const auto with_lost_life = [](const char* text) {
    return [text](auto& report) { report["repeats"][0]["lost_life"] = nlohmann::ordered_json::parse(text); };
  };
  change([](auto& report) {
    auto& expected = report["repeats"][0]["findings"][1]["tally"]["expected"];
    expected = expected.template get<std::uint64_t>() - 130;
    report["repeats"][0]["cluster"]["start"] = "a later one";
  });
  expect_refused(merge(both), "were not started together");
  change(with_lost_life(R"({"loaded": [100], "workers": [{"changed": [20], "open": [10]}]})"));
  EXPECT_EQ(merge(both).exit_code, 0);
  change(with_lost_life(R"({"loaded": [99], "workers": [{"changed": [20], "open": [10]}]})"));
  EXPECT_EQ(merge(both).exit_code, 1) << "money is missing";
  auto third = nlohmann::ordered_json::parse(contents(third_));
  with_lost_life(R"({"loaded": [], "workers": []})")(third["granary"]);
  std::ofstream(third_) << third;
  expect_refused(merge(both), "node 3 and node 5 were both killed");
}

TEST_F(NodesByHand, KeepAnAccountOnlyIfTheyCanComeBack) {
  const std::string account = " --account=" + (directory_ / "account");
  const std::string node = " --workers=1 --node=3 --cluster=" + file_;
  expect_refused(granary("bench smallbank" + account + node), "node 3 keeps nothing that could be recovered");
  expect_refused(granary("bench smallbank" + account), "for nodes that are started by hand");
  EXPECT_EQ(granary("cluster run smallbank --workers=1 --repeat=1 --cluster=" + file_ + account).exit_code, 2);
  EXPECT_EQ(granary("bench ycsb" + account + node).exit_code, 2) << "it has no such flag";
  EXPECT_FALSE(std::filesystem::exists(directory_ / "account"));
}

TEST_F(NodesByHand, AreNotForAllBenchmarks) {
  const std::string node = " --workers=1 --node=3 --cluster=" + file_;
  for (const char* words : {"append", "smallbank --protocol=two_pc_tcp", "smallbank --repeat=3"}) {
    const Ran ran = granary("bench " + (words + node));
    EXPECT_EQ(ran.exit_code, 2) << words << ran.err;
  }
  EXPECT_EQ(granary("bench smallbank --driven").exit_code, 2);
  EXPECT_EQ(granary("bench smallbank --reports=a,b" + node).exit_code, 2);
  EXPECT_EQ(granary("cluster merge append --reports=a,b --cluster=" + file_).exit_code, 2);
  EXPECT_EQ(granary("cluster merge soak --reports=a,b").exit_code, 2);
}

TEST_F(NodesByHand, OfSeveralHostsAreNotStartedOnOne) {
  std::ofstream(file_)
      << "[cluster]\nname = \"test\"\nrun_directory = \"run\"\nprovider = \"verbs\"\nkey_file = \"key\"\n"
         "[membership]\nkind = \"zookeeper\"\nservers = [\"127.0.0.1:1\"]\n[clock]\nkind = \"none\"\n"
         "[[node]]\nid = 3\nhost = \"a\"\naddress = \"10.0.0.1\"\n"
         "[[node]]\nid = 5\nhost = \"b\"\naddress = \"10.0.0.2\"\n";
  const Ran ran = granary("cluster run smallbank --workers=1 --cluster=" + file_);
  EXPECT_EQ(ran.exit_code, 2);
  EXPECT_NE(ran.err.find("nodes 3 and 5 are on different hosts"), std::string::npos) << ran.err;
}

}  // namespace
}  // namespace granary::cli
