#include "bench/cluster/killed_run.h"

#include <algorithm>

namespace granary::bench::cluster {

namespace {

double milliseconds(std::uint64_t ns) { return static_cast<double>(ns) / 1e6; }

/// Computes the figures of one run.
class Figures {
 public:
  explicit Figures(const KilledRun& run)
      : run_(run),
        whole_bins_(run.ticks() / kTicksOfBin),
        killed_bin_(std::min<std::size_t>((run.killed_ns - run.begins_ns) / kBinNs, whole_bins_)) {}

  /// Returns the time from one event to a later one; none if one of them did not take place.
  static std::optional<double> between(std::uint64_t from_ns, std::uint64_t to_ns) {
    if (from_ns == 0 || to_ns == 0) return std::nullopt;
    return milliseconds(to_ns - std::min(from_ns, to_ns));
  }
  std::optional<double> until(RecoveryStep step) const {
    return between(run_.killed_ns, run_.steps[static_cast<std::size_t>(step)]);
  }
  std::uint64_t keys_back_ns() const {
    std::uint64_t first = 0;
    for (const NodeCourse& node : run_.nodes) {
      if (&node == &run_.nodes[run_.victim] || node.victim_used_ns == 0) continue;
      if (first == 0 || node.victim_used_ns < first) first = node.victim_used_ns;
    }
    return first;
  }

  std::optional<double> longest_silence() const;
  std::optional<double> longest_wait_for_release() const;
  std::optional<double> greatest_loss() const;
  std::optional<double> below_half() const;
  std::optional<double> full_rate_again() const;

 private:
  std::size_t first_tick_after_kill() const { return (run_.killed_ns - run_.begins_ns) / kTickNs + 1; }
  template <typename Use>
  void each_survivor(Use use) const {
    for (const NodeCourse& node : run_.nodes) {
      if (&node != &run_.nodes[run_.victim]) use(node);
    }
  }
  double commits_of_survivors(std::size_t bin) const {
    std::uint64_t sum = 0;
    each_survivor([&](const NodeCourse& node) { sum += committed(counts_of(node, bin)); });
    return static_cast<double>(sum);
  }
  double commits_of_all(std::size_t bin) const {
    return commits_of_survivors(bin) + static_cast<double>(committed(counts_of(run_.nodes[run_.victim], bin)));
  }
  /// Returns the mean of the bins before the kill; 0 if there is none, or nothing was done.
  template <typename Commits>
  double usual(Commits commits) const {
    double sum = 0;
    for (std::size_t bin = 0; bin < killed_bin_; ++bin) sum += commits(bin);
    return killed_bin_ == 0 ? 0 : sum / static_cast<double>(killed_bin_);
  }

  const KilledRun& run_;
  const std::size_t whole_bins_;
  const std::size_t killed_bin_;  ///< the bin in which the node was killed
};

std::optional<double> Figures::longest_silence() const {
  std::uint64_t longest = 0;
  each_survivor([&](const NodeCourse& node) {
    std::uint64_t silent = 0;
    for (std::size_t tick = first_tick_after_kill(); tick < run_.ticks(); ++tick) {
      silent = node.committed(tick) == 0 ? silent + 1 : 0;
      longest = std::max(longest, silent);
    }
  });
  return milliseconds(longest * kTickNs);
}

/// Returns the longest wait. The last release before the kill counts as its beginning, and the end of the run as a
/// release.
std::optional<double> Figures::longest_wait_for_release() const {
  std::uint64_t longest = 0;
  bool any = false;
  each_survivor([&](const NodeCourse& node) {
    std::uint64_t last = run_.killed_ns;
    const auto release = [&](std::uint64_t at_ns) {
      if (at_ns > run_.killed_ns) longest = std::max(longest, at_ns - std::min(last, at_ns));
      last = at_ns;
    };
    for (const std::uint64_t at_ns : node.released_ns) {
      if (at_ns == 0) continue;
      any = true;
      release(at_ns);
    }
    release(run_.begins_ns + run_.ticks() * kTickNs);
  });
  if (!any) return std::nullopt;
  return milliseconds(longest);
}

std::optional<double> Figures::greatest_loss() const {
  const auto commits = [this](std::size_t bin) { return commits_of_survivors(bin); };
  const double before = usual(commits);
  if (before == 0 || killed_bin_ == whole_bins_) return std::nullopt;
  double least = before;
  for (std::size_t bin = killed_bin_; bin < whole_bins_; ++bin) least = std::min(least, commits(bin));
  return 100 * (1 - least / before);
}

std::optional<double> Figures::below_half() const {
  const auto commits = [this](std::size_t bin) { return commits_of_survivors(bin); };
  const double before = usual(commits);
  if (before == 0) return std::nullopt;
  std::uint64_t count = 0;
  for (std::size_t bin = killed_bin_; bin < whole_bins_; ++bin) count += commits(bin) < before / 2 ? 1 : 0;
  return milliseconds(count * kBinNs);
}

/// Returns when the full rate was reached again. It takes several bins together, as single ones say little where
/// threads share cores.
std::optional<double> Figures::full_rate_again() const {
  constexpr std::size_t kBins = 5;
  constexpr double kAlmost = 0.9;
  const auto commits = [this](std::size_t bin) { return commits_of_all(bin); };
  const double before = usual(commits);
  if (before == 0 || run_.restarted_ns == 0) return std::nullopt;
  for (std::size_t first = (run_.restarted_ns - run_.begins_ns) / kBinNs; first + kBins <= whole_bins_; ++first) {
    double sum = 0;
    for (std::size_t bin = first; bin < first + kBins; ++bin) sum += commits(bin);
    if (sum < kAlmost * before * kBins) continue;
    return between(run_.killed_ns, std::max(run_.restarted_ns, run_.begins_ns + first * kBinNs));
  }
  return std::nullopt;
}

}  // namespace

std::uint64_t committed(const TickCounts& counts) {
  std::uint64_t sum = 0;
  for (const TickCount how : {TickCount::kHere, TickCount::kElsewhere, TickCount::kVictim})
    sum += counts[static_cast<std::size_t>(how)];
  return sum;
}

std::uint64_t NodeCourse::committed(std::size_t tick) const { return cluster::committed(ticks[tick]); }

KilledRun killed_run(const TimeLine& line, std::uint64_t killed_ns, const StepTimes& steps) {
  KilledRun run{.victim = line.shape().victim,
                .begins_ns = line.begins_ns(),
                .killed_ns = killed_ns,
                .restarted_ns = line.restarted_ns(),
                .steps = steps,
                .nodes = {}};
  for (std::uint32_t id = 0; id < line.shape().nodes; ++id) {
    NodeCourse node;
    node.victim_used_ns = line.victim_used_ns(id);
    for (std::uint64_t tick = 0; tick < line.shape().ticks; ++tick) {
      TickCounts counts{};
      for (std::size_t what = 0; what < kTickCounts; ++what)
        counts[what] = line.count(id, tick, static_cast<TickCount>(what));
      node.ticks.push_back(counts);
      node.released_ns.push_back(line.released_ns(id, tick));
    }
    run.nodes.push_back(std::move(node));
  }
  return run;
}

std::size_t bins(const KilledRun& run) { return (run.ticks() + kTicksOfBin - 1) / kTicksOfBin; }

TickCounts counts_of(const NodeCourse& node, std::size_t bin) {
  TickCounts sum{};
  const std::size_t end = std::min(node.ticks.size(), (bin + 1) * kTicksOfBin);
  for (std::size_t tick = bin * kTicksOfBin; tick < end; ++tick) {
    for (std::size_t what = 0; what < kTickCounts; ++what) sum[what] += node.ticks[tick][what];
  }
  return sum;
}

std::vector<RecoveryFigure> recovery_figures(const KilledRun& run) {
  const Figures of(run);
  return {
      {"noticed_ms", "until its death was noticed, ms", of.until(RecoveryStep::kNoticed)},
      {"quiet_ms", "until it was cut off, and the others quiet, ms", of.until(RecoveryStep::kQuiet)},
      {"claimed_ms", "until a node recovered it, ms", of.until(RecoveryStep::kClaimed)},
      {"settled_ms", "until nothing was locked on its behalf, ms", of.until(RecoveryStep::kSettled)},
      {"recovered_ms", "until it was recovered, ms", of.until(RecoveryStep::kRecovered)},
      {"joins_ms", "until its next life joined, ms", of.until(RecoveryStep::kJoins)},
      {"serves_ms", "until it served again, ms", of.until(RecoveryStep::kServes)},
      {"keys_back_ms", "until others used its keys again, ms", Figures::between(run.killed_ns, of.keys_back_ns())},
      {"restart_to_keys_back_ms", "of that since it was started again, ms",
       Figures::between(run.restarted_ns, of.keys_back_ns())},
      {"full_rate_ms", "until all committed 90 % of before, ms", of.full_rate_again()},
      {"longest_release_gap_ms", "longest time without a released result, ms", of.longest_wait_for_release()},
      {"longest_silence_ms", "longest time without a commit on a survivor, ms", of.longest_silence()},
      {"dip_percent", "least of the survivors' commits in 50 ms: less by, %", of.greatest_loss()},
      {"below_half_ms", "survivors committed less than half, ms", of.below_half()},
  };
}

}  // namespace granary::bench::cluster
