#pragma once
// Gives an x-lock back (I5), with a new version of the record or without one.
//
// A write-back is one WRITE from the TID word on (VersionWrite), and then one of state = free, in one chain. WRITEs of
// a connection are in order; the bytes of the first may land in any order, as the record is locked. A write-back never
// stores to the previous version, which is the owner's, and it stores to the state only to free it. It wipes out a lock
// bit that an owner has set before it saw our word; then the owner's undo fails, as it should. A delete is a write-back
// of an absent TID.
//
// If the connection breaks, resume() goes on over a new one, made by the same endpoint to the same life of the node, if
// the state word is still ours. If it is not, the record was freed already: by this step's WRITE, or by recovery, which
// writes the version first.

#include "src/cluster/record_access/access_step.h"
#include "src/cluster/record_access/remote_record.h"
#include "src/cluster/record_access/version_write.h"

namespace granary::cluster {

class Release final : public AccessStep {
 public:
  /// How much registered memory it needs for a value of so many bytes.
  static constexpr std::size_t buffer_bytes(std::size_t key_bytes, std::size_t value_bytes) {
    return kVersion * base::kWord + VersionWrite::buffer_bytes(key_bytes, value_bytes);
  }

  /// Gives the lock back without a change. `mine`: the x-lock's word. `left`: what it had taken the place of, which
  /// is put there again.
  Release(const RemoteRecord& record, record::StateWord mine, record::StateWord left, void* buffer);

  /// Gives it back with this version (VersionWrite::set()), of which nobody knows anything so far.
  void set_version(record::TidWord tid, std::uint64_t incarnation, std::string_view value) {
    version_.set(tid, incarnation, value);
    words_[0] = record::kFree;
  }

  void append(std::vector<rdma::Operation>& chain) override;
  rdma::fiber::Next interpret() override;

  /// Prepares the step to be run once more over a new connection: after kBroken, or for a lock that may or may not have
  /// been taken.
  void resume();

 private:
  enum class Round : std::uint8_t { kWrite, kFindOut };
  static constexpr std::size_t kVersion = 2;  ///< the word where it begins

  record::StateWord mine_;
  std::uint64_t* words_;  ///< the state to leave behind, the state as found, the version
  VersionWrite version_;  ///< not set: without change
  Round round_ = Round::kWrite;
};

}  // namespace granary::cluster
