// `granary bench hash`: counts READs per lookup of hash tables.

#include <vector>

#include <fmt/format.h>

#include "bench/harness/json_report.h"
#include "bench/harness/progress.h"
#include "bench/harness/registry.h"
#include "bench/harness/table.h"
#include "bench/harness/trial.h"
#include "bench/hash/cache_misses.h"
#include "bench/hash/reads.h"
#include "src/base/build_info.h"

namespace granary::bench::hash {
namespace {

struct LookupRow {
  const TableKind* kind;
  double theta, occupancy, reads, slide;
};

/// Counts the READs of each table, and leaves out rows that were cut short.
Result<std::vector<LookupRow>> count(const FlagValues& flags, std::uint64_t seed, StopSignals& signals) {
  EarlyEnd end(&signals);
  std::vector<LookupRow> rows;
  for (const double theta : {0.0, flags.real("theta")}) {
    for (const TableKind& kind : kTableKinds) {
      for (std::size_t i = 0; i < kOccupancies.size(); ++i) {
        const Filling filling{.slots = flags.integer("slots"),
                              .occupancy = kOccupancies[i],
                              .theta = theta,
                              .tables = flags.integer("tables"),
                              .seed = seed,
                              .signals = &signals};
        const Result<double> reads = reads_per_lookup(kind, filling);
        if (end.requested()) return rows;
        if (!reads.ok()) return reads.status();
        rows.push_back(
            {&kind, theta, filling.occupancy, *reads, (theta == 0 ? kind.slide_uniform : kind.slide_zipf)[i]});
        end.have_figure();
      }
    }
  }
  return rows;
}

std::string text_of(const CacheLoad& load, const CacheMisses& cache) {
  return fmt::format(
      "\nlocation cache from empty: {} keys, one entry for 16 of them, {} clients, zipf {:.2f}, {} lookups\n"
      "{:.3f} misses per lookup; {:.3f} if all popularities were known: {:.2f} times as many (DrTM, slide 48: "
      "{:.3f})\n",
      with_commas(load.keys), load.clients, load.theta, with_commas(load.lookups), cache.per_lookup(),
      cache.oracle_per_lookup(), cache.of_oracle(), kSlideCacheCost);
}

std::string text_of(const std::vector<LookupRow>& rows, const FlagValues& flags) {
  std::vector<std::vector<std::string>> cells{{"table", "popularity", "occupancy", "READs", "DrTM, slide 42"}};
  for (const LookupRow& row : rows) {
    cells.push_back({std::string(row.kind->name), row.theta == 0 ? "uniform" : fmt::format("zipf {:.2f}", row.theta),
                     fmt::format("{:.0f} %", row.occupancy * 100), fmt::format("{:.3f}", row.reads),
                     fmt::format("{:.3f}", row.slide)});
  }
  return fmt::format(
      "granary bench hash, {}\n\nREADs of headers per lookup of a present key, mean of {} tables with {} slots\n\n{}",
      base::version_text(), flags.integer("tables"), with_commas(flags.integer("slots")), aligned(cells));
}

/// Returns the report. `cache` is not used if the measurement was interrupted.
nlohmann::ordered_json json_of(const std::vector<LookupRow>& rows, const CacheLoad& load, const CacheMisses& cache,
                               const FlagValues& flags, bool interrupted) {
  nlohmann::ordered_json ours{{"version", base::version_text()},
                              {"slots", flags.integer("slots")},
                              {"tables", flags.integer("tables")},
                              {"seed", load.seed},
                              {"interrupted", interrupted}};
  for (const LookupRow& row : rows) {
    ours["lookups"].push_back({{"table", row.kind->name},
                               {"theta", row.theta},
                               {"occupancy", row.occupancy},
                               {"reads", row.reads},
                               {"slide", row.slide}});
  }
  if (!interrupted) {
    ours["cache"] = {{"keys", load.keys},
                     {"clients", load.clients},
                     {"theta", load.theta},
                     {"lookups", load.lookups},
                     {"misses_per_lookup", cache.per_lookup()},
                     {"oracle_misses_per_lookup", cache.oracle_per_lookup()},
                     {"slide", kSlideCacheCost}};
  }
  return {{"Benchmark Type", "hash"}, {"DBMS Type", "granary"}, {"granary", std::move(ours)}};
}

ExitCode run(const Settings& settings, const FlagValues& flags) {
  const auto fail = [](const Status& status) { return refuse(exit_code_of(status), status.message()); };
  const std::string& path = flags.text("json");
  if (const Status writable = check_writable(path); !writable.ok()) return fail(writable);
  StopSignals signals;
  const auto rows = count(flags, settings.seed, signals);
  if (!rows.ok()) return fail(rows.status());
  const CacheLoad load{.keys = flags.integer("cache_keys"),
                       .lookups = flags.integer("cache_lookups"),
                       .theta = flags.real("theta"),
                       .seed = settings.seed,
                       .signals = &signals};
  const CacheMisses cache = count_cache_misses(load);
  const bool interrupted = signals.requested();
  const std::string text = interrupted ? std::string(end_text(true)) : text_of(load, cache);
  return report(text_of(*rows, flags) + text, path, json_of(*rows, load, cache, flags, interrupted));
}

}  // namespace

const BenchCommand& hash_command() {
  static const BenchCommand command{
      .name = "hash",
      .summary = "READs per lookup of hash tables that other nodes search",
      .description =
          "Fills the hash index, and the hash tables of FaRM and Pilaf beside it, to 50, 75 and 90 % of their slots "
          "and counts the one-sided READs that finding a key takes, when all keys are equally popular and when they "
          "are not. Counted exactly; nothing is timed, so --workers, --seconds, --warmup and --repeat mean nothing "
          "here.",
      .examples = {"--slots=100000 --tables=4", "--json=hash.json"},
      .flags = {integer_flag("slots", 1 << 20, 64, std::uint64_t{1} << 32, "slots",
                             "Of each table's main header. A table of fewer than 4096 may have no room for 90 %."),
                integer_flag("tables", 8, 1, 1000, "tables", "Each figure is the mean of so many."),
                integer_flag("cache_keys", 1'000'000, 16, 1'000'000'000, "keys",
                             "Looked up through the location cache, which has an entry for every 16 of them."),
                integer_flag("cache_lookups", 20'000'000, 1, 1'000'000'000'000, "lookups",
                             "Through the cache, in all."),
                real_flag("theta", 0.99, 0, 0.999, "", "Skew of the popularities that are not uniform.")},
      .no_protocol = "counts READs of tables; it runs no transactions",
      .durability = "",
      .has_summary = false,
      .run_instead = run,
  };
  return command;
}

}  // namespace granary::bench::hash
