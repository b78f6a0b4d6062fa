#pragma once
// Keeps the versions that a transaction overwrites at other nodes, if a snapshot may need them (I12). The commit calls
// it before the decision (one_sided_commit.cc). A version is copied into a block of its owner's memory that the worker
// has borrowed.

#include <span>

#include "src/cluster/record_access/version_copy.h"
#include "src/cluster/transaction/footprint.h"

namespace granary::cluster {

class OldVersions {
 public:
  /// The WRITEs that keep versions, as steps of one round.
  struct Copies {
    Copies(Trips& trips, std::size_t most)
        : accesses(trips.batch<Access*>(most)),
          blocks(trips.batch<std::uint64_t>(most)),
          writes(trips.batch<VersionCopy>(most)),
          steps(trips.batch<AccessStep*>(most)) {}

    epoch::Epoch period = 0;      ///< the snapshot period of the new versions
    Batch<Access*> accesses;      ///< whose versions are kept
    Batch<std::uint64_t> blocks;  ///< a borrowed block for each of them
    Batch<VersionCopy> writes;    ///< a step for each of them
    Batch<AccessStep*> steps;     ///< the same steps, to be run
  };

  explicit OldVersions(Footprint& footprint) : footprint_(footprint) {}

  /// Makes the steps that copy the versions of x-locked records which will be overwritten in `epoch`, except versions
  /// that are kept already or that no snapshot may need. Precondition: E of each record's node has reached `epoch`,
  /// which src/cluster/messages/lent_blocks.h relies on.
  AbortReason make_copies(epoch::Epoch epoch, std::span<Access* const> overwritten, Copies& copies);
  /// Called when the steps have been run: notes the versions as kept. Returns kNone, or why the transaction must end.
  AbortReason confirm_copies(const Copies& copies) const;
  /// Does both, and runs the steps in between.
  AbortReason keep(epoch::Epoch epoch, std::span<Access* const> overwritten);

 private:
  AbortReason borrow(Copies& copies);
  AbortReason borrow_more(const Access& access, BorrowedBlocks::Stock& stock);
  AbortReason read_again(std::span<Access* const> accesses);

  Footprint& footprint_;
};

}  // namespace granary::cluster
