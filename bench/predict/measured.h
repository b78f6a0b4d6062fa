#pragma once
// A run of a benchmark on the nodes of a cluster, with the figures that a prediction needs.

#include <cstdint>
#include <string>

#include <granary/status.h>

namespace granary::bench::predict {

/// The counts of one distributed transaction, with its attempts that failed.
struct Counts {
  double round_trips = 0;
  double write_backs = 0;  ///< of the round trips, those of write-backs, which a fiber does not wait for
  double reads = 0;
  double writes = 0;
  double compare_swaps = 0;
  double messages = 0;
};

struct Measured {
  std::string path;
  std::string benchmark;
  double throughput = 0;                ///< requests a second of all nodes
  double distributed_share = 0;         ///< share of the transactions that are distributed
  double transactions_per_request = 1;  ///< local and distributed ones; without snapshots, which are local
  Counts each;
  std::uint32_t nodes = 0;
  std::uint32_t workers = 0;  ///< workers of each node
  std::uint32_t fibers = 1;   ///< fibers of each worker
  std::uint32_t cores = 0;    ///< cores of the host, which all nodes shared

  double distributed_per_request() const { return distributed_share * transactions_per_request; }
};

/// Reads the median repeat of a report of `granary cluster run --json`. kDamaged if the file is none.
Result<Measured> read_measured(const std::string& path);

}  // namespace granary::bench::predict
