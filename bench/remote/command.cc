// `granary bench remote`: lookups in another process's hash table beside plain READs.

#include <vector>

#include <fmt/format.h>

#include "bench/fabric/bench_provider.h"
#include "bench/harness/json_report.h"
#include "bench/harness/progress.h"
#include "bench/harness/registry.h"
#include "bench/harness/table.h"
#include "bench/harness/trial.h"
#include "bench/remote/measure.h"
#include "src/base/build_info.h"

namespace granary::bench::remote {
namespace {

double of_plain(const std::vector<LookupFigure>& figures, const LookupFigure& figure) {
  return figures.front().nanoseconds / figure.nanoseconds;
}

std::string alone(double nanoseconds) { return nanoseconds == 0 ? "" : fmt::format("{:.0f}", nanoseconds); }

std::string nodes_text(cluster_config::Provider provider) {
  return fmt::format("{}{}", name(provider), traits(provider).loopback ? "" : ", two processes");
}

std::string text_of(const std::vector<LookupFigure>& figures, const Load& load) {
  std::vector<std::vector<std::string>> cells{{"what", "READs", "ns", "million/s", "of plain READs", "p50, alone",
                                               "p99, alone", "cache hits", "misses", "stale", "replaced"}};
  for (const LookupFigure& figure : figures) {
    cells.push_back({figure.what, fmt::format("{:.3f}", figure.reads), fmt::format("{:.0f}", figure.nanoseconds),
                     fmt::format("{:.2f}", 1e3 / figure.nanoseconds), fmt::format("{:.2f}", of_plain(figures, figure)),
                     alone(figure.alone_p50_ns), alone(figure.alone_p99_ns), with_commas(figure.hits),
                     with_commas(figure.misses), with_commas(figure.stale), with_commas(figure.replacements)});
  }
  return fmt::format(
             "granary bench remote, {}\n\n{}, one worker, 16 at a time; {} keys, {} bytes a value, zipf {:.2f}, "
             "location cache of {} bytes\n\n{}",
             base::version_text(), nodes_text(load.provider), with_commas(load.data.keys), load.data.value_bytes,
             load.theta, with_commas(load.location_cache), aligned(cells))
      .append(end_text(load.signals->requested()));
}

nlohmann::ordered_json json_of(const std::vector<LookupFigure>& figures, const Load& load) {
  nlohmann::ordered_json ours{{"version", base::version_text()},
                              {"provider", name(load.provider)},
                              {"keys", load.data.keys},
                              {"value_bytes", load.data.value_bytes},
                              {"theta", load.theta},
                              {"lookups", load.lookups},
                              {"location_cache", load.location_cache},
                              {"peers", load.data.peers},
                              {"seed", load.seed},
                              {"interrupted", load.signals->requested()}};
  for (const LookupFigure& figure : figures) {
    ours["figures"].push_back({{"what", figure.what},
                               {"nanoseconds", figure.nanoseconds},
                               {"per_second", 1e9 / figure.nanoseconds},
                               {"reads", figure.reads},
                               {"of_plain_reads", of_plain(figures, figure)},
                               {"cache_hits", figure.hits},
                               {"cache_misses", figure.misses},
                               {"cache_stale", figure.stale},
                               {"cache_replacements", figure.replacements},
                               {"wrong", figure.wrong}});
    if (figure.alone_p50_ns == 0) continue;
    ours["figures"].back()["alone_p50_ns"] = figure.alone_p50_ns;
    ours["figures"].back()["alone_p99_ns"] = figure.alone_p99_ns;
  }
  return {{"Benchmark Type", "remote"}, {"DBMS Type", "granary"}, {"granary", std::move(ours)}};
}

ExitCode run(const Settings& settings, const FlagValues& flags) {
  const auto fail = [](const Status& status) { return refuse(exit_code_of(status), status.message()); };
  const std::string& path = flags.text("json");
  if (const Status writable = check_writable(path); !writable.ok()) return fail(writable);
  const auto scratch = ScratchDirectory::make("/tmp");
  if (!scratch.ok()) return fail(scratch.status());
  StopSignals signals;
  const Load load{.provider = fabric::provider_of(flags),
                  .data = {.keys = flags.integer("keys"),
                           .value_bytes = static_cast<std::uint32_t>(flags.integer("value_bytes")),
                           .peers = flags.enabled("peers")},
                  .lookups = flags.integer("lookups"),
                  .location_cache = flags.bytes("location_cache"),
                  .theta = flags.real("theta"),
                  .seed = settings.seed,
                  .run_directory = (*scratch)->path(),
                  .signals = &signals};
  const std::uint64_t needed = OwnedTable::bytes_for(load.data) + load.location_cache;
  if (const Status fits = check_available("remote", needed); !fits.ok()) return fail(fits);
  const auto figures = measure(load);
  if (!figures.ok()) return fail(figures.status());
  const ExitCode reported = report(text_of(*figures, load), path, json_of(*figures, load));
  for (const LookupFigure& figure : *figures) {
    if (figure.wrong != 0) return refuse(ExitCode::kCheckFailed, fmt::format("{} lookups failed", figure.wrong));
  }
  return reported;
}

}  // namespace

const BenchCommand& remote_command() {
  static const BenchCommand command{
      .name = "remote",
      .summary = "lookups in another node's hash table",
      .description =
          "Fills a hash table of shared records in a process of its own and reads records by key from this one, by "
          "one-sided READs: without a location cache, with one from empty, with that one for other keys of the "
          "same popularity (warm), and when READs of the whole index have told it all places, if it has room for "
          "them (full); it knows its keys a round ahead. Beside them READs of as many bytes at the records' "
          "places, and with --peers lookups in the tables of Pilaf and FaRM, with as many slots. 16 at a time, and "
          "then one by one, each with a clock (alone). One worker, a fixed number of lookups, so --workers, "
          "--seconds, --warmup and --repeat mean nothing here. Over verbs the node reaches itself through its "
          "first device.",
      .examples = {"--keys=10000000 --location_cache=256MiB", "--lookups=100000 --json=remote.json",
                   "--provider=verbs --keys=100000 --lookups=20000"},
      .flags = {fabric::provider_flag(), integer_flag("keys", 1'000'000, 1, 1'000'000'000, "keys", "In the table."),
                integer_flag("value_bytes", 64, 0, 65'536, "bytes", "Of each value."),
                integer_flag("lookups", 2'000'000, 16, 1'000'000'000'000, "lookups", "For each figure."),
                bytes_flag("location_cache", "32MiB", 128, std::uint64_t{1} << 40, "16 bytes for each remembered key."),
                real_flag("theta", 0, 0, 0.999, "", "Skew of the keys' popularity; 0 = none."),
                switch_flag("peers", false, "Also looks up in the tables of other systems: Pilaf's and FaRM's.")},
      .no_protocol = "looks up keys by READs; it runs no transactions",
      .durability = "",
      .has_summary = false,
      .run_instead = run,
  };
  return command;
}

}  // namespace granary::bench::remote
