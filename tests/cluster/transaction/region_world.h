#pragma once
// A cluster for tests of HTM regions across nodes.

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "src/base/test_hooks.h"
#include "tests/cluster/transaction/sim_cluster.h"

namespace granary::cluster::test {

inline constexpr std::uint64_t kNow = 1'000'000;

/// Two nodes whose commits run in simulated HTM regions, with the keys 0x and 0y, 1x and 1y. Nothing aborts by chance.
class RegionWorld : tests::WithRegions {
 public:
  /// Without a protocol it has the one that the program is tested with, if that can commit in regions.
  explicit RegionWorld(Htm htm, const std::string& directory = "", const std::optional<std::string>& protocol = {})
      : cluster_(2, 2, {.seed = 1},
                 [&](unsigned id) {
                   Options options = tests::manual_options();
                   options.htm = htm;
                   if (protocol) options.protocol = *protocol;
                   options.htm_simulation.spurious_per_thousand = 0;
                   if (directory.empty()) return options;
                   options.directory = directory + "/" + std::to_string(id);
                   options.reliable_directory = options.directory + "-rings";
                   return options;
                 }),
        tables_(cluster_.tables("t", {.max_value_bytes = 32, .index = IndexKind::kHash, .shared = true})) {
    cluster_.start();
    cluster_.pass_epochs(2);
    cluster_.set_time(kNow);
    for (const std::string key : {"0x", "0y", "1x", "1y"}) {
      Transaction t = begin(home_of(key));
      put(t, key, "old");
      EXPECT_EQ(t.commit().reason, AbortReason::kNone);
    }
  }
  ~RegionWorld() { base::set_sync_hook({}); }
  RegionWorld(const RegionWorld&) = delete;
  RegionWorld& operator=(const RegionWorld&) = delete;

  SimCluster& cluster() { return cluster_; }
  Transaction begin(std::size_t node, std::size_t worker = 0) { return cluster_.node(node).worker(worker).begin(); }
  std::string get(Transaction& t, std::string_view key, std::size_t node = 0) {
    std::string value;
    return t.get(tables_[node], key, value) == Outcome::kOk ? value : "(none)";
  }
  void put(Transaction& t, std::string_view key, std::string_view value) {
    EXPECT_EQ(t.put(tables_[home_of(key)], key, value), Outcome::kOk);
  }
  /// By node 0, whatever the key's home.
  void put_from_0(Transaction& t, std::string_view key) { put_at(0, t, key, "new"); }
  void put_at(std::size_t node, Transaction& t, std::string_view key, std::string_view value) {
    EXPECT_EQ(t.put(tables_[node], key, value), Outcome::kOk);
  }
  void declare(Transaction& t, std::string_view key, bool write) { declare_at(0, t, key, write); }
  void declare_at(std::size_t node, Transaction& t, std::string_view key, bool write) {
    const Declared read{tables_[node], key, write};
    EXPECT_EQ(t.declare({&read, 1}), Outcome::kOk);
  }
  void declare_read(Transaction& t, std::string_view key) { declare(t, key, false); }
  /// Returns what a snapshot of node 0 sees.
  std::string snapshot_value(Snapshot& snapshot, std::string_view key) {
    std::string value;
    return snapshot.get(tables_[0], key, value) == Outcome::kOk ? value : "(none)";
  }
  std::string at(std::string_view key) {
    Transaction t = begin(home_of(key), 1);
    return get(t, key, home_of(key));
  }
  /// Once, when node 0's commit first comes to one of these points.
  void at_point(std::string_view one, std::string_view other, std::function<void()> body) {
    base::set_sync_hook([=, this, done = false](std::string_view point) mutable {
      if ((point == one || point == other) && !std::exchange(done, true)) body();
    });
  }
  std::uint64_t regions() { return cluster_.node(0).database().statistics().htm.commits; }
  std::uint64_t fallbacks() { return cluster_.node(0).database().statistics().htm.fallbacks; }
  std::uint64_t logged() { return cluster_.node(0).database().statistics().log_bytes; }

 private:
  SimCluster cluster_;
  const std::vector<Table> tables_;
};

}  // namespace granary::cluster::test
