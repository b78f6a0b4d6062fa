#pragma once
// I10: settles, at its home, one x-lock that a dead node may hold.
//
// One round READs state word, header and key at the place that the dead node has named. If the state is not exactly the
// word that was named, there is nothing to do: the lock was never taken, or has been given back since. Else a second
// round frees the record, by CAS from exactly this word. If the dead node had decided to write, the version's WRITE
// stands before the CAS in the same chain. It is left out if the record is another key's by now, or has a greater TID.
// An equal TID is written again, since a write-back may be half done: the TID word is there, and the value is not.
//
// While the state is this word, nobody writes to the record but the dead node, which its home has cut off, and whoever
// recovers it. So what the first round has seen still holds in the second, and several recoverers, one after the other,
// do no harm.

#include <functional>

#include "src/cluster/record_access/access_step.h"
#include "src/cluster/record_access/version_write.h"
#include "src/log/debt.h"

namespace granary::cluster {

class Settle final : public AccessStep {
 public:
  /// What became of the lock, after kDone.
  enum class LockEnd : std::uint8_t {
    kOpen,
    kSettledBefore,  ///< it was not held any more
    kFreed,          ///< unchanged
    kRedone,         ///< with the version that had been decided
    kNotAllowed,     ///< nothing has changed: this node may not act for the dead one any more
  };

  /// How much registered memory it needs, on a cache line's boundary.
  static std::size_t buffer_bytes(const log::Debt& debt);
  static constexpr std::size_t buffer_bytes(std::size_t key_bytes, std::size_t value_bytes) {
    return base::kWord + record::shared_value_offset(key_bytes) + VersionWrite::buffer_bytes(key_bytes, value_bytes);
  }

  /// `home`: the region of records in the life of the home that is reached. `may_act` tells whether this node may
  /// still act for the dead one. The step calls it before its second round, the caller before the first. The arguments
  /// outlive the step.
  Settle(const log::Debt& debt, const rdma::RemoteAddress& home, void* buffer, const std::function<bool()>& may_act);

  void append(std::vector<rdma::Operation>& chain) override;
  rdma::fiber::Next interpret() override;

  const log::Debt& debt() const { return *debt_; }
  LockEnd lock_end() const { return lock_end_; }

 private:
  enum class Round : std::uint8_t { kLook, kFree };

  rdma::fiber::Next looked();
  bool is_held() const;
  bool has_to_be_written() const;
  const record::SharedRecord& copy() const { return *reinterpret_cast<const record::SharedRecord*>(words_ + 1); }
  const RemoteRecord& record() const { return version_.record(); }

  const log::Debt* debt_;
  const std::function<bool()>* may_act_;
  std::uint64_t* words_;  ///< the CAS's old value, header and key, the version
  VersionWrite version_;
  record::StateWord word_;
  Round round_ = Round::kLook;
  LockEnd lock_end_ = LockEnd::kOpen;
};

}  // namespace granary::cluster
