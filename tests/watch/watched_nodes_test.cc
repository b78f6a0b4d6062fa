// Real nodes, watched by HTTP: before they serve, under load, while one of them is dead and comes back; `granary top`;
// the log as JSON.

#include <gtest/gtest.h>

#include <cstdlib>
#include <regex>
#include <sstream>
#include <string>

#include "tests/watch/watched_cluster.h"

namespace granary::tests {
namespace {

using std::chrono::seconds;

std::string messages_in(const nlohmann::json& status) {
  std::string text;
  for (const auto& message : status.value("messages", nlohmann::json::array()))
    text += message.value("text", "") + "\n";
  return text;
}

bool nodes_ready(const nlohmann::json& status, unsigned count) {
  return status.contains("cluster") && status["cluster"].value("nodes_ready", 0u) == count;
}

/// Of a metric's first sample whose labels contain the text.
double value_of(const std::string& metrics, const std::string& name, const std::string& label) {
  std::istringstream lines(metrics);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with(name + "{") && line.find(label) != std::string::npos)
      return std::strtod(line.c_str() + line.rfind(' '), nullptr);
  }
  return -1;
}

int top(const std::string& flags, const std::string& out) {
  const int status = std::system((std::string(GRANARY_COMMAND) + " top " + flags + " > " + out + " 2>&1").c_str());
  return WEXITSTATUS(status);
}

TEST(WatchedNodes, TellWhenTheyServeAndThatOneIsDead) {
  WatchedCluster cluster(3);
  cluster.start(1, "--log_format=json");
  cluster.start(2);
  EXPECT_TRUE(within(seconds(20), [&] { return cluster.get(1, "/healthz").ok(); }))
      << "it is alive, and waits for others";
  const http::Fetched early = cluster.get(1, "/readyz");
  EXPECT_EQ(early.status, 503u);
  EXPECT_TRUE(early.body.starts_with("the node is ")) << early.body;
  cluster.start(3);
  ASSERT_TRUE(within(seconds(40), [&] { return nodes_ready(cluster.status(2), 3); })) << cluster.status(2);
  EXPECT_TRUE(cluster.status(2)["healthy"]) << cluster.status(2);
  EXPECT_TRUE(cluster.ready(1));

  cluster.process(2).kill(SIGKILL);
  EXPECT_TRUE(within(seconds(20), [&] {
    return messages_in(cluster.status(1)).find("node 2 is dead") != std::string::npos;
  })) << cluster.status(1);
  EXPECT_TRUE(within(seconds(20), [&] {
    return messages_in(cluster.status(1)).find("node 2 is dead, and has been recovered") != std::string::npos;
  })) << cluster.status(1);
  const auto status = cluster.status(3);
  EXPECT_EQ(status["nodes"][1]["member_state"], "dead");
  ASSERT_FALSE(status["recoveries"].empty());
  EXPECT_EQ(status["recoveries"][0]["node"], 2);
  EXPECT_EQ(status["recoveries"][0]["phase"], "recovered");
  EXPECT_EQ(top("--once --cluster=" + cluster.file(), cluster.path("top")), 0);
  const std::string shown = file_contents(cluster.path("top"));
  EXPECT_NE(shown.find("2 of 3 nodes ready"), std::string::npos) << shown;
  EXPECT_NE(shown.find("recovery of"), std::string::npos) << shown;

  cluster.start(2);
  EXPECT_TRUE(within(seconds(40), [&] { return nodes_ready(cluster.status(1), 3); })) << cluster.status(1);
  EXPECT_EQ(cluster.process(1).kill(SIGTERM), 0) << file_contents(cluster.err(1));

  // The first node wrote its log as JSON: each line is an object, one of which is about the death.
  std::istringstream lines(file_contents(cluster.err(1)) + file_contents(cluster.out(1)));
  bool told_death = false, told_service = false;
  for (std::string line; std::getline(lines, line);) {
    const auto entry = nlohmann::json::parse(line, nullptr, false);
    ASSERT_TRUE(entry.is_object()) << line;
    EXPECT_TRUE(
        std::regex_match(entry["time"].get<std::string>(), std::regex(R"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z)")))
        << line;
    EXPECT_EQ(entry["node"], 1) << line;
    if (entry["topic"] == "peers" && entry.value("about_node", 0) == 2) {
      told_death = true;
      EXPECT_EQ(entry["generation"], 1) << line;
      EXPECT_GT(entry["configuration"], 1) << line;
    }
    told_service |= entry["text"] == "node 1 of 3 serves";
  }
  EXPECT_TRUE(told_death && told_service) << file_contents(cluster.err(1)) << file_contents(cluster.out(1));
  // The others write text with times.
  const std::string text = file_contents(cluster.err(3));
  EXPECT_TRUE(std::regex_search(text, std::regex(R"(\d{4}-\d\d-\d\dT[0-9:.]+Z granary: error: node 2 )"))) << text;
}

/// The load goes on until the test has seen all that it wants to see.
TEST(WatchedNodes, CountTransactionsUnderLoad) {
  WatchedCluster cluster(3);
  CommandProcess load({"cluster", "run", "smallbank", "--cluster=" + cluster.file(), "--accounts=300", "--seconds=600",
                       "--repeat=1", "--warmup=0", "--distributed_percent=50", "--noprogress"},
                      cluster.path("load"), cluster.path("load"));
  ASSERT_TRUE(within(seconds(60),
                     [&] {
                       const auto status = cluster.status(1);
                       return nodes_ready(status, 3) && status["cluster"]["commits_per_second"] > 0;
                     }))
      << cluster.status(1) << file_contents(cluster.path("load"));
  ASSERT_TRUE(within(seconds(20), [&] {
    return value_of(cluster.get(2, "/metrics").body, "granary_one_sided_operations_total", "verb=\"read\"") > 0;
  })) << cluster.get(2, "/metrics").body;
  const std::string before = cluster.get(2, "/metrics").body, again = cluster.get(2, "/metrics").body;
  EXPECT_GT(value_of(before, "granary_transactions_total", ""), 0);
  EXPECT_LE(value_of(before, "granary_transactions_total", ""), value_of(again, "granary_transactions_total", ""));
  EXPECT_GT(value_of(again, "granary_commit_latency_seconds_bucket", "le=\"+Inf\""), 0) << again;
  EXPECT_GT(value_of(again, "granary_epoch", ""), 0);
  EXPECT_GT(value_of(again, "process_resident_memory_bytes", ""), 1e6);
  if (std::system("command -v promtool > /dev/null") == 0) {
    std::ofstream(cluster.path("metrics")) << again;
    EXPECT_EQ(std::system(("promtool check metrics < " + cluster.path("metrics")).c_str()), 0);
  }
  EXPECT_EQ(top("--once --json --cluster=" + cluster.file(), cluster.path("top")), 0);
  EXPECT_TRUE(nodes_ready(nlohmann::json::parse(file_contents(cluster.path("top")), nullptr, false), 3));
  EXPECT_EQ(load.kill(SIGINT), 0) << file_contents(cluster.path("load"));
}

TEST(WatchedNodes, AreNotThereForTop) {
  const WatchedCluster cluster(2);
  EXPECT_EQ(top("--once --cluster=" + cluster.file(), cluster.path("top")), 3);
  const std::string said = file_contents(cluster.path("top"));
  EXPECT_NE(said.find("no node tells of the cluster: node 1 at 127.0.0.1 port "), std::string::npos) << said;
  CommandProcess live({"top", "--json", "--interval=0.1", "--cluster=" + cluster.file()}, cluster.path("documents"),
                      cluster.path("failures"));
  EXPECT_TRUE(within(seconds(20), [&] {
    return file_contents(cluster.path("failures")).find("no node tells of the cluster: node 1") != std::string::npos;
  }));
  EXPECT_EQ(live.kill(SIGTERM), 0);
  EXPECT_EQ(file_contents(cluster.path("documents")).find_first_not_of('\n'), std::string::npos)
      << "standard output has documents only, and empty lines";
  std::ofstream(cluster.path("bare.toml")) << "[cluster]\nname = \"bank\"\nrun_directory = \"run\"\n[[node]]\nid = 1\n";
  EXPECT_EQ(top("--once --cluster=" + cluster.path("bare.toml"), cluster.path("top")), 2);
}

}  // namespace
}  // namespace granary::tests
