#pragma once
// What this node knows of the other nodes' tables: how to search them one-sided, and where their records were found before.

#include <cstdint>
#include <memory>
#include <vector>

#include "kvstore/remote/location_cache.h"
#include "kvstore/remote/remote_table.h"
#include "src/cluster/messages/requests.h"

namespace granary::cluster {

struct KnownTable {
  messages::TableKind kind = messages::TableKind::kOrdered;
  /// Of a table that is no hash table, `main` tells node, region and life only, and nothing is searched one-sided.
  kvstore::remote::RemoteTable remote;
  std::unique_ptr<kvstore::remote::LocationCache> cache;  ///< of a hash table; shared by all workers

  bool hashed() const { return kind == messages::TableKind::kHash; }
};

/// Filled before transactions begin; then read by all workers.
class Directory {
 public:
  /// `cache_bytes` is the memory that the location caches of all nodes and tables may take together.
  explicit Directory(std::uint64_t cache_bytes) : budget_(cache_bytes) {}

  /// What a node says of itself. A node that was known before is forgotten.
  void learn(rdma::NodeId node, rdma::Generation generation, const messages::DescribeAnswer& said);

  /// nullptr if the node has no such table, or none for others.
  const KnownTable* find(rdma::NodeId node, messages::TableId table) const {
    return node < nodes_.size() && table < nodes_[node].size() ? nodes_[node][table].get() : nullptr;
  }

 private:
  kvstore::remote::LocationBudget budget_;
  std::vector<std::vector<std::unique_ptr<KnownTable>>> nodes_;  ///< by node and table
};

}  // namespace granary::cluster
