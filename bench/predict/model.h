#pragma once
// What a workload's transactions take, by how many of them are distributed.
//
// A worker's time for one request is `local`, and for each of its distributed transactions more: what the operations at
// other nodes cost, and `software`, the work that this node does for them. A request may be several transactions
// (TPC-C's delivery is ten). Two runs on one machine tell both, as the operations are counted and what each costs there
// has been measured. Elsewhere the same counts cost what they cost there. Not in the model: caches that more rows or
// nodes miss more often, and conflicts that more nodes bring; both are as they were in the two runs.

#include <algorithm>
#include <cstdint>

#include <granary/status.h>

#include "bench/predict/costs.h"
#include "bench/predict/measured.h"

namespace granary::bench::predict {

/// Where a workload is to run.
struct Place {
  std::uint32_t nodes = 2;
  std::uint32_t workers = 1;  ///< of each node
  std::uint32_t fibers = 1;   ///< of each worker
  std::uint32_t cores = 0;    ///< of all nodes together; 0: one for each worker
  Costs costs;
};

struct Prediction {
  double processor_ns = 0;  ///< that a request takes of its worker
  double waiting_ns = 0;    ///< that it waits for the network
  double throughput = 0;    ///< requests a second, of all nodes
};

class Model {
 public:
  /// From two runs of one benchmark, of which `less` has a smaller distributed share; `costs` are those of their
  /// machine. kInvalidArgument if they do not tell the two apart, or tell of a time that is not above 0.
  static Result<Model> fit(const Measured& less, const Measured& more, const Costs& costs);

  /// Returns the time that a worker spends on a request without distributed transactions.
  double local_ns() const { return local_ns_; }
  double transactions_per_request() const { return transactions_per_request_; }
  double software_ns() const { return std::max(0.0, beside_fabric_ns_); }
  const Counts& each() const { return each_; }
  /// What the operations of a distributed transaction cost.
  double fabric_ns(const Costs& costs) const;
  /// What a distributed transaction takes longer than a local one, on the machine of the two runs.
  double extra_ns() const { return extra_ns_; }

  /// `distributed_share`: of the transactions.
  Prediction predict(double distributed_share, const Place& place) const;

 private:
  double local_ns_ = 0;
  double transactions_per_request_ = 1;
  double beside_fabric_ns_ = 0;
  double extra_ns_ = 0;
  Counts each_;
};

}  // namespace granary::bench::predict
