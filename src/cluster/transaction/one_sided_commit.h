#pragma once
// Takes the steps of a commit at other nodes: it implements cc::RemoteCommit, which says what each step does.
// src/cc/commit.h calls them in its order. The scheme is that of DrTM+R and FaRM: x-lock by CAS, validate by READ,
// decide in the coordinator's log, write back by WRITE.
//
// The rounds to other nodes that each step makes, of a transaction that meets nobody:
//
//   step          writes at other nodes                    only reads there
//   lock()        the x-locks, and READs of E behind them  none
//   agree()       none                                     READs of E, and the checks of what was read behind them
//   validate()    the checks of what was read, and copies  none, since agree() has checked
//                 of the versions that will be old
//   prepare()     none, since validate() has kept them     none
//   write_back()  the new versions, which also unlock      none
//
// Under TicToc, agree() checks only if the stamp that it is given can be checked by then (ReadChecks::can_check), and
// validate() checks what the final stamp needs beyond that one. A step waits beside these rounds where E of a node is
// behind.

#include <optional>
#include <vector>

#include "src/cc/elsewhere/remote_commit.h"
#include "src/cluster/transaction/declared_keys.h"
#include "src/cluster/transaction/locks.h"
#include "src/cluster/transaction/old_versions.h"
#include "src/cluster/transaction/read_checks.h"
#include "src/cluster/transaction/reading.h"

namespace granary::cluster {

class OneSidedCommit final : public cc::RemoteCommit {
 public:
  OneSidedCommit(Footprint& footprint, Reading& reading, Locks& locks, DeclaredKeys& declared)
      : footprint_(footprint),
        reading_(reading),
        locks_(locks),
        declared_(declared),
        checks_(footprint),
        old_versions_(footprint) {}

  bool list_writes() noexcept override;
  std::span<const cc::RemoteWrite> writes() const noexcept override { return writes_; }
  std::uint64_t fiber() const override { return footprint_.reach().scheduler.current_number(); }
  bool goes_on(std::uint64_t begun_in) const override { return footprint_.goes_on(begun_in); }
  bool make_ready(epoch::Epoch here) override;
  AbortReason lock() noexcept override;
  AbortReason agree(epoch::Epoch here, record::TidWord stamp, epoch::Epoch& agreed) override;
  AbortReason validate(record::TidWord stamp) override;
  base::LeaseEnd held_until() const override;
  record::TidWord greatest_tid() const override;
  record::TidWord least_time() const override;
  AbortReason prepare(epoch::Epoch epoch) override;
  void announce_decision(record::TidWord tid, std::uint64_t log_end) override {
    locks_.announce_decision(tid, log_end);
  }
  void take_back_announcement() override { locks_.take_back_announcement(); }
  void write_back(record::TidWord tid) noexcept override;
  void release() noexcept override { locks_.release(); }

  /// Forgets the writes of the transaction, which has ended.
  void end();

 private:
  /// Tells for which stamps it has been checked already that what was read holds. Protocols that do not stamp first
  /// have the stamp 0.
  class ChecksDone {
   public:
    static ChecksDone none() { return {}; }
    static ChecksDone until(record::TidWord stamp) { return ChecksDone(stamp); }
    /// There is nothing to check.
    static ChecksDone for_all_stamps() { return ChecksDone(~record::TidWord{0}); }
    bool covers(record::TidWord stamp) const { return until_ && *until_ >= stamp; }

   private:
    ChecksDone() = default;
    explicit ChecksDone(record::TidWord until) : until_(until) {}

    std::optional<record::TidWord> until_;
  };
  /// An epoch that all participants have reached, and what was checked in the rounds that READ their E.
  struct Agreement {
    AbortReason reason = AbortReason::kNone;  ///< why there is none
    epoch::Epoch epoch = 0;
    ChecksDone checks = ChecksDone::none();
  };

  epoch::Epoch removed_up_to() const;
  Agreement agree_on_epoch(epoch::Epoch here, record::TidWord stamp);
  AbortReason read_epochs_and_check(record::TidWord stamp, ChecksDone& checks);
  AbortReason prepare_to_check(record::TidWord stamp);
  AbortReason check_and_keep(record::TidWord stamp, std::optional<epoch::Epoch> agreed);
  Batch<Access*> overwritten();
  AbortReason find_or_make_records();
  AbortReason make_placeholders(std::span<Access* const> accesses);
  AbortReason lock_all();
  AbortReason learn_misses();
  void raise_rts_of_held_reads(record::TidWord stamp);
  bool may_send() const;

  Footprint& footprint_;
  Reading& reading_;
  Locks& locks_;
  DeclaredKeys& declared_;
  ReadChecks checks_;
  OldVersions old_versions_;
  std::vector<cc::RemoteWrite> writes_;
  std::optional<Agreement> agreed_;  ///< from agree() to validate()
};

}  // namespace granary::cluster
