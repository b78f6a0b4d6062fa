#pragma once
// An owner with records in a real hash table, which other nodes search.

#include <string>

#include "kvstore/remote/remote_table.h"
#include "tests/cluster/record_access/owned_record.h"
#include "tests/kvstore/hash/table_fixture.h"

namespace granary::cluster {

class HashOwner {
 public:
  explicit HashOwner(std::uint64_t buckets)
      : fixture_(buckets),
        places_(fixture_.pool.region->take(memory::SlabPool::kExtentBytes)) {}

  std::shared_ptr<memory::Region> region() const { return fixture_.pool.region; }

  kvstore::remote::RemoteTable remote(rdma::NodeId node) const {
    return {.main = {.node = node, .region = 1, .generation = 1, .offset = 0},
            .buckets = fixture_.table.buckets(),
            .owner_base = reinterpret_cast<std::uint64_t>(region()->base()),
            .max_value_bytes = kMaxValue};
  }

  /// A record in place `place`, not in the table.
  OwnedRecord at(std::uint64_t place, const std::string& key) const {
    constexpr std::uint64_t kStride = 512;
    const auto offset = static_cast<std::uint64_t>(places_ - region()->base()) + kStride * place;
    return {region()->base(), offset, key};
  }
  bool hook(OwnedRecord& record) {
    return fixture_.table.insert_if_absent(record.key(), value_of(record), fixture_.worker.memory, record.incarnation())
               .what == kvstore::hash::InsertResult::What::kInserted;
  }
  bool remove(OwnedRecord& record) {
    const bool removed = fixture_.table.remove(record.key(), value_of(record), fixture_.worker.memory);
    fixture_.worker.rest();
    return removed;
  }

 private:
  static kvstore::hash::Value value_of(const OwnedRecord& record) {
    return reinterpret_cast<kvstore::hash::Value>(&record.shared().head);
  }

  kvstore::hash::test::Fixture fixture_;
  char* const places_;
};

}  // namespace granary::cluster
