#pragma once
// A Store for the tests of workloads whose data is spread over nodes. Each node opens a view of one database, so that
// it reaches the rows of other nodes. In tables without a home, each node has rows of its own.

#include <memory>
#include <string>
#include <utility>

#include "bench/store/granary_store.h"

namespace granary::bench::store {

class SharedDatabaseStore {
 public:
  template <typename K, typename V>
  using Table = TypedTable<K, V>;
  using Transaction = GranaryTransaction;
  using SnapshotReader = GranaryReader<granary::Snapshot>;
  using Session = GranaryStore::Session;

  SharedDatabaseStore(std::shared_ptr<GranaryStore> all, std::uint32_t node) : all_(std::move(all)), node_(node) {}

  template <typename K, typename V>
  Result<TypedTable<K, V>> create_table(const std::string& name, std::uint32_t partition, const TableLayout& layout) {
    if (!layout.home) return all_->create_table<K, V>(name + " of node " + std::to_string(node_), partition, layout);
    const auto made = all_->database().table(name);  // another node may have created it
    if (made.ok()) return TypedTable<K, V>(*made);
    return all_->create_table<K, V>(name, partition, layout);
  }
  bool splits_tables() const { return false; }
  Result<std::unique_ptr<Session>> session(std::uint64_t seed) { return all_->session(seed); }
  StoreFigures figures() const { return all_->figures(); }

 private:
  std::shared_ptr<GranaryStore> all_;
  const std::uint32_t node_;
};

static_assert(Store<SharedDatabaseStore>);

/// Adds up the sums that a node could not judge alone. Returns whether every finding holds and every two sums agree.
inline bool all_hold(const std::vector<std::vector<Finding>>& nodes, std::string& why) {
  for (std::size_t i = 0; i < nodes.front().size(); ++i) {
    Tally sum;
    for (const std::vector<Finding>& findings : nodes) {
      if (!findings[i].holds) why = findings[i].condition + ": " + findings[i].detail;
      sum.expected += findings[i].tally.value_or(Tally{}).expected;
      sum.found += findings[i].tally.value_or(Tally{}).found;
    }
    if (sum.expected != sum.found) why = nodes.front()[i].condition + " over all nodes";
  }
  return why.empty();
}

}  // namespace granary::bench::store
