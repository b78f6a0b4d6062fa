#pragma once
// Two nodes with directories that end, in order or not, and start again.

#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include <granary/cluster.h>
#include <gtest/gtest.h>

#include "cluster_config/membership/configuration.h"
#include "cluster_config/membership/local/local_board.h"
#include "tests/node/accounts.h"
#include "tests/node/local_cluster.h"

namespace granary::tests {

/// Two nodes with directories, of which node 1 writes to the accounts of both.
class ClusterRestart : public testing::Test {
 protected:
  void write_to_both() {
    on_each_node(file_, 2, [](Cluster& cluster) {
      const auto accounts = make_accounts(cluster, IndexKind::kHash);
      ASSERT_TRUE(cluster.start().ok());
      if (cluster.node() == 1) {
        auto worker = cluster.register_worker().value();
        EXPECT_TRUE(worker
                        ->run([&](Transaction& t) {
                          (void)t.put(accounts, 0, {7});
                          (void)t.put(accounts, kAccounts, {8});
                        })
                        .committed());
      }
      EXPECT_TRUE(cluster.barrier().ok());
      if (dies_) ::_exit(testing::Test::HasFailure() ? 1 : 0);
    });
  }
  void expect_both() { on_each_node(file_, 2, expect_own); }
  /// Starts the node, and expects the account there that was written to.
  static void expect_own(Cluster& cluster) {
    const auto accounts = make_accounts(cluster, IndexKind::kHash);
    const Status started = cluster.start();
    ASSERT_TRUE(started.ok()) << started.message();
    auto worker = cluster.register_worker().value();
    std::int64_t here = 0;
    EXPECT_TRUE(worker->run([&](Transaction& t) { here = t.get(accounts, (cluster.node() - 1) * kAccounts)->balance; })
                    .committed());
    EXPECT_EQ(here, cluster.node() == 1 ? 7 : 8);
    EXPECT_TRUE(cluster.barrier().ok());
  }

  std::filesystem::path folder() const { return std::filesystem::path(file_.path()).parent_path(); }
  membership::MemberState state_of(NodeNumber node) const {
    const auto board = membership::open_local_board(folder() / "run", 60'000'000).value();
    return membership::configuration_of(board->read()->text)->find(node)->state;
  }
  /// `write_to_both` in a process that ends without leaving.
  void crash_after_writes() {
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      dies_ = true;
      write_to_both();
      ::_exit(2);
    }
    int status = -1;
    ::waitpid(child, &status, 0);
    ASSERT_EQ(status, 0);
  }
  /// They start with what is there.
  void salvage_both() {
    on_each_node(
        file_, 2,
        [](Cluster& cluster) {
          (void)make_accounts(cluster, IndexKind::kHash);
          const Status started = cluster.start();
          EXPECT_TRUE(started.ok()) << started.message();
        },
        [](ClusterOptions& options) { options.database.salvage = true; });
  }
  /// Options of node 1, by a file that has no other node.
  ClusterOptions alone(const std::string& data_directory) const {
    ClusterOptions options = node_options(file_, 1);
    options.file = folder() / "smaller.toml";
    std::ofstream(options.file)
        << "[cluster]\nname = \"test\"\nrun_directory = \"run\"\nepoch_ms = 5\n[[node]]\nid = 1\n"
           "memory = \"64MiB\"\nreliable_directory = \"rings\"\ndata_directory = \""
        << data_directory << "\"\n";
    return options;
  }
  std::string why_refused(NodeNumber node) { return Cluster::join(node_options(file_, node)).status().message(); }

  static inline bool dies_ = false;  ///< this process is one that does
  ClusterFile file_{2, 2, "", "data_directory = \"data\"\nreliable_directory = \"rings\"\n"};
};

}  // namespace granary::tests
