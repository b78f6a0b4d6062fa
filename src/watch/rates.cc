#include "src/watch/rates.h"

#include <utility>

#include "src/watch/latencies.h"

namespace granary::watch {

std::uint64_t all_aborts(const Statistics& statistics) {
  std::uint64_t sum = 0;
  for (const std::uint64_t count : statistics.aborts) sum += count;
  return sum;
}

std::uint64_t failed_attempts(const Statistics& statistics) {
  return all_aborts(statistics) - statistics.aborts[static_cast<std::size_t>(AbortReason::kUser)];
}

void RateMeter::take(const NodeReport& report, std::uint64_t now_us) {
  if (!report.database) {
    last_.reset();
    rates_ = {};
    return;
  }
  Sample now{.at_us = now_us,
             .database = *report.database,
             .elsewhere = report.elsewhere ? *report.elsewhere : ClusterStatistics()};
  if (last_ && now_us > last_->at_us) {
    const double seconds = static_cast<double>(now_us - last_->at_us) / 1e6;
    // Counts do not go back, as threads that end leave theirs in the sum. If one did, its rate would be 0, not huge.
    const auto rate = [seconds](std::uint64_t count, std::uint64_t before) {
      return count > before ? static_cast<double>(count - before) / seconds : 0.0;
    };
    const auto operations = [](const ClusterStatistics& each) { return each.reads + each.writes + each.compare_swaps; };
    const CommitLatencies latencies = since(now.database.commit_latencies, last_->database.commit_latencies);
    rates_ = {.seconds = seconds,
              .commits = rate(now.database.commits, last_->database.commits),
              .aborts = rate(failed_attempts(now.database), failed_attempts(last_->database)),
              .remote_transactions = rate(now.elsewhere.transactions, last_->elsewhere.transactions),
              .one_sided_operations = rate(operations(now.elsewhere), operations(last_->elsewhere)),
              .messages = rate(now.elsewhere.messages, last_->elsewhere.messages),
              .log_bytes = rate(now.database.log_bytes, last_->database.log_bytes),
              .p50_us = percentile_us(latencies, 50),
              .p99_us = percentile_us(latencies, 99),
              .p999_us = percentile_us(latencies, 99.9),
              .epoch_moved = now.database.epoch != last_->database.epoch};
  }
  last_ = std::move(now);
}

}  // namespace granary::watch
