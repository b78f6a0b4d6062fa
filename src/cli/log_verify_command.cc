// `granary log verify`: says whether the log could be recovered, with a line for each reason why not.

#include <cstdio>
#include <optional>

#include <fmt/format.h>

#include "bench/harness/progress.h"
#include "bench/harness/trial.h"
#include "src/base/print.h"
#include "src/cli/log_damage.h"
#include "src/cli/reading_bar.h"
#include "src/cli/tool.h"

namespace granary::cli {
namespace {

using bench::ExitCode;

ExitCode run(const std::string& directory, const bench::FlagValues& flags) {
  auto database = open_with_logs(directory, flags);
  if (!database.ok()) return bench::refuse(bench::exit_code_of(database.status()), database.status().message());
  std::optional<ReadingBar> bar(bytes_to_examine(*database));
  database->progress = bar->counter();
  const auto report = examine_logs(*database);
  const auto checkpoint = report.ok() ? examine_checkpoint(*database) : std::string();
  bar.reset();
  if (!report.ok()) return bench::refuse(bench::exit_code_of(report.status()), report.status().message());
  if (!checkpoint.ok()) return bench::refuse(bench::exit_code_of(checkpoint.status()), checkpoint.status().message());
  if (!report->rings.note.empty()) base::print("{}\n", report->rings.note);
  for (const recovery::DroppedTail& tail : report->scan.tails) base::print("torn tail: {}\n", text_of(tail));
  for (const std::string& damage : report->damages) base::print("DAMAGED: {}\n", damage);
  if (!checkpoint->empty()) base::print("DAMAGED: {}\n", *checkpoint);
  if (!checkpoint->empty() && report->damages.empty()) {
    std::fflush(stdout);
    return bench::refuse(ExitCode::kDamagedData,
                         fmt::format("the checkpoint of '{}' is damaged, and its log goes on from there", directory));
  }
  if (!report->damages.empty()) {
    std::fflush(stdout);
    return bench::refuse(ExitCode::kDamagedData,
                         fmt::format("the log in '{}' is damaged in {} place{}", directory, report->damages.size(),
                                     report->damages.size() == 1 ? "" : "s"));
  }
  const std::uint64_t kept = report->scan.kept;
  base::print("ok: {} segments{}, {} transactions, {}, durable epoch {}\n", report->scan.segments.size(),
              kept == 0 ? "" : fmt::format(" ({} kept for other nodes only)", kept),
              bench::with_commas(report->scan.transactions), bench::human_bytes(report->scan.bytes),
              report->scan.durable);
  return ExitCode::kOk;
}

}  // namespace

const Tool& log_verify_tool() {
  static const Tool tool{
      .group = "log",
      .name = "verify",
      .summary = "reads all that recovery would; exit code 4 if something is damaged",
      .description =
          "Reads every segment that counts, the checkpoint that they go on from, and the rings of a process that "
          "died, and checks what recovery checks: names and headers, checksums, markers against each other and the "
          "manifest, tables and sizes of writes. Of a cluster's node, segments that only other nodes may need are "
          "checked as well. Prints a line with file, offset and cause for each damage and ends in exit code 4 if there "
          "is any. A torn tail, where nothing durable is lost, is reported and no damage.",
      .examples = {"/var/lib/bank"},
      .flags = {log_dirs_flag()},
      .run = run,
  };
  return tool;
}

}  // namespace granary::cli
