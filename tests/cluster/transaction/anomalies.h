#pragma once
// The stage for anomalies with their keys on different nodes: x on node 0, y on node 1, z on node 2. Each history is
// run with its transactions at the owners of what they touch, at other nodes, and at both, since each pair conflicts by
// another mechanism.

#include <string>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

#include "tests/cluster/transaction/sim_cluster.h"

namespace granary::cluster::test {

/// At which nodes transactions one and two run.
struct Coordinators {
  const char* name;
  std::size_t one, two;
};
inline constexpr Coordinators kCoordinators[] = {{"OwnerOfXAndOwnerOfY", 0, 1},
                                                 {"BothAtTheOwnerOfX", 0, 0},
                                                 {"OwnerAndOther", 0, 2},
                                                 {"OtherAndOwner", 2, 1},
                                                 {"BothElsewhere", 2, 2}};

class AcrossAnomalies : public testing::TestWithParam<std::tuple<Coordinators, IndexKind>> {
 protected:
  AcrossAnomalies()
      : tables_(cluster_.tables("t", {.max_value_bytes = 8, .index = std::get<1>(GetParam()), .shared = true})) {
    cluster_.start();
    cluster_.pass_epochs(2);
    run(0, [&](Transaction& t) {
      set(t, 0, "0x", "10");
      set(t, 0, "1y", "20");
    });
  }

  const Coordinators& at() const { return std::get<0>(GetParam()); }
  bool ordered() const { return std::get<1>(GetParam()) == IndexKind::kOrdered; }
  /// Two workers a node: transactions one and two may share one.
  Transaction begin_one() { return cluster_.node(at().one).worker(0).begin(); }
  Transaction begin_two() { return cluster_.node(at().two).worker(1).begin(); }
  Transaction begin(std::size_t node) { return cluster_.node(node).worker(2).begin(); }

  std::string get(Transaction& t, std::size_t node, std::string_view key) {
    std::string value;
    const Outcome got = t.get(tables_[node], key, value);
    return got == Outcome::kOk ? value : got == Outcome::kNotFound ? "(none)" : "(aborted)";
  }
  std::string get_one(Transaction& t, std::string_view key) { return get(t, at().one, key); }
  std::string get_two(Transaction& t, std::string_view key) { return get(t, at().two, key); }
  void set(Transaction& t, std::size_t node, std::string_view key, std::string_view value) {
    (void)t.put(tables_[node], key, value);
  }
  void set_one(Transaction& t, std::string_view key, std::string_view value) { set(t, at().one, key, value); }
  void set_two(Transaction& t, std::string_view key, std::string_view value) { set(t, at().two, key, value); }
  std::string scan(Transaction& t, std::size_t node, std::string_view home) {
    return tests::scan_text(t, tables_[node], {.from = home});
  }
  /// "delete where v = value", of what is at home on nodes 0 and 1.
  void remove_where(Transaction& t, std::size_t node, std::string_view value) {
    std::vector<std::string> found;
    for (const std::string_view home : {"0", "1"}) {
      (void)t.scan(tables_[node], {.from = home}, [&](std::string_view key, std::string_view seen) {
        if (seen == value) found.emplace_back(key);
        return true;
      });
    }
    for (const std::string& key : found) (void)t.remove(tables_[node], key);
  }

  void run(std::size_t node, FunctionRef<void(Transaction&)> body) {
    Transaction t = begin(node);
    body(t);
    EXPECT_TRUE(t.commit().committed());
  }
  /// What is there now: "x y".
  std::string now() {
    std::string text;
    run(2, [&](Transaction& t) { text = get(t, 2, "0x") + " " + get(t, 2, "1y"); });
    return text;
  }
  static bool conflicts(const CommitResult& done) {
    EXPECT_TRUE(done.committed() || is_retryable(done.reason)) << name(done.reason);
    return !done.committed();
  }

  SimCluster cluster_{3, 3};
  const std::vector<Table> tables_;
};

/// For both kinds of tables.
inline auto all_coordinators() {
  return testing::Combine(testing::ValuesIn(kCoordinators), testing::Values(IndexKind::kHash, IndexKind::kOrdered));
}
inline std::string coordinators_name(const testing::TestParamInfo<std::tuple<Coordinators, IndexKind>>& of) {
  return std::string(std::get<0>(of.param).name) + (std::get<1>(of.param) == IndexKind::kHash ? "Hash" : "Ordered");
}

}  // namespace granary::cluster::test
