#pragma once
// Keeps what this node knows of the other nodes' tables: how to search them one-sided, and where their records were
// found before. src/node fills the directory, and transactions look tables up in it (footprint.h).
//
// A node is learnt when the cluster starts, forgotten when it dies, and learnt anew when it serves again, while workers
// read. Its tables lie at other addresses then, and the remembered places of its records are void. So all that is known
// of one life of a node is one object (KnownNode) behind one pointer. Only its caches and seals change. A worker that
// has found a table uses it until its transaction ends, even if another life has been learnt meanwhile. That does no
// harm: an address says of which life it is, and the fabric refuses those of a former life.

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "cluster_config/membership/configuration.h"
#include "kvstore/hash/key.h"
#include "kvstore/remote/header_sweep.h"
#include "kvstore/remote/leaf_cache.h"
#include "kvstore/remote/location_cache.h"
#include "kvstore/remote/remote_table.h"
#include "src/cluster/messages/requests.h"

namespace granary::cluster {

/// A table, or a secondary index, of one life of a node.
struct KnownTable {
  messages::TableKind kind = messages::TableKind::kOrdered;
  /// If the table is no hash table, `remote.main` tells node, region and life only.
  kvstore::remote::RemoteTable remote;
  std::unique_ptr<kvstore::remote::LocationCache> cache;  ///< of a hash table; shared by all workers
  std::unique_ptr<kvstore::remote::HeaderSweep> sweep;    ///< of a hash table: fills the cache
  std::unique_ptr<kvstore::remote::LeafCache> leaves;     ///< of an ordered table or an index; shared by all workers
  /// The epoch from which the table is sealed, as its owner said last (I31). A transaction that looks at the table when
  /// E is at least that relies on it that nothing in the table ever changes. Stored by KnownNode::note_sealed()
  /// (release); read by all workers (acquire).
  mutable std::atomic<epoch::Epoch> sealed_from{txn::kNotSealed};

  bool hashed() const { return kind == messages::TableKind::kHash; }
  /// Prefetches the cache's entry for the key. A caller with several keys does so for all of them before it looks for
  /// any.
  void prefetch(std::string_view key) const {
    if (cache != nullptr) cache->prefetch(kvstore::hash::HashedKey(key).word);
  }
};

/// The tables of one life of a node.
class KnownNode {
 public:
  KnownNode(rdma::NodeId node, rdma::Generation generation, const messages::DescribeAnswer& said,
            kvstore::remote::LocationBudget& budget);
  rdma::Generation generation() const { return generation_; }
  /// Notes which tables the node has sealed by now.
  void note_sealed(const messages::DescribeAnswer& said) const;
  /// Returns nullptr if the node has no such table, or does not share it with other nodes.
  const KnownTable* find(messages::TableId table) const {
    return table < tables_.size() ? tables_[table].get() : nullptr;
  }

 private:
  const rdma::Generation generation_;
  std::vector<std::unique_ptr<KnownTable>> tables_;  ///< by table
};

/// Has what was known of a former life of a node. The caller keeps it until every transaction has ended that was open
/// when the caller got it, which is when EpochManager::complete() has reached an E that was read after learn() or
/// forget_former(). When it is dropped, its caches give their memory back. It must be dropped before the Directory.
using FormerLife = std::unique_ptr<const KnownNode>;

/// Any thread may change it, and all workers read it.
class Directory {
 public:
  /// `cache_bytes` is the memory that the location caches of all nodes and tables may take together.
  explicit Directory(std::uint64_t cache_bytes) : budget_(cache_bytes) {}
  ~Directory();
  Directory(const Directory&) = delete;
  Directory& operator=(const Directory&) = delete;

  /// Notes the tables that a life of a node describes, with empty caches. Returns what was known of the node before, if
  /// anything.
  [[nodiscard]] FormerLife learn(rdma::NodeId node, rdma::Generation generation, const messages::DescribeAnswer& said);
  /// Forgets what is known of the node, unless that is of the node's present life: `generation`, 0 if the node is dead.
  /// Transactions find no table of the node until it is learnt again. Returns what was known of the former life, if
  /// anything.
  ///
  /// A node calls this before it says that it is quiet about the life that has ended. The next life can be reached
  /// before it serves, and the owner of an ordered table answers where its records are. So a transaction that knew the
  /// former life's tables would find records of the next life. It would then wait for the epoch of that node, which is
  /// ahead of the cluster's until the leader admits the node. But the leader admits the node only when the transaction
  /// has ended.
  [[nodiscard]] FormerLife forget_former(rdma::NodeId node, rdma::Generation generation);
  /// Notes which tables this life of the node has sealed by now, if this life is the one that is known. An answer of a
  /// later life does no harm: when that life answers, the fabric refuses all addresses of this one.
  void note_sealed(rdma::NodeId node, rdma::Generation generation, const messages::DescribeAnswer& said);

  /// Returns the table, or nullptr if the node is not known, has no such table, or does not share it with other nodes.
  /// The calling worker is in a transaction, and may use the table until that ends.
  const KnownTable* find(rdma::NodeId node, messages::TableId table) const {
    if (node >= nodes_.size()) return nullptr;
    const KnownNode* const known = nodes_[node].load(std::memory_order_acquire);
    return known == nullptr ? nullptr : known->find(table);
  }

  /// Whether a life of the node is known.
  bool knows(rdma::NodeId node) const {
    return node < nodes_.size() && nodes_[node].load(std::memory_order_relaxed) != nullptr;
  }

  /// The memory that the location caches of all nodes share.
  const kvstore::remote::LocationBudget& budget() const { return budget_; }

 private:
  FormerLife exchange(rdma::NodeId node, FormerLife known);

  std::mutex mutex_;  // held by every change, so that a KnownNode stays while its seals are noted
  kvstore::remote::LocationBudget budget_;
  /// Points to what is known of each node, and owns it. Written by exchange() under the mutex, and loaded by workers
  /// with acquire, so that they see a whole object. The exchange is sequentially consistent, a full fence on x86-64, so
  /// its caller reads E after the change: a transaction of a later epoch sees the change.
  std::array<std::atomic<const KnownNode*>, membership::kMostMembers> nodes_{};
};

}  // namespace granary::cluster
