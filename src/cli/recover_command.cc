// `granary recover`: opens a database, which recovers it, and closes it again; or says what opening would do.

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <optional>

#include <fmt/format.h>
#include <granary/granary.h>

#include "bench/harness/progress.h"
#include "bench/harness/trial.h"
#include "cluster_config/membership/life.h"
#include "recovery/user.h"
#include "src/base/print.h"
#include "src/base/tsc_clock.h"
#include "src/cli/log_damage.h"
#include "src/cli/printing/progress_bar.h"
#include "src/cli/reading_bar.h"
#include "src/cli/tool.h"

namespace granary::cli {
namespace {

using bench::ExitCode;
using bench::human_bytes;
using bench::with_commas;

struct Fact {
  std::string name, value;
};

void print_facts(const std::vector<Fact>& facts) {
  for (const auto& [name, value] : facts) base::print("{:<20} {}\n", name, value);
}

ExitCode refuse(const Status& status) { return bench::refuse(bench::exit_code_of(status), status.message()); }

std::string rings_text(const recovery::SurvivingRings& rings) {
  if (!rings.note.empty()) return "some, which do not count";
  std::uint64_t bytes = 0;
  for (const auto& ring : rings.rings) bytes += ring->pending().size();
  return rings.rings.empty()
             ? "none"
             : fmt::format("{}, {} that may not be synced in the log", rings.rings.size(), human_bytes(bytes));
}

void print_plan(const InspectedDatabase& database, const LogReport& report) {
  const recovery::Manifest& manifest = database.manifest;
  const bool running = !manifest.generations.empty() && !manifest.generations.back().cut;
  epoch::Epoch cut = report.scan.durable;
  if (!report.rings.rings.empty()) {
    const auto in_rings = recovery::greatest_epoch(report.rings.entries());
    cut = std::max(report.scan.greatest_epoch, in_rings.ok() ? *in_rings : 0);
  }
  const std::string kept =
      report.scan.kept == 0 ? "" : fmt::format("; {} of them are kept for other nodes only", report.scan.kept);
  const std::vector<Fact> facts{
      {"durable epoch D", std::to_string(report.scan.durable)},
      {"cut", fmt::format("{}{}", cut, running ? "" : " (made when the log was ended)")},
      {"checkpoint", manifest.checkpoint ? fmt::format("{}, epochs below {}", manifest.checkpoint->directory,
                                                       manifest.checkpoint->epoch)
                                         : "none"},
      {"log segments", fmt::format("{}, {}{}", report.scan.segments.size(), human_bytes(report.scan.bytes), kept)},
      {"rings", rings_text(report.rings)},
      {"to replay", fmt::format("{} transactions, {} writes, {}", with_commas(report.replay.transactions),
                                with_commas(report.replay.writes), human_bytes(report.replay.bytes))},
      {"in the checkpoint", fmt::format("{} transactions", with_commas(report.replay.in_checkpoint))},
      {"beyond the cut", fmt::format("{} transactions, to be dropped", with_commas(report.replay.dropped))},
      {"torn tails", std::to_string(report.scan.tails.size())},
      {"abandoned segments",
       fmt::format("{}, of an opening that did not come to its end", report.scan.abandoned.size())},
  };
  print_facts(facts);
  if (!report.rings.note.empty()) base::print("{}\n", report.rings.note);
  for (const recovery::DroppedTail& tail : report.scan.tails) base::print("torn tail: {}\n", text_of(tail));
}

/// Says what an opening would do. With --salvage, damage of the log is listed as what would be lost, and is no reason
/// to fail. A checkpoint cannot be salvaged, as the log before it is gone; nor can files of another database.
ExitCode dry_run(InspectedDatabase& database, bool salvage) {
  std::optional<ReadingBar> bar(bytes_to_examine(database));
  database.progress = bar->counter();
  const auto report = examine_logs(database);
  const auto checkpoint = report.ok() ? examine_checkpoint(database) : std::string();
  bar.reset();
  if (!report.ok()) return refuse(report.status());
  if (!checkpoint.ok()) return refuse(checkpoint.status());
  const bool hopeless = report->beyond_salvage || !checkpoint->empty();
  if (!report->beyond_salvage) print_plan(database, *report);
  if (!checkpoint->empty()) base::print("DAMAGED: {}\n", *checkpoint);
  const std::string_view what = salvage && !report->beyond_salvage ? "LOST" : "DAMAGED";
  for (const std::string& damage : report->damages) base::print("{}: {}\n", what, damage);
  std::fflush(stdout);
  if (hopeless)
    return bench::refuse(ExitCode::kDamagedData, "opening would refuse this database, with --salvage as well");
  if (report->damages.empty() || salvage) return ExitCode::kOk;
  if (database.of_node()) {
    return bench::refuse(ExitCode::kDamagedData,
                         "this node, or another one that needs its log, would refuse to start; 'granary node "
                         "--salvage' of all nodes starts with what is left");
  }
  return bench::refuse(ExitCode::kDamagedData,
                       "opening would refuse this database; --salvage opens what is left of it");
}

void print_report(const RecoveryReport& report, double opening_seconds) {
  const double rate = report.seconds > 0 ? 1 / report.seconds : 0;
  const std::vector<Fact> facts{
      {"cut", fmt::format("exactly the transactions up to epoch {}", report.durable_epoch)},
      {"rings", report.rings ? "found, nothing that committed is missing" : "none"},
      {"transactions", with_commas(report.transactions)},
      {"records", fmt::format("{}, {} /s", with_commas(report.records),
                              with_commas(static_cast<std::uint64_t>(static_cast<double>(report.records) * rate)))},
      {"from the checkpoint",
       fmt::format("{} records, {}", with_commas(report.checkpoint_records), human_bytes(report.checkpoint_bytes))},
      {"bytes", fmt::format("{}, {}/s", human_bytes(report.bytes),
                            human_bytes(static_cast<std::uint64_t>(static_cast<double>(report.bytes) * rate)))},
      {"seconds", fmt::format("{:.2f} to load and replay, {:.2f} to open", report.seconds, opening_seconds)},
  };
  print_facts(facts);
  for (const std::string& note : report.notes) base::print("{}\n", note);
}

/// Returns the log directories that the last process has used: those with segments of its generation. The manifest also
/// names older ones, which their users may want to do without.
std::vector<std::string> latest_log_directories(const recovery::Manifest& manifest) {
  const auto segments = segment_files(manifest);
  if (!segments.ok() || manifest.generations.empty()) return manifest.log_directories;
  std::vector<std::string> latest;
  for (const std::string& directory : manifest.log_directories) {
    const bool used = std::ranges::any_of(*segments, [&](const SegmentFile& segment) {
      return segment.name.generation == manifest.generations.back().number &&
             segment.path.substr(0, segment.path.rfind('/')) == directory;
    });
    if (used) latest.push_back(directory);
  }
  return latest.empty() ? manifest.log_directories : latest;
}

/// Returns options for an opening with the directories that the manifest names.
Options options_for(const InspectedDatabase& database, const bench::FlagValues& flags) {
  const recovery::Manifest& manifest = database.manifest;
  Options options;
  options.directory = database.directory;
  options.log_directories = latest_log_directories(manifest);
  const bool own = !database.settled.copy || recovery::is_inside(database.directory, manifest.reliable_directory);
  if (!manifest.reliable_directory.empty() && own)
    options.reliable_directory = std::filesystem::path(manifest.reliable_directory).parent_path();
  if (!manifest.generations.empty()) options.loggers = manifest.generations.back().loggers;
  options.checkpoint_interval_s = 0;
  options.salvage = flags.enabled("salvage");
  return options;
}

ExitCode recover(Options options) {
  const std::uint64_t start = base::monotonic_ns();
  Result<std::unique_ptr<Database>> opened = [&] {
    ProgressBar bar(::isatty(STDERR_FILENO) == 1);
    options.recovery_progress = [&bar](const RecoveryProgress& progress) { bar.show(progress); };
    auto database = Database::open(options);
    return database;
  }();
  if (!opened.ok()) return refuse(opened.status());
  print_report((*opened)->recovery_report(), static_cast<double>(base::monotonic_ns() - start) / 1e9);
  std::fflush(stdout);
  const Status closed = (*opened)->close();
  return closed.ok() ? ExitCode::kOk : refuse(closed);
}

Status take_over(const std::string& directory, const bench::FlagValues& flags) {
  if (const Status own = recovery::check_user(base::system_files(), directory); !own.ok()) return own;
  const auto lock = base::system_files().lock(fmt::format("{}/{}", directory, recovery::kLockName));
  return lock.ok() ? recovery::take_residence(base::system_files(), directory, wishes_from(flags)) : lock.status();
}

ExitCode run(const std::string& directory, const bench::FlagValues& flags) {
  auto database = open_with_logs(directory, flags);
  if (!database.ok()) return refuse(database.status());
  if (flags.enabled("dry_run")) return dry_run(*database, flags.enabled("salvage"));
  const Options options = options_for(*database, flags);
  database->locks.clear();  // opening takes the locks
  if (flags.enabled("moved")) {
    if (const Status taken = take_over(database->directory, flags); !taken.ok()) return refuse(taken);
    if (base::system_files().open(fmt::format("{}/{}", database->directory, membership::kLifeName)).ok()) {
      base::print("'{}' is the directory of a cluster's node, and counts as moved: start the node\n",
                  database->directory);
      return ExitCode::kOk;
    }
  }
  return recover(options);
}

}  // namespace

const Tool& recover_tool() {
  static const Tool tool{
      .group = "recover",
      .summary = "opens a database, which recovers it, and closes it; --dry-run only says what would happen",
      .description =
          "Recovers the database with all cores, shows on standard error how far it is, prints a report, and "
          "closes. Every program that opens the database does the same; this one is for looking, and for "
          "--salvage. With --dry-run everything is read and nothing on disk changes.",
      .examples = {"/var/lib/bank --dry-run", "/var/lib/bank", "/var/lib/bank --salvage"},
      .flags = {bench::switch_flag("dry_run", false, "Says what opening would do, and changes nothing."),
                bench::switch_flag("salvage", false,
                                   "Recovers although durable data is damaged, and prints what is lost."),
                bench::switch_flag("moved", false,
                                   "The database was moved here, and is not where it was: its log rings, and log "
                                   "directories that stayed where they were, are still its own."),
                log_dirs_flag()},
      .run = run,
  };
  return tool;
}

}  // namespace granary::cli
