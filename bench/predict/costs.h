#pragma once
// What reaching another node costs: each operation of a chain, each chain's way there and back, each message.

#include <cstdint>
#include <string>

#include <granary/status.h>

namespace granary::bench::predict {

/// In ns.
struct Costs {
  /// The initiator's processor executes the operations (shared memory): all that they take is taken from the worker.
  /// Else it takes `post` for each round trip, and the rest is waiting, in which other fibers of the worker go on.
  bool by_processor = true;
  double round_trip = 0;  ///< of a chain, besides its operations
  double read = 0;        ///< each in a chain; WRITE and CAS likewise
  double write = 0;
  double compare_swap = 0;
  double message = 0;  ///< asked and answered
  double post = 0;
};

/// Takes the costs from what `granary bench fabric --json` has left: those of an operation in a chain from chains of 16
/// and of one, of 64 bytes. kDamaged if the file is no such report.
Result<Costs> costs_of_report(const std::string& path);

}  // namespace granary::bench::predict
