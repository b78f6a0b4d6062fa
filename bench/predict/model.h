#pragma once
// Models the time of a workload's transactions, which depends on how many of them are distributed.
//
// A worker's time for one request is `local`, and more for each of its distributed transactions: the cost of the
// operations at other nodes, and `software`, the work that this node does for them. A request may be several
// transactions (TPC-C's delivery is ten). Both follow from two runs on one machine, as the operations are counted and
// the cost of each on that machine has been measured. On another machine the same counts have that machine's costs. The
// model leaves out caches, which more rows or nodes miss more often, and conflicts, which more nodes bring; both are as
// they were in the two runs.

#include <algorithm>
#include <cstdint>

#include <granary/status.h>

#include "bench/predict/costs.h"
#include "bench/predict/measured.h"

namespace granary::bench::predict {

/// Where a workload is to run.
struct Place {
  std::uint32_t nodes = 2;
  std::uint32_t workers = 1;  ///< workers of each node
  std::uint32_t fibers = 1;   ///< fibers of each worker
  std::uint32_t cores = 0;    ///< cores of all nodes together; 0: one for each worker
  Costs costs;
};

struct Prediction {
  double processor_ns = 0;  ///< the time that a request takes of its worker
  double waiting_ns = 0;    ///< the time that it waits for the network
  double throughput = 0;    ///< requests a second of all nodes
};

class Model {
 public:
  /// Fits a model to two runs of one benchmark, of which `less` has a smaller distributed share; `costs` are those of
  /// their machine. kInvalidArgument if the two cannot be told apart, or a time would not be above 0.
  static Result<Model> fit(const Measured& less, const Measured& more, const Costs& costs);

  /// Returns the time that a worker spends on a request without distributed transactions.
  double local_ns() const { return local_ns_; }
  double transactions_per_request() const { return transactions_per_request_; }
  double software_ns() const { return std::max(0.0, beside_fabric_ns_); }
  const Counts& each() const { return each_; }
  /// Returns the cost of the operations of a distributed transaction.
  double fabric_ns(const Costs& costs) const;
  /// Returns how many times a distributed transaction waits for the network: for a round trip, or for an answer.
  double waits(std::uint32_t fibers) const;
  /// Returns how long a distributed transaction waits for its operations, where a worker has so many fibers. A fiber
  /// begins its next transaction while the write-back is under way; without fibers the worker waits for that, too.
  double waiting_ns(const Costs& costs, std::uint32_t fibers) const;
  /// Returns how much longer a distributed transaction takes than a local one, on the machine of the two runs.
  double extra_ns() const { return extra_ns_; }

  /// Predicts a run. `distributed_share` is a share of the transactions.
  Prediction predict(double distributed_share, const Place& place) const;

 private:
  double local_ns_ = 0;
  double transactions_per_request_ = 1;
  double beside_fabric_ns_ = 0;
  double extra_ns_ = 0;
  Counts each_;
};

}  // namespace granary::bench::predict
