#pragma once
// Finds a record by its key in the table of another system (peer_tables.h) by one-sided READs, and READs the record
// like a lookup in our table.

#include <optional>

#include "bench/remote/peer_tables.h"
#include "kvstore/remote/remote_table.h"
#include "src/cluster/record_access/checked_read.h"

namespace granary::bench::remote {

/// The part that both searches have in common. At the end it READs the record, if the slots do not have the value.
class PeerRead : public cluster::AccessStep {
 public:
  /// The arguments outlive the step. `records` is the table whose records the entries name.
  PeerRead(const PeerTable& table, const kvstore::remote::RemoteTable& records, const std::uint64_t& key, void* buffer)
      : AccessStep(table.first),
        table_(table),
        records_(records),
        key_(key),
        buffer_(static_cast<char*>(buffer)) {}

  void append(std::vector<rdma::Operation>& chain) final;
  rdma::fiber::Next interpret() final;

  /// Returns the number of READs so far, including that of the record.
  unsigned reads() const { return reads_; }

 protected:
  /// The slots to READ in the next round, as long as the record's place is not known.
  struct Wanted {
    rdma::RemoteAddress first;
    std::uint32_t bytes;
  };
  virtual Wanted wanted() const = 0;

  /// Searches the copy of the slots that were wanted.
  virtual rdma::fiber::Next search() = 0;

  rdma::fiber::Next found(std::uint64_t entry);

  const PeerTable& table_;
  const kvstore::remote::RemoteTable& records_;
  const std::uint64_t& key_;
  char* const buffer_;

 private:
  unsigned reads_ = 0;
  std::optional<cluster::CheckedRead> read_;  ///< the READ of the record, as soon as its place is known
};

/// Searches Pilaf's table slot by slot, in the order of the hash functions.
class CuckooRead final : public PeerRead {
 public:
  using PeerRead::PeerRead;

 private:
  Wanted wanted() const override;
  rdma::fiber::Next search() override;

  unsigned function_ = 0;
};

/// Searches FaRM's table: a neighbourhood at once, and then the slots of its chain, one by one.
class HopscotchRead final : public PeerRead {
 public:
  using PeerRead::PeerRead;

  /// Returns how much registered memory a search needs.
  static std::size_t buffer_bytes(const PeerTable& table) { return hash::Hopscotch::kNeighbourhood * table.slot_bytes; }

 private:
  Wanted wanted() const override;
  rdma::fiber::Next search() override;

  std::uint64_t chained_ = 0;  ///< offset of the slot that is READ; 0: the neighbourhood
};

}  // namespace granary::bench::remote
