// `granary bench recovery`.

#include <time.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <thread>

#include <fmt/format.h>

#include "bench/harness/json_report.h"
#include "bench/harness/log_room.h"
#include "bench/harness/machine.h"
#include "bench/harness/progress.h"
#include "bench/harness/registry.h"
#include "bench/harness/early_end.h"
#include "bench/harness/table.h"
#include "bench/harness/trial.h"
#include "bench/recovery/verify.h"
#include "bench/recovery/victim.h"
#include "src/base/build_info.h"
#include "src/base/print.h"
#include "src/base/tsc_clock.h"

namespace granary::bench::recovery {
namespace {

/// One row of the table: the amount, the time, and the number of cores.
struct Phase {
  std::string name;
  std::uint64_t records = 0, bytes = 0;
  double seconds = 0;
  double core_seconds = 0;

  static double per(double amount, double time) { return time > 0 ? amount / time : 0; }
  double records_per_second() const { return per(static_cast<double>(records), seconds); }
  double bytes_per_second() const { return per(static_cast<double>(bytes), seconds); }
  double records_a_core() const { return per(static_cast<double>(records), core_seconds); }
  double bytes_a_core() const { return per(static_cast<double>(bytes), core_seconds); }
};

struct RecoveryRun {
  Load load;
  Written written;
  RecoveryReport report;
  std::vector<Phase> phases;
  Finding finding;
  bool interrupted = false;  ///< whether it was interrupted before everything was verified
};

std::uint64_t log_bytes_of(const Load& load) {
  constexpr std::uint64_t kEntryHeader = 24, kWriteHeader = 12, kKey = 8;
  return load.records * (kWriteHeader + kKey + load.value_bytes) + load.records / load.writes * kEntryHeader;
}

std::uint64_t checkpoint_bytes_of(const Load& load) {
  constexpr std::uint64_t kRecordHeader = 16, kKey = 8;
  return std::min(load.keys, load.records) * (kRecordHeader + kKey + load.value_bytes);
}

/// Refuses a load that does not fit, before any data is written.
Status check_room(const Load& load, const Options& options, CheckpointAt checkpoint) {
  const std::uint64_t disk = log_bytes_of(load) + (checkpoint == CheckpointAt::kNever ? 0 : checkpoint_bytes_of(load));
  if (const Status fits = check_log_room(options, disk, "recovery of this size"); !fits.ok()) return fits;
  constexpr std::uint64_t kOverhead = 100;  // bytes for header, slab rounding and index; operations are found by key
  const std::uint64_t memory = std::min(load.keys, load.records) * (load.value_bytes + kOverhead) + load.keys * 8;
  if (const std::uint64_t available = available_memory(); memory > available)
    return {StatusCode::kInvalidArgument,
            fmt::format("recovery of this size needs about {} of memory; {} are available", human_bytes(memory),
                        human_bytes(available))};
  return {};
}

CheckpointAt checkpoint_from(const FlagValues& flags) {
  const std::string& word = flags.text("checkpoint");
  return word == "half" ? CheckpointAt::kHalf : word == "all" ? CheckpointAt::kEnd : CheckpointAt::kNever;
}

Result<Load> load_from(const Settings& settings, const FlagValues& flags) {
  Load load{.records = flags.integer("records"),
            .keys = flags.integer("keys"),
            .workers = settings.workers,
            .value_bytes = static_cast<std::uint32_t>(flags.integer("value_bytes")),
            .writes = static_cast<std::uint32_t>(flags.integer("writes")),
            .seed = settings.seed};
  if (load.keys < load.workers)
    return Status(StatusCode::kInvalidArgument,
                  fmt::format("--keys={}: expected at least one for each of {} workers", load.keys, load.workers));
  return load;
}

std::uint64_t bytes_below(const std::string& directory) {
  std::uint64_t sum = 0;
  std::error_code error;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(directory, error)) {
    std::error_code gone;
    if (entry.path().extension() == ".gckpt") sum += entry.file_size(gone);
  }
  return sum;
}

void add_phases(RecoveryRun& measured, double opening_seconds, double opening_processor,
                std::uint64_t checkpoint_bytes) {
  const RecoveryReport& report = measured.report;
  const double threads = std::max(1u, std::thread::hardware_concurrency());
  const auto add = [&](std::string name, std::uint64_t records, std::uint64_t bytes, double seconds, double cores) {
    measured.phases.push_back({std::move(name), records, bytes, seconds, cores});
  };
  if (measured.written.checkpoint_seconds > 0) {
    add("checkpoint write", report.checkpoint_records, checkpoint_bytes, measured.written.checkpoint_seconds,
        measured.written.checkpoint_core_seconds);
  }
  if (report.checkpoint_bytes > 0) {  // also if the database has taken it by itself (--checkpoint_interval)
    add("checkpoint load", report.checkpoint_records, report.checkpoint_bytes, report.checkpoint_seconds,
        report.checkpoint_seconds * threads);
  }
  const double replay = report.seconds - report.checkpoint_seconds;
  add("log replay", report.records - report.checkpoint_records, report.bytes - report.checkpoint_bytes, replay,
      replay * threads);
  add("opening in all", report.records, report.bytes, opening_seconds, opening_processor);
}

Result<RecoveryRun> measure(const Options& options, const Load& load, CheckpointAt checkpoint, bool progress,
                            StopSignals& signals) {
  EarlyEnd end(&signals);
  RecoveryRun measured;
  measured.load = load;
  auto written = write_and_kill(options, load, checkpoint, progress);
  if (!written.ok()) return written.status();
  measured.written = *written;
  const std::uint64_t checkpoint_bytes = bytes_below(options.directory);
  if (progress) base::print(stderr, "[killed; recovering]\n");
  const std::uint64_t start = base::monotonic_ns();
  const double processor = processor_seconds();
  auto database = Database::open(options);
  if (!database.ok()) return database.status();
  const double opening = static_cast<double>(base::monotonic_ns() - start) / 1e9;
  measured.report = (*database)->recovery_report();
  add_phases(measured, opening, processor_seconds() - processor, checkpoint_bytes);
  end.have_figure();
  if (progress) base::print(stderr, "[verifying]\n");
  auto finding = verify(**database, load, end);
  if (!finding.ok()) return finding.status();
  measured.interrupted = end.requested();
  if (!measured.interrupted) measured.finding = std::move(*finding);
  if (const Status closed = (*database)->close(); !closed.ok()) return closed;
  return measured;
}

std::string text_of(const RecoveryRun& measured) {
  const Load& load = measured.load;
  const Written& written = measured.written;
  std::vector<std::vector<std::string>> rows{
      {"", "records", "bytes", "seconds", "M records/s", "GB/s", "M records/s a core", "GB/s a core"}};
  for (const Phase& phase : measured.phases) {
    rows.push_back(
        {phase.name, with_commas(phase.records), with_commas(phase.bytes), fmt::format("{:.2f}", phase.seconds),
         fmt::format("{:.2f}", phase.records_per_second() / 1e6), fmt::format("{:.3f}", phase.bytes_per_second() / 1e9),
         fmt::format("{:.2f}", phase.records_a_core() / 1e6), fmt::format("{:.3f}", phase.bytes_a_core() / 1e9)});
  }
  std::string text = fmt::format(
      "granary bench recovery, {}\n\nwritten     {} records of {} bytes over {} keys by {} workers in {:.2f} s: {} of "
      "log, {} transactions\nkilled      by SIGKILL; its log rings {}\n\n{}",
      base::version_text(), with_commas(load.records), load.value_bytes, with_commas(load.keys), load.workers,
      written.seconds, human_bytes(written.log_bytes), with_commas(written.transactions),
      measured.report.rings ? "were there" : "were not there", aligned(rows));
  for (const std::string& note : measured.report.notes) text += note + "\n";
  if (measured.interrupted) return text + "\nverified    nothing: interrupted\n";
  return text +
         fmt::format("\n{}  {}\n", measured.finding.holds ? "verified   " : "FAILED     ", measured.finding.detail);
}

nlohmann::ordered_json json_of(const RecoveryRun& measured, const FlagValues& flags) {
  const Load& load = measured.load;
  nlohmann::ordered_json ours{{"version", base::version_text()},
                              {"cpu", describe_machine().cpu_model},
                              {"cores", std::thread::hardware_concurrency()},
                              {"parameters", parameters_json(flags)},
                              {"records", load.records},
                              {"keys", load.keys},
                              {"workers", load.workers},
                              {"value_bytes", load.value_bytes},
                              {"writes", load.writes},
                              {"seed", load.seed},
                              {"log_bytes", measured.written.log_bytes},
                              {"write_seconds", measured.written.seconds},
                              {"rings", measured.report.rings},
                              {"transactions", measured.report.transactions},
                              {"durable_epoch", measured.report.durable_epoch},
                              {"interrupted", measured.interrupted},
                              {"verified", !measured.interrupted && measured.finding.holds},
                              {"finding", measured.finding.detail}};
  for (const Phase& phase : measured.phases) {
    ours["phases"].push_back({{"name", phase.name},
                              {"records", phase.records},
                              {"bytes", phase.bytes},
                              {"seconds", phase.seconds},
                              {"core_seconds", phase.core_seconds},
                              {"records_per_second", phase.records_per_second()},
                              {"bytes_per_second", phase.bytes_per_second()},
                              {"records_per_second_a_core", phase.records_a_core()},
                              {"bytes_per_second_a_core", phase.bytes_a_core()}});
  }
  return {{"Benchmark Type", "recovery"}, {"DBMS Type", "granary"}, {"granary", std::move(ours)}};
}

ExitCode run(const Settings& settings, const FlagValues& flags) {
  const auto fail = [](const Status& status) { return refuse(exit_code_of(status), status.message()); };
  if (settings.options.directory.empty())
    return refuse(ExitCode::kUsage, "--durability=none: there would be nothing to recover; use tmpfs or disk");
  const std::string& path = flags.text("json");
  if (const Status writable = check_writable(path); !writable.ok()) return fail(writable);
  const auto load = load_from(settings, flags);
  if (!load.ok()) return fail(load.status());
  const CheckpointAt checkpoint = checkpoint_from(flags);
  if (const Status fits = check_room(*load, settings.options, checkpoint); !fits.ok()) return fail(fits);
  StopSignals signals;
  const auto measured = measure(settings.options, *load, checkpoint, flags.enabled("progress"), signals);
  if (!measured.ok()) return fail(measured.status());
  note_build_type();
  base::print("{}", text_of(*measured));
  std::fflush(stdout);
  if (!path.empty()) {
    if (const Status written = write_json(path, json_of(*measured, flags)); !written.ok()) return fail(written);
  }
  if (measured->interrupted || measured->finding.holds) return ExitCode::kOk;
  return refuse(ExitCode::kCheckFailed, "what was recovered is not what was written: " + measured->finding.detail);
}

}  // namespace

const BenchCommand& recovery_command() {
  static const BenchCommand command{
      .name = "recovery",
      .summary = "writes a log, kills the process that did, recovers, verifies",
      .description =
          "A process of its own fills a durable database and is killed by SIGKILL once everything is on the device; "
          "then the database is opened again, timed, and every record compared with what was written. The rates a core "
          "of loading a checkpoint and of replay divide by all cores, those of writing it and of the whole opening by "
          "processor time; opening includes "
          "checking the log and making the cut durable. --seconds, --warmup and --repeat mean nothing here.",
      .examples = {"--records=5000000", "--records=4000000 --checkpoint=half --json=recovery.json",
                   "--durability=tmpfs --compress=lz4"},
      .flags = {integer_flag("records", 2'000'000, 1, 1'000'000'000'000, "records", "Written to the log in all."),
                integer_flag("keys", 500'000, 1, 1'000'000'000'000, "keys", "Different ones, chosen at random."),
                integer_flag("value_bytes", 100, 8, 65536, "bytes", "Of each value; keys have 8."),
                integer_flag("writes", 4, 1, 100, "records", "Written by each transaction."),
                choice_flag("checkpoint", "none", {"none", "half", "all"},
                            "A checkpoint after half of the records, after all of them, or none.")},
      .no_protocol = "writes its log with the default one: what recovery reads is the same for all",
      .durability = "disk",
      .has_summary = false,
      .run_instead = run,
  };
  return command;
}

}  // namespace granary::bench::recovery
