// `granary checkpoint verify`: reads a whole checkpoint and counts what is in it.

#include <algorithm>
#include <cstdio>
#include <optional>
#include <thread>

#include <fmt/format.h>

#include "bench/harness/progress.h"
#include "bench/harness/table.h"
#include "bench/harness/trial.h"
#include "recovery/checkpoint/reader.h"
#include "src/base/print.h"
#include "src/cli/log_damage.h"
#include "src/cli/reading_bar.h"
#include "src/cli/tool.h"

namespace granary::cli {
namespace {

using bench::with_commas;
using recovery::checkpoint::Contents;
using recovery::checkpoint::ReadOptions;

/// The checkpoint to read: a database's current one, or the one that a directory itself is.
struct Subject {
  ReadOptions read;
  std::optional<InspectedDatabase> database;
  bool none = false;  ///< the database has no checkpoint
};

bool has_partitions(const std::string& directory) {
  const auto names = base::system_files().list(directory);
  return names.ok() && std::any_of(names->begin(), names->end(), [](const std::string& name) {
           return recovery::checkpoint::is_partition_name(name);
         });
}

Result<Subject> subject_in(const std::string& directory) {
  Subject subject;
  subject.read.files = &base::system_files();
  subject.read.directory = directory;
  auto database = InspectedDatabase::open(directory);
  if (!database.ok()) {
    if (database.status().code() != StatusCode::kNotFound) return database.status();
    if (has_partitions(directory)) return subject;
    return Status(StatusCode::kNotFound,
                  fmt::format("'{}' holds neither a database (file '{}') nor a checkpoint (files '{}', ...)", directory,
                              recovery::kManifestName, recovery::checkpoint::partition_name(0)));
  }
  subject.database = std::move(*database);
  const recovery::Manifest& manifest = subject.database->manifest;
  subject.none = !manifest.checkpoint;
  if (auto read = checkpoint_of(*subject.database)) subject.read = std::move(*read);
  return subject;
}

std::string table_of(const Subject& subject, const Contents& contents) {
  std::vector<std::vector<std::string>> rows{{"table", "records", "bytes of keys and values"}};
  for (const auto& [id, count] : contents.tables) {
    rows.push_back({subject.database ? subject.database->table_name(id) : fmt::format("table {}", id),
                    with_commas(count.records), with_commas(count.bytes)});
  }
  rows.push_back({"total", with_commas(contents.records), ""});
  return bench::aligned(rows);
}

bench::ExitCode run(const std::string& directory, const bench::FlagValues&) {
  auto subject = subject_in(directory);
  if (!subject.ok()) return bench::refuse(bench::exit_code_of(subject.status()), subject.status().message());
  if (subject->none) {
    base::print("ok: the database in '{}' has no checkpoint yet\n", directory);
    return bench::ExitCode::kOk;
  }
  std::optional<ReadingBar> bar(file_bytes(subject->read.directory));
  subject->read.progress = bar->counter();
  const auto contents =
      recovery::checkpoint::verify_checkpoint(subject->read, std::max(1u, std::thread::hardware_concurrency()));
  bar.reset();
  if (!contents.ok()) return bench::refuse(bench::exit_code_of(contents.status()), contents.status().message());
  base::print("{}\nok: '{}' holds all transactions of epochs below {}; {} files, {}\n", table_of(*subject, *contents),
              subject->read.directory, contents->epoch, contents->partitions, bench::human_bytes(contents->file_bytes));
  return bench::ExitCode::kOk;
}

}  // namespace

const Tool& checkpoint_verify_tool() {
  static const Tool tool{
      .group = "checkpoint",
      .name = "verify",
      .summary = "reads and counts all of a checkpoint; exit code 4 if it is damaged",
      .description =
          "DIR is a database, whose current checkpoint is read, or a checkpoint's own directory. Checks that "
          "every file is there and every checksum right, and prints the records of each table.",
      .examples = {"/var/lib/bank", "/var/lib/bank/checkpoint-000000000050"},
      .run = run,
  };
  return tool;
}

}  // namespace granary::cli
