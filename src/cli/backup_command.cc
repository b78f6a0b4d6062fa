// `granary backup`: a whole copy of a database at rest, in one directory.

#include <unistd.h>

#include <cstdio>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "bench/harness/progress.h"
#include "bench/harness/stop_signals.h"
#include "bench/harness/trial.h"
#include "cluster_config/membership/life.h"
#include "recovery/backup.h"
#include "src/base/print.h"
#include "src/cli/log_damage.h"
#include "src/cli/printing/progress_bar.h"
#include "src/cli/tool.h"

namespace granary::cli {
namespace {

using bench::ExitCode;

ExitCode refuse(const Status& status) { return bench::refuse(bench::exit_code_of(status), status.message()); }

ExitCode refuse_damaged(const std::vector<std::string>& damages) {
  for (const std::string& damage : damages) base::print(stderr, "DAMAGED: {}\n", damage);
  return bench::refuse(ExitCode::kDamagedData, "a damaged database is not backed up: see 'granary log verify'");
}

/// Returns an error unless the files in the directory are all of the database. They are not if something waits in
/// memory or, in a cluster, for the other nodes.
Status check_at_rest(const InspectedDatabase& database, const LogReport& report) {
  const auto refused = [&](std::string_view why) {
    return Status(StatusCode::kFailedPrecondition, fmt::format("'{}' {}", database.directory, why));
  };
  const auto& generations = database.manifest.generations;
  const bool ended = generations.empty() || generations.back().cut;
  if (database.of_node() && !ended)
    return refused(
        "is of a node that did not end in order: start the cluster and end it, then back up all of its nodes");
  if (!report.rings.rings.empty() || !report.rings.note.empty())
    return refused("is of a process that died, and has log rings in memory: granary recover it, then back it up");
  // Nothing tells where the log of a copy has to end, so a log that was cut short would look like a torn tail.
  if (!ended) return refused("did not end in order: granary recover it, then back it up");
  return {};
}

ExitCode run(const std::string& directory, const bench::FlagValues& flags) {
  if (flags.text("to").empty()) return bench::refuse(ExitCode::kUsage, "backup: --to=DIR: where to?");
  auto database = open_with_logs(directory, flags);
  if (!database.ok()) return refuse(database.status());
  const auto canonical = base::canonical(flags.text("to"));
  if (!canonical.ok()) return refuse(canonical.status());
  const std::string& to = *canonical;
  if (recovery::is_inside(database->directory, to))
    return bench::refuse(ExitCode::kUsage, fmt::format("backup: --to={}: it is inside the database's directory", to));
  // The target is looked at before the database is read, which may take long, and once more after that.
  const Status usable = recovery::check_backup_target(base::system_files(), to);
  if (!usable.ok()) return refuse(usable);
  const auto report = examine_logs(*database);
  if (!report.ok()) return refuse(report.status());
  if (!report->damages.empty()) return refuse_damaged(report->damages);
  if (const Status rest = check_at_rest(*database, *report); !rest.ok()) return refuse(rest);
  const auto checkpoint = examine_checkpoint(*database);
  if (!checkpoint.ok()) return refuse(checkpoint.status());
  if (!checkpoint->empty()) return refuse_damaged({*checkpoint});
  const auto written = [&] {
    ProgressBar bar(::isatty(STDERR_FILENO) == 1);
    bench::StopSignals signals;
    signals.ask_first(true);
    return recovery::write_backup(base::system_files(), database->directory, database->manifest, report->scan,
                                  {std::string(membership::kLifeName)}, to, [&](std::uint64_t done, std::uint64_t all) {
                                    bar.show({done, all});
                                    return !signals.requested();
                                  });
  }();
  if (!written.ok()) return refuse(written.status());
  base::print("ok: {} files, {} in '{}', transactions up to epoch {}\n", written->files,
              bench::human_bytes(written->bytes), to, report->scan.durable);
  return ExitCode::kOk;
}

}  // namespace

const Tool& backup_tool() {
  static const Tool tool{
      .group = "backup",
      .summary = "copies a database that no process has open, verified and synced",
      .description =
          "Verifies the database, which has ended in order or was recovered, copies its checkpoint and what counts of "
          "its log, from all of its log directories, into one directory, and reads the copy again from the device. Of "
          "a cluster's node, that is also what only other nodes need of its log. If the backup fails, or is "
          "interrupted by Ctrl-C or SIGTERM, its files are removed. The manifest is written last, so a backup that was "
          "killed is no database: remove its directory. A backup is a database of its own: open it where it is, or "
          "restore it by 'granary backup BACKUP --to=DIR' or by copying the directory.",
      .examples = {"/var/lib/bank --to=/backup/bank-monday"},
      .flags = {bench::text_flag("to", "", "DIR", "The backup's directory; missing or empty."), log_dirs_flag()},
      .run = run,
  };
  return tool;
}

}  // namespace granary::cli
