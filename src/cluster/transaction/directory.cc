#include "src/cluster/transaction/directory.h"

#include "src/base/check.h"
#include "src/base/test_hooks.h"
#include "src/cluster/record_access/regions.h"

namespace granary::cluster {

KnownNode::KnownNode(rdma::NodeId node, rdma::Generation generation, const messages::DescribeAnswer& said,
                     kvstore::remote::LocationBudget& budget)
    : generation_(generation) {
  for (const messages::TableDescription& table : said.tables) {
    if (tables_.size() <= table.id) tables_.resize(table.id + std::size_t{1});
    auto known = std::make_unique<KnownTable>();
    known->kind = table.kind;
    known->remote = {
        .main = {.node = node, .region = kDataRegion, .generation = generation, .offset = table.main_offset},
        .buckets = table.buckets,
        .owner_base = said.region_base,
        .max_value_bytes = table.max_value_bytes};
    if (known->hashed()) {
      known->cache = std::make_unique<kvstore::remote::LocationCache>(budget);
      known->sweep = std::make_unique<kvstore::remote::HeaderSweep>(known->remote, *known->cache);
    } else {
      known->leaves = std::make_unique<kvstore::remote::LeafCache>(budget);
    }
    tables_[table.id] = std::move(known);
  }
  note_sealed(said);
}

void KnownNode::note_sealed(const messages::DescribeAnswer& said) const {
  for (const messages::TableDescription& table : said.tables) {
    const KnownTable* const known = find(table.id);
    if (known != nullptr) known->sealed_from.store(table.sealed_from, std::memory_order_release);
  }
}

Directory::~Directory() {
  for (rdma::NodeId node = 0; node < nodes_.size(); ++node) exchange(node, nullptr);
}

FormerLife Directory::learn(rdma::NodeId node, rdma::Generation generation, const messages::DescribeAnswer& said) {
  auto known = std::make_unique<const KnownNode>(node, generation, said, budget_);
  const std::lock_guard lock(mutex_);
  return exchange(node, std::move(known));
}

FormerLife Directory::forget_former(rdma::NodeId node, rdma::Generation generation) {
  const std::lock_guard lock(mutex_);
  const KnownNode* const known = nodes_.at(node).load(std::memory_order_relaxed);
  if (known == nullptr || known->generation() == generation || base::injected("keep-former-tables")) return nullptr;
  return exchange(node, nullptr);
}

void Directory::note_sealed(rdma::NodeId node, rdma::Generation generation, const messages::DescribeAnswer& said) {
  const std::lock_guard lock(mutex_);
  const KnownNode* const known = nodes_.at(node).load(std::memory_order_relaxed);
  if (known != nullptr && known->generation() == generation) known->note_sealed(said);
}

FormerLife Directory::exchange(rdma::NodeId node, FormerLife known) {
  base::always_check(node < nodes_.size(), "a cluster has no more nodes than a configuration has members");
  return FormerLife(nodes_[node].exchange(known.release(), std::memory_order_seq_cst));
}

}  // namespace granary::cluster
