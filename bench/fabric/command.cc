// `granary bench fabric`: measures one-sided operations and compares them with plain copies.

#include <unistd.h>

#include <vector>

#include <fmt/format.h>

#include "bench/fabric/bench_provider.h"
#include "bench/fabric/measure.h"
#include "bench/harness/json_report.h"
#include "bench/harness/progress.h"
#include "bench/harness/registry.h"
#include "bench/harness/table.h"
#include "bench/harness/trial.h"
#include "src/base/build_info.h"

namespace granary::bench::fabric {
namespace {

constexpr std::uint64_t kLeastRegion = 1 << 20;

std::string rounded(double nanoseconds) { return nanoseconds == 0 ? "" : fmt::format("{:.0f}", nanoseconds); }

std::string text_of(const std::vector<OperationFigure>& figures, const Load& load) {
  std::vector<std::vector<std::string>> cells{
      {"operation", "bytes", "how", "ns", "p50", "p99", "chain p50", "chain p99", "million/s"}};
  for (const OperationFigure& figure : figures) {
    const bool one = figure.length == 1;
    const std::string p50 = rounded(figure.p50_ns), p99 = rounded(figure.p99_ns);
    cells.push_back({figure.operation, std::to_string(figure.bytes), figure.how, rounded(figure.nanoseconds),
                     one ? p50 : "", one ? p99 : "", one ? "" : p50, one ? "" : p99,
                     fmt::format("{:.2f}", 1e3 / figure.nanoseconds)});
  }
  std::string text =
      fmt::format("granary bench fabric, {}\n\n{}, one worker, random places of {} MiB, time of one operation\n\n{}",
                  base::version_text(), name(load.provider), load.region_bytes >> 20, aligned(cells));
  if (traits(load.provider).by_processor) {
    for (const Comparison& one : compare(figures)) {
      text += fmt::format("\n{}: {:.1f} ns to {:.1f} ns, {:.2f} x; at most {:.1f} ns wanted: {}", one.what, one.ours,
                          one.plain, one.ours / one.plain, one.most, one.ours <= one.most ? "met" : "missed");
    }
    text += "\n";
  }
  return text.append(end_text(load.signals->requested()));
}

nlohmann::ordered_json json_of(const std::vector<OperationFigure>& figures, const Load& load) {
  nlohmann::ordered_json ours{{"version", base::version_text()},
                              {"provider", name(load.provider)},
                              {"region_bytes", load.region_bytes},
                              {"operations", load.operations},
                              {"seed", load.seed},
                              {"interrupted", load.signals->requested()}};
  for (const OperationFigure& figure : figures) {
    ours["figures"].push_back({{"operation", figure.operation},
                               {"bytes", figure.bytes},
                               {"how", figure.how},
                               {"nanoseconds", figure.nanoseconds},
                               {"per_second", 1e9 / figure.nanoseconds}});
    const std::string of = figure.length == 1 ? "" : "chain_";
    ours["figures"].back()[of + "p50_ns"] = figure.p50_ns;
    ours["figures"].back()[of + "p99_ns"] = figure.p99_ns;
  }
  if (traits(load.provider).by_processor) {
    for (const Comparison& one : compare(figures)) {
      ours["comparisons"].push_back(
          {{"what", one.what}, {"nanoseconds", one.ours}, {"plain_ns", one.plain}, {"most_ns", one.most}});
    }
  }
  return {{"Benchmark Type", "fabric"}, {"DBMS Type", "granary"}, {"granary", std::move(ours)}};
}

/// Returns the size that was asked for; if none was, one that the machine has room for.
std::uint64_t region_bytes(const FlagValues& flags) {
  std::uint64_t bytes = flags.bytes("region");
  const auto free =
      static_cast<std::uint64_t>(::sysconf(_SC_AVPHYS_PAGES)) * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  while (!flags.given("region") && bytes > kLeastRegion && bytes > free / 4) bytes /= 2;
  return bytes;
}

ExitCode run(const Settings& settings, const FlagValues& flags) {
  const auto fail = [](const Status& status) { return refuse(exit_code_of(status), status.message()); };
  const std::string& path = flags.text("json");
  if (const Status writable = check_writable(path); !writable.ok()) return fail(writable);
  const std::uint64_t bytes = region_bytes(flags);
  if (const Status fits = check_available("fabric", bytes); !fits.ok()) return fail(fits);
  const auto scratch = ScratchDirectory::make("/tmp");
  if (!scratch.ok()) return fail(scratch.status());
  StopSignals signals;
  const Load load{.provider = provider_of(flags),
                  .region_bytes = bytes,
                  .operations = flags.integer("operations"),
                  .seed = settings.seed,
                  .run_directory = (*scratch)->path(),
                  .signals = &signals};
  const auto figures = measure(load);
  if (!figures.ok()) return fail(figures.status());
  return report(text_of(*figures, load), path, json_of(*figures, load));
}

}  // namespace

const BenchCommand& fabric_command() {
  static const BenchCommand command{
      .name = "fabric",
      .summary = "one-sided operations on another node's memory",
      .description =
          "Times READ, WRITE and CAS at random places of a region of another node: one by one, each waiting for the "
          "one before; in chains; and from several fibers. Beside them a plain copy at such places. One worker, a "
          "fixed number of operations, so --workers, --seconds, --warmup and --repeat mean nothing here. Over verbs "
          "the node reaches itself through its first device.",
      .examples = {"--region=256MiB", "--operations=100000 --json=fabric.json", "--provider=verbs --operations=2000"},
      .flags = {provider_flag(),
                bytes_flag("region", "1GiB", kLeastRegion, std::uint64_t{1} << 40,
                           "Of memory that is reached; if not given, less where there is little memory."),
                integer_flag("operations", 1'000'000, 16, 1'000'000'000'000, "operations", "For each figure.")},
      .no_protocol = "times operations of the fabric; it runs no transactions",
      .durability = "",
      .has_summary = false,
      .run_instead = run,
  };
  return command;
}

}  // namespace granary::bench::fabric
