#pragma once
// Takes the steps of a commit at other nodes: it implements cc::RemotePart, which says what each step does.
// src/cc/commit.h calls them in its order. The scheme is that of DrTM+R and FaRM: x-lock by CAS, validate by READ,
// decide in the coordinator's log, write back by WRITE.

#include <optional>
#include <vector>

#include "src/cc/elsewhere/remote_part.h"
#include "src/cluster/transaction/declared_keys.h"
#include "src/cluster/transaction/locks.h"
#include "src/cluster/transaction/old_versions.h"
#include "src/cluster/transaction/read_checks.h"
#include "src/cluster/transaction/reading.h"

namespace granary::cluster {

class CommitElsewhere final : public cc::RemotePart {
 public:
  CommitElsewhere(Footprint& footprint, Reading& reading, Locks& locks, DeclaredKeys& declared)
      : footprint_(footprint),
        reading_(reading),
        locks_(locks),
        declared_(declared),
        checks_(footprint),
        old_versions_(footprint) {}

  std::span<const cc::RemoteWrite> writes() override;
  bool is_alone() const override { return footprint_.reach().scheduler.is_alone(); }
  bool make_ready(epoch::Epoch here) override;
  AbortReason lock() override;
  AbortReason agree(epoch::Epoch here, record::TidWord stamp, epoch::Epoch& agreed) override;
  AbortReason validate(record::TidWord stamp) override;
  base::LeaseEnd held_until() const override;
  record::TidWord greatest_tid() const override;
  record::TidWord least_time() const override;
  AbortReason prepare(epoch::Epoch epoch) override;
  void decide(record::TidWord tid, std::uint64_t log_end) override { locks_.decide(tid, log_end); }
  void take_back_decision() override { locks_.take_back_decision(); }
  void write_back(record::TidWord tid) override;
  void release() override { locks_.give_back(Phase::kLock, 0); }

  /// Forgets the writes of the transaction, which has ended.
  void end();

 private:
  /// The results of agree() that the validate() after it needs.
  struct Agreed {
    epoch::Epoch epoch;
    /// If agree() has validated, the greatest stamp for which that holds: 0 under a protocol that does not stamp first,
    /// and the greatest of all if there was nothing to check. Then validate() need not check for stamps up to this one.
    std::optional<record::TidWord> validated;
  };

  epoch::Epoch removed_up_to() const;
  AbortReason validate_with_epochs(record::TidWord stamp, std::optional<record::TidWord>& validated);
  AbortReason prepare_to_check(record::TidWord stamp);
  AbortReason check_and_keep(record::TidWord stamp, std::optional<epoch::Epoch> agreed);
  Batch<Access*> overwritten();
  AbortReason find_or_make_records();
  AbortReason make_placeholders(std::span<Access* const> accesses);
  AbortReason lock_all(bool* misses_known);
  AbortReason learn_misses();
  void raise_rts_of_held_reads(record::TidWord stamp);
  bool may_send() const;
  void note_removed(record::TidWord tid);

  Footprint& footprint_;
  Reading& reading_;
  Locks& locks_;
  DeclaredKeys& declared_;
  ReadChecks checks_;
  OldVersions old_versions_;
  std::vector<cc::RemoteWrite> writes_;
  std::optional<Agreed> agreed_;  ///< from agree() to validate()
};

}  // namespace granary::cluster
