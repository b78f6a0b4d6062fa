// `granary rings`: lists the directories of log rings in memory, with the database of each, and says which ones nobody
// needs.

#include <cstdio>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "bench/harness/progress.h"
#include "bench/harness/table.h"
#include "bench/harness/trial.h"
#include "recovery/ring_directories.h"
#include "src/base/directory.h"
#include "src/base/print.h"
#include "src/cli/tool.h"

namespace granary::cli {
namespace {

using bench::ExitCode;
using recovery::RingDirectory;
using recovery::RingUse;

std::string_view word_of(RingUse use) {
  switch (use) {
    case RingUse::kRunning: return "running";
    case RingUse::kWaiting: return "waiting";
    case RingUse::kOrphan: break;
  }
  return "orphan";
}

void print_table(const std::vector<RingDirectory>& found) {
  std::vector<std::vector<std::string>> rows{{"rings", "bytes", "use", "directory", "database"}};
  std::uint64_t bytes = 0;
  for (const RingDirectory& each : found) {
    bytes += each.bytes;
    rows.push_back({std::to_string(each.rings), bench::human_bytes(each.bytes), std::string(word_of(each.use)),
                    each.path, each.owner ? each.owner->directory : "unknown"});
  }
  if (found.empty()) {
    base::print("no log rings\n");
    return;
  }
  base::print("{}\n", bench::aligned(rows));
  for (const RingDirectory& each : found) base::print("{}: {}: {}\n", each.path, word_of(each.use), each.why);
  base::print("{} in all\n", bench::human_bytes(bytes));
}

void print_json(const std::vector<RingDirectory>& found) {
  nlohmann::ordered_json all = nlohmann::ordered_json::array();
  for (const RingDirectory& each : found) {
    nlohmann::ordered_json one{{"directory", each.path},
                               {"rings", each.rings},
                               {"bytes", each.bytes},
                               {"use", word_of(each.use)},
                               {"why", each.why}};
    if (each.owner) {
      one["database"] = log::to_text(each.owner->database);
      one["instance"] = log::to_text(each.owner->instance);
      one["database_directory"] = each.owner->directory;
    }
    all.push_back(std::move(one));
  }
  base::print("{}\n", all.dump(2, ' ', false, nlohmann::json::error_handler_t::replace));
}

ExitCode refuse(const Status& status) { return bench::refuse(bench::exit_code_of(status), status.message()); }

ExitCode remove(const std::string& path) {
  const Status removed = recovery::remove_ring_directory(path);
  if (!removed.ok()) return refuse(removed);
  base::print(stderr, "granary: removed '{}'\n", path);
  return ExitCode::kOk;
}

ExitCode run(const std::string&, const bench::FlagValues& flags) {
  if (flags.given("remove") && (flags.enabled("remove_orphans") || flags.enabled("json")))
    return bench::refuse(ExitCode::kUsage,
                         "rings: --remove lists nothing, so --remove_orphans and --json go without it");
  const auto directory = base::canonical(flags.text(flags.given("remove") ? "remove" : "directory"));
  if (!directory.ok()) return refuse(directory.status());
  if (flags.given("remove")) return remove(*directory);
  const auto found = recovery::list_ring_directories(*directory);
  if (!found.ok()) return refuse(found.status());
  flags.enabled("json") ? print_json(*found) : print_table(*found);
  std::fflush(stdout);
  if (!flags.enabled("remove_orphans")) return ExitCode::kOk;
  for (const RingDirectory& each : *found) {
    if (each.use != RingUse::kOrphan) continue;
    if (const ExitCode code = remove(each.path); code != ExitCode::kOk) return code;
  }
  return ExitCode::kOk;
}

}  // namespace

const Tool& rings_tool() {
  static const Tool tool{
      .group = "rings",
      .operand = "",
      .summary = "log rings in memory: whose they are, and those that nobody needs",
      .description =
          "Lists the directories of log rings of this user: rings, bytes, whose they are, and whether a process has "
          "their database open (running), the database takes them when it is opened again (waiting), or it is not "
          "there any more (orphan). A database on a volume that is not mounted, or that was moved and not opened "
          "since, counts as not there: look at the list before --remove_orphans. Rings that wait hold transactions "
          "that may be in no log file.",
      .examples = {"--json", "--remove_orphans"},
      .flags = {bench::text_flag("directory", "/dev/shm", "DIR",
                                 "Where to look: what databases have as their reliable directory."),
                bench::switch_flag("json", false, "Prints JSON instead of a table."),
                bench::switch_flag("remove_orphans", false, "Removes those that are listed as orphans."),
                bench::text_flag("remove", "", "DIR", "Removes this one, unless a process has it, and lists nothing.")},
      .run = run,
  };
  return tool;
}

}  // namespace granary::cli
