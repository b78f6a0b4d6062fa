#pragma once
// Three simulated nodes with a table, for transactions that are run step by step.

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/cluster/transaction/sim_cluster.h"

namespace granary::cluster::test {

inline std::string value_of(Transaction& t, const Table& table, std::string_view key) {
  std::string value;
  const Outcome got = t.get(table, key, value);
  if (got == Outcome::kOk) return value;
  return got == Outcome::kNotFound ? "(none)" : "(" + std::string(name(got)) + ")";
}

/// Keys "0…" are node 0's, and so on.
class AcrossNodes : public testing::TestWithParam<IndexKind> {
 protected:
  AcrossNodes() : AcrossNodes({.max_value_bytes = 32, .index = GetParam(), .shared = true}) {}
  explicit AcrossNodes(const TableOptions& options) : tables_(cluster_.tables("t", options)) {
    cluster_.start();
    cluster_.pass_epochs(2);
    for (const std::string key : {"0x", "1x", "1y", "2x"}) {
      commit(home_of(key),
             [&](Transaction& t, const Table& table) { EXPECT_EQ(t.put(table, key, "old"), Outcome::kOk); });
    }
  }

  using Body = FunctionRef<void(Transaction&, const Table&)>;

  Transaction begin(std::size_t node, std::size_t worker = 0) { return cluster_.node(node).worker(worker).begin(); }
  const Table& table(std::size_t node) const { return tables_[node]; }
  Ticket commit(std::size_t node, Body body) {
    Transaction t = begin(node);
    body(t, table(node));
    const CommitResult done = t.commit();
    EXPECT_TRUE(done.committed()) << name(done.reason);
    return done.ticket;
  }
  std::string at(std::size_t node, std::string_view key) {
    std::string value;
    commit(node, [&](Transaction& t, const Table& table) { value = value_of(t, table, key); });
    return value;
  }

  SimCluster cluster_{3};
  std::vector<Table> tables_;  ///< of each node's present life
};

}  // namespace granary::cluster::test
