#pragma once
// Finds a record of another node's table by its key, and READs it: at the place that the location cache remembers, if it does, else
// where the hash index says. A place that turns out not to be the key's is forgotten and looked up again.

#include <optional>

#include "kvstore/remote/location_cache.h"
#include "kvstore/remote/lookup.h"
#include "src/cluster/record_access/checked_read.h"

namespace granary::cluster {

class KeyRead final : public AccessStep {
 public:
  /// Of registered memory, on a cache line's boundary.
  static std::size_t buffer_bytes(const kvstore::remote::RemoteTable& table, std::size_t key_bytes);

  /// `cache` may be nullptr; it is of this table. The arguments outlive the step.
  KeyRead(const kvstore::remote::RemoteTable& table, std::string_view key, void* buffer,
          kvstore::remote::LocationCache* cache, kvstore::remote::LocationCacheCounters& counters);

  void append(std::vector<rdma::Operation>& chain) override;
  rdma::fiber::Next settle() override;

  /// kDone, and kMissing if there is a record that is absent: to read again, lock and validate it, its incarnation whole.
  /// nullptr if the key is in no slot: then missed() has what to validate.
  const CheckedRead* read() const { return read_ ? &*read_ : nullptr; }
  RemoteRecord record() const;
  /// kBusy: the state word that was there last, if a record was.
  record::StateWord state() const { return read_ ? read_->state() : record::kFree; }
  const kvstore::remote::Lookup& missed() const { return *lookup_; }
  /// READs of buckets and names.
  unsigned lookup_reads() const { return lookup_reads_; }

 private:
  void read_at(kvstore::remote::Location place);
  rdma::fiber::Next looked_up();
  rdma::fiber::Next moved();

  const kvstore::remote::RemoteTable* table_;
  kvstore::hash::HashedKey key_;
  void* buffer_;
  kvstore::remote::LocationCache* cache_;
  kvstore::remote::LocationCacheCounters* counters_;
  kvstore::remote::Location place_;
  std::optional<CheckedRead> read_;  ///< where the record is thought to be; if that is not known:
  std::optional<kvstore::remote::Lookup> lookup_;
  unsigned lookup_reads_ = 0;
};

}  // namespace granary::cluster
