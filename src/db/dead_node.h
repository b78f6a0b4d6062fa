#pragma once
// Opens and ends the directory of a dead node, to recover that node alone while the others go on.
//
//   open()    takes the directory's LOCK, which proves that the node's process has ended, and looks at its rings and
//             its log
//   debts()   returns what the node owes at other nodes, to be settled there (src/cluster/recovery)
//   adopt()   ends the generation of its log, with what the rings had, once all debts are settled
//
// Between these steps, and inside of each, the recovery may be cut short. Then it begins again with open(): nothing
// changes before adopt(), and after adopt() the directory has no debts. A second recoverer, and the node's next life,
// wait for the LOCK until this object is gone.

#include <cstdint>
#include <memory>
#include <vector>

#include <granary/options.h>
#include <granary/status.h>

#include "src/base/file.h"
#include "src/db/storage.h"
#include "src/epoch/epoch.h"
#include "src/log/debt.h"

namespace granary::db {

class DeadNode {
 public:
  /// Opens the directory of the dead node, which has these options; Options::salvage does not count, so nothing that it
  /// lost is given up. Precondition: every survivor has cut the node off.
  ///
  /// Returns kUnavailable if a process has the directory, and kNotFound if there is no data in it. Returns
  /// kFailedPrecondition if some of its rings are gone: it is not known then which of its last transactions were
  /// decided, and the whole cluster has to be recovered. Returns kDamaged, naming the place, if anything that is needed
  /// is not as it was written.
  static Result<std::unique_ptr<DeadNode>> open(const Options& options, base::FileSystem& files);

  /// Returns the node's life that wrote last to its log; 0 if none did.
  std::uint32_t life() const;
  /// Returns what that life owes; empty if the generation of its log has been ended already.
  const std::vector<log::Debt>& debts() const { return debts_; }
  /// Returns how many bytes of the log only the rings have, which adopt() adds to it; 0 if the generation has been
  /// ended already.
  std::uint64_t ring_bytes() const;
  /// Puts what the rings have into the log and syncs it, notes in the manifest that the whole generation counts, and
  /// then removes the rings. Precondition: every debt is settled, or was at a home whose own life has ended.
  /// `first_epoch` is the cluster's present E. Does nothing if the generation has been ended already.
  Status adopt(epoch::Epoch first_epoch);

 private:
  DeadNode(std::unique_ptr<Storage> storage, std::vector<log::Debt> debts)
      : storage_(std::move(storage)),
        debts_(std::move(debts)) {}

  const std::unique_ptr<Storage> storage_;
  std::vector<log::Debt> debts_;
};

}  // namespace granary::db
