#pragma once
// Reports of nodes, made up.

#include <string>
#include <utility>

#include "src/watch/node_report.h"

namespace granary::watch::tests {

/// Of a node that serves in a cluster of three with logs, all of whose members serve.
inline NodeReport serving(NodeNumber node) {
  NodeReport report{.cluster = "bank", .node = node, .host = "localhost", .release = "0.1.0", .generation = 3};
  report.stage = Stage::kServing;
  report.process = {.resident_bytes = 1 << 20, .cpu_seconds = 1.5, .threads = 9, .open_files = 20, .started_unix_s = 1};
  report.membership = MembershipReport{.cluster_id = 0xabc, .version = 17, .number = 5, .leader = 1};
  for (NodeNumber member = 1; member <= 3; ++member)
    report.membership->members.push_back({.node = member, .generation = 3, .state = "serving", .release = "0.1.0"});
  report.database = Statistics();
  report.database->commits = 1000;
  report.database->limit_bytes = 1 << 30;
  report.database->epoch = 100;
  report.database->durable_epoch = 98;
  report.database->aborts[static_cast<std::size_t>(AbortReason::kReadChanged)] = 7;
  report.database->commit_latencies = {.samples = 10, .seconds = 0.001, .buckets = {{.most_ns = 1500, .count = 10}}};
  report.elsewhere =
      ClusterStatistics{.transactions = 100, .rounds = 300, .reads = 400, .writes = 50, .compare_swaps = 60};
  report.clock = ClockStatus{.source = "host", .state = "synchronized", .synchronized = true, .delta_us = 1};
  report.epochs = {.current = 100, .durable = 98, .durable_here = 99, .period_ms = 40, .logs = true};
  return report;
}

/// Makes the node dead in what `report` knows; `recoverer` recovers it, or nobody if that is 0.
inline void kill(NodeReport& report, NodeNumber node, NodeNumber recoverer) {
  report.membership->members[node - std::size_t{1}].state = "dead";
  NodeRecovery recovery{.node = node, .generation = 3, .claimed_by = recoverer, .age_us = 250'000};
  if (recoverer != 0) recovery.phase = NodeRecovery::Phase::kSettling;
  recovery.here = recoverer == report.node;
  report.recoveries.push_back({.recovery = recovery, .phase = recoverer == 0 ? "waiting" : "settling"});
}

}  // namespace granary::watch::tests
