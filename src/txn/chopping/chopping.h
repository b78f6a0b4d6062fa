#pragma once
// Checks transaction chopping (Shasha, Llirbat, Simon, Valduriez, "Transaction Chopping: Algorithms and Performance
// Studies"; DrTM slide 51). A procedure runs as a chain of pieces, each a transaction of its own, so that each piece
// holds few records for a short time. src/db/procedures.cc checks the procedures of a database by it.
//
// S-edges join the pieces of one call of a procedure, and C-edges join conflicting pieces of different calls. If no
// cycle has edges of both kinds, the calls are serializable, however their pieces interleave. A procedure may run at
// the same time as another call of itself, so the graph has two calls of it.

#include <span>
#include <string>
#include <vector>

#include <granary/declared_access.h>
#include <granary/status.h>

namespace granary::txn {

/// A procedure, and what each of its pieces accesses.
struct Chain {
  std::string name;
  std::vector<DeclaredAccesses> pieces;  ///< one, if it is not chopped
};

/// Returns OK if all of these chains may run at the same time. kInvalidArgument names a chain that may not, and the
/// cycle.
Status check_chopping(std::span<const Chain> chains);

}  // namespace granary::txn
