#pragma once
// Defines a concurrency-control protocol, as concepts: what reading, claiming, checking, stamping and changing mean for
// one record of this node. The order of the commit (commit.h) and this node's participants (here/, region/, drtm/) are
// templates over such a class. A protocol, or "guest", is a folder with its class and one line in src/cc/protocols.h.

#include <algorithm>
#include <concepts>
#include <span>
#include <string_view>

#include <granary/outcome.h>

#include "htm/attempt.h"
#include "htm/rtm.h"
#include "src/cc/access_set.h"
#include "src/cc/worker_state.h"
#include "src/record/stable_read.h"

namespace granary::cc {

/// The records that a commit has claimed, in the order of their addresses. Validation asks whether a locked record is
/// locked by the transaction itself.
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

/// The place of a transaction in the serial order, as far as validation needs it.
struct Moment {
  /// E as it was read before validation. A commit reads it after its last lock, and all nodes have agreed on it. E of
  /// this node is at least that.
  epoch::Epoch epoch = 0;
  /// The time at which the reads have to hold, if the protocol stamps first. It is the TID of a transaction that
  /// writes.
  TidWord stamp = 0;
};

/// All functions are static. The worker's thread calls them, with its epoch slot entered.
///
/// `epoch` is an epoch in which the transaction may commit, and `period` the first epoch of that epoch's snapshot
/// period. `tid` is the TID that the transaction has got from stamp().
template <typename P>
concept Protocol =
    requires(Record& record, std::size_t key_bytes, std::span<char> buffer, const ReadEntry& read, WriteEntry& write,
             AccessSet& access, WorkerState& worker, const Claims& claims, const Moment& moment, TidWord tid,
             TidWord remote_bound, TidWord& rts, epoch::Epoch epoch, epoch::Epoch period) {
      /// kName is what Options::protocol calls it.
      { P::kName } -> std::convertible_to<std::string_view>;
      /// kStampsFirst is true if reads are checked against the transaction's stamp (TicToc). The stamp is then chosen
      /// before validation, and otherwise as late as possible.
      { P::kStampsFirst } -> std::convertible_to<bool>;

      /// read() copies the latest version of a record, and look() only tells its TID word and state. The transaction
      /// remembers the TID word that was seen, and the version's rts (ReadEntry); a protocol without times leaves `rts`
      /// alone. Both wait for a bounded time while somebody changes the record.
      { P::read(record, key_bytes, buffer, worker, access, rts) } -> std::same_as<record::StableRead>;
      { P::look(record, worker, access, rts) } -> std::same_as<record::StableRead>;
      /// claim() takes a record that will be written, with a bounded wait. give_back() gives it back unchanged.
      { P::claim(record, worker, access) } -> std::same_as<AbortReason>;
      { P::give_back(record) } -> std::same_as<void>;
      /// Whether a read of a local record still holds at the moment.
      { P::check_local(read, claims, moment, worker) } -> std::same_as<AbortReason>;
      /// Returns the transaction's TID in the epoch by the rule of I1, or 0 if the epoch has none left. `remote_bound`
      /// is what the other nodes ask for (LocalParticipant::stamp). reason_for_no_stamp() tells why there is none left.
      { P::stamp(access, worker, epoch, remote_bound) } -> std::same_as<TidWord>;
      { P::reason_for_no_stamp(epoch) } -> std::same_as<AbortReason>;
      /// Takes the memory that install() needs for a claimed record. False: there is not enough memory. unprepare()
      /// gives back what was taken, also after a prepare() that failed.
      { P::prepare(write, worker, period) } -> std::same_as<bool>;
      { P::unprepare(write, worker) } -> std::same_as<void>;
      /// Changes a claimed and prepared record, and gives it back. Cannot fail.
      { P::install(write, worker, tid, period) } -> std::same_as<void>;
      /// Whether an absent record may leave its index now; the caller holds its lock bit. If true, no transaction that
      /// has seen the absence can commit any more and rely on it.
      { P::may_leave_index(record, worker) } -> std::same_as<bool>;
    };

/// The functions that a protocol which stamps first has in addition.
template <typename P>
concept StampsReads = P::kStampsFirst && requires(const AccessSet& access, WorkerState& worker, const Moment& moment,
                                                  TidWord time, AbortReason failure, std::uint32_t turn) {
  /// Returns the least time that a transaction which only reads may have: the versions that it has seen are there by
  /// then.
  { P::stamp_reads(access) } -> std::same_as<TidWord>;
  /// Returns the least time that the worker's next transaction may have if it only reads; 0 without
  /// Options::session_order.
  { P::session_time(worker) } -> std::same_as<TidWord>;
  /// Called when a transaction that only reads has passed its validation at this time.
  { P::note_read_time(worker, time) } -> std::same_as<void>;
  /// Called before anything is claimed. Returns a reason to give up at once, or kNone.
  { P::reason_to_give_up_early(access, worker) } -> std::same_as<AbortReason>;
  /// Called when a claim has failed with `failure`, and all claims have been given back. Returns whether to claim all
  /// of them again; `turn` counts these attempts, from 0.
  { P::claims_again(failure, worker, turn) } -> std::same_as<bool>;
  /// Called before the versions of the node set are compared.
  { P::announce_miss_time(access, worker, moment) } -> std::same_as<void>;
};

/// A protocol whose reads lock the records that they read until the transaction ends (two_pl/).
template <typename P>
concept LocksRecords = Protocol<P> && requires(two_pl::HeldLocks& held) {
  /// Gives back all these locks. Called when the transaction has committed or aborted, with its epoch slot still
  /// entered.
  { P::let_go(held) } -> std::same_as<void>;
};

/// A protocol that can read and write a part of a local value without the rest. It checks the read of a part as one of
/// the whole record, and changes records only by install() under their lock.
template <typename P>
concept ReadsParts = Protocol<P> && requires(const Record& record, std::size_t from, std::span<char> buffer,
                                             const WorkerState& worker, TidWord& rts) {
  /// It is false if the protocol cannot use the read_part() that it has inherited (drtm).
  requires P::kReadsParts;
  /// Copies the value's bytes from the byte `from` on, as many as there are and the buffer holds, and tells the whole
  /// value's size. Otherwise it is as Protocol::read.
  { P::read_part(record, from, buffer, worker, rts) } -> std::same_as<record::StableRead>;
};

/// A protocol that also knows shared records, which other nodes reach. check_shared() is check_local() for those.
template <typename P>
concept ReachesShared = Protocol<P> && requires(const ReadEntry& read, const Claims& claims, const Moment& moment,
                                                const WorkerState& worker) {
  { P::check_shared(read, claims, moment, worker) } -> std::same_as<AbortReason>;
};

/// A protocol whose commits can also take effect in an HTM region, without claims (region/region.h). The functions that
/// take a `memory` are called inside the region, and load and store through it (I6). They are templates over it; the
/// concept asks for them with the hardware's.
template <typename P>
concept CommitsInRegion = Protocol<P> && requires(const ReadEntry& read, WriteEntry& write, WorkerState& worker,
                                                  const Moment& moment, TidWord& planned, TidWord& bound, TidWord tid,
                                                  epoch::Epoch period, htm::RtmMemory& memory) {
  /// Called before the region and before stamp(). Notes in `planned` the TID word of the record to write, which the
  /// region must find again, and raises `bound`, which stamp() gets as its `remote_bound`, to what other nodes ask
  /// for of the record. False: a region would abort, since the record is locked, held by another node, or not the
  /// latest.
  { P::plan(write, worker, planned, bound) } -> std::same_as<bool>;
  /// Does all for the planned word that can be done before the region. False: there is no memory, or the record
  /// would have to be replaced.
  { P::prepare_in_place(write, worker, period, planned) } -> std::same_as<bool>;
  /// Whether a read holds at the moment.
  { P::check_read_in(memory, read, moment, worker) } -> std::same_as<htm::Verdict>;
  /// Whether the record to write has the planned word, may be written by this node, and may get a version with the
  /// moment's stamp, if the protocol stamps first.
  { P::check_planned_in(memory, write, planned, moment, worker) } -> std::same_as<htm::Verdict>;
  /// Stores the new version. All checks of the region have been made.
  { P::install_in(memory, write, planned, tid) } -> std::same_as<void>;
  /// Called after the region has committed: registers the write's garbage. The region has replaced the planned
  /// word.
  { P::installed_in_region(write, worker, planned, tid) } -> std::same_as<void>;
};

/// A protocol that stamps first and whose commits can take effect in a region.
template <typename P>
concept StampsInRegion = StampsReads<P> && CommitsInRegion<P> &&
                         requires(const ReadEntry& read, const Moment& moment, htm::RtmMemory& memory) {
                           /// Called inside the region, when all of its checks have passed and before
                           /// install_in(). Notes at the record that the version that was read is valid until the
                           /// moment.
                           { P::make_valid_in(memory, read, moment) } -> std::same_as<void>;
                         };

/// A protocol that runs whole transactions in HTM regions, and commits them there if it can (drtm/).
template <typename P>
concept RunsInRegion = CommitsInRegion<P> && requires(Record& record, AccessSet& access, WorkerState& worker) {
  /// Returns whether the transaction runs in the worker's region now, and opens the region at the first call.
  { P::enter(access, worker) } -> std::same_as<bool>;
  /// Notes a record that the transaction has declared. Called before anything is read.
  { P::declare(record, access, worker) } -> std::same_as<void>;
  /// Gives back what the transaction still holds. Called when it has ended, with its epoch slot still entered.
  { P::end(access, worker) } -> std::same_as<void>;
};

}  // namespace granary::cc
