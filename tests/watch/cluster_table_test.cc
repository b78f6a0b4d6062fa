// The cluster's document in a terminal: what a reader looks for is there, and documents that are none, or wrong, are
// shown all the same.

#include <gtest/gtest.h>

#include <string>

#include "src/watch/cluster_document.h"
#include "src/watch/cluster_table.h"
#include "tests/watch/reports.h"

namespace granary::watch {
namespace {

TEST(ClusterTable, ShowsNodesMessagesAndRecoveries) {
  NodeReport report = tests::serving(1);
  tests::kill(report, 2, 1);
  NodeAnswer own{.node = 1,
                 .document = node_document(report, {.seconds = 1, .commits = 123'456, .p50_us = 3.25, .p99_us = 4321})};
  const Json document = cluster_document(report, {std::move(own), {.node = 2, .error = "it did not answer in time"}});
  const std::string table = cluster_table(document, /*color=*/false);
  for (const char* expected : {"cluster bank  needs attention", "1 of 2 nodes ready", "123 k", "3.3 us", "4.32 ms",
                               "0.08 s", "error: node 2 is dead", "recovery of", "settling", "node 1"})
    EXPECT_NE(table.find(expected), std::string::npos) << expected << " missing in\n" << table;
  EXPECT_EQ(table.find('\x1b'), std::string::npos);
  EXPECT_NE(cluster_table(document, /*color=*/true).find("\x1b[31m"), std::string::npos);
}

TEST(ClusterTable, ShowsNoDurableEpochWithoutALog) {
  NodeReport report = tests::serving(1);
  const auto table = [&report] {
    NodeAnswer own{.node = 1, .document = node_document(report, {.seconds = 1})};
    return cluster_table(cluster_document(report, {std::move(own)}), /*color=*/false);
  };
  EXPECT_NE(table().find("E 100, D 98, 0.08 s behind"), std::string::npos) << table();
  report.epochs.logs = false;
  EXPECT_NE(table().find("E 100, D -;"), std::string::npos) << table();
}

TEST(ClusterTable, PrintsNoControlCharacters) {
  const Json document =
      Json::parse(R"({"cluster": {"name": "a\u001b[2J"}, "nodes": [{"stage": "\u0007\n", "answers": true}],
                                        "messages": [{"severity": "error", "text": "b\u001b]0;x\u0007"}]})");
  EXPECT_EQ(cluster_table(document, /*color=*/false).find_first_of("\x1b\x07"), std::string::npos);
}

TEST(ClusterTable, TakesAnyDocument) {
  for (const char* text :
       {"null", "[]", "5", "{}", R"({"nodes": 5, "messages": {}, "recoveries": [[], 1], "cluster": []})"})
    EXPECT_FALSE(cluster_table(Json::parse(text), /*color=*/false).empty()) << text;
}

}  // namespace
}  // namespace granary::watch
