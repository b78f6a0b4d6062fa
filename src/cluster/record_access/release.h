#pragma once
// I5: gives an x-lock back, with a new version of the record or without.
//
// Write-back is one WRITE from the TID word on (TID, size and incarnation, check word, key, value), then one of
// state = free, in one chain: WRITEs of a connection are in order, while the bytes of the first land in any order, under the lock. It never
// stores to the previous version, which is the owner's, and to the state only to free it. It wipes a lock bit that an owner sets before it sees
// our word; the owner's undo then fails, which is what it should. A delete is a write-back of an absent TID.
//
// If the connection breaks, resume() goes on over a new one, made by the same endpoint to the same life of the node, if the state
// word is still ours. If not, all has been done: nobody frees it but this WRITE, and recovery, which finishes it first.

#include "src/cluster/record_access/access_step.h"
#include "src/cluster/record_access/remote_record.h"

namespace granary::cluster {

class Release final : public AccessStep {
 public:
  /// What registered memory it needs for a value of so many bytes.
  static constexpr std::size_t buffer_bytes(std::size_t key_bytes, std::size_t value_bytes) {
    return kVersion * base::kWord + record::shared_record_bytes(key_bytes, value_bytes) - kSkipped;
  }

  /// Without change. `mine`: the x-lock's word.
  Release(const RemoteRecord& record, record::StateWord mine, void* buffer);

  /// With this version: `tid` has latest set, and absent for a delete, whose value is empty. The incarnation is the
  /// one under the lock.
  void set_version(record::TidWord tid, std::uint64_t incarnation, std::string_view value);

  void append(std::vector<rdma::Operation>& chain) override;
  rdma::fiber::Next settle() override;

  /// After kBroken, or of a lock of which it is not known whether it was taken; connected again: to be run once more.
  void resume();

 private:
  enum class Phase : std::uint8_t { kWrite, kFindOut };
  static constexpr std::size_t kVersion = 2;  ///< the word where it begins
  /// What a write-back leaves alone: state and previous version.
  static constexpr std::size_t kSkipped = offsetof(record::SharedRecord, head) + offsetof(record::Record, tid_word);

  RemoteRecord record_;
  record::StateWord mine_;
  std::uint64_t* words_;             ///< zero, the state as found, the version
  std::uint32_t version_bytes_ = 0;  ///< 0: without change
  Phase phase_ = Phase::kWrite;
};

}  // namespace granary::cluster
