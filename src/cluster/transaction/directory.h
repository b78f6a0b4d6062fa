#pragma once
// What this node knows of the other nodes' tables: how to search them one-sided, and where their records were found before.
//
// A node is learnt when the cluster starts, forgotten when it dies, and learnt anew when it serves again, while workers read: its tables lie
// elsewhere then, and where its records were found before is void. So all that is known of one life of a node is one object, which never
// changes, behind one pointer. A worker that has found a table uses it until its transaction ends, also if another life was learnt
// meanwhile. It reaches nothing wrong by it: addresses say of which life they are, and the fabric refuses those of a former one.

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

struct KnownTable {
  messages::TableKind kind = messages::TableKind::kOrdered;
  /// Of a table that is no hash table, `main` tells node, region and life only.
  kvstore::remote::RemoteTable remote;
  std::unique_ptr<kvstore::remote::LocationCache> cache;  ///< of a hash table; shared by all workers
  std::unique_ptr<kvstore::remote::HeaderSweep> sweep;    ///< fills that cache
  std::unique_ptr<kvstore::remote::LeafCache> leaves;     ///< of an ordered table or an index; likewise
  /// Whoever looks at a record here when E is at least that relies on it that nothing in the table ever changes (I31). Set once by
  /// Directory::note_sealed() (release), on the owner's word; read by all workers (acquire).
  mutable std::atomic<epoch::Epoch> sealed_from{txn::kNotSealed};

  bool hashed() const { return kind == messages::TableKind::kHash; }
  /// Fetches ahead what tells where the key's record is. For who has several keys to find.
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
  /// nullptr if the node has no such table, or none for others.
  const KnownTable* find(messages::TableId table) const {
    return table < tables_.size() ? tables_[table].get() : nullptr;
  }

 private:
  const rdma::Generation generation_;
  std::vector<std::unique_ptr<KnownTable>> tables_;  ///< by table
};

/// What was known of a former life of a node, for the caller to keep until every transaction that was open when it got it has ended: until
/// EpochManager::complete() has reached an E that was read behind learn() or forget_former(). When it is dropped, its location caches give
/// their memory back; it is dropped before the Directory is.
using FormerLife = std::unique_ptr<const KnownNode>;

/// Changed by any thread; read by all workers.
class Directory {
 public:
  /// `cache_bytes` is the memory that the location caches of all nodes and tables may take together.
  explicit Directory(std::uint64_t cache_bytes) : budget_(cache_bytes) {}
  ~Directory();
  Directory(const Directory&) = delete;
  Directory& operator=(const Directory&) = delete;

  /// Notes what a life of a node says of itself, with empty location caches. Returns what was known of the node before, if anything.
  [[nodiscard]] FormerLife learn(rdma::NodeId node, rdma::Generation generation, const messages::DescribeAnswer& said);
  /// Forgets what is known of the node, unless that is of the life that the node lives by now: `generation`, 0 if it is dead. Transactions
  /// find no table of it until it is learnt again. Returns what was known of the former life, if anything.
  ///
  /// A node does so before it says that it is quiet about the life that has ended. The next life can be reached before it serves, and
  /// the owner of an ordered table tells the places of its records itself, so a transaction that knew the former life's tables would find
  /// records there. The transaction would then wait for the epoch of that node, which is ahead of the cluster's until the leader has let
  /// the node in; but the leader lets it in only when the transaction has ended.
  [[nodiscard]] FormerLife forget_former(rdma::NodeId node, rdma::Generation generation);
  /// Notes which tables this life of the node has sealed by now, if it is the one that is known. An answer of a later life does no harm: when
  /// that has answered, the fabric refuses whatever would be looked at in this one.
  void note_sealed(rdma::NodeId node, rdma::Generation generation, const messages::DescribeAnswer& said);

  /// Returns nullptr if the node is not known, or has no such table, or none for others. For a worker in a transaction, which may use the
  /// table until it ends.
  const KnownTable* find(rdma::NodeId node, messages::TableId table) const {
    if (node >= nodes_.size()) return nullptr;
    const KnownNode* const known = nodes_[node].load(std::memory_order_acquire);
    return known == nullptr ? nullptr : known->find(table);
  }

  /// Returns whether a life of the node is known.
  bool knows(rdma::NodeId node) const {
    return node < nodes_.size() && nodes_[node].load(std::memory_order_relaxed) != nullptr;
  }

  /// The memory that the location caches of all nodes share.
  const kvstore::remote::LocationBudget& budget() const { return budget_; }

 private:
  FormerLife exchange(rdma::NodeId node, FormerLife known);

  std::mutex mutex_;  // keeps what is known while its seals are noted
  kvstore::remote::LocationBudget budget_;
  /// By node; owned. The exchange publishes a whole object to the workers' acquire loads. It is sequentially consistent, a full fence on
  /// x86-64, so that the E that its caller reads next is no older than the change: a transaction of a later epoch sees the change.
  std::array<std::atomic<const KnownNode*>, membership::kMostMembers> nodes_{};
};

}  // namespace granary::cluster
