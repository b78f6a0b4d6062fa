#include "src/watch/cluster_document.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "src/watch/json_look.h"

namespace granary::watch {
namespace {

/// The format of the document, which docs/monitoring.md describes. It changes when a key changes its meaning.
constexpr int kFormat = 1;

const MemberReport* member_of(const NodeReport& asked, NodeNumber node) {
  if (!asked.membership) return nullptr;
  const auto found = std::ranges::find(asked.membership->members, node, &MemberReport::node);
  return found == asked.membership->members.end() ? nullptr : &*found;
}

const NodeRecovery* debt_of(const NodeReport& asked, NodeNumber node) {
  for (const RecoveryState& state : asked.recoveries) {
    if (state.recovery.node == node && state.recovery.phase != NodeRecovery::Phase::kRecovered) return &state.recovery;
  }
  return nullptr;
}

/// Returns "node 1 recovers it (settling)", or why no node does.
std::string recovery_in_words(const NodeReport& asked, const NodeRecovery& debt) {
  const double age_s = static_cast<double>(debt.age_us) / 1e6;
  if (!asked.epochs.logs) return "and without logs nobody can recover it: end all nodes, and start all of them again";
  if (!debt.failure.empty()) return fmt::format("and this node could not recover it: {}", debt.failure);
  if (debt.phase == NodeRecovery::Phase::kGivenUp) return "and no node could recover it; see their notices";
  if (debt.claimed_by == 0) return fmt::format("and has waited for {:.1f} s for a node that recovers it", age_s);
  const char* const step =
      debt.phase == NodeRecovery::Phase::kAdopting ? "takes over its log" : "settles what it had under way";
  return fmt::format("node {} recovers it, and {} ({:.1f} s since the death)", debt.claimed_by, step, age_s);
}

void say_of_dead(const NodeReport& asked, NodeNumber node, const std::string& state, std::vector<Message>& messages) {
  const NodeRecovery* const debt = debt_of(asked, node);
  if (debt != nullptr) {
    messages.push_back({.severity = "error",
                        .node = node,
                        .text = fmt::format("node {} is dead, its records cannot be reached; {}", node,
                                            recovery_in_words(asked, *debt))});
  } else if (state == "dead") {
    messages.push_back(
        {.severity = "error",
         .node = node,
         .text = fmt::format("node {} is dead, and has been recovered; its records cannot be reached until it is "
                             "started again",
                             node)});
  } else if (state == "left") {
    messages.push_back(
        {.severity = "warning",
         .node = node,
         .text =
             fmt::format("node {} has ended in order; its records cannot be reached until it is started again", node)});
  }
}

/// Adds messages about a node that follow from the membership rather than from its own answer.
void say_of_node(const NodeReport& asked, const NodeAnswer& answer, std::vector<Message>& messages) {
  const MemberReport* const member = member_of(asked, answer.node);
  if (member == nullptr) {
    if (asked.membership)
      messages.push_back({.severity = "warning",
                          .node = answer.node,
                          .text = fmt::format("node {} has never been started", answer.node)});
    return;
  }
  const bool lives = member->state != "dead" && member->state != "left";
  if (!lives || debt_of(asked, answer.node) != nullptr) say_of_dead(asked, answer.node, member->state, messages);
  if (!lives) return;
  if (answer.document.is_null()) {
    const bool silent = answer.http.empty();
    messages.push_back(
        {.severity = silent ? "info" : "warning",
         .node = answer.node,
         .text = silent
                     ? fmt::format("node {} tells nothing of itself: the cluster file gives it no 'http'", answer.node)
                     : fmt::format("node {} is a member, but at {} {}", answer.node, answer.http, answer.error)});
  } else if (member->state != "serving") {
    messages.push_back(
        {.severity = "warning",
         .node = answer.node,
         .text = fmt::format("node {} does not serve yet: it is {}", answer.node, text_at(answer.document, "/stage"))});
  }
}

/// Returns the recoveries. For each life, it takes the report of the node that recovers it, or else that of the node
/// that was asked.
Json merged_recoveries(const NodeReport& asked, const std::vector<NodeAnswer>& answers) {
  std::map<std::pair<double, double>, Json> lives;
  const auto take = [&](const Json& document, bool all) {
    if (!document.is_object() || !document.contains("recoveries") || !document["recoveries"].is_array()) return;
    for (const Json& recovery : document["recoveries"]) {
      if (all || true_at(recovery, "/here"))
        lives[{number_at(recovery, "/node").value_or(0), number_at(recovery, "/generation").value_or(0)}] = recovery;
    }
  };
  for (const NodeAnswer& answer : answers) {
    if (answer.node == asked.node) take(answer.document, /*all=*/true);
  }
  for (const NodeAnswer& answer : answers) take(answer.document, /*all=*/false);
  Json merged = Json::array();
  for (auto& [life, recovery] : lives) merged.push_back(std::move(recovery));
  return merged;
}

Json sums_of(const NodeReport& asked, const std::vector<NodeAnswer>& answers) {
  const auto at = [](const Json& document, const char* path) { return number_at(document, path).value_or(0); };
  double commits = 0, aborts = 0, p50 = 0, p99 = 0, memory = 0;
  std::uint64_t ready = 0;
  for (const NodeAnswer& answer : answers) {
    const Json& each = answer.document;
    commits += at(each, "/transactions/commits_per_second");
    aborts += at(each, "/transactions/aborts_per_second");
    p50 = std::max(p50, at(each, "/transactions/latency_us/p50"));
    p99 = std::max(p99, at(each, "/transactions/latency_us/p99"));
    memory += at(each, "/memory/reserved_bytes");
    ready += true_at(each, "/ready") ? 1 : 0;
  }
  const EpochReport& epochs = asked.epochs;
  const std::uint64_t lag = epochs.lag();
  Json sums{{"name", asked.cluster},
            {"nodes", answers.size()},
            {"nodes_ready", ready},
            {"commits_per_second", commits},
            {"aborts_per_second", aborts},
            {"worst_latency_us", {{"p50", p50}, {"p99", p99}}},
            {"memory_reserved_bytes", memory},
            {"epoch", epochs.current},
            {"durable_epoch", epochs.shown_durable()},
            {"durable_lag_epochs", lag},
            {"durable_lag_seconds", static_cast<double>(lag) * epochs.period_ms / 1000},
            {"results_held", asked.release_trouble}};
  if (asked.membership) {
    sums["cluster_id"] = fmt::format("{:016x}", asked.membership->cluster_id);
    sums["configuration_version"] = asked.membership->version;
    sums["membership_number"] = asked.membership->number;
    sums["leader"] = asked.membership->leader;
  }
  return sums;
}

Json node_json(const NodeReport& asked, NodeAnswer answer) {
  const MemberReport* const member = member_of(asked, answer.node);
  Json node{{"node", answer.node},
            {"host", answer.host},
            {"http", answer.http},
            {"answers", !answer.document.is_null()},
            {"error", answer.error},
            {"member_state", member == nullptr ? "unknown" : member->state},
            {"generation", member == nullptr ? 0 : member->generation}};
  if (answer.document.is_object()) {
    answer.document.erase("membership");  // told once, by the node that was asked
    node.update(answer.document);
  }
  return node;
}

}  // namespace

Status check_cluster_document(const Json& document) {
  if (!document.is_object() || !document.contains("nodes") || !document["nodes"].is_array()) {
    return Status(StatusCode::kUnavailable,
                  "what answered at the node's HTTP address is no status of a cluster; is it a node's ('http' in the "
                  "cluster file)?");
  }
  if (number_at(document, "/format") == kFormat) return {};
  return Status(StatusCode::kUnavailable,
                fmt::format("the node's status has another format than {}: run the release of the node", kFormat));
}

NodeAnswer answer_of(NodeAnswer node, const std::string& body) {
  // Values that are nested more deeply than those of a node's document are left out, so that writing them takes little
  // stack.
  constexpr int kDeepest = 16;
  const auto flat = [](int depth, Json::parse_event_t, const Json&) { return depth <= kDeepest; };
  Json document = Json::parse(body, flat, /*allow_exceptions=*/false);
  if (document.is_object() && number_at(document, "/node") == node.node) {
    node.document = std::move(document);
  } else {
    node.error = document.is_object() ? "another node answers" : "the answer is no document of a node";
  }
  return node;
}

Json cluster_document(const NodeReport& asked, std::vector<NodeAnswer> answers) {
  std::vector<Message> messages;
  for (const NodeAnswer& answer : answers) say_of_node(asked, answer, messages);
  Json all = Json::array();
  for (const Message& message : messages) all.push_back(json_of(message));
  for (const NodeAnswer& answer : answers) {
    if (!answer.document.is_object() || !answer.document.contains("messages")) continue;
    for (const Json& message : answer.document["messages"]) all.push_back(message);
  }
  const bool trouble = std::ranges::any_of(all, [](const Json& each) { return text_at(each, "/severity") != "info"; });
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  Json document{{"format", kFormat},
                {"asked_node", asked.node},
                {"unix_seconds", std::chrono::duration<double>(now).count()},
                {"healthy", !trouble}};
  document["cluster"] = sums_of(asked, answers);
  document["messages"] = std::move(all);
  document["recoveries"] = merged_recoveries(asked, answers);
  Json nodes = Json::array();
  for (NodeAnswer& answer : answers) nodes.push_back(node_json(asked, std::move(answer)));
  document["nodes"] = std::move(nodes);
  return document;
}

}  // namespace granary::watch
