// Reports tell by their parameters what was run: also where nobody gave a flag, but another one implies its value.

#include <fstream>

#include <nlohmann/json.hpp>

#include "tests/cli/command_line.h"
#include "tests/support/temporary_directory.h"

namespace granary::cli {
namespace {

using Json = nlohmann::json;

constexpr const char* kShort = " --seconds=0.1 --warmup=0 --repeat=1 --noprogress --json=";
const std::string kTpcc = "tpcc --items=200 --customers=30 --prefault=0 ";

class ImpliedValues : public testing::Test {
 protected:
  Json report_of(const std::string& words) {
    const std::string file = directory_ / "result.json";
    const Ran ran = granary(words + kShort + file);
    EXPECT_EQ(ran.exit_code, 0) << words << ": " << ran.err;
    Json report = Json::parse(contents(file), nullptr, /*allow_exceptions=*/false);
    EXPECT_TRUE(report.is_object()) << words;
    return report.is_object() ? report : Json{{"isolation", ""}, {"granary", {{"parameters", Json::object()}}}};
  }
  /// Expects these values among the parameters of a run on one node.
  void expect(const std::string& words, const Json& values) {
    const Json parameters = report_of("bench " + words).at("granary").at("parameters");
    for (const auto& [name, value] : values.items())
      EXPECT_EQ(parameters.value(name, Json()), value) << words << ": " << name;
  }
  /// Expects these percentages of what crosses warehouses, the first as far as a bisection tells them.
  void expect_remote(const std::string& words, double lines, double payments) {
    const Json parameters = report_of("bench " + kTpcc + words).at("granary").at("parameters");
    EXPECT_NEAR(parameters.value("remote_lines_percent", -1.0), lines, 1e-9) << words;
    EXPECT_NEAR(parameters.value("remote_payments_percent", -1.0), payments, 1e-9) << words;
  }
  const tests::TemporaryDirectory directory_;
};

TEST_F(ImpliedValues, OfTpccTellWarehousesAndTransactions) {
  expect(kTpcc + "--workers=2", {{"warehouses", 2}, {"partitions", 0}, {"fast_ids", false}, {"mix", "45,43,4,4,4"}});
  expect(kTpcc + "--workers=2 --warehouses=3", {{"warehouses", 3}, {"stock_level", "snapshot"}});
  expect(kTpcc + "--variant=fast-ids", {{"fast_ids", true}});
  expect(kTpcc + "--new_order_only", {{"mix", "100,0,0,0,0"}});
  expect(kTpcc + "--variant=no-snapshots", {{"stock_level", "transaction"}});
  expect(kTpcc + "--variant=partitioned-store --warehouses=3",
         {{"stock_level", "transaction"}, {"partitions", 3}, {"protocol", "partitioned-store"}});
  expect(kTpcc + "--variant=split --warehouses=2 --partitions=1", {{"stock_level", "snapshot"}, {"partitions", 1}});
}

TEST_F(ImpliedValues, OfTpccTellWhatCrossesWarehouses) {
  expect_remote("--warehouses=2", 1, 15);
  expect_remote("--warehouses=1", 0, 0);
  expect_remote("--warehouses=2 --cross_partition=0", 0, 0);
  expect_remote("--warehouses=2 --cross_partition=100", 100, 100);
  expect_remote("--warehouses=2 --cross_warehouse_percent=5", 5, 5);
  expect("tpcc --items=200 --customers=30 ", {{"prefault", nullptr}});
  expect(kTpcc, {{"prefault", 0}});
  expect(kTpcc, {{"cross_partition", nullptr}, {"cross_warehouse_percent", nullptr}});
  expect(kTpcc + "--cross_partition=0", {{"cross_partition", 0.0}, {"cross_warehouse_percent", nullptr}});
}

TEST_F(ImpliedValues, OfVariantsTellWhatTheySet) {
  expect("ycsb --keys=1000 --durability=tmpfs --variant=compress", {{"compress", "lz4"}});
  expect("ycsb --keys=1000 --variant=hekaton", {{"protocol", "hekaton"}, {"isolation", "serializable"}});
  expect("ycsb --keys=1000 --variant=no-gc", {{"protocol", "silo"}, {"htm", "off"}});
  expect("ycsb --keys=1000 --protocol=drtm --htm=sim", {{"protocol", "drtm"}, {"htm", "sim"}});
  expect("soak --keys=1000 --queue_length=100 --noverify --variant=memsilo", {{"durability", "none"}});
  expect("smallbank --accounts=100 --variant=partitioned-store", {{"index", "ordered"}, {"distributed_percent", 0.0}});
  expect("smallbank --accounts=100 --partitions=2", {{"index", "hash"}, {"distributed_percent", 1.0}});
}

TEST_F(ImpliedValues, OfYcsbTellTheSharesOfAMix) {
  expect("ycsb --keys=1000", {{"mix", "silo"}, {"shares", "read=80,rmw=20"}});
  expect("ycsb --keys=1000 --mix=e", {{"mix", "e"}, {"shares", "insert=5,scan=95"}, {"theta", 0.99}});
  expect("ycsb --keys=1000 --preset=ccbench", {{"mix", "a"}, {"shares", "read=50,update=50"}, {"ops", 10}});
  expect("kv --keys=1000 --shares=put=100", {{"mix", nullptr}, {"shares", "put=100"}, {"theta", 0.0}, {"ops", 1}});
  expect("ycsb --keys=1000 --preset=ccbench_skewed --shares=put=40,read=60",
         {{"mix", nullptr}, {"shares", "put=40,read=60"}, {"theta", 0.9}, {"ops", 10}});
}

TEST_F(ImpliedValues, SharesOfOnesOwnAreRunAndVerified) {
  const std::string shares = "read=40.5,update=9.5,put=10,rmw=20,insert=15,scan=5";
  for (const std::string flags :
       {"", " --ops=5 --scan_length=20", " --ops=5 --scan_length=20 --multi_get", " --fields=4 --scan_length=5",
        " --ops=3 --fields=4 --parts --protocol=tictoc", " --ops=4 --scan_length=9 --protocol=drtm --htm=sim",
        " --ops=4 --scan_length=9 --protocol=dl_detect", " --ops=4 --isolation=snapshot", " --ops=4 --batch=4",
        " --ops=4 --durability=tmpfs", " --ops=4 --variant=key-value", " --preset=ccbench_skewed"}) {
    const Json report = report_of("bench ycsb --keys=2000 --workers=2 --verify --shares=" + shares + flags);
    const Json& ours = report.at("granary");
    EXPECT_EQ(ours.at("parameters").value("shares", ""), shares) << flags;
    ASSERT_TRUE(ours.contains("repeats")) << flags;
    EXPECT_TRUE(ours["repeats"][0]["verified"]) << flags;
    EXPECT_GT(ours["repeats"][0]["total"]["committed"], 0u) << flags;
  }
}

TEST_F(ImpliedValues, TheBareIndexHasNoTransactions) {
  for (const char* words : {"bench kv --keys=1000", "bench ycsb --keys=1000 --variant=key-value"}) {
    const Json report = report_of(words);
    EXPECT_EQ(report.at("isolation"), "TRANSACTION_NONE") << words;
    EXPECT_EQ(report.at("granary").at("parameters").value("isolation", ""), "none") << words;
  }
  EXPECT_EQ(report_of("bench ycsb --keys=1000").at("isolation"), "TRANSACTION_SERIALIZABLE");
}

TEST_F(ImpliedValues, OnNodesPartitionsAreNodes) {
  const std::string file = directory_ / "cluster.toml";
  std::ofstream(file) << "[cluster]\nname = \"implied\"\nrun_directory = \"run\"\n[defaults]\nmemory = \"256MiB\"\n"
                         "[[node]]\nid = 1\n[[node]]\nid = 2\n[[node]]\nid = 3\n";
  const auto parameters = [&](const std::string& bench) {
    return report_of("cluster run " + bench + " --workers=1 --cluster=" + file).at("granary").at("parameters");
  };
  EXPECT_EQ(parameters("smallbank --accounts=100").value("partitions", 0), 3);
  EXPECT_EQ(parameters("tpcc --items=200 --customers=30").value("warehouses", 0), 3);
}

}  // namespace
}  // namespace granary::cli
