#include "bench/fabric/command.h"

#include <cstdio>
#include <vector>

#include <fmt/format.h>

#include "bench/fabric/measure.h"
#include "bench/harness/json_report.h"
#include "bench/harness/progress.h"
#include "bench/harness/table.h"
#include "bench/harness/trial.h"
#include "src/base/build_info.h"

namespace granary::bench::fabric {
namespace {

std::string text_of(const std::vector<Figure>& figures) {
  std::vector<std::vector<std::string>> cells{{"operation", "bytes", "how", "ns", "million/s"}};
  for (const Figure& figure : figures) {
    cells.push_back({figure.operation, std::to_string(figure.bytes), figure.how,
                     fmt::format("{:.0f}", figure.nanoseconds), fmt::format("{:.2f}", 1e3 / figure.nanoseconds)});
  }
  return fmt::format("granary bench fabric, {}\n\nshm, one worker, random places, mean of one operation\n\n{}",
                     base::version_text(), aligned(cells));
}

nlohmann::ordered_json json_of(const std::vector<Figure>& figures, const Load& load) {
  nlohmann::ordered_json ours{{"version", base::version_text()},
                              {"provider", "shm"},
                              {"region_bytes", load.region_bytes},
                              {"operations", load.operations},
                              {"seed", load.seed}};
  for (const Figure& figure : figures) {
    ours["figures"].push_back({{"operation", figure.operation},
                               {"bytes", figure.bytes},
                               {"how", figure.how},
                               {"nanoseconds", figure.nanoseconds}});
  }
  return {{"Benchmark Type", "fabric"}, {"DBMS Type", "granary"}, {"granary", std::move(ours)}};
}

ExitCode run(const Settings& settings, const FlagValues& flags) {
  const auto fail = [](const Status& status) { return refuse(exit_code_of(status), status.message()); };
  const std::string& path = flags.text("json");
  if (const Status writable = check_writable(path); !writable.ok()) return fail(writable);
  const auto scratch = ScratchDirectory::make("/tmp");
  if (!scratch.ok()) return fail(scratch.status());
  const Load load{.region_bytes = flags.bytes("region"),
                  .operations = flags.integer("operations"),
                  .seed = settings.seed,
                  .run_directory = (*scratch)->path()};
  const auto figures = measure(load);
  if (!figures.ok()) return fail(figures.status());
  fmt::print("{}", text_of(*figures));
  std::fflush(stdout);
  if (path.empty()) return ExitCode::kOk;
  const Status written = write_json(path, json_of(*figures, load));
  return written.ok() ? ExitCode::kOk : fail(written);
}

}  // namespace

const BenchCommand& fabric_command() {
  static const BenchCommand command{
      .name = "fabric",
      .summary = "one-sided operations on another node's memory",
      .description =
          "Times READ, WRITE and CAS of the shared-memory fabric at random places of a region: one by one, each "
          "waiting "
          "for the one before; in chains; and from several fibers. Beside them a plain copy at such places. One "
          "worker, a fixed number of operations, so --workers, --seconds, --warmup and --repeat mean nothing here.",
      .examples = {"--region=1GiB", "--operations=100000 --json=fabric.json"},
      .flags = {bytes_flag("region", "256MiB", 1 << 20, std::uint64_t{1} << 40, "Of memory that is reached."),
                integer_flag("operations", 1'000'000, 16, 1'000'000'000'000, "operations", "For each figure.")},
      .run_instead = run,
  };
  return command;
}

}  // namespace granary::bench::fabric
