#pragma once
// A concurrency-control protocol: what reading, claiming, checking, stamping and changing mean for one record of this node. The order of the
// commit (commit.h) and its participants here (here/, region/) are templates over it. A guest is a folder with such a class and one line in
// src/cc/protocols.h.

#include <algorithm>
#include <concepts>
#include <span>
#include <string_view>

#include <granary/outcome.h>

#include "htm/attempt.h"
#include "src/cc/access_set.h"
#include "src/cc/worker_state.h"
#include "src/record/stable_read.h"

namespace granary::cc {

/// The records that a commit has claimed, in the order of their addresses.
class Claims {
 public:
  explicit Claims(const std::vector<LockEntry>& locks) : locks_(locks) {}
  bool has(const Record* record) const {
    const auto at =
        std::lower_bound(locks_.begin(), locks_.end(), record,
                         [](const LockEntry& entry, const Record* wanted) { return entry.record < wanted; });
    return at != locks_.end() && at->record == record;
  }

 private:
  const std::vector<LockEntry>& locks_;
};

/// Where a transaction stands in the serial order.
struct Moment {
  epoch::Epoch epoch = 0;  ///< E, read behind the last lock and before anything is validated
  TidWord stamp =
      0;  ///< of a protocol that stamps first: its TID, or, if it only reads, the time at which its reads hold
};

/// All functions are static, and called by the worker's thread within an epoch.
template <typename P>
concept Protocol = requires(Record& record, std::span<char> buffer, const ReadEntry& read, WriteEntry& write,
                            AccessSet& access, WorkerState& worker, const Claims& claims, const Moment& moment,
                            TidWord tid, TidWord& rts, epoch::Epoch epoch) {
  /// kName is what Options::protocol calls it.
  { P::kName } -> std::convertible_to<std::string_view>;
  /// kStampsFirst is true if the records of this node are checked against the transaction's stamp, which is then chosen before they
  /// are validated (TicToc). Otherwise the stamp is chosen as late as it can be.
  { P::kStampsFirst } -> std::convertible_to<bool>;

  /// Copies the latest version of a record, whose key has so many bytes, or only looks at it. The TID word that was seen is what the
  /// transaction remembers, with the version's rts, which a protocol that has none leaves alone (ReadEntry). Waits a bounded while for
  /// whoever changes the record.
  { P::read(record, tid, buffer, worker, access, rts) } -> std::same_as<record::StableRead>;
  { P::look(record, worker, access, rts) } -> std::same_as<record::StableRead>;
  /// Claims a record that will be written, waiting a bounded while; and gives it back unchanged.
  { P::claim(record, worker, access) } -> std::same_as<AbortReason>;
  { P::give_back(record) } -> std::same_as<void>;
  /// Whether what was read of a local record still holds, at the serialization point.
  { P::check_local(read, claims, moment, worker) } -> std::same_as<AbortReason>;
  /// The transaction's TID in the epoch: greater than all that it has read or overwrites (`tid`: at other nodes), I1. 0: there is none
  /// left, for the reason that no_stamp() tells.
  { P::stamp(access, worker, epoch, tid) } -> std::same_as<TidWord>;
  { P::no_stamp(epoch) } -> std::same_as<AbortReason>;
  /// Takes what a change of a claimed record needs, in this snapshot period. False: there is no memory, and some may have been taken.
  { P::prepare(write, worker, epoch) } -> std::same_as<bool>;
  { P::unprepare(write, worker) } -> std::same_as<void>;
  /// Changes a claimed, prepared record, and gives it back. Cannot fail.
  { P::install(write, worker, tid, epoch) } -> std::same_as<void>;
  /// Whether an absent record, whose lock bit the caller has, may leave its index now. True: no transaction can commit any more as
  /// one that has seen the absence at a later time.
  { P::may_leave_index(record, worker) } -> std::same_as<bool>;
};

/// A protocol that stamps first adds these functions.
template <typename P>
concept StampsReads = P::kStampsFirst && requires(const AccessSet& access, WorkerState& worker, const Moment& moment) {
  /// The time of a transaction that only reads, at which the versions that it has seen were the latest.
  { P::stamp_reads(access) } -> std::same_as<TidWord>;
  /// Called before anything is claimed: a reason to give up at once.
  { P::foresee(access, worker) } -> std::same_as<AbortReason>;
  /// Called when a claim has failed and all have been given back, in the turns from 0 on: whether all shall be claimed anew.
  { P::claims_again(AbortReason{}, worker, std::uint32_t{}) } -> std::same_as<bool>;
  /// Called before the versions of the node set are compared.
  { P::before_nodes(access, worker, moment) } -> std::same_as<void>;
};

/// A protocol whose reads lock what they read, until the transaction ends.
template <typename P>
concept LocksRecords = Protocol<P> && requires(HeldLocks& held) {
  /// Gives back all of it: called in the transaction's epoch, when nothing more can become of it.
  { P::let_go(held) } -> std::same_as<void>;
};

/// A protocol under which a read of a local record is the record's TID and nothing else, as record::read_part() tells it, and whose commit
/// installs what is under its lock by install(). So a part of a value can be read and written.
template <typename P>
concept ReadsParts = Protocol<P> && requires { requires P::kReadsParts; };

/// A protocol that also knows shared records, which other nodes reach: whether what was read of one still holds.
template <typename P>
concept ReachesShared = Protocol<P> && requires(const ReadEntry& read, const Claims& claims, const Moment& moment,
                                                const WorkerState& worker) {
  { P::check_shared(read, claims, moment, worker) } -> std::same_as<AbortReason>;
};

/// A protocol that commits in an HTM region, too, without claims.
template <typename P>
concept CommitsInRegion =
    Protocol<P> && requires(WriteEntry& write, WorkerState& worker, TidWord tid, epoch::Epoch epoch) {
      /// Before it: the word that the region must find, false if it would be in vain; and all that can be prepared for that word.
      { P::plan(write, worker, tid) } -> std::same_as<bool>;
      { P::prepare_in_place(write, worker, epoch, tid) } -> std::same_as<bool>;
      /// Behind it, for the old word: what is left to the garbage collection.
      { P::installed_in_region(write, worker, tid, tid) } -> std::same_as<void>;
    };

/// A protocol that runs whole transactions in HTM regions, and commits them there, if it can.
template <typename P>
concept RunsInRegion = CommitsInRegion<P> && requires(Record& record, AccessSet& access, WorkerState& worker) {
  /// Whether the transaction is in the worker's region now.
  { P::enter(access, worker) } -> std::same_as<bool>;
  /// Called before anything is read: the record is one that the transaction has declared.
  { P::declare(record, access) } -> std::same_as<void>;
  /// Gives back what the transaction still has: called in its epoch, when nothing more can become of it.
  { P::end(access, worker) } -> std::same_as<void>;
};

}  // namespace granary::cc
