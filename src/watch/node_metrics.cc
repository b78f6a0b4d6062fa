#include "src/watch/node_metrics.h"

#include <algorithm>
#include <array>
#include <limits>
#include <string>
#include <string_view>

#include "src/watch/latencies.h"
#include "src/watch/metric_text.h"

namespace granary::watch {
namespace {

constexpr double kMicrosecond = 1e-6;

double seconds_of_us(std::uint64_t us) { return static_cast<double>(us) * kMicrosecond; }

/// Adds 1 for the state that holds and 0 for all others, so that each state is a series of its own.
template <typename Names>
void add_states(MetricText& metrics, std::string_view label, const Names& names, std::string_view holds,
                std::initializer_list<Label> more = {}) {
  for (const std::string_view name : names) {
    const std::uint64_t value = name == holds ? 1 : 0;
    if (more.size() == 0) {
      metrics.add(value, {{label, name}});
    } else {
      metrics.add(value, {*more.begin(), {label, name}});
    }
  }
}

void write_node(const NodeReport& report, MetricText& metrics) {
  metrics.gauge("granary_node_info", "The node's life: 1, with what it is in labels.")
      .add(std::uint64_t{1},
           {{"generation", std::to_string(report.generation)}, {"host", report.host}, {"release", report.release}});
  add_states(metrics.gauge("granary_node_stage", "How far the node's life has come: 1 for the stage that it is in."),
             "stage", kStages, name(report.stage));
  metrics.gauge("granary_node_ready", "Whether the node serves and may commit (/readyz).")
      .add(std::uint64_t{why_not_ready(report).empty()});
  metrics.gauge("granary_node_stuck", "Whether a thread that the node cannot do without stands still (/healthz).")
      .add(std::uint64_t{!why_stuck(report).empty()});
  metrics.gauge("granary_results_held", "Whether results are held back because D cannot advance.")
      .add(std::uint64_t{!report.release_trouble.empty()});
}

void write_membership(const MembershipReport& membership, MetricText& metrics) {
  static constexpr std::array<std::string_view, 5> kStates = {"joining", "ready", "serving", "left", "dead"};
  metrics.gauge("granary_configuration_version", "Version of the newest configuration that the node knows.")
      .add(membership.version);
  metrics.gauge("granary_membership_number", "Grows by 1 whenever a node's life begins or ends.")
      .add(membership.number);
  metrics.gauge("granary_leader_node", "The node that leads epochs; 0 if none does.")
      .add(std::uint64_t{membership.leader});
  metrics.gauge("granary_membership_lost", "Whether this node is no member any more.")
      .add(std::uint64_t{!membership.lost.empty()});
  metrics.gauge("granary_member_state",
                "The state of each member in the newest configuration: 1 for the one it is in.");
  for (const MemberReport& member : membership.members)
    add_states(metrics, "state", kStates, member.state, {{"member", std::to_string(member.node)}});
  metrics.gauge("granary_member_generation", "Counts the lives of each member.");
  for (const MemberReport& member : membership.members)
    metrics.add(std::uint64_t{member.generation}, {{"member", std::to_string(member.node)}});
}

void write_recoveries(const std::vector<RecoveryState>& recoveries, MetricText& metrics) {
  static constexpr std::array<std::string_view, 5> kPhases = {"waiting", "settling", "adopting", "given_up",
                                                              "recovered"};
  metrics.gauge("granary_recoveries", "Lives of dead nodes by the phase of their recovery; recovered: by this node.");
  for (const std::string_view phase : kPhases) {
    std::uint64_t count = 0;
    for (const RecoveryState& state : recoveries) count += state.phase == phase ? 1 : 0;
    metrics.add(count, {{"phase", phase}});
  }
  metrics.gauge("granary_oldest_recovery_seconds", "For how long the first dead life has waited to be recovered.");
  std::uint64_t oldest_us = 0;
  for (const RecoveryState& state : recoveries) {
    if (state.recovery.phase != NodeRecovery::Phase::kRecovered) oldest_us = std::max(oldest_us, state.recovery.age_us);
  }
  metrics.add(seconds_of_us(oldest_us));
  metrics.gauge("granary_recovery_rests_seconds",
                "For how long a recovery by this node has waited for the device of the dead node's directory.");
  std::uint64_t rests_us = 0;
  for (const RecoveryState& state : recoveries) rests_us = std::max(rests_us, state.rests_us);
  metrics.add(seconds_of_us(rests_us));
}

void write_transactions(const Statistics& statistics, MetricText& metrics) {
  metrics.counter("granary_transactions_total", "Transactions that committed.").add(statistics.commits);
  metrics.counter("granary_aborts_total", "Attempts of transactions that aborted, by reason.");
  for (std::size_t reason = 1; reason < kAbortReasons; ++reason)
    metrics.add(statistics.aborts[reason], {{"reason", name(static_cast<AbortReason>(reason))}});
  metrics.counter("granary_snapshots_total", "Snapshots that were taken.").add(statistics.snapshots);
  metrics.histogram("granary_commit_latency_seconds",
                    "From begin to the end of the commit, of one in 64 transactions that committed.",
                    steps_of(statistics.commit_latencies), statistics.commit_latencies.samples,
                    statistics.commit_latencies.seconds);
}

void write_htm(const HtmStatistics& htm, MetricText& metrics) {
  metrics.gauge("granary_htm_info", "How commits in hardware transactions run: 1, with the back-end as a label.")
      .add(std::uint64_t{1}, {{"backend", htm.backend}});
  metrics.counter("granary_htm_commits_total", "Commits in hardware transactions.").add(htm.commits);
  metrics.counter("granary_htm_fallbacks_total", "Commits that took locks instead.").add(htm.fallbacks);
  metrics.counter("granary_htm_aborts_total", "Hardware transactions that aborted, by cause.")
      .add(htm.conflicts, {{"cause", "conflict"}})
      .add(htm.capacity, {{"cause", "capacity"}})
      .add(htm.explicit_aborts, {{"cause", "explicit"}})
      .add(htm.others, {{"cause", "other"}});
}

void write_epochs(const EpochReport& epochs, const Statistics& statistics, MetricText& metrics) {
  const std::uint64_t lag = epochs.lag();
  metrics.gauge("granary_epoch", "E, the current epoch.").add(epochs.current);
  metrics.gauge("granary_durable_epoch", "D: epochs up to it are durable on every node; 0 without a log.")
      .add(epochs.shown_durable());
  metrics.gauge("granary_durable_epoch_here", "Epochs up to it are durable on this node; 0 without a log.")
      .add(epochs.shown_durable_here());
  metrics.gauge("granary_durable_lag_epochs", "E - D.").add(lag);
  metrics.gauge("granary_durable_lag_seconds", "E - D, as time.")
      .add(static_cast<double>(lag) * epochs.period_ms / 1000);
  metrics.gauge("granary_epoch_period_seconds", "The time between two epochs.").add(epochs.period_ms / 1000.0);
  metrics.gauge("granary_epoch_stalled_periods", "Epoch periods in a row that a transaction has held E back.")
      .add(statistics.stalled_ticks);
  metrics.gauge("granary_epoch_thread_silence_seconds", "Since the thread that advances epochs came round.")
      .add(seconds_of_us(statistics.epoch_thread_silence_us));
}

void write_memory(const Statistics& statistics, MetricText& metrics) {
  metrics.gauge("granary_memory_bytes", "Memory in use, by what for; versions are a part of records.")
      .add(statistics.records_bytes, {{"use", "records"}})
      .add(statistics.index_bytes, {{"use", "index"}})
      .add(statistics.version_bytes, {{"use", "versions"}});
  metrics.gauge("granary_memory_reserved_bytes", "Memory that slabs have taken of the limit.")
      .add(statistics.reserved_bytes);
  metrics.gauge("granary_memory_limit_bytes", "The most that records, versions and indexes may take.")
      .add(statistics.limit_bytes);
  metrics
      .gauge("granary_garbage_items",
             "Old versions, removed records and index nodes that wait for their epoch or a collection.")
      .add(statistics.garbage_items);
  metrics.counter("granary_versions_created_total", "Old versions that were kept for snapshots.")
      .add(statistics.versions_created);
}

void write_log(const Statistics& statistics, MetricText& metrics) {
  metrics.counter("granary_log_bytes_total", "Bytes written to log files.").add(statistics.log_bytes);
  metrics.counter("granary_log_entries_total", "Transactions written to log files.").add(statistics.log_entries);
  metrics.counter("granary_log_syncs_total", "Syncs of log files.").add(statistics.log_syncs);
  metrics.gauge("granary_log_segments", "Log files that no checkpoint has made needless yet.")
      .add(statistics.log_segments);
  metrics.gauge("granary_ring_bytes", "Size of all log rings.").add(statistics.ring_bytes);
  metrics.gauge("granary_ring_held_bytes", "Bytes in log rings that wait to be synced.")
      .add(statistics.ring_held_bytes);
  metrics.gauge("granary_ring_fullest_ratio", "The share of the fullest ring that waits to be synced.")
      .add(statistics.ring_fullest);
  metrics.counter("granary_ring_waits_total", "Transactions that waited because a ring was full.")
      .add(statistics.ring_waits);
  metrics.counter("granary_checkpoints_total", "Checkpoints that were taken.").add(statistics.checkpoints);
  metrics.counter("granary_checkpoint_bytes_total", "Bytes written to checkpoints.").add(statistics.checkpoint_bytes);
  metrics.counter("granary_checkpoint_seconds_total", "Time during which a checkpoint was in progress.")
      .add(statistics.checkpoint_seconds);
  metrics.gauge("granary_checkpoint_in_progress", "Whether a checkpoint is being written.")
      .add(std::uint64_t{statistics.checkpoint_in_progress});
  metrics.gauge("granary_checkpoint_age_seconds", "Since the last checkpoint; NaN before the first of this life.")
      .add(statistics.checkpoint_age_s < 0 ? std::numeric_limits<double>::quiet_NaN() : statistics.checkpoint_age_s);
}

void write_elsewhere(const ClusterStatistics& elsewhere, MetricText& metrics) {
  metrics.counter("granary_remote_transactions_total", "Transactions that touched another node.")
      .add(elsewhere.transactions);
  metrics.counter("granary_round_trips_total", "Round trips of one-sided operations, by part of the transaction.")
      .add(elsewhere.execute_rounds, {{"part", "execute"}})
      .add(elsewhere.lock_rounds, {{"part", "lock"}})
      .add(elsewhere.agree_rounds, {{"part", "agree"}})
      .add(elsewhere.validate_rounds, {{"part", "validate"}})
      .add(elsewhere.write_back_rounds, {{"part", "write_back"}});
  metrics.counter("granary_one_sided_operations_total", "One-sided operations on other nodes' memory, by verb.")
      .add(elsewhere.reads, {{"verb", "read"}})
      .add(elsewhere.writes, {{"verb", "write"}})
      .add(elsewhere.compare_swaps, {{"verb", "compare_swap"}});
  metrics.counter("granary_messages_total", "Questions to other nodes.").add(elsewhere.messages);
  metrics.counter("granary_leases_total", "Records of other nodes that were read under a lease.").add(elsewhere.leases);
  metrics.counter("granary_epoch_waits_total", "Transactions that waited for another node's epoch.")
      .add(elsewhere.epoch_waits);
  metrics.counter("granary_location_cache_total", "Lookups of where another node's record is, by what was found.")
      .add(elsewhere.location_hits, {{"result", "hit"}})
      .add(elsewhere.location_misses, {{"result", "miss"}})
      .add(elsewhere.location_stale, {{"result", "stale"}});
  metrics.counter("granary_leaf_cache_total", "Lookups of which leaf of another node has a key, by what was found.")
      .add(elsewhere.leaf_hits, {{"result", "hit"}})
      .add(elsewhere.leaf_misses, {{"result", "miss"}})
      .add(elsewhere.leaf_stale, {{"result", "stale"}});
  metrics
      .counter("granary_unfinished_records_total", "Records that were left locked at nodes that could not be reached.")
      .add(elsewhere.unfinished);
  metrics.counter("granary_peers_cut_off_total", "Workers of other nodes that sent what no node sends.")
      .add(elsewhere.cut_off);
}

void write_clock(const ClockStatus& clock, MetricText& metrics) {
  metrics.gauge("granary_clock_synchronized", "Whether the clock may be used for leases.")
      .add(std::uint64_t{clock.synchronized}, {{"source", clock.source}});
  metrics.gauge("granary_clock_error_seconds", "No two nodes' clocks differ by more, while synchronized.")
      .add(seconds_of_us(clock.delta_us));
  metrics.counter("granary_clock_jumps_total", "Jumps of the clock.").add(clock.jumps);
}

void write_process(const ProcessReport& process, MetricText& metrics) {
  metrics.counter("process_cpu_seconds_total", "Processor time of the process.").add(process.cpu_seconds);
  metrics.gauge("process_resident_memory_bytes", "Resident memory of the process.").add(process.resident_bytes);
  metrics.gauge("process_open_fds", "Open file descriptors.").add(process.open_files);
  metrics.gauge("process_threads", "Threads of the process.").add(process.threads);
  metrics.gauge("process_start_time_seconds", "When the process started, in seconds since 1970.")
      .add(process.started_unix_s);
}

}  // namespace

std::string metrics_of(const NodeReport& report) {
  const std::string node = std::to_string(report.node);
  MetricText metrics({{"cluster", report.cluster}, {"node", node}});
  write_node(report, metrics);
  if (report.membership) {
    write_membership(*report.membership, metrics);
    write_recoveries(report.recoveries, metrics);
  }
  if (report.database) {
    write_transactions(*report.database, metrics);
    write_htm(report.database->htm, metrics);
    write_epochs(report.epochs, *report.database, metrics);
    write_memory(*report.database, metrics);
    write_log(*report.database, metrics);
  }
  if (report.elsewhere) write_elsewhere(*report.elsewhere, metrics);
  if (report.clock) write_clock(*report.clock, metrics);
  write_process(report.process, metrics);
  return metrics.text();
}

}  // namespace granary::watch
