#include "bench/factor/bars.h"

#include <algorithm>
#include <cstdio>

#include <fmt/format.h>

#include "bench/harness/json_report.h"
#include "bench/harness/progress.h"
#include "bench/harness/table.h"
#include "bench/harness/trial.h"
#include "src/base/build_info.h"
#include "src/base/print.h"

namespace granary::bench::factor {

namespace {

const Measurement& median_of(const Bar& bar) { return bar.runs[median_by_throughput(bar.runs)]; }

Status measure_bar(Bar& bar, const BenchCommand& workload, Settings settings, const FlagValues& flags,
                   const base::TscClock& clock, StopSignals& signals) {
  settings.variants = bar.variants;
  apply(bar.variants, settings.options);
  Result<LoadedWorkload> loaded = make_loaded(workload, settings, flags);
  if (!loaded.ok()) return loaded.status();
  bar.scale_factor = loaded->workload->scale_factor();
  if (flags.enabled("progress")) base::print(stderr, "[{}]\n", bar.name);
  Result<Measurement> measured = measure(*loaded->workload, plan_from(settings, flags), clock, signals);
  if (!measured.ok()) return measured.status();
  if (measured->elapsed_ns == 0) return {};  // interrupted before it measured anything
  measured->load_seconds = loaded->load_seconds;
  if (settings.verify && !signals.requested()) {
    measured->findings = loaded->workload->verify();
    measured->verified = true;
  }
  bar.runs.push_back(std::move(*measured));
  return {};
}

std::string text_of(const std::vector<Bar>& measured) {
  std::vector<std::vector<std::string>> rows{
      {"step", "/s", "minimum", "maximum", "of the first", "of the one before", "abort %"}};
  double first = 0, before = 0;
  for (const Bar& bar : measured) {
    if (bar.runs.empty()) continue;
    const double rate = median_of(bar).throughput();
    double low = rate, high = rate;
    for (const Measurement& run : bar.runs) {
      low = std::min(low, run.throughput());
      high = std::max(high, run.throughput());
    }
    if (first == 0) first = before = rate;
    rows.push_back({bar.name, with_commas(static_cast<std::uint64_t>(rate)),
                    with_commas(static_cast<std::uint64_t>(low)), with_commas(static_cast<std::uint64_t>(high)),
                    fmt::format("{:.3f}", rate / first), fmt::format("{:.3f}", rate / before),
                    fmt::format("{:.3f}", 100 * abort_share(median_of(bar).total()))});
    before = rate;
  }
  return aligned(rows);
}

/// Returns the report of the bar that is the whole system ("+overwrites", or "+full records" with a log), with a list
/// of all bars. If that bar has not been measured yet, it is the report of the first.
nlohmann::ordered_json json_of(const std::vector<Bar>& measured, const BenchCommand& workload, const Settings& settings,
                               const FlagValues& flags, bool interrupted) {
  const Machine machine = describe_machine();
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  nlohmann::ordered_json whole;
  for (const Bar& bar : measured) {
    if (bar.runs.empty()) continue;
    Settings of_bar = settings;
    of_bar.variants = bar.variants;
    nlohmann::ordered_json report =
        json_report({workload, flags, of_bar, machine, bar.scale_factor, bar.runs, interrupted});
    list.push_back({{"step", bar.name},
                    {"throughput", report["granary"]["throughput"]},
                    {"repeats", report["granary"]["repeats"]}});
    if (whole.is_null() || bar.variants.empty()) whole = std::move(report);
  }
  whole["Benchmark Type"] = "factor";
  whole["granary"]["workload"] = workload.name;
  whole["granary"]["bars"] = std::move(list);
  return whole;
}

ExitCode report(std::vector<Bar>& measured, const BenchCommand& workload, const Settings& settings,
                const FlagValues& flags, bool interrupted) {
  for (Bar& bar : measured) interrupted |= leave_out_interrupted(bar.runs);
  base::print("granary bench factor on {}, {} worker{}, {}{}\n\n{}", workload.name, settings.workers,
              settings.workers == 1 ? "" : "s", base::version_text(), interrupted ? "; interrupted" : "",
              text_of(measured));
  std::fflush(stdout);
  if (const std::string& path = flags.text("json"); !path.empty() && !measured.front().runs.empty()) {
    const Status written = write_json(path, json_of(measured, workload, settings, flags, interrupted));
    if (!written.ok()) return refuse(ExitCode::kEnvironment, written.message());
  }
  return judge(measured);
}

}  // namespace

std::vector<Bar> bars(bool logged) {
  if (logged) {
    return {{"memsilo", {Variant::kMemSilo}, {}},
            {"+small records", {Variant::kSmallRecords}, {}},
            {"+full records", {}, {}},
            {"+compress", {Variant::kCompress}, {}}};
  }
  return {{"simple", {Variant::kSimpleAllocator, Variant::kNoOverwrites}, {}},
          {"+allocator", {Variant::kNoOverwrites}, {}},
          {"+overwrites", {}, {}},
          {"+no snapshots", {Variant::kNoSnapshots}, {}},
          {"+no gc", {Variant::kNoSnapshots, Variant::kNoGc}, {}}};
}

ExitCode judge(const std::vector<Bar>& measured) {
  for (const Bar& bar : measured) {
    for (const Measurement& run : bar.runs) {
      for (const Finding& finding : run.findings) {
        if (!finding.holds)
          return refuse(ExitCode::kCheckFailed,
                        fmt::format("{}: {} does not hold: {}", bar.name, finding.condition, finding.detail));
      }
    }
  }
  for (const Bar& bar : measured) {
    if (const ExitCode given_up = check_given_up(bar.runs, NodesDie::kNo, bar.name); given_up != ExitCode::kOk)
      return given_up;
  }
  return ExitCode::kOk;
}

ExitCode run_bars(const BenchCommand& workload, const Settings& settings, const FlagValues& flags) {
  if (const Status writable = check_writable(flags.text("json")); !writable.ok())
    return refuse(ExitCode::kEnvironment, writable.message());
  note_build_type();
  const base::TscClock clock = base::TscClock::calibrated();
  StopSignals signals;
  std::vector<Bar> measured = bars(!settings.options.directory.empty());
  for (std::uint64_t repeat = 0; repeat < flags.integer("repeat"); ++repeat) {
    for (Bar& bar : measured) {
      if (signals.requested() && measured.front().runs.empty()) return interrupted(signals);
      if (signals.requested()) return report(measured, workload, settings, flags, /*interrupted=*/true);
      const Status done = measure_bar(bar, workload, settings, flags, clock, signals);
      if (!done.ok()) return refuse(exit_code_of(done), done.message());
    }
  }
  return report(measured, workload, settings, flags, /*interrupted=*/false);
}

}  // namespace granary::bench::factor
