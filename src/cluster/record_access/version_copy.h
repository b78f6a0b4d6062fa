#pragma once
// I12: keeps the version of another node's record that its x-lock's holder is going to overwrite, for the snapshots
// that may need it.
//
// One chain WRITEs a copy of the version into a block that the owner has lent (messages/lent_blocks.h), and then the
// block's address into the record's previous version. WRITEs of a connection are in order, so snapshot readers at the
// owner that follow the pointer find the copy whole. The pointer has a WRITE of its own, complete before the
// transaction is decided: if it went along with the new version, whoever finishes a dead node's write-back would have
// to know whether it came through, and could find the old value half overwritten.
//
// Nobody else stores to the previous version meanwhile. The owner does so only under its lock bit, which it takes back
// when it sees the x-lock, and garbage collection never does. Should the transaction abort, the copy stays linked: it
// has the record's own TID, so only readers that look for an older version go through it.

#include <cstdint>
#include <string_view>

#include "src/cluster/record_access/access_step.h"
#include "src/cluster/record_access/remote_record.h"

namespace granary::cluster {

/// A version as the x-lock's holder knows it.
struct HeldVersion {
  record::TidWord tid = 0;      ///< unlocked
  std::uint64_t previous = 0;   ///< the address that its owner has for the version before it
  std::string_view value = {};  ///< empty if the version is absent
};

class VersionCopy final : public AccessStep {
 public:
  static constexpr std::size_t buffer_bytes(std::size_t value_bytes) {
    return base::kWord + record::record_bytes(value_bytes);
  }

  /// `block` is where the lent block is, and `block_address` its address for its owner. `buffer` has buffer_bytes().
  VersionCopy(const RemoteRecord& record, const HeldVersion& version, const rdma::RemoteAddress& block,
              std::uint64_t block_address, void* buffer);

  void append(std::vector<rdma::Operation>& chain) override;
  rdma::fiber::Next interpret() override;

 private:
  rdma::RemoteAddress previous_;  ///< of the record
  rdma::RemoteAddress block_;
  std::uint64_t* words_;  ///< the block's address, and the copy
  std::uint32_t bytes_;   ///< of the copy
};

}  // namespace granary::cluster
