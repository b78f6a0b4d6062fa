#pragma once
// I2, the remote side: takes a record's x-lock.
//
// One chain: CAS the state word from free, or from a lease that has expired, to the holder's word; then READ the header. If the lock
// bit is set there, the owner may hold the record rightfully: its lock may be older than ours. So the header is READ
// again until the bit is clear, a bounded number of times, or the lock is let go. Once it was seen clear, later lock
// bits are of owners who will see our word and give way, and nobody looks at them.
//
// If the connection breaks, whether the CAS took effect is not known. Once the endpoint is connected to the node
// again, so that nothing of the old connection happens any more, resume() finds it out by the state word, which
// nobody else makes the same (I5).
//
// It may fetch the record as well, with the header, in one READ: what came with a clear bit is what is there, but for bytes that moved
// before the bit was cleared, which the checksum tells (I4).

#include <functional>
#include <optional>
#include <string_view>

#include "src/cluster/record_access/access_step.h"
#include "src/cluster/record_access/remote_record.h"

namespace granary::cluster {

/// Whether a lease that ends then has expired for everybody. Empty: none ever does.
using LeaseExpired = std::function<bool(std::uint64_t end_us)>;

class XLock final : public AccessStep {
 public:
  enum class Fetch : std::uint8_t { kHeader, kRecord };
  static constexpr std::size_t buffer_bytes(std::size_t key_bytes) {
    return record::shared_value_offset(key_bytes) + 2 * base::kWord;
  }
  static std::size_t buffer_bytes(const RemoteRecord& record) { return record.bytes() + 2 * base::kWord; }

  /// `mine`: a word of HolderWords, for this lock only. `expired` outlives it. `seen`: the state word as it was last; that it has
  /// changed costs a round.
  XLock(const RemoteRecord& record, record::StateWord mine, void* buffer, const LeaseExpired& expired,
        record::StateWord seen = record::kFree, Fetch fetch = Fetch::kHeader);

  void append(std::vector<rdma::Operation>& chain) override;
  rdma::fiber::Next settle() override;

  /// After kBroken, connected again: to be run once more. kDone or as the outcome of any lock, if our word is
  /// there; otherwise kNotHeld.
  void resume();

  record::StateWord mine() const { return mine_; }
  /// kDone: what is there and stays until it is given back (release.h).
  record::TidWord tid() const { return copy().head.tid_word & ~record::kLocked; }
  std::uint64_t incarnation() const { return record::incarnation_of(copy().head.size_word); }
  /// kDone, of one that fetches: what is there, if it came whole; else it has to be READ.
  std::optional<std::string_view> value() const;
  /// kBusy: the state word that was in the way, or free if it was the owner's lock bit.
  record::StateWord holder() const { return holder_; }

 private:
  enum class Phase : std::uint8_t { kTake, kLook, kFindOut, kLetGo };

  rdma::fiber::Next taken();
  rdma::fiber::Next not_taken();
  rdma::fiber::Next look();
  rdma::fiber::Next let_go(Outcome outcome);
  /// Free, or a lease that has expired.
  bool may_take(record::StateWord seen) const;

  const record::SharedRecord& copy() const { return *reinterpret_cast<const record::SharedRecord*>(words_ + 2); }

  RemoteRecord record_;
  record::StateWord mine_;
  std::uint64_t* words_;  ///< the CAS's old value, zero, header and key
  const LeaseExpired* expired_;
  Fetch fetch_;
  Phase phase_ = Phase::kTake;
  record::StateWord expected_ = record::kFree;
  record::StateWord holder_ = record::kFree;
  Outcome why_let_go_ = Outcome::kOpen;
};

}  // namespace granary::cluster
