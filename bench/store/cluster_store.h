#pragma once
// The Store back-end that is a node of a cluster: tables whose rows are where TableLayout::home says.

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "bench/harness/protocol.h"
#include "bench/store/cluster_node.h"
#include "bench/store/worker_session.h"
#include "src/db/options_check.h"

namespace granary::bench::store {

class ClusterStore {
 public:
  template <typename K, typename V>
  using Table = TypedTable<K, V>;
  using Transaction = GranaryTransaction;
  using SnapshotReader = GranaryReader<granary::Snapshot>;
  using Session = WorkerSession<HeldClusterWorker>;

  static Result<std::unique_ptr<ClusterStore>> open(const ClusterOptions& options, Protocol protocol) {
    auto cluster = Cluster::join(options);
    if (!cluster.ok()) return cluster.status();
    const bool declares = protocol == Protocol::kLease2pl || db::runs_in_regions(options.database);
    return std::make_unique<ClusterStore>(std::move(*cluster), declares);
  }
  /// `declares` is as for GranaryTransaction.
  ClusterStore(std::unique_ptr<Cluster> cluster, bool declares)
      : node_(std::move(cluster)),
        nodes_(node_.cluster().nodes()),
        declares_(declares) {}

  /// Creates a table. Precondition: there is no session yet.
  template <typename K, typename V>
  Result<TypedTable<K, V>> create_table(const std::string& name, std::uint32_t /*partition*/,
                                        const TableLayout& layout = {}) {
    TableOptions options;
    if (layout.hash) options = {.index = IndexKind::kHash, .expected_keys = layout.rows};
    options.immutable = layout.loaded_once;
    return node_.cluster().create_table<K, V>(name, options, placement(layout));
  }
  bool splits_tables() const { return false; }
  /// Seals the table. The other nodes know it after meet().
  Status seal(const granary::Table& table) { return node_.cluster().database().seal(table); }

  Result<std::unique_ptr<Session>> session(std::uint64_t seed) {
    auto worker = node_.worker();
    if (!worker.ok()) return worker.status();
    return std::make_unique<Session>(std::move(*worker), base::Random(seed, Session::kStream), declares_);
  }

  StoreFigures figures() const { return node_.figures(); }
  const Database* logged_database() const { return node_.logged_database(); }
  ClusterFigures cluster_figures() const { return node_.cluster_figures(); }
  Status meet() { return node_.cluster().barrier(); }
  bool rejoined() { return node_.cluster().rejoined(); }
  Status node_status() const { return node_.status(); }

 private:
  /// Returns the placement of a table. The layout's nodes count from 0, while the cluster's have numbers.
  Placement placement(const TableLayout& layout) const {
    if (!layout.home) return Placement::replicated();
    return {[nodes = nodes_, home = layout.home](std::string_view key) {
      std::uint64_t word = 0;
      std::memcpy(&word, key.data(), sizeof word);
      return nodes[home(__builtin_bswap64(word))];
    }};
  }

  ClusterNode node_;
  const std::vector<NodeNumber> nodes_;
  const bool declares_;
};

static_assert(Store<ClusterStore>);

}  // namespace granary::bench::store
