#include "bench/harness/table.h"

#include <algorithm>

#include <fmt/format.h>

#include "bench/harness/progress.h"

namespace granary::bench {

namespace {

using Row = std::vector<std::string>;

std::string rate_text(double rate) { return with_commas(static_cast<std::uint64_t>(rate + 0.5)); }

Row type_row(const Measurement& run, const TypeResult& type) {
  Row row{type.name,
          with_commas(type.finished()),
          rate_text(run.rate(type.finished())),
          with_commas(type.rolled_back),
          with_commas(type.aborted()),
          fmt::format("{:.3f}", 100 * abort_share(type))};
  for (const double percent : {50.0, 95.0, 99.0, 99.9})
    row.push_back(fmt::format("{:.1f}", run.percentile_us(type, percent)));
  row.push_back(fmt::format("{:.1f}", run.microseconds(static_cast<double>(type.latency.max()))));
  return row;
}

std::string type_table(const Measurement& run) {
  std::vector<Row> rows{{"transaction", "count", "/s", "rolled back", "aborts", "abort %", "p50 us", "p95 us", "p99 us",
                         "p99.9 us", "max us"}};
  for (const TypeResult& type : run.types) rows.push_back(type_row(run, type));
  if (run.types.size() > 1) rows.push_back(type_row(run, run.total()));
  return aligned(rows);
}

/// Returns a table of aborts by reason. Only reasons that occurred have a column.
std::string abort_table(const Measurement& run) {
  const TypeResult total = run.total();
  Row head{"aborts"};
  std::vector<std::size_t> reasons;
  for (std::size_t reason = 0; reason < kAbortReasons; ++reason) {
    if (total.aborts[reason] == 0) continue;
    reasons.push_back(reason);
    head.emplace_back(name(static_cast<AbortReason>(reason)));
  }
  if (reasons.empty()) return {};
  std::vector<Row> rows{head};
  const auto add = [&](const TypeResult& type) {
    Row row{type.name};
    for (const std::size_t reason : reasons) row.push_back(with_commas(type.aborts[reason]));
    rows.push_back(row);
  };
  for (const TypeResult& type : run.types) {
    if (type.aborted() != 0) add(type);
  }
  if (rows.size() > 2) add(total);
  return fmt::format("\n{}", aligned(rows));
}

std::string spread(const std::vector<Measurement>& runs, double (Measurement::*figure)() const) {
  std::vector<double> values;
  for (const Measurement& run : runs) values.push_back((run.*figure)());
  std::sort(values.begin(), values.end());
  return fmt::format("minimum {}, maximum {}", rate_text(values.front()), rate_text(values.back()));
}

/// Returns the lines that tell what was logged in the measurement, and when results could be shown.
std::string durability_text(const Measurement& run) {
  const TypeResult total = run.total();
  const auto milliseconds = [&](double percent) {
    return run.microseconds(static_cast<double>(total.durable.percentile(percent))) / 1000;
  };
  const std::uint64_t bytes = run.store.log_bytes - run.baseline().log_bytes;
  const std::uint64_t entries = std::max<std::uint64_t>(1, run.store.log_entries - run.baseline().log_entries);
  return fmt::format(
      "log         {}, {:.0f} bytes a logged transaction, {} syncs, {} commits waited for room in a ring\n"
      "released    p50 {:.1f} ms, p95 {:.1f} ms, p99 {:.1f} ms, max {:.1f} ms after the request began{}\n",
      human_bytes(bytes), static_cast<double>(bytes) / static_cast<double>(entries),
      with_commas(run.store.log_syncs - run.baseline().log_syncs),
      with_commas(run.store.ring_waits - run.baseline().ring_waits), milliseconds(50), milliseconds(95),
      milliseconds(99), run.microseconds(static_cast<double>(total.durable.max())) / 1000,
      total.unreleased == 0
          ? ""
          : fmt::format("; {} more of those that were timed could not be shown within two seconds of the end",
                        with_commas(total.unreleased)));
}

/// Returns the line on the checkpoints of the measurement.
std::string checkpoint_text(const Measurement& run) {
  std::string text = fmt::format("checkpoints {} taken, {} written, in progress for {:.2f} s",
                                 run.store.checkpoints - run.baseline().checkpoints,
                                 human_bytes(run.store.checkpoint_bytes - run.baseline().checkpoint_bytes),
                                 run.store.checkpoint_seconds - run.baseline().checkpoint_seconds);
  if (const double ratio = run.checkpoint_cost.ratio(); ratio != 0)
    text += fmt::format("; throughput meanwhile {:.3f} of that without", ratio);
  return text + "\n";
}

/// Tells what became of commits in hardware transactions in the measurement. The shares are those of DrTM's table
/// (SOSP 2015, slide 57): of attempts that did not fit into the cache, and of transactions that took locks.
std::string htm_text(const Measurement& run) {
  const HtmStatistics &before = run.baseline().htm, &now = run.store.htm;
  if (now.backend == "off") return "htm         off\n";
  const std::uint64_t commits = now.commits - before.commits, fallbacks = now.fallbacks - before.fallbacks;
  const std::uint64_t conflicts = now.conflicts - before.conflicts, capacity = now.capacity - before.capacity;
  const std::uint64_t refused = now.explicit_aborts - before.explicit_aborts, others = now.others - before.others;
  const auto share = [](std::uint64_t part, std::uint64_t all) {
    return all == 0 ? 0.0 : 100.0 * static_cast<double>(part) / static_cast<double>(all);
  };
  return fmt::format(
      "htm         {}: {} commits, {} ({:.2f} %) gave way to locks; aborts by conflict {}, capacity {} ({:.2f} % of "
      "attempts), explicit {}, other {}\n",
      now.backend, with_commas(commits), with_commas(fallbacks), share(fallbacks, commits + fallbacks),
      with_commas(conflicts), with_commas(capacity), share(capacity, commits + conflicts + capacity + refused + others),
      with_commas(refused), with_commas(others));
}

std::string summary(const std::vector<Measurement>& runs, const Measurement& median) {
  const TypeResult total = median.total();
  std::string text = fmt::format("\nthroughput  {} /s", rate_text(median.throughput()));
  if (runs.size() > 1)
    text += fmt::format("   (median of {}; {})", runs.size(), spread(runs, &Measurement::throughput));
  text += fmt::format("\ngoodput     {} /s   aborts {:.3f} % of attempts", rate_text(median.goodput()),
                      100 * abort_share(total));
  if (total.gave_up != 0) text += fmt::format("   gave up {}", with_commas(total.gave_up));
  text += fmt::format("\nmeasured    {:.2f} s a run{}{}\n", median.seconds(),
                      median.pinned ? ", workers pinned to cores" : "", median.interrupted ? "; interrupted" : "");
  text += fmt::format("memory      records {}, index {}, old versions {}, all told {}, resident {}; pages {}\n",
                      human_bytes(median.store.records_bytes), human_bytes(median.store.index_bytes),
                      human_bytes(median.store.version_bytes), human_bytes(median.store.memory_bytes),
                      human_bytes(median.resident_bytes), median.store.page_kind);
  if (median.starved() != 0) {
    text += fmt::format("            RAN OUT: {} requests were given up, so the figures are of something else\n",
                        with_commas(median.starved()));
  }
  if (total.too_long != 0) {
    text += fmt::format("            TOO LONG: {} requests were given up, so the figures are of something else\n",
                        with_commas(total.too_long));
  }
  if (!median.store.protocol.empty()) text += fmt::format("protocol    {}\n", median.store.protocol);
  if (median.store.durable_epoch != 0) text += durability_text(median);
  if (median.store.checkpoint_seconds > median.baseline().checkpoint_seconds) text += checkpoint_text(median);
  if (median.store.htm.backend != "off" || median.cluster) text += htm_text(median);
  if (median.cluster) text += cluster_text(*median.cluster);
  for (const ExtraFigure& figure : median.extra) text += fmt::format("{:<11} {:.6g}\n", figure.name, figure.value);
  return text;
}

/// Returns the findings of all repeats; failed ones with their details.
std::string findings_text(const std::vector<Measurement>& runs, std::string_view why_unverified) {
  std::size_t checked = 0, failed = 0;
  bool verified = false;
  std::string lines;
  for (const Measurement& run : runs) {
    verified = verified || run.verified;
    for (const Finding& finding : run.findings) {
      ++checked;
      if (!finding.holds) ++failed;
      if (!finding.holds || &run == &runs.back()) {
        lines += fmt::format("  {}  {}  {}\n", finding.holds ? "holds " : "FAILED", finding.condition, finding.detail);
      }
    }
  }
  if (!verified) return fmt::format("verified    nothing ({})\n", why_unverified);
  return fmt::format("verified    {} of {} conditions hold\n{}", checked - failed, checked, lines);
}

}  // namespace

std::string cluster_text(const ClusterFigures& figures) {
  const ClusterStatistics& sums = figures.elsewhere;
  const auto ratio = [](std::uint64_t sum, std::uint64_t of) {
    return static_cast<double>(sum) / static_cast<double>(std::max<std::uint64_t>(1, of));
  };
  const auto each = [&](std::uint64_t sum) { return ratio(sum, sums.transactions); };
  std::string text = fmt::format(
      "distributed {:.2f} % of attempts; each {:.2f} READs, {:.2f} WRITEs, {:.2f} compare-and-swaps, {:.2f} messages\n"
      "round trips {:.2f} each: execute {:.2f}, lock {:.2f}, agree on the epoch {:.2f}, validate {:.2f}, write back "
      "{:.2f}\n",
      100 * ratio(sums.transactions, figures.attempts), each(sums.reads), each(sums.writes), each(sums.compare_swaps),
      each(sums.messages), each(sums.rounds), each(sums.execute_rounds), each(sums.lock_rounds),
      each(sums.agree_rounds), each(sums.validate_rounds), each(sums.write_back_rounds));
  text += fmt::format("locations   {:.2f} % of look-ups answered by the cache\n",
                      100 * ratio(sums.location_hits, sums.location_hits + sums.location_misses + sums.location_stale));
  text += fmt::format("leases      {} times a record was read under one\n", with_commas(sums.leases));
  if (sums.cut_off != 0)
    text += fmt::format("cut off     {} times a worker of another node, for malformed messages\n", sums.cut_off);
  text += fmt::format("clock       {}, {}", figures.clock.source, figures.clock.state);
  if (figures.clock.synchronized)
    text += fmt::format("; no two nodes differ by more than {} us", figures.clock.delta_us);
  return text + "\n";
}

std::string aligned(const std::vector<std::vector<std::string>>& rows) {
  std::vector<std::size_t> widths;
  for (const Row& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string text;
  for (const Row& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      text += i == 0 ? fmt::format("{:<{}}", row[i], widths[i]) : fmt::format("  {:>{}}", row[i], widths[i]);
    }
    text += "\n";
  }
  return text;
}

std::string result_text(const std::string& title, const std::vector<Measurement>& runs,
                        std::string_view why_unverified) {
  const Measurement& median = runs[median_by_throughput(runs)];
  if (median.interrupted) why_unverified = kInterrupted;
  return title + "\n\n" + type_table(median) + abort_table(median) + summary(runs, median) +
         findings_text(runs, why_unverified);
}

}  // namespace granary::bench
