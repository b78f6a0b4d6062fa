#include "bench/append/conclusion.h"

#include <filesystem>
#include <fstream>

#include <fmt/format.h>

#include "bench/append/history/edn.h"
#include "bench/append/verdicts.h"
#include "bench/harness/json_report.h"
#include "bench/harness/trial.h"
#include "src/base/build_info.h"
#include "src/base/print.h"
#include "src/db/options_check.h"

namespace granary::bench::append {

using history::History;
using Json = nlohmann::ordered_json;

namespace {

/// Writes a history. A regular file is written aside and renamed, so that it is there as a whole or not at all; a
/// device or a pipe is written in place.
ExitCode write_file(const std::string& path, const History& history) {
  std::error_code error;
  const bool plain = !std::filesystem::exists(path, error) || std::filesystem::is_regular_file(path, error);
  const std::string draft = plain ? path + ".draft" : path;
  std::ofstream out(draft);
  history::write_edn(out, history);
  out.close();
  const bool written = static_cast<bool>(out);
  if (written && plain) std::filesystem::rename(draft, path, error);
  if (written && !error) return ExitCode::kOk;
  if (plain) std::filesystem::remove(draft, error);
  return fail(ExitCode::kEnvironment, fmt::format("cannot write '{}'", path));
}

/// Writes the history and says so, if a path is given.
ExitCode write_wanted(const std::string& path, const History& history) {
  if (path.empty()) return ExitCode::kOk;
  const ExitCode code = write_file(path, history);
  if (code == ExitCode::kOk) base::print("{} events written to {}\n", history.size(), path);
  return code;
}

/// Writes the report of --json, if that was given. `more` has members of its object "granary" beside the verdicts.
ExitCode write_report(const FlagValues& flags, const Verdicts& verdicts, Json more = Json::object()) {
  const std::string& path = flags.text("json");
  if (path.empty()) return ExitCode::kOk;
  Json ours{{"schema_version", kJsonSchemaVersion}, {"verdicts", verdicts.json()}};
  ours.update(more);
  const Status written = write_json(path, {{"Benchmark Type", "append"},
                                           {"DBMS Type", "granary"},
                                           {"DBMS Version", base::version_text()},
                                           {"granary", std::move(ours)}});
  return written.ok() ? ExitCode::kOk : fail(exit_code_of(written), written.message());
}

ExitCode worse(ExitCode a, ExitCode b) { return a == ExitCode::kOk ? b : a; }

/// Returns whether real time counts. Every protocol releases results in real time, but not every one commits in real
/// time.
bool real_time_counts(const FlagValues& flags) {
  return flags.text("outcomes") == "released" || !db::stamps_reads({.protocol = flags.text("protocol")});
}

}  // namespace

ExitCode fail(ExitCode code, const std::string& text) { return refuse(code, "bench append: " + text); }

Result<History> read_history(const std::string& path) {
  std::ifstream in(path);
  std::error_code ignored;
  if (!in || std::filesystem::is_directory(path, ignored))
    return Status(StatusCode::kUnavailable, fmt::format("cannot read '{}'", path));
  bool torn = false;
  Result<History> history = history::read_edn(in, &torn);
  if (!history.ok()) return Status(history.status().code(), fmt::format("{}: {}", path, history.status().message()));
  if (torn) base::print("{}: the last line is not whole, as its process was killed meanwhile; it is left out\n", path);
  return history;
}

ExitCode judge_file(const FlagValues& flags) {
  for (const auto& [name, entry] : flags.all()) {
    if (entry.given && name != "check" && name != "serializable" && name != "json" && name != "progress")
      return fail(ExitCode::kUsage, fmt::format("--{}: with --check nothing runs; leave one of them out", name));
  }
  const std::string& path = flags.text("check");
  if (const Status writable = check_writable(flags.text("json")); !writable.ok())
    return fail(ExitCode::kEnvironment, writable.message());
  const auto history = read_history(path);
  if (!history.ok()) return fail(exit_code_of(history.status()), history.status().message());
  const bool strict = !flags.enabled("serializable");
  Verdicts verdicts;
  verdicts.judge(path, strict ? history::without_snapshots(*history) : *history, strict);
  return worse(verdicts.code(Verdicts::Source::kFile), write_report(flags, verdicts));
}

ExitCode conclude(const AppendRun& done, const FlagValues& flags, Json more) {
  ExitCode written = write_wanted(flags.text("history"), done.transactions);
  if (!done.with_snapshots.empty() || !flags.text("snapshot_history").empty()) {
    const History& all = done.with_snapshots.empty() ? done.transactions : done.with_snapshots;
    written = worse(written, write_wanted(flags.text("snapshot_history"), all));
  }
  Verdicts verdicts;
  if (flags.enabled("verify")) {
    verdicts.judge("transactions", done.transactions, real_time_counts(flags));
    if (!done.with_snapshots.empty()) verdicts.judge("with snapshots", done.with_snapshots, false);
  }
  written = worse(written, write_report(flags, verdicts, std::move(more)));
  using Source = Verdicts::Source;
  return worse(verdicts.code(done.ended.ok() ? Source::kRun : Source::kCutShort), written);
}

}  // namespace granary::bench::append
