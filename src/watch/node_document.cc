#include "src/watch/node_document.h"

#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "src/watch/latencies.h"

namespace granary::watch {
namespace {

double rounded(double value, double steps = 10) { return std::round(value * steps) / steps; }

Json membership_json(const MembershipReport& membership) {
  Json members = Json::array();
  for (const MemberReport& member : membership.members) {
    members.push_back({{"node", member.node},
                       {"generation", member.generation},
                       {"state", member.state},
                       {"release", member.release}});
  }
  return {{"cluster_id", fmt::format("{:016x}", membership.cluster_id)},
          {"configuration_version", membership.version},
          {"membership_number", membership.number},
          {"leader", membership.leader},
          {"lost", membership.lost},
          {"members", std::move(members)}};
}

Json recovery_json(const RecoveryState& state) {
  const NodeRecovery& recovery = state.recovery;
  const RecoveryWork& work = recovery.work;
  return {{"node", recovery.node},
          {"generation", recovery.generation},
          {"phase", state.phase},
          {"claimed_by", recovery.claimed_by},
          {"here", recovery.here},
          {"age_seconds", static_cast<double>(recovery.age_us) / 1e6},
          {"failure", recovery.failure},
          {"directory", state.directory},
          {"rests_seconds", static_cast<double>(state.rests_us) / 1e6},
          {"redone_transactions", work.redone_transactions},
          {"undone_transactions", work.undone_transactions},
          {"redone_records", work.redone_records},
          {"freed_records", work.freed_records},
          {"adopted_bytes", work.adopted_bytes},
          {"waited_us", work.waited_us},
          {"opened_us", work.opened_us},
          {"settled_us", work.settled_us},
          {"adopted_us", work.adopted_us}};
}

Json epochs_json(const EpochReport& epochs) {
  const std::uint64_t lag = epochs.lag();
  return {{"epoch", epochs.current},
          {"durable_epoch", epochs.shown_durable()},
          {"durable_epoch_here", epochs.shown_durable_here()},
          {"durable_lag_epochs", lag},
          {"durable_lag_seconds", static_cast<double>(lag) * epochs.period_ms / 1000},
          {"epoch_ms", epochs.period_ms},
          {"logs", epochs.logs}};
}

Json transactions_json(const Statistics& statistics, const Rates& rates) {
  Json aborts = Json::object();
  for (std::size_t reason = 1; reason < kAbortReasons; ++reason) {
    if (statistics.aborts[reason] != 0)
      aborts[std::string(name(static_cast<AbortReason>(reason)))] = statistics.aborts[reason];
  }
  const CommitLatencies& all = statistics.commit_latencies;
  return {
      {"committed", statistics.commits},
      {"aborted", all_aborts(statistics)},
      {"aborts", std::move(aborts)},
      {"snapshots", statistics.snapshots},
      {"commits_per_second", rounded(rates.commits)},
      {"aborts_per_second", rounded(rates.aborts)},
      {"latency_us",
       {{"p50", rounded(rates.p50_us)}, {"p99", rounded(rates.p99_us)}, {"p999", rounded(rates.p999_us)}}},
      {"latency_us_since_start",
       {{"samples", all.samples}, {"p50", rounded(percentile_us(all, 50))}, {"p99", rounded(percentile_us(all, 99))}}}};
}

Json memory_json(const Statistics& statistics, const ProcessReport& process) {
  return {{"limit_bytes", statistics.limit_bytes},     {"reserved_bytes", statistics.reserved_bytes},
          {"records_bytes", statistics.records_bytes}, {"index_bytes", statistics.index_bytes},
          {"version_bytes", statistics.version_bytes}, {"garbage_items", statistics.garbage_items},
          {"resident_bytes", process.resident_bytes}};
}

Json log_json(const Statistics& statistics, const Rates& rates) {
  Json json{{"bytes", statistics.log_bytes},
            {"bytes_per_second", rounded(rates.log_bytes)},
            {"entries", statistics.log_entries},
            {"syncs", statistics.log_syncs},
            {"segments", statistics.log_segments},
            {"ring_bytes", statistics.ring_bytes},
            {"ring_held_bytes", statistics.ring_held_bytes},
            {"ring_fullest", statistics.ring_fullest},
            {"ring_waits", statistics.ring_waits}};
  Json checkpoints{{"taken", statistics.checkpoints},
                   {"bytes", statistics.checkpoint_bytes},
                   {"seconds", statistics.checkpoint_seconds},
                   {"in_progress", statistics.checkpoint_in_progress}};
  checkpoints["age_seconds"] = statistics.checkpoint_age_s < 0 ? Json() : Json(statistics.checkpoint_age_s);
  json["checkpoints"] = std::move(checkpoints);
  return json;
}

Json htm_json(const HtmStatistics& htm) {
  return {{"backend", htm.backend},
          {"commits", htm.commits},
          {"fallbacks", htm.fallbacks},
          {"aborts",
           {{"conflict", htm.conflicts},
            {"capacity", htm.capacity},
            {"explicit", htm.explicit_aborts},
            {"other", htm.others}}}};
}

Json elsewhere_json(const ClusterStatistics& elsewhere, const Rates& rates) {
  return {
      {"transactions", elsewhere.transactions},
      {"transactions_per_second", rounded(rates.remote_transactions)},
      {"rounds", elsewhere.rounds},
      {"one_sided",
       {{"read", elsewhere.reads},
        {"write", elsewhere.writes},
        {"compare_swap", elsewhere.compare_swaps},
        {"per_second", rounded(rates.one_sided_operations)}}},
      {"messages", elsewhere.messages},
      {"messages_per_second", rounded(rates.messages)},
      {"leases", elsewhere.leases},
      {"epoch_waits", elsewhere.epoch_waits},
      {"location_cache",
       {{"hits", elsewhere.location_hits}, {"misses", elsewhere.location_misses}, {"stale", elsewhere.location_stale}}},
      {"leaf_cache",
       {{"hits", elsewhere.leaf_hits}, {"misses", elsewhere.leaf_misses}, {"stale", elsewhere.leaf_stale}}},
      {"unfinished_records", elsewhere.unfinished},
      {"cut_off", elsewhere.cut_off}};
}

Json clock_json(const ClockStatus& clock) {
  return {{"source", clock.source},
          {"state", clock.state},
          {"synchronized", clock.synchronized},
          {"error_us", clock.delta_us},
          {"jumps", clock.jumps}};
}

}  // namespace

Json json_of(const Message& message) {
  return {{"severity", message.severity}, {"node", message.node}, {"text", message.text}};
}

std::vector<Message> messages_of(const NodeReport& report, const Rates& rates) {
  constexpr double kMuch = 0.95;
  std::vector<Message> messages;
  const auto say = [&](const char* severity, std::string text) {
    messages.push_back({.severity = severity, .node = report.node, .text = std::move(text)});
  };
  if (const std::string stuck = why_stuck(report); !stuck.empty()) say("error", stuck);
  if (report.membership && !report.membership->lost.empty()) say("error", report.membership->lost);
  if (!report.log_trouble.empty()) say("error", report.log_trouble);
  if (!report.release_trouble.empty()) say("warning", report.release_trouble);
  if (report.database && report.database->limit_bytes != 0) {
    const Statistics& statistics = *report.database;
    const double used = static_cast<double>(statistics.records_bytes + statistics.index_bytes) /
                        static_cast<double>(statistics.limit_bytes);
    if (used > kMuch) say("warning", fmt::format("{:.0f} % of the node's memory is in use", used * 100));
    if (statistics.ring_fullest > kMuch)
      say("warning", "a log ring is full: the log is slower than the transactions, or the ring too small");
  }
  if (report.stage == Stage::kServing && rates.seconds != 0 && !rates.epoch_moved)
    say("warning", "E has not advanced for a second");
  if (report.clock && !report.clock->synchronized && report.clock->source != "none")
    say("warning", fmt::format("there are no leases, since the clock is {}", report.clock->state));
  return messages;
}

Json node_document(const NodeReport& report, const Rates& rates) {
  const std::string not_ready = why_not_ready(report);
  Json document{{"node", report.node},        {"cluster", report.cluster},       {"host", report.host},
                {"release", report.release},  {"generation", report.generation}, {"stage", name(report.stage)},
                {"ready", not_ready.empty()}, {"why_not_ready", not_ready}};
  Json messages = Json::array();
  for (const Message& message : messages_of(report, rates)) messages.push_back(json_of(message));
  document["messages"] = std::move(messages);
  if (report.database) {
    document["epochs"] = epochs_json(report.epochs);
    document["transactions"] = transactions_json(*report.database, rates);
    document["memory"] = memory_json(*report.database, report.process);
    document["log"] = log_json(*report.database, rates);
    document["htm"] = htm_json(report.database->htm);
  }
  if (report.elsewhere) document["elsewhere"] = elsewhere_json(*report.elsewhere, rates);
  if (report.clock) document["clock"] = clock_json(*report.clock);
  if (report.membership) document["membership"] = membership_json(*report.membership);
  Json recoveries = Json::array();
  for (const RecoveryState& state : report.recoveries) recoveries.push_back(recovery_json(state));
  document["recoveries"] = std::move(recoveries);
  document["process"] = {{"cpu_seconds", report.process.cpu_seconds},
                         {"threads", report.process.threads},
                         {"open_files", report.process.open_files},
                         {"started_unix_seconds", report.process.started_unix_s}};
  return document;
}

std::string text_of(const Json& document) {
  return document.dump(1, ' ', /*ensure_ascii=*/false, Json::error_handler_t::replace) + "\n";
}

}  // namespace granary::watch
