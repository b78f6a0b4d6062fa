#pragma once
// The costs of reaching another node: those of an operation in a chain, of a chain's round trip, and of a message.

#include <cstdint>
#include <string>

#include <granary/status.h>

namespace granary::bench::predict {

/// The costs, in ns.
struct Costs {
  /// Whether the initiator's processor executes the operations (shared memory), so that the worker spends all of their
  /// time. Otherwise it spends `post` for each round trip, and the rest is waiting, in which other fibers of the worker
  /// go on.
  bool by_processor = true;
  double round_trip = 0;  ///< the cost of a chain, besides its operations
  double read = 0;        ///< the cost of each READ in a chain; WRITE and CAS cost as much
  double write = 0;
  double compare_swap = 0;
  double message = 0;  ///< the cost of a message and its answer
  double post = 0;
};

/// Reads the costs from a report of `granary bench fabric --json`. The costs of an operation in a chain follow from
/// chains of 16 and of one, of 64 bytes. Returns kDamaged if the file is no such report.
Result<Costs> costs_of_report(const std::string& path);

}  // namespace granary::bench::predict
