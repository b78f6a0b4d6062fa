#pragma once
// How much a node has done in the last second or so, from its counters at two moments.

#include <cstdint>
#include <optional>

#include "src/watch/node_report.h"

namespace granary::watch {

struct Rates {
  double seconds = 0;  ///< which they are of
  double commits = 0;  ///< a second, as all of the following
  double aborts = 0;   ///< attempts that failed
  double remote_transactions = 0;
  double one_sided_operations = 0;
  double messages = 0;
  double log_bytes = 0;
  // Of the transactions that committed meanwhile; 0 if none was sampled.
  double p50_us = 0;
  double p99_us = 0;
  double p999_us = 0;
  bool epoch_moved = true;  ///< E has advanced
};

/// Remembers what a node's counters were. Used by one thread.
class RateMeter {
 public:
  /// Called about once a second.
  void take(const NodeReport& report, std::uint64_t now_us);
  /// Of the time between the last two calls of take(); all 0 before there were two with a database.
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

/// Attempts that aborted, for all reasons.
std::uint64_t all_aborts(const Statistics& statistics);
/// Attempts that failed. What the application has rolled back itself is none of them.
std::uint64_t failed_attempts(const Statistics& statistics);

}  // namespace granary::watch
