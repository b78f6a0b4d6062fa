#pragma once
// Takes the x-lock of another node's record (I2), with which both remote protocols, occ and lease_2pl, lock what they
// write.
//
// Taking it. One chain CASes the state word from free, or from a lease that has expired, to the holder's word, and
// READs the header. If the header has the lock bit, the owner may hold the record rightfully, as its lock may be older
// than ours. So the header is READ again until the bit is clear, at most kMostLooks times. If the bit is still set
// then, the step gives the lock back and ends with kBusy. Once the bit was seen clear, later lock bits are those of
// owners that will see our word and back off, and nobody looks at them.
//
// Lost connections. If the connection breaks, it is not known whether the CAS took effect. Once the endpoint is
// connected to the node again, nothing of the old connection happens any more, and resume() finds it out by the state
// word, which nobody else makes the same (I5).
//
// Fetching. The record may be READ together with the header. With a clear bit these bytes are the record's, except for
// bytes that moved before the bit was cleared, which the checksum shows (I4).
//
// The previous version (I12) is not in the checksum. An owner that held the record first may store it, and the TID word
// behind it, while the READ passes over them. So the word that came with a TID is that version's only if the same TID
// was READ before the lock was asked for. A lock that fetches READs the word once more behind the record, when nobody
// changes it any more.

#include <algorithm>
#include <functional>
#include <optional>
#include <string_view>

#include "src/cluster/record_access/access_step.h"
#include "src/cluster/record_access/remote_record.h"

namespace granary::cluster {

/// Whether a lease with this end has expired for everybody. Empty: no lease ever expires. Under TicToc state words hold
/// an rts, which excludes nobody, so the function returns true for every word.
using LeaseExpired = std::function<bool(std::uint64_t end_us)>;

class XLock final : public AccessStep {
 public:
  enum class Fetch : std::uint8_t { kHeader, kRecord };
  static constexpr std::size_t buffer_bytes(std::size_t key_bytes) {
    return record::shared_value_offset(key_bytes) + kCopy * base::kWord;
  }
  static std::size_t buffer_bytes(const RemoteRecord& record) { return record.bytes() + kCopy * base::kWord; }

  /// `mine`: a word of HolderWords, for this lock only. `expired` outlives it. `seen`: the state word as it was last.
  /// If it has changed, the lock costs one more round.
  XLock(const RemoteRecord& record, record::StateWord mine, void* buffer, const LeaseExpired& expired,
        record::StateWord seen = record::kFree, Fetch fetch = Fetch::kHeader);

  void append(std::vector<rdma::Operation>& chain) override;
  rdma::fiber::Next interpret() override;

  /// Prepares the step to be run once more, after kBroken and a new connection. The outcome is that of any lock if our
  /// word is there, and otherwise kNotHeld.
  void resume();

  record::StateWord mine() const { return mine_; }
  /// Returns the word that the lock has taken the place of, if it was taken. Whoever gives the lock back unchanged puts
  /// it there again (release.h).
  record::StateWord replaced() const { return expected_; }
  /// After kDone: TID and incarnation of the record, which stay until the lock is given back (release.h).
  record::TidWord tid() const { return record::unlocked(copy().head.tid_word); }
  std::uint64_t incarnation() const { return record::incarnation_of(copy().head.size_word); }
  /// After kDone, under TicToc: returns the time until which anybody may know the version to be valid.
  record::TidWord rts() const { return std::max({record::tid_of(tid()), replaced(), copy().owner_rts_word}); }
  /// After kDone: the address that the owner has for the version before. Of a lock that does not fetch, it is that of
  /// tid()'s version only if this TID was READ unlocked before the lock was asked for.
  std::uint64_t previous() const { return fetch_ == Fetch::kRecord ? words_[2] : copy().head.previous_word; }
  /// After kDone, of a lock that fetches: returns the value, or nothing if the copy was torn; the caller then READs it
  /// again.
  std::optional<std::string_view> value() const;
  /// After kBusy: the state word that refused the lock, or free if the owner's lock bit did.
  record::StateWord holder() const { return holder_; }

 private:
  enum class Round : std::uint8_t { kTake, kLook, kFindOut, kLetGo };

  void append_look(std::vector<rdma::Operation>& chain);
  rdma::fiber::Next taken();
  rdma::fiber::Next not_taken();
  rdma::fiber::Next look();
  rdma::fiber::Next let_go(AccessOutcome outcome);
  /// Free, or a lease that has expired.
  bool may_take(record::StateWord seen) const;

  const record::SharedRecord& copy() const { return *reinterpret_cast<const record::SharedRecord*>(words_ + kCopy); }

  static constexpr std::size_t kCopy = 3;  ///< the word where header and key begin

  RemoteRecord record_;
  record::StateWord mine_;
  /// The CAS's old value, what to leave behind, the previous version READ behind a fetched record, header and key.
  std::uint64_t* words_;
  const LeaseExpired* expired_;
  Fetch fetch_;
  Round round_ = Round::kTake;
  record::StateWord expected_ = record::kFree;
  record::StateWord holder_ = record::kFree;
  AccessOutcome let_go_outcome_ = AccessOutcome::kOpen;
};

}  // namespace granary::cluster
