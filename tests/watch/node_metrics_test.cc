// A node's metrics: what they say of a report; that Prometheus's own check accepts them; that the documentation lists
// all of them, and the dashboard for Grafana asks for none that does not exist.

#include <gtest/gtest.h>

#include <cstdlib>
#include <regex>
#include <set>
#include <string>

#include <nlohmann/json.hpp>

#include "src/watch/node_metrics.h"
#include "tests/support/contents.h"
#include "tests/support/temporary_directory.h"
#include "tests/watch/reports.h"

namespace granary::watch {
namespace {

using granary::tests::contents;

/// Names that the pattern's first group finds.
std::set<std::string> names_in(const std::string& text, const std::string& pattern) {
  const std::regex regex(pattern);
  std::set<std::string> names;
  for (std::sregex_iterator it(text.begin(), text.end(), regex), end; it != end; ++it) names.insert((*it)[1]);
  return names;
}

std::set<std::string> families() {
  return names_in(metrics_of(tests::serving(1)), "# TYPE ([a-z_]+) (?:counter|gauge|histogram)\n");
}

TEST(NodeMetrics, SayWhatTheReportSays) {
  NodeReport report = tests::serving(1);
  tests::kill(report, 2, 1);
  report.recoveries[0].rests_us = 7'500'000;
  const std::string text = metrics_of(report);
  const std::string own = "cluster=\"bank\",node=\"1\"";
  for (const std::string& line :
       {"granary_transactions_total{" + own + "} 1000\n",
        "granary_aborts_total{" + own + ",reason=\"read_changed\"} 7\n",
        "granary_aborts_total{" + own + ",reason=\"lease_expired\"} 0\n",
        "granary_commit_latency_seconds_bucket{" + own + ",le=\"2e-06\"} 10\n",
        "granary_commit_latency_seconds_bucket{" + own + ",le=\"1e-06\"} 0\n",
        "granary_commit_latency_seconds_bucket{" + own + ",le=\"1e-07\"} 0\n",
        "granary_durable_lag_seconds{" + own + "} 0.08\n",
        "granary_one_sided_operations_total{" + own + ",verb=\"compare_swap\"} 60\n",
        "granary_member_state{" + own + ",member=\"2\",state=\"dead\"} 1\n",
        "granary_member_state{" + own + ",member=\"2\",state=\"serving\"} 0\n",
        "granary_recoveries{" + own + ",phase=\"settling\"} 1\n", "granary_node_ready{" + own + "} 1\n",
        "granary_recovery_rests_seconds{" + own + "} 7.5\n", "granary_oldest_recovery_seconds{" + own + "} 0.25\n",
        "granary_checkpoint_age_seconds{" + own + "} NaN\n"})
    EXPECT_NE(text.find(line), std::string::npos) << line << " missing in\n" << text;
}

TEST(NodeMetrics, NameNoDurableEpochWithoutALog) {
  NodeReport report = tests::serving(1);
  report.epochs.logs = false;
  const std::string text = metrics_of(report);
  for (const std::string name : {"granary_durable_epoch", "granary_durable_epoch_here"})
    EXPECT_NE(text.find("\n" + name + "{cluster=\"bank\",node=\"1\"} 0\n"), std::string::npos) << text;
}

TEST(NodeMetrics, OfANodeThatIsNoMemberYet) {
  const NodeReport report{.cluster = "bank", .node = 1};
  const std::string text = metrics_of(report);
  EXPECT_NE(text.find("granary_node_stage{cluster=\"bank\",node=\"1\",stage=\"joining\"} 1\n"), std::string::npos)
      << text;
  EXPECT_EQ(text.find("granary_transactions_total"), std::string::npos);
}

TEST(NodeMetrics, AreAcceptedByPrometheus) {
  if (std::system("command -v promtool > /dev/null") != 0) GTEST_SKIP() << "no promtool: scripts/setup.sh --watch";
  NodeReport report = tests::serving(1);
  tests::kill(report, 2, 1);
  report.host = "a\"b\\c\nd";
  const granary::tests::TemporaryDirectory directory;
  const std::string path = directory / "metrics", said = directory / "said";
  std::ofstream(path) << metrics_of(report);
  EXPECT_EQ(std::system(("promtool check metrics < " + path + " > " + said + " 2>&1").c_str()), 0) << contents(said);
  EXPECT_EQ(contents(said), "");
}

TEST(NodeMetrics, AreAllDocumented) {
  const std::string document = contents(DOCUMENTS "/monitoring.md");
  EXPECT_EQ(families(), names_in(document, "\\| `((?:granary|process)_[a-z_]+)`"));
}

TEST(NodeMetrics, AreWhatTheDashboardAsksFor) {
  const std::string text = contents(GRAFANA "/granary.json");
  const auto dashboard = nlohmann::json::parse(text);
  EXPECT_GT(dashboard.at("panels").size(), 5u);
  std::set<std::string> known = families();
  for (const char* suffix : {"_bucket", "_sum", "_count"})
    known.insert(std::string("granary_commit_latency_seconds") + suffix);
  const auto asked = names_in(text, "\\b((?:granary|process)_[a-z_]+)\\b");
  EXPECT_GT(asked.size(), 10u);
  for (const std::string& name : asked) EXPECT_TRUE(known.contains(name)) << name;
}

/// A transaction that the application gives up itself is no attempt that failed.
TEST(NodeMetrics, OfAbortsLeaveRollbacksOutOnTheDashboard) {
  const std::string text = contents(GRAFANA "/granary.json"), name = "granary_aborts_total{";
  std::size_t panels = 0;
  for (std::size_t at = 0; (at = text.find(name, at)) != std::string::npos; at += name.size(), ++panels)
    EXPECT_NE(text.substr(at, text.find('}', at) - at).find("reason!=\\\"user\\\""), std::string::npos) << at;
  EXPECT_GE(panels, 2u);
}

}  // namespace
}  // namespace granary::watch
