#pragma once
// Finds a record of another node's table by its key, and READs it: at the location that the cache remembers, or else
// where the hash index says. A location that turns out not to be the key's is forgotten, and the key is looked up
// again.

#include <cstdint>
#include <optional>

#include "kvstore/remote/header_sweep.h"
#include "kvstore/remote/location_cache.h"
#include "kvstore/remote/lookup.h"
#include "src/cluster/record_access/checked_read.h"

namespace granary::cluster {

class KeyRead final : public AccessStep {
 public:
  /// How much registered memory it needs, on a cache line's boundary.
  static std::size_t buffer_bytes(const kvstore::remote::RemoteTable& table, std::size_t key_bytes);

  /// Whether it counts as a miss that the cache does not know the key's place. It does not if a place that it knew has
  /// just turned out stale, which was counted.
  enum class Unknown : std::uint8_t { kIsMiss, kIsNoMiss };

  /// `cache` may be nullptr; it is of this table. The arguments outlive the step.
  KeyRead(const kvstore::remote::RemoteTable& table, std::string_view key, void* buffer,
          kvstore::remote::LocationCache* cache, kvstore::remote::LocationCacheCounters& counters,
          Unknown unknown = Unknown::kIsMiss);

  /// Whether the cache knew where the record is, as far as that has turned out by now.
  bool knows_place() const { return read_.has_value(); }
  /// Has its first round bring a piece of a sweep along.
  void bring_along(const kvstore::remote::PieceRead& piece) { piece_ = piece; }

  void append(std::vector<rdma::Operation>& chain) override;
  rdma::fiber::Next interpret() override;

  /// After kDone, and after kMissing if the record is there and absent: what is needed to read it again, lock it and
  /// validate it. nullptr if the key is in no slot: then missed() has what to validate.
  const CheckedRead* read() const { return read_ ? &*read_ : nullptr; }
  RemoteRecord record() const;
  /// After kBusy: the record's state word as it was last, if there is a record.
  record::StateWord state() const { return read_ ? read_->state() : record::kFree; }
  const kvstore::remote::Lookup& missed() const { return *lookup_; }
  /// READs of buckets and names.
  unsigned lookup_reads() const { return lookup_reads_; }

 private:
  std::optional<kvstore::remote::Location> known_place(Unknown unknown) const;
  void read_at(kvstore::remote::Location place);
  rdma::fiber::Next looked_up();
  rdma::fiber::Next moved();

  const kvstore::remote::RemoteTable* table_;
  kvstore::hash::HashedKey key_;
  void* buffer_;
  kvstore::remote::LocationCache* cache_;
  kvstore::remote::LocationCacheCounters* counters_;
  kvstore::remote::Location place_;
  std::optional<CheckedRead> read_;  ///< set while the record's location is known; otherwise `lookup_` is set
  std::optional<kvstore::remote::Lookup> lookup_;
  unsigned lookup_reads_ = 0;
  kvstore::remote::PieceRead piece_;
};

}  // namespace granary::cluster
