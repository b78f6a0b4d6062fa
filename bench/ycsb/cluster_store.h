#pragma once
// The YCSB operations on a node of a cluster: its transactions read and write the keys of all nodes.

#include <memory>
#include <utility>

#include "bench/store/cluster_node.h"
#include "bench/ycsb/engine_store.h"
#include "bench/ycsb/requests.h"

namespace granary::bench::ycsb {

class ClusterStore {
 public:
  using Session = KeySession<store::HeldClusterWorker>;

  static Result<std::unique_ptr<ClusterStore>> open(const Settings& settings, const Parameters& parameters) {
    auto cluster = Cluster::join(settings.cluster);
    if (!cluster.ok()) return cluster.status();
    const auto home = [nodes = (*cluster)->nodes(), ranges = parameters.ranges()](std::string_view key) {
      return nodes[ranges.part_of(KeyBytes::number(key))];
    };
    Result<Table> table = (*cluster)->create_table(
        "usertable",
        {.max_value_bytes = parameters.value_bytes, .index = IndexKind::kHash, .expected_keys = parameters.keys},
        Placement{home});
    if (!table.ok()) return table.status();
    const bool declares = settings.protocol == Protocol::kLease2pl || db::runs_in_regions(settings.options);
    return std::make_unique<ClusterStore>(std::move(*cluster), *table, declares);
  }
  /// `declares` is as for KeySession.
  ClusterStore(std::unique_ptr<Cluster> cluster, Table table, bool declares)
      : node_(std::move(cluster)),
        table_(table),
        declares_(declares) {}

  Result<std::unique_ptr<Session>> session(std::uint64_t seed) {
    auto worker = node_.worker();
    if (!worker.ok()) return worker.status();
    return std::make_unique<Session>(std::move(*worker), table_, base::Random(seed), declares_);
  }
  StoreFigures figures() const { return node_.figures(); }
  const Database* logged_database() const { return node_.logged_database(); }
  ClusterFigures cluster_figures() const { return node_.cluster_figures(); }
  Status meet() { return node_.cluster().barrier(); }
  Status node_status() const { return node_.status(); }

 private:
  store::ClusterNode node_;
  const Table table_;
  const bool declares_;
};

}  // namespace granary::bench::ycsb
