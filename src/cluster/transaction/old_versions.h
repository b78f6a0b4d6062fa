#pragma once
// I12: keeps the versions that a transaction overwrites at other nodes, where a snapshot may need them.

#include <span>

#include "src/cluster/record_access/version_copy.h"
#include "src/cluster/transaction/footprint.h"

namespace granary::cluster {

class OldVersions {
 public:
  /// WRITEs that keep versions, for a round of steps.
  struct Copies {
    Copies(Trips& trips, std::size_t most)
        : accesses(trips.batch<Access*>(most)),
          blocks(trips.batch<std::uint64_t>(most)),
          writes(trips.batch<VersionCopy>(most)),
          steps(trips.batch<AccessStep*>(most)) {}

    epoch::Epoch period = 0;
    Batch<Access*> accesses;
    Batch<std::uint64_t> blocks;
    Batch<VersionCopy> writes;  ///< one for each access
    Batch<AccessStep*> steps;   ///< the same, to be run
  };

  explicit OldVersions(Footprint& footprint) : footprint_(footprint) {}

  /// Makes copies of the versions of x-locked records that will be overwritten in `epoch`, unless they are kept already, or no snapshot may need
  /// them. E of each record's node has reached `epoch`, which messages/lent_blocks.h relies on.
  AbortReason make(epoch::Epoch epoch, std::span<Access* const> overwritten, Copies& copies);
  /// Tells what became of the WRITEs, which have been run.
  AbortReason take(const Copies& copies) const;
  /// Does both, with a round between them.
  AbortReason keep(epoch::Epoch epoch, std::span<Access* const> overwritten);

 private:
  AbortReason borrow(Copies& copies);
  AbortReason borrow_more(const Access& access, BorrowedBlocks::Stock& stock);
  AbortReason read_again(std::span<Access* const> accesses);

  Footprint& footprint_;
};

}  // namespace granary::cluster
