#pragma once
// The steps of a commit at other nodes, which src/cc/commit.h asks for in its order.

#include <vector>

#include "src/cc/elsewhere/remote_part.h"
#include "src/cluster/transaction/declared_keys.h"
#include "src/cluster/transaction/locks.h"
#include "src/cluster/transaction/reading.h"

namespace granary::cluster {

class CommitElsewhere final : public cc::RemotePart {
 public:
  CommitElsewhere(Footprint& footprint, Reading& reading, Locks& locks, DeclaredKeys& declared)
      : footprint_(footprint),
        reading_(reading),
        locks_(locks),
        declared_(declared) {}

  std::span<const cc::RemoteWrite> writes() override;
  AbortReason lock() override;
  AbortReason agree(epoch::Epoch here, epoch::Epoch& agreed) override;
  AbortReason validate() override;
  base::LeaseEnd held_until() const override;
  record::TidWord greatest_tid() const override;
  AbortReason prepare(epoch::Epoch epoch) override;
  void decide(record::TidWord tid, std::uint64_t log_end) override { locks_.decide(tid, log_end); }
  void take_back_decision() override { locks_.take_back_decision(); }
  void write_back(record::TidWord tid) override;
  void release() override { locks_.give_back(Phase::kLock, 0); }

  /// Forgets the writes of the transaction, which has ended.
  void end();

 private:
  AbortReason place_writes();
  AbortReason make_places(std::span<Access* const> accesses);
  AbortReason lock_all();
  bool all_held() const;
  enum class Epochs : std::uint8_t { kKnown, kInFront };
  AbortReason validate(Epochs epochs);
  void note_removed(record::TidWord tid);

  Footprint& footprint_;
  Reading& reading_;
  Locks& locks_;
  DeclaredKeys& declared_;
  std::vector<cc::RemoteWrite> writes_;
  bool validated_ = false;  ///< whether agree() has validated, so that validate() need not
};

}  // namespace granary::cluster
