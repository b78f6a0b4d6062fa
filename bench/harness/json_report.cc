#include "bench/harness/json_report.h"

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <fstream>

#include <fmt/format.h>

#include "bench/harness/cluster_figures_json.h"
#include "bench/harness/life_account_json.h"
#include "bench/harness/trial.h"
#include "src/base/build_info.h"
#include "src/base/print.h"

namespace granary::bench {

namespace {

using Json = nlohmann::ordered_json;

Json latency_json(const Measurement& run, const Histogram& latency) {
  const auto percentile = [&](double percent) {
    return run.microseconds(static_cast<double>(latency.percentile(percent)));
  };
  return {{"samples", latency.count()},
          {"min_us", run.microseconds(static_cast<double>(latency.min()))},
          {"mean_us", run.microseconds(latency.mean())},
          {"p50_us", percentile(50)},
          {"p95_us", percentile(95)},
          {"p99_us", percentile(99)},
          {"p99.9_us", percentile(99.9)},
          {"max_us", run.microseconds(static_cast<double>(latency.max()))}};
}

/// Returns BenchBase's "Latency Distribution".
Json benchbase_latency(const Measurement& run) {
  const TypeResult total = run.total();
  return {{"Minimum Latency (microseconds)", run.microseconds(static_cast<double>(total.latency.min()))},
          {"25th Percentile Latency (microseconds)", run.percentile_us(total, 25)},
          {"Median Latency (microseconds)", run.percentile_us(total, 50)},
          {"75th Percentile Latency (microseconds)", run.percentile_us(total, 75)},
          {"90th Percentile Latency (microseconds)", run.percentile_us(total, 90)},
          {"95th Percentile Latency (microseconds)", run.percentile_us(total, 95)},
          {"99th Percentile Latency (microseconds)", run.percentile_us(total, 99)},
          {"Maximum Latency (microseconds)", run.microseconds(static_cast<double>(total.latency.max()))},
          {"Average Latency (microseconds)", run.microseconds(total.latency.mean())}};
}

/// Returns [nanoseconds, count] for each bucket, so that latencies of several nodes can be merged.
Json buckets_json(const Measurement& run, const Histogram& latency) {
  Json buckets = Json::array();
  latency.visit([&](std::uint64_t ticks, std::uint64_t count) {
    buckets.push_back({static_cast<std::uint64_t>(static_cast<double>(ticks) * run.nanoseconds_per_tick), count});
  });
  return buckets;
}

Json type_json(const Measurement& run, const TypeResult& type) {
  Json aborts = Json::object();
  for (std::size_t reason = 0; reason < kAbortReasons; ++reason) {
    if (type.aborts[reason] != 0) aborts[std::string(name(static_cast<AbortReason>(reason)))] = type.aborts[reason];
  }
  return {{"committed", type.committed},
          {"rolled_back", type.rolled_back},
          {"gave_up", type.gave_up},
          {"open_too_long", type.too_long},
          {"transactions", type.transactions},
          {"throughput", run.rate(type.finished())},
          {"aborts", type.aborted()},
          {"abort_share", abort_share(type)},
          {"aborts_by_reason", aborts},
          {"latency", latency_json(run, type.latency)},
          {"released_latency", type.durable.count() == 0 ? Json() : latency_json(run, type.durable)},
          {"unreleased", type.unreleased}};
}

/// Returns the list, or null if it is empty, since nobody noted a course of time.
Json or_null(Json list) { return list.empty() ? Json() : list; }

/// Returns the latencies until results may be shown over time; `seconds` since the measurement began, in the middle of
/// each piece.
Json released_over_time_json(const Measurement& run) {
  Json pieces = Json::array();
  double middle = run.durable_piece_seconds / 2;
  for (const Histogram& piece : run.durable_pieces) {
    if (piece.count() != 0) {
      Json entry = {{"seconds", middle}};
      entry.update(latency_json(run, piece));
      pieces.push_back(std::move(entry));
    }
    middle += run.durable_piece_seconds;
  }
  return or_null(std::move(pieces));
}

/// Returns the cost of checkpoints. A figure that was never seen is null, as a throughput of 0 is one that was seen.
Json checkpoint_cost_json(const CheckpointCost& cost) {
  const bool both = cost.seen_during() && cost.seen_without() && cost.throughput_without() > 0;
  return {{"throughput_during", cost.seen_during() ? Json(cost.throughput_during()) : Json()},
          {"throughput_without", cost.seen_without() ? Json(cost.throughput_without()) : Json()},
          {"ratio", both ? Json(cost.ratio()) : Json()}};
}

Json store_json(const StoreFigures& store) {
  return {{"memory_bytes", store.memory_bytes},
          {"records_bytes", store.records_bytes},
          {"index_bytes", store.index_bytes},
          {"version_bytes", store.version_bytes},
          {"garbage_items", store.garbage_items},
          {"epoch", store.epoch},
          {"durable_epoch", store.durable_epoch},
          {"log_bytes", store.log_bytes},
          {"log_entries", store.log_entries},
          {"log_syncs", store.log_syncs},
          {"ring_waits", store.ring_waits},
          {"checkpoints", store.checkpoints},
          {"checkpoint_bytes", store.checkpoint_bytes},
          {"checkpoint_seconds", store.checkpoint_seconds},
          {"protocol", store.protocol},
          {"htm",
           {{"backend", store.htm.backend},
            {"commits", store.htm.commits},
            {"fallbacks", store.htm.fallbacks},
            {"conflicts", store.htm.conflicts},
            {"capacity", store.htm.capacity},
            {"explicit_aborts", store.htm.explicit_aborts},
            {"others", store.htm.others}}}};
}

Json samples_json(const std::vector<Sample>& samples) {
  Json list = Json::array();
  for (const Sample& sample : samples) {
    Json entry = {{"seconds", sample.seconds},
                  {"requests", sample.requests},
                  {"aborts", sample.aborts},
                  {"resident_bytes", sample.resident_bytes}};
    entry.update(store_json(sample.store));
    list.push_back(std::move(entry));
  }
  return or_null(std::move(list));
}

void add_buckets(const Measurement& run, Json& repeat) {
  for (const TypeResult& type : run.types) {
    repeat["types"][type.name]["latency_buckets"] = buckets_json(run, type.latency);
    repeat["types"][type.name]["released_latency_buckets"] = buckets_json(run, type.durable);
  }
}

Json machine_json(const Machine& machine, const std::string& page_kind) {
  return {{"cpu_model", machine.cpu_model},
          {"cpus", machine.cpus},
          {"memory_bytes", machine.memory_bytes},
          {"kernel", machine.kernel},
          {"page_kind", page_kind},
          {"governor", machine.governor},
          {"transparent_huge_pages", machine.transparent_huge_pages},
          {"shared_huge_pages", machine.shared_huge_pages},
          {"huge_pages_total", machine.huge_pages_total},
          {"huge_pages_free", machine.huge_pages_free}};
}

Json build_json() {
  const base::BuildInfo& info = base::build_info();
  return {{"version", info.version},   {"commit", info.commit}, {"build_type", info.build_type},
          {"compiler", info.compiler}, {"flags", info.flags},   {"test_hooks", info.test_hooks}};
}

Json ours(const ReportInput& input, std::size_t median) {
  Json repeats = Json::array(), variants = Json::array();
  double lowest = input.runs[median].throughput(), highest = lowest;
  for (const Measurement& run : input.runs) {
    repeats.push_back(repeat_json(run));
    if (!input.settings.share.alone()) add_buckets(run, repeats.back());
    if (run.lost_life) repeats.back()["lost_life"] = life_json(*run.lost_life);
    lowest = std::min(lowest, run.throughput());
    highest = std::max(highest, run.throughput());
  }
  for (const Variant variant : input.settings.variants.list()) variants.push_back(name(variant));
  return {{"schema_version", kJsonSchemaVersion},
          {"parameters", parameters_json(input.flags)},
          {"variants", variants},
          {"median_repeat", median},
          {"throughput", {{"median", input.runs[median].throughput()}, {"min", lowest}, {"max", highest}}},
          {"build", build_json()},
          {"machine", machine_json(input.machine, input.runs[median].store.page_kind)},
          {"repeats", repeats}};
}

/// Returns the level as BenchBase and JDBC call it, whose TRANSACTION_NONE is for the bare index (--isolation is "none"
/// then). Benchmarks without the flag are serializable.
std::string isolation_level(const FlagValues& flags) {
  std::string level = flags.declared("isolation") ? flags.text("isolation") : "serializable";
  std::transform(level.begin(), level.end(), level.begin(), [](unsigned char c) { return std::toupper(c); });
  return "TRANSACTION_" + level;
}

}  // namespace

Json parameters_json(const FlagValues& flags) {
  Json parameters = Json::object();
  for (const auto& [name, entry] : flags.all()) {
    if (entry.unset) {
      parameters[name] = nullptr;
      continue;
    }
    switch (entry.kind) {
      case FlagKind::kSwitch: parameters[name] = entry.on; break;
      case FlagKind::kInteger:
      case FlagKind::kBytes: parameters[name] = entry.whole; break;
      case FlagKind::kReal: parameters[name] = entry.real; break;
      case FlagKind::kText:
      case FlagKind::kChoice: parameters[name] = entry.text; break;
    }
  }
  return parameters;
}

Json repeat_json(const Measurement& run) {
  Json types = Json::object(), extra = Json::object(), findings = Json::array();
  for (const TypeResult& type : run.types) types[type.name] = type_json(run, type);
  Json of = Json::object();
  for (const ExtraFigure& figure : run.extra) {
    extra[figure.name] = figure.value;
    if (figure.of) of[figure.name] = *figure.of;
  }
  for (const Finding& finding : run.findings) {
    findings.push_back({{"condition", finding.condition}, {"holds", finding.holds}, {"detail", finding.detail}});
    if (finding.tally)
      findings.back()["tally"] = {{"expected", finding.tally->expected}, {"found", finding.tally->found}};
  }
  return {{"throughput", run.throughput()},
          {"goodput", run.goodput()},
          {"elapsed_ns", run.elapsed_ns},
          {"load_seconds", run.load_seconds},
          {"interrupted", run.interrupted},
          {"workers_pinned", run.pinned},
          {"load_average_before", run.load_average_before},
          {"load_average_after", run.load_average_after},
          {"total", type_json(run, run.total())},
          {"types", types},
          {"memory",
           {{"after_load", store_json(run.loaded)},
            {"at_begin", store_json(run.baseline())},
            {"at_end", store_json(run.store)},
            {"resident_bytes", run.resident_bytes}}},
          {"checkpoint_cost", checkpoint_cost_json(run.checkpoint_cost)},
          {"extra", extra},
          {"extra_of", of},
          {"cluster", run.cluster ? cluster_json(*run.cluster) : Json()},
          {"verified", run.verified},
          {"findings", findings},
          {"released_latency_over_time", released_over_time_json(run)},
          {"samples", samples_json(run.samples)}};
}

Json json_report(const ReportInput& input) {
  using std::chrono::duration_cast, std::chrono::milliseconds, std::chrono::system_clock;
  const std::size_t median_index = median_by_throughput(input.runs);
  const Measurement& median = input.runs[median_index];
  const TypeResult total = median.total();
  return {
      {"Benchmark Type", input.command.name},
      {"Current Timestamp (milliseconds)", duration_cast<milliseconds>(system_clock::now().time_since_epoch()).count()},
      {"DBMS Type", "granary"},
      {"DBMS Version", base::version_text()},
      {"Elapsed Time (nanoseconds)", median.elapsed_ns},
      {"Final State", input.interrupted || median.interrupted ? "INTERRUPTED" : "EXIT"},
      {"Goodput (requests/second)", median.goodput()},
      {"Latency Distribution", benchbase_latency(median)},
      {"Measured Requests", total.finished()},
      {"Throughput (requests/second)", median.throughput()},
      {"isolation", isolation_level(input.flags)},
      {"scalefactor", input.scale_factor},
      {"terminals", input.settings.workers * input.nodes},
      {"granary", ours(input, median_index)}};
}

Status write_json(const std::string& path, const Json& json) {
  std::ofstream file(path, std::ios::trunc);
  file << json.dump(2) << "\n";
  file.close();
  if (file.good()) return {};
  return Status(StatusCode::kUnavailable, fmt::format("--json={}: cannot write: {}", path, std::strerror(errno)));
}

ExitCode report(const std::string& text, const std::string& path, const Json& json) {
  base::print("{}", text);
  std::fflush(stdout);
  const Status written = path.empty() ? Status() : write_json(path, json);
  return written.ok() ? ExitCode::kOk : refuse(exit_code_of(written), written.message());
}

}  // namespace granary::bench
