#pragma once
// Transaction chopping (Shasha, Llirbat, Simon, Valduriez, "Transaction Chopping: Algorithms and Performance Studies"; DrTM slide 51): a
// transaction that runs as a chain of pieces, each a transaction of its own, so that each holds little and not for long.
//
// Pieces of one transaction are joined by S-edges, conflicting pieces of different ones by C-edges. If no cycle has edges of
// both kinds, then whatever the pieces do together, the whole transactions have a serial order. Every procedure may run beside
// itself, so each is looked at twice.

#include <span>
#include <string>
#include <vector>

#include <granary/declared_access.h>
#include <granary/status.h>

namespace granary::txn {

struct Chain {
  std::string name;
  std::vector<DeclaredAccesses> pieces;  ///< one, if it is not chopped
};

/// Whether all of them may run at the same time. kInvalidArgument names a chain that may not, and the cycle.
Status check_chopping(std::span<const Chain> chains);

}  // namespace granary::txn
