#pragma once
// The directory of a dead node, for the recovery of that node alone while the others go on.
//
//   open()    takes the directory's LOCK, which proves that the node's process has ended, and looks at its rings and
//             its log
//   debts()   what the node owes at others, to be settled there (src/cluster/recovery)
//   adopt()   once all is settled: ends the generation of its log, with what the rings had
//
// Between these steps, and inside of each, the recovery may be cut short. Then it begins again with open(): nothing
// changes before adopt(), and after it a directory has no debts. Whoever needs the directory (a second recoverer, or
// the node's next life) waits until this object is gone.

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
  /// `options`: those of the dead node; what it lost is not given up, whatever they say of that. Every survivor has cut
  /// the node off.
  ///
  /// kUnavailable if a process has the directory. kNotFound if there is no data in it. kFailedPrecondition if its rings
  /// are gone, or some of them: which of its last transactions were decided is not known then, and the whole cluster
  /// has to be recovered. kDamaged, naming the place, if anything that is needed is not as it was written.
  static Result<std::unique_ptr<DeadNode>> open(const Options& options, base::FileSystem& files);

  /// The node's life that wrote last to its log; 0 if none did.
  std::uint32_t life() const;
  /// What that life owes; empty if the generation of its log has been ended already.
  const std::vector<log::Debt>& debts() const { return debts_; }
  /// How much of its log only the rings have, which adopt() adds to it; 0 if the generation has been ended already.
  std::uint64_t ring_bytes() const;
  /// Every debt is settled, or was at a home whose own life has ended. Puts what the rings have into the log, synced,
  /// and writes into the manifest up to where the generation counts: all of it does. Then removes the rings.
  /// `first_epoch`: E of the cluster by now. Does nothing if the generation has been ended already.
  Status adopt(epoch::Epoch first_epoch);

 private:
  DeadNode(std::unique_ptr<Storage> storage, std::vector<log::Debt> debts)
      : storage_(std::move(storage)),
        debts_(std::move(debts)) {}

  const std::unique_ptr<Storage> storage_;
  std::vector<log::Debt> debts_;
};

}  // namespace granary::db
