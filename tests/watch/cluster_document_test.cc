// The documents of a node and of the cluster: what they say when all is well, when a node is dead, recovered, silent,
// or answers nonsense.

#include <gtest/gtest.h>

#include <string>

#include "src/watch/cluster_document.h"
#include "src/watch/rates.h"
#include "tests/watch/reports.h"

namespace granary::watch {
namespace {

NodeAnswer answer(NodeNumber node, const NodeReport* report) {
  NodeAnswer made{.node = node, .host = "localhost", .http = "127.0.0.1:9461"};
  if (report != nullptr) {
    made = answer_of(std::move(made), text_of(node_document(*report, {.seconds = 1, .commits = 50, .p99_us = 12.5})));
  } else {
    made.error = "it did not answer in time";
  }
  return made;
}

/// What node 1 says; node 2 answers with `second`, if that is not null.
Json document_of(const NodeReport& first, const NodeReport* second) {
  const NodeReport third = tests::serving(3);
  return cluster_document(first, {answer(1, &first), answer(2, second), answer(3, &third)});
}

std::string messages_in(const Json& document) {
  std::string text;
  for (const Json& message : document["messages"])
    text += message["severity"].get<std::string>() + ": " + message["text"].get<std::string>() + "\n";
  return text;
}

TEST(ClusterDocument, OfAHealthyCluster) {
  const NodeReport first = tests::serving(1), second = tests::serving(2);
  const Json document = document_of(first, &second);
  EXPECT_TRUE(document["healthy"]) << messages_in(document);
  EXPECT_EQ(document["cluster"]["nodes_ready"], 3);
  EXPECT_EQ(document["cluster"]["commits_per_second"], 150);
  EXPECT_EQ(document["cluster"]["worst_latency_us"]["p99"], 12.5);
  EXPECT_EQ(document["cluster"]["cluster_id"], "0000000000000abc");
  EXPECT_EQ(document["nodes"].size(), 3u);
  EXPECT_EQ(document["nodes"][1]["member_state"], "serving");
  EXPECT_EQ(document["nodes"][1]["transactions"]["aborts"]["read_changed"], 7);
  EXPECT_TRUE(document["recoveries"].empty());
}

TEST(ClusterDocument, NamesNoDurableEpochWithoutALog) {
  NodeReport first = tests::serving(1), second = tests::serving(2);
  first.epochs.logs = second.epochs.logs = false;
  const Json document = document_of(first, &second);
  EXPECT_EQ(document["cluster"]["durable_epoch"], 0);
  EXPECT_EQ(document["nodes"][1]["epochs"]["durable_epoch"], 0);
  EXPECT_EQ(document["nodes"][1]["epochs"]["durable_epoch_here"], 0);
}

TEST(ClusterDocument, NamesTheDeadNodeAndWhoRecoversIt) {
  NodeReport first = tests::serving(1);
  tests::kill(first, 2, 3);
  first.release_trouble = "node 2 is dead, so results are not released";
  const Json document = document_of(first, nullptr);
  EXPECT_FALSE(document["healthy"]);
  const std::string messages = messages_in(document);
  EXPECT_NE(
      messages.find("error: node 2 is dead, its records cannot be reached; node 3 recovers it, and settles what it "
                    "had under way"),
      std::string::npos)
      << messages;
  EXPECT_NE(messages.find("results are not released"), std::string::npos) << messages;
  EXPECT_EQ(document["recoveries"][0]["node"], 2);
  EXPECT_EQ(document["recoveries"][0]["phase"], "settling");
  EXPECT_EQ(document["nodes"][1]["member_state"], "dead");
  EXPECT_FALSE(document["nodes"][1]["answers"]);
}

TEST(ClusterDocument, NamesTheDirectoryForWhichARecoveryWaits) {
  NodeReport first = tests::serving(1);
  tests::kill(first, 2, 1);
  first.recoveries[0].directory = "/srv/two";
  first.recoveries[0].rests_us = 7'500'000;
  const Json document = document_of(first, nullptr);
  EXPECT_EQ(document["recoveries"][0]["directory"], "/srv/two");
  EXPECT_EQ(document["recoveries"][0]["rests_seconds"], 7.5);
}

TEST(ClusterDocument, NamesADeadNodeThatIsRecovered) {
  NodeReport first = tests::serving(1);
  tests::kill(first, 2, 3);
  first.recoveries.clear();
  EXPECT_NE(messages_in(document_of(first, nullptr)).find("node 2 is dead, and has been recovered"), std::string::npos);
}

TEST(ClusterDocument, TellsAMemberThatIsSilent) {
  const Json document = document_of(tests::serving(1), nullptr);
  EXPECT_NE(messages_in(document).find("node 2 is a member, but at 127.0.0.1:9461 it did not answer in time"),
            std::string::npos);
  EXPECT_FALSE(document["healthy"]);
}

TEST(ClusterDocument, TellsWhatANodeSaysOfItself) {
  NodeReport second = tests::serving(2);
  second.log_trouble = "the log's device is full";
  second.database->epoch_thread_silence_us = 60'000'000;
  const std::string messages = messages_in(document_of(tests::serving(1), &second));
  EXPECT_NE(messages.find("the log's device is full"), std::string::npos) << messages;
  EXPECT_NE(messages.find("has stood still for 60.0 s"), std::string::npos) << messages;
}

TEST(ClusterDocument, TakesAnyAnswer) {
  const NodeReport first = tests::serving(1);
  const std::string deep = R"({"node": 2, "messages": )" + std::string(100'000, '[') + std::string(100'000, ']') + "}";
  for (
      const std::string& body :
      {std::string(), std::string("nonsense"), std::string("[1, 2]"), std::string(R"({"node": 3})"), deep,
       std::string(
           R"({"node": 2, "transactions": 5, "messages": {"a": 1}, "recoveries": [1, {"node": "x"}], "ready": "yes"})"),
       std::string(R"({"node": 2, "messages": "text", "recoveries": {"here": true}, "memory": [1]})")}) {
    NodeAnswer second = answer_of({.node = 2, .http = "127.0.0.1:9462"}, body);
    const Json document = cluster_document(first, {answer(1, &first), std::move(second), answer(3, nullptr)});
    EXPECT_FALSE(text_of(document).empty());
    EXPECT_EQ(document["cluster"]["nodes_ready"], 1) << body.substr(0, 60);
  }
}

TEST(NodeDocument, SaysWhyANodeIsNotReady) {
  NodeReport report = tests::serving(1);
  report.stage = Stage::kRecovering;
  EXPECT_EQ(node_document(report, {})["why_not_ready"], "the node is recovering");
  report.membership->lost = "lost membership at generation 3: its mark is gone";
  EXPECT_EQ(why_not_ready(report), "lost membership at generation 3: its mark is gone");
  report = tests::serving(1);
  EXPECT_EQ(why_not_ready(report), "");
  EXPECT_TRUE(node_document(report, {})["ready"]);
  report.membership->commits = false;
  EXPECT_EQ(why_not_ready(report), "the node may not commit until its membership is confirmed again");
  EXPECT_FALSE(node_document(report, {})["ready"]);
}

TEST(Rates, AreOfTheTimeBetweenTwoLooks) {
  NodeReport report = tests::serving(1);
  RateMeter meter;
  meter.take(report, 1'000'000);
  EXPECT_EQ(meter.rates().seconds, 0);
  report.database->commits += 500;
  report.database->aborts[static_cast<std::size_t>(AbortReason::kReadChanged)] += 2;
  report.database->aborts[static_cast<std::size_t>(AbortReason::kUser)] += 50;
  report.database->epoch += 10;
  report.database->commit_latencies.buckets.push_back({.most_ns = 9000, .count = 1});
  report.database->commit_latencies.samples += 1;
  report.elsewhere->reads += 40;
  meter.take(report, 1'500'000);
  EXPECT_EQ(meter.rates().commits, 1000);
  EXPECT_EQ(meter.rates().aborts, 4) << "without what the application has given up itself";
  EXPECT_EQ(meter.rates().one_sided_operations, 80);
  EXPECT_EQ(meter.rates().p50_us, 9);
  EXPECT_TRUE(meter.rates().epoch_moved);
  meter.take(report, 2'500'000);
  EXPECT_EQ(meter.rates().commits, 0);
  EXPECT_FALSE(meter.rates().epoch_moved);
}

/// A program that answers at the address may be no node, or a node of another release.
TEST(ClusterDocument, OfAnotherFormatIsNotShown) {
  EXPECT_TRUE(check_cluster_document(Json{{"format", 1}, {"nodes", Json::array()}}).ok());
  for (const Json& other : {Json(), Json("text"), Json::array(), Json{{"format", 1}}, Json{{"format", 1}, {"nodes", 7}},
                            Json{{"format", 2}, {"nodes", Json::array()}}, Json{{"nodes", Json::array()}}})
    EXPECT_EQ(check_cluster_document(other).code(), StatusCode::kUnavailable) << other;
}

}  // namespace
}  // namespace granary::watch
