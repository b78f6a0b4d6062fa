#pragma once
// Computes how much a node has done in the last second or so, from its counters at two moments.

#include <cstdint>
#include <optional>

#include "src/watch/node_report.h"

namespace granary::watch {

struct Rates {
  double seconds = 0;  ///< the length of the time
  double commits = 0;  ///< per second, as are all of the following
  double aborts = 0;   ///< attempts that failed
  double remote_transactions = 0;
  double one_sided_operations = 0;
  double messages = 0;
  double log_bytes = 0;
  // Latencies of the transactions that committed in that time; 0 if none was sampled.
  double p50_us = 0;
  double p99_us = 0;
  double p999_us = 0;
  bool epoch_moved = true;  ///< E has advanced
};

/// Computes a node's rates from its counters at successive moments. Used by one thread.
class RateMeter {
 public:
  /// Takes the node's counters. Called about once a second.
  void take(const NodeReport& report, std::uint64_t now_us);
  /// Returns the rates between the last two calls of take(); all 0 until two reports had a database.
  const Rates& rates() const { return rates_; }

 private:
  struct Sample {
    std::uint64_t at_us = 0;
    Statistics database;
    ClusterStatistics elsewhere;
  };
  std::optional<Sample> last_;
  Rates rates_;
};

/// Returns the number of aborted attempts, for all reasons.
std::uint64_t all_aborts(const Statistics& statistics);
/// Returns the number of attempts that failed. Those that the application rolled back itself are not counted.
std::uint64_t failed_attempts(const Statistics& statistics);

}  // namespace granary::watch
