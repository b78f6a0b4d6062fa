#pragma once
// Makes the tables and indexes of a cluster, notes which node has which of their keys, and checks that all nodes have
// made the same ones. All are made before the cluster starts.

#include <optional>
#include <string_view>
#include <vector>

#include <granary/cluster.h>

#include "src/cluster/messages/question.h"
#include "src/cluster/messages/requests.h"
#include "src/txn/table_core.h"

namespace granary::db {

class ClusterTables {
 public:
  ClusterTables(NodeNumber own, Database& database) : own_(own), database_(database) {}

  Result<Table> create_table(std::string_view name, TableOptions options, Placement placement);
  Result<Index> create_index(const Table& table, std::string_view name, const IndexOptions& options,
                             Placement placement);
  /// Notes that the cluster starts: from now on no more are made.
  void close() { closed_ = true; }
  /// Notes that the node has left the cluster, so no more are made either.
  void leave() { closed_ = left_ = true; }
  /// Returns the home of a key of a table that create_table() made.
  Result<NodeNumber> home_of(const Table& table, std::string_view key) const;

 private:
  Status check_open(std::string_view what) const;
  void place(txn::TableCore* core, Placement placement);

  const NodeNumber own_;
  Database& database_;
  bool closed_ = false;
  bool left_ = false;
  std::vector<txn::TableCore*> made_;
};

/// Returns what the node says of its shared tables, which takes a question for each piece of it. `ask` asks a question,
/// and tells whether it was answered. Returns nothing if one was not, and the error that `ask` returns.
Result<std::optional<cluster::messages::DescribeAnswer>> ask_for_tables(
    NodeNumber node, FunctionRef<Result<bool>(cluster::messages::Question&)> ask);

/// Returns kFailedPrecondition, naming the difference, unless the protocol and the shared tables of a node are the same
/// as this node's own.
Status compare_tables(const cluster::messages::DescribeAnswer& own, NodeNumber node,
                      const cluster::messages::DescribeAnswer& said);

}  // namespace granary::db
