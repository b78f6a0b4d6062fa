// `granary cluster run --kill`: a node's process is killed, the others go on, and it comes back. No speed is judged.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include "bench/cluster/recovery_watch.h"
#include "tests/cli/command_line.h"
#include "tests/support/temporary_directory.h"

namespace granary::cli {
namespace {

using Json = nlohmann::json;

constexpr const char* kLogs = "data_directory = \"data\"\nreliable_directory = \"rings\"\n";

class ClusterKill : public testing::Test {
 protected:
  /// Three nodes; `defaults` is what the file says of all beside the rest.
  void write_file(const std::string& defaults) const {
    std::ofstream(file_) << "[cluster]\nname = \"test\"\nrun_directory = \"run\"\nepoch_ms = 10\n"
                            "[defaults]\nmemory = \"256MiB\"\n"
                         << defaults << "[[node]]\nid = 1\n[[node]]\nid = 2\n[[node]]\nid = 3\n";
  }
  Ran run(const std::string& flags) const {
    return granary("cluster run smallbank --workers=1 --accounts=1000 --noprogress --cluster=" + file_ + " " + flags);
  }
  void expect_refused(const std::string& flags, const std::string& says) const {
    const Ran ran = run(flags);
    EXPECT_EQ(ran.exit_code, 2) << flags << ran.out;
    EXPECT_NE(ran.err.find(says), std::string::npos) << flags << ": " << ran.err;
  }
  /// What the result has of one kill, and all of it in `*whole`.
  void run_killed(const std::string& flags, Json* killed, Json* whole) const {
    const std::string path = directory_ / "result.json";
    const Ran ran = run(flags + " --distributed_percent=20 --warmup=0.2 --repeat=1 --json=" + path);
    ASSERT_EQ(ran.exit_code, 0) << ran.out << ran.err;
    for (const char* expected : {"was killed", "until its death was noticed, ms", "is killed (0.0)"})
      EXPECT_NE(ran.out.find(expected), std::string::npos) << expected << " missing in\n" << ran.out;
    *whole = Json::parse(contents(path), nullptr, false)["granary"];
    ASSERT_TRUE(whole->contains("killed"));
    *killed = (*whole)["killed"];
    ASSERT_EQ((*killed)["repeats"].size(), 1u);
  }

  const tests::TemporaryDirectory directory_;
  const std::string file_ = directory_ / "cluster.toml";
};

constexpr double kBin_ms = 50;  // of the time line

/// What the node committed from here to there, in each stretch of so many milliseconds.
std::vector<std::uint64_t> commits(const Json& repeat, const std::string& node, double from_ms, double to_ms,
                                   double stretch_ms) {
  const Json& bins = repeat["time_line"][node]["committed"];
  std::vector<std::uint64_t> sums;
  for (double at = from_ms; at + stretch_ms <= to_ms; at += stretch_ms) {
    sums.push_back(0);
    for (auto bin = static_cast<std::size_t>(at / kBin_ms);
         bin < static_cast<std::size_t>((at + stretch_ms) / kBin_ms) && bin < bins.size(); ++bin)
      sums.back() += bins[bin].get<std::uint64_t>();
  }
  return sums;
}

TEST_F(ClusterKill, TheOthersGoOnAndTheNodeServesAgain) {
  write_file(kLogs);
  Json killed, whole;
  ASSERT_NO_FATAL_FAILURE(run_killed("--seconds=8 --kill=1@1 --restart_after=0.5", &killed, &whole));
  EXPECT_EQ(killed["node"], "node 1");
  const Json& repeat = killed["repeats"][0];
  ASSERT_GE(repeat["killed_ms"].get<double>(), 1000);
  double last = repeat["killed_ms"];
  for (std::size_t step = 0; step < bench::cluster::kRecoverySteps; ++step) {
    const std::string name(bench::cluster::name(static_cast<bench::cluster::RecoveryStep>(step)));
    const Json& at = repeat["steps_ms"][name];
    ASSERT_TRUE(at.is_number()) << name << " in " << repeat["steps_ms"];
    EXPECT_GE(at.get<double>(), last) << name;
    last = at;
  }
  EXPECT_GE(repeat["restarted_ms"].get<double>(), repeat["killed_ms"].get<double>() + 500);
  for (const char* survivor : {"node 2", "node 3"}) {
    EXPECT_THAT(commits(repeat, survivor, 0, 8000, 1000), testing::Each(testing::Gt(0u))) << survivor;
    const Json& with_it = repeat["time_line"][survivor]["with_killed_node"];
    EXPECT_GT(std::count_if(with_it.begin() + static_cast<std::ptrdiff_t>(last / kBin_ms), with_it.end(),
                            [](const Json& count) { return count.get<std::uint64_t>() > 0; }),
              0)
        << survivor;
  }
  const double dead_ms = std::ceil(repeat["killed_ms"].get<double>() / kBin_ms) * kBin_ms + kBin_ms;
  EXPECT_THAT(commits(repeat, "node 1", dead_ms, repeat["restarted_ms"], 100), testing::Each(0u));
  EXPECT_THAT(commits(repeat, "node 1", 7000, 8000, 1000), testing::Each(testing::Gt(0u)));
  EXPECT_TRUE(killed["figures"]["keys_back_ms"]["median"].is_number());
  EXPECT_TRUE(whole["repeats"][0]["verified"]);
  for (const Json& finding : whole["repeats"][0]["findings"]) EXPECT_TRUE(finding["holds"]) << finding;
  EXPECT_TRUE(std::filesystem::is_empty(directory_ / "data/node-1"));
}

TEST_F(ClusterKill, ANodeMayStayAway) {
  write_file(kLogs);
  Json killed, whole;
  ASSERT_NO_FATAL_FAILURE(run_killed("--seconds=5 --kill=3@0.5", &killed, &whole));
  const Json& repeat = killed["repeats"][0];
  EXPECT_TRUE(repeat["restarted_ms"].is_null());
  EXPECT_TRUE(repeat["steps_ms"]["serves"].is_null());
  EXPECT_TRUE(repeat["steps_ms"]["recovered"].is_number());
  EXPECT_FALSE(whole["nodes"][0].contains("node 3"));
  EXPECT_FALSE(whole["repeats"][0]["verified"]);
}

TEST_F(ClusterKill, RefusesWhatCannotBe) {
  write_file(kLogs);
  expect_refused("--kill=4@1", "has no node 4");
  expect_refused("--kill=1", "NODE@SECONDS");
  expect_refused("--kill=1@30", "--seconds");
  expect_refused("--kill=1@1 --restart_after=29", "--restart_after=29");
  expect_refused("--restart_after=1", "--kill");
  expect_refused("--restart_after=-1", "--restart_after");
  expect_refused("--kill=1@1 --protocol=two_pc_tcp", "two_pc_tcp");
  std::filesystem::create_directories(directory_ / "data/node-2");
  std::ofstream(directory_ / "data/node-2/mine") << "data";
  const Ran other_data = run("--kill=1@1");
  EXPECT_EQ(other_data.exit_code, 3) << other_data.err;
  EXPECT_NE(other_data.err.find("data/node-2' is not empty"), std::string::npos) << other_data.err;
  EXPECT_EQ(contents(directory_ / "data/node-2/mine"), "data");
  write_file("");
  expect_refused("--kill=1@1", "'data_directory'");
  for (const std::string words : {"bench smallbank --kill=1@1", "cluster run ycsb --kill=1@1 --cluster=",
                                  "bench smallbank --node=1 --workers=1 --kill=1@1 --cluster="}) {
    const Ran ran = granary(words.ends_with('=') ? words + file_ : words);
    EXPECT_EQ(ran.exit_code, 2) << words;
    EXPECT_NE(ran.err.find("--kill"), std::string::npos) << ran.err;
  }
}

}  // namespace
}  // namespace granary::cli
