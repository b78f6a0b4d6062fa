#include "src/cluster/transaction/directory.h"

#include "src/cluster/record_access/regions.h"

namespace granary::cluster {

void Directory::learn(rdma::NodeId node, rdma::Generation generation, const messages::DescribeAnswer& said) {
  if (nodes_.size() <= node) nodes_.resize(node + std::size_t{1});
  auto& tables = nodes_[node];
  tables.clear();
  for (const messages::TableDescription& table : said.tables) {
    if (tables.size() <= table.id) tables.resize(table.id + std::size_t{1});
    auto known = std::make_unique<KnownTable>();
    known->kind = table.kind;
    known->remote = {
        .main = {.node = node, .region = kDataRegion, .generation = generation, .offset = table.main_offset},
        .buckets = table.buckets,
        .owner_base = said.region_base,
        .max_value_bytes = table.max_value_bytes};
    if (known->hashed()) known->cache = std::make_unique<kvstore::remote::LocationCache>(budget_);
    tables[table.id] = std::move(known);
  }
}

}  // namespace granary::cluster
