// A cluster through its public face: it starts, runs transactions on the keys of all nodes, calls procedures, and says what is wrong.

#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <stdexcept>

#include <granary/cluster.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cluster_config/key_file.h"
#include "cluster_config/load.h"
#include "cluster_config/membership/membership.h"
#include "src/base/build_info.h"
#include "src/db/cluster/cluster_protocol.h"
#include "src/db/cluster/node_fabric.h"
#include "cluster_config/membership/configuration.h"
#include "cluster_config/membership/life.h"
#include "cluster_config/membership/local/local_board.h"
#include "recovery/manifest.h"
#include "src/base/test_hooks.h"
#include "tests/cluster/local_cluster.h"

namespace granary {
namespace {

using tests::ClusterFile;
using tests::node_options;
using tests::on_each_node;

constexpr unsigned kNodes = 3;
constexpr std::uint64_t kAccounts = 10;  ///< of each node
constexpr std::int64_t kMoney = 100;     ///< of each account

struct Account {
  std::int64_t balance;
};

/// Account a is node (a / kAccounts + 1)'s.
NodeNumber home_of(std::string_view key) {
  std::uint64_t account = 0;
  (void)decode_key(key, account);
  return static_cast<NodeNumber>(account / kAccounts + 1);
}

TypedTable<std::uint64_t, Account> make_accounts(Cluster& cluster, IndexKind kind) {
  auto table = cluster.create_table<std::uint64_t, Account>("accounts", {.index = kind}, Placement{home_of});
  EXPECT_TRUE(table.ok()) << table.status().message();
  return *table;
}

void load(Cluster& cluster, ClusterWorker& worker, const TypedTable<std::uint64_t, Account>& accounts) {
  for (std::uint64_t i = 0; i < kAccounts; ++i) {
    const std::uint64_t account = (cluster.node() - 1) * kAccounts + i;
    EXPECT_TRUE(worker.run([&](Transaction& t) { (void)t.put(accounts, account, {kMoney}); }).committed());
  }
  EXPECT_TRUE(cluster.barrier().ok());
}

std::int64_t total(ClusterWorker& worker, const TypedTable<std::uint64_t, Account>& accounts) {
  std::int64_t sum = 0;
  EXPECT_TRUE(worker
                  .run([&](Transaction& t) {
                    sum = 0;
                    for (std::uint64_t account = 0; account < kNodes * kAccounts; ++account) {
                      const auto found = t.get(accounts, account);
                      if (found) sum += found->balance;
                    }
                  })
                  .committed());
  return sum;
}

class Clusters : public testing::TestWithParam<IndexKind> {};
INSTANTIATE_TEST_SUITE_P(Kinds, Clusters, testing::Values(IndexKind::kHash, IndexKind::kOrdered),
                         [](const auto& kind) { return kind.param == IndexKind::kHash ? "Hash" : "Ordered"; });

TEST_P(Clusters, MoneyIsMovedBetweenNodesAndStays) {
  constexpr int kTransfers = 300;
  const ClusterFile file(kNodes);
  on_each_node(file, kNodes, [&](Cluster& cluster) {
    const auto accounts = make_accounts(cluster, GetParam());
    const Status started = cluster.start();
    ASSERT_TRUE(started.ok()) << started.message();
    auto worker = cluster.register_worker().value();
    load(cluster, *worker, accounts);
    std::uint64_t random = cluster.node() * 77777u;
    for (int i = 0; i < kTransfers; ++i) {
      random = random * 6364136223846793005u + 1442695040888963407u;
      const std::uint64_t from = (random >> 33) % (kNodes * kAccounts);
      const std::uint64_t to = (random >> 13) % (kNodes * kAccounts);
      const RunResult done = worker->run([&](Transaction& t) {
        const auto source = t.get(accounts, from);
        const auto target = t.get(accounts, to);
        if (!source || !target || from == to) return;
        (void)t.put(accounts, from, {source->balance - 1});
        (void)t.put(accounts, to, {target->balance + 1});
      });
      ASSERT_TRUE(done.committed()) << name(done.reason);
      if (i % 50 == 0) {
        EXPECT_EQ(total(*worker, accounts), std::int64_t{kNodes * kAccounts} * kMoney);
      }
    }
    ASSERT_TRUE(cluster.barrier().ok());
    EXPECT_EQ(total(*worker, accounts), std::int64_t{kNodes * kAccounts} * kMoney);
    ASSERT_TRUE(cluster.barrier().ok());
    EXPECT_GT(cluster.statistics().transactions, 0u);
    EXPECT_EQ(cluster.clock().source, "host");
    EXPECT_EQ(cluster.clock().delta_us, 0u);
  });
}

/// Beside transfers that are not: locks and leases in advance, and validation, meet on the same accounts.
TEST_P(Clusters, MoneyIsMovedByTransfersThatAreDeclared) {
  constexpr std::uint64_t kTransfers = 120;
  const ClusterFile file(kNodes);
  on_each_node(file, kNodes, [&](Cluster& cluster) {
    const auto accounts = make_accounts(cluster, GetParam());
    ASSERT_TRUE(cluster.start().ok());
    auto worker = cluster.register_worker().value();
    load(cluster, *worker, accounts);
    for (std::uint64_t i = 0; i < kTransfers; ++i) {
      const std::uint64_t from = (i * 7 + cluster.node()) % (kNodes * kAccounts);
      const std::uint64_t to = (i * 11 + 3 * cluster.node() + 1) % (kNodes * kAccounts);
      const std::uint64_t looked_at = (i * 13) % (kNodes * kAccounts);
      if (from == to) continue;
      const EncodedKey<std::uint64_t> source_key(from), target_key(to), looked_at_key(looked_at);
      std::vector<Declared> keys{{accounts, source_key, true}, {accounts, target_key, true}};
      if (i % 16 == 0 && looked_at != from && looked_at != to) keys.push_back({accounts, looked_at_key, false});
      const RunResult done = worker->run([&](Transaction& t) {
        if (i % 3 != 0 && t.declare(keys) != Outcome::kOk) return;
        const auto source = t.get(accounts, from);
        const auto target = t.get(accounts, to);
        if (i % 16 == 0 && !t.get(accounts, looked_at)) return;
        if (!source || !target) return;
        (void)t.put(accounts, from, {source->balance - 1});
        (void)t.put(accounts, to, {target->balance + 1});
      });
      ASSERT_TRUE(done.committed()) << name(done.reason);
    }
    ASSERT_TRUE(cluster.barrier().ok());
    EXPECT_EQ(total(*worker, accounts), std::int64_t{kNodes * kAccounts} * kMoney);
    ASSERT_TRUE(cluster.barrier().ok());
  });
}

struct Deposit {
  std::uint64_t account;
  std::int64_t amount;
};

TEST_P(Clusters, ProceduresRunWhereTheirDataIs) {
  const ClusterFile file(kNodes);
  on_each_node(file, kNodes, [&](Cluster& cluster) {
    const auto accounts = make_accounts(cluster, GetParam());
    auto added = cluster.procedures().add<Deposit, Account>(
        "deposit", [accounts](Transaction& t, const Deposit& deposit, Account& now) {
          const auto found = t.get(accounts, deposit.account);
          now.balance = (found ? found->balance : 0) + deposit.amount;
          (void)t.put(accounts, deposit.account, now);
        });
    ASSERT_TRUE(added.ok());
    const auto throws = [](Transaction&, const Deposit&, Account&) { throw std::out_of_range("no such account"); };
    ASSERT_TRUE((cluster.procedures().add<Deposit, Account>("throw", throws).ok()));
    ASSERT_TRUE(cluster.start().ok());
    auto worker = cluster.register_worker().value();
    load(cluster, *worker, accounts);
    for (std::uint64_t node = 0; node < kNodes; ++node) {
      Account now{};
      const auto home = static_cast<NodeNumber>(node + 1);
      const auto done = worker->call(home, "deposit", Deposit{node * kAccounts + cluster.node(), 5}, now);
      ASSERT_TRUE(done.ok()) << done.status().message();
      EXPECT_TRUE(done->committed());
      EXPECT_EQ(now.balance, kMoney + 5);
      std::string reply;
      EXPECT_EQ(worker->call(home, "withdraw", std::string_view(), reply).status().code(), StatusCode::kNotFound);
      EXPECT_EQ(worker->call(home, "deposit", std::string_view("short"), reply).status().code(),
                StatusCode::kInvalidArgument);
      if (home == cluster.node()) continue;  // where the caller gets the exception
      EXPECT_THAT(worker->call(home, "throw", Deposit{}, now).status().message(),
                  testing::HasSubstr("no such account"));
      std::array<Account, 2> larger{};
      EXPECT_THAT(
          worker->call(home, "deposit", Deposit{node * kAccounts + cluster.node(), 0}, larger).status().message(),
          testing::HasSubstr("has run, and its reply has 8 bytes, not 16"));
    }
    ASSERT_TRUE(cluster.barrier().ok());
    EXPECT_EQ(total(*worker, accounts), std::int64_t{kNodes * kAccounts} * kMoney + kNodes * kNodes * 5);
    ASSERT_TRUE(cluster.barrier().ok());
  });
}

struct Who {
  NodeNumber node;
};

TEST(ClusterCalls, GoToTheHomeOfAKey) {
  const ClusterFile file(kNodes);
  on_each_node(file, kNodes, [&](Cluster& cluster) {
    const auto accounts = make_accounts(cluster, IndexKind::kHash);
    const auto rates = cluster.create_table<std::uint64_t, Account>("rates", {}, Placement::replicated()).value();
    const auto astray =
        cluster
            .create_table("astray", {.max_value_bytes = 8}, Placement{[](std::string_view) { return NodeNumber{77}; }})
            .value();
    const auto asked = cluster.procedures().add<Who, Who>(
        "who", [&cluster](Transaction&, const Who&, Who& who) { who.node = cluster.node(); });
    ASSERT_TRUE(asked.ok());
    ASSERT_TRUE(cluster.start().ok());
    auto worker = cluster.register_worker().value();
    Who who{};
    for (std::uint64_t account = 0; account < kNodes * kAccounts; account += kAccounts / 2) {
      const auto done = worker->call(accounts, account, "who", Who{}, who);
      ASSERT_TRUE(done.ok()) << done.status().message();
      EXPECT_EQ(who.node, account / kAccounts + 1);
    }
    const auto key = static_cast<std::uint64_t>(kNodes * kAccounts - 1);
    std::string reply;
    ASSERT_TRUE(worker->call(accounts, encode_key(key), "who", std::string_view("\0", 2), reply).ok());
    EXPECT_EQ(reply, std::string({static_cast<char>(kNodes), '\0'})) << "as bytes";
    ASSERT_TRUE(worker->call(rates, key, "who", Who{}, who).ok());
    EXPECT_EQ(who.node, cluster.node()) << "every node has all of a replicated table";
    EXPECT_EQ(worker->call(accounts, key, "nobody", Who{}, who).status().code(), StatusCode::kNotFound);

    const Table local = cluster.database().create_table("own").value();
    const Status refused = worker->call(local, "key", "who", std::string_view("\0", 2), reply).status();
    EXPECT_EQ(refused.code(), StatusCode::kInvalidArgument);
    EXPECT_THAT(refused.message(), testing::HasSubstr("table 'own' have no home"));
    EXPECT_EQ(worker->call(Table(), "key", "who", std::string_view("\0", 2), reply).status().code(),
              StatusCode::kInvalidArgument);
    const Status nowhere = worker->call(astray, "key", "who", std::string_view("\0", 2), reply).status();
    EXPECT_EQ(nowhere.code(), StatusCode::kInvalidArgument);
    EXPECT_THAT(nowhere.message(), testing::HasSubstr("node 77: " + file.path() + " has no such node"));
    ASSERT_TRUE(cluster.barrier().ok());
  });
}

/// Tables have the same numbers at all nodes, those that no other node reaches among them.
TEST_P(Clusters, ATableOfTheDatabaseAloneMayComeFirst) {
  const ClusterFile file(2);
  on_each_node(file, 2, [](Cluster& cluster) {
    ASSERT_TRUE(cluster.database().create_table("own").ok());
    const auto accounts = make_accounts(cluster, GetParam());
    const Status started = cluster.start();
    ASSERT_TRUE(started.ok()) << started.message();
    auto worker = cluster.register_worker().value();
    const std::uint64_t elsewhere = cluster.node() == 1 ? kAccounts : 0;
    EXPECT_TRUE(worker->run([&](Transaction& t) { (void)t.put(accounts, elsewhere, {7}); }).committed());
    ASSERT_TRUE(cluster.barrier().ok());
    std::int64_t here = 0;
    const std::uint64_t own = kAccounts - elsewhere;
    EXPECT_TRUE(
        worker->run([&](Transaction& t) { here = t.get(accounts, own).value_or(Account{}).balance; }).committed());
    EXPECT_EQ(here, 7);
    ASSERT_TRUE(cluster.barrier().ok());
  });
}

TEST(ClusterErrors, AMissingNodeIsNamed) {
  const ClusterFile file(2);
  ClusterOptions options = node_options(file, 1);
  options.start_timeout_ms = 50;
  auto alone = Cluster::join(options);
  ASSERT_TRUE(alone.ok()) << alone.status().message();
  const Status started = (*alone)->start();
  EXPECT_EQ(started.code(), StatusCode::kUnavailable);
  EXPECT_NE(started.message().find("have not joined: 2;"), std::string::npos) << started.message();
}

TEST(ClusterErrors, ANodeOutsideOfTheFileIsRefused) {
  const ClusterFile file(2);
  EXPECT_EQ(Cluster::join(node_options(file, 3)).status().code(), StatusCode::kInvalidArgument);
}

TEST(ClusterNodes, MayHaveNumbersFarApart) {
  const ClusterFile file(1);
  const std::filesystem::path apart = std::filesystem::path(file.path()).parent_path() / "apart.toml";
  std::ofstream(apart)
      << "[cluster]\nname = \"apart\"\nrun_directory = \"apart\"\nepoch_ms = 5\n[defaults]\nmemory = \"64MiB\"\n"
         "[[node]]\nid = 7\n[[node]]\nid = 1003\n[[node]]\nid = 4095\n";
  const std::vector<NodeNumber> numbers = {7, 1003, 4095};
  const auto home = [&](std::string_view key) { return numbers[static_cast<std::size_t>(key.back() - '0')]; };
  std::vector<std::thread> threads;
  for (const NodeNumber number : numbers) {
    threads.emplace_back([&, number] {
      ClusterOptions options = node_options(file, number);
      options.file = apart;
      auto cluster = Cluster::join(options).value();
      const Table table = cluster->create_table("t", {.max_value_bytes = 8}, {home}).value();
      ASSERT_TRUE(cluster->start().ok());
      auto worker = cluster->register_worker().value();
      const auto put_everywhere = [&](Transaction& t) {
        for (const char node : {'0', '1', '2'}) (void)t.put(table, std::to_string(number) + node, "value");
      };
      EXPECT_TRUE(worker->run(put_everywhere).committed());
      EXPECT_TRUE(cluster->barrier().ok());
      worker.reset();
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(ClusterNodes, WhatMayPassIsTriedAgainForAsLongAsIsWanted) {
  const ClusterFile file(2);
  on_each_node(file, 2, [](Cluster& cluster) {
    const auto accounts = make_accounts(cluster, IndexKind::kHash);
    ASSERT_TRUE(cluster.start().ok());
    if (cluster.node() == 2) return;
    auto worker = cluster.register_worker().value();
    const auto put = [&](Transaction& t) { (void)t.put(accounts, kAccounts, {1}); };
    while (worker->run(put).committed()) std::this_thread::yield();  // until node 2 has left
    EXPECT_EQ(worker->run(put).attempts, 1u);
    constexpr std::chrono::milliseconds kPatience(100);
    const auto begin = std::chrono::steady_clock::now();
    const RunResult patient = worker->run(put, {.patience_us = std::chrono::microseconds(kPatience).count()});
    EXPECT_EQ(patient.reason, AbortReason::kNodeUnreachable);
    EXPECT_GT(patient.attempts, 1u);
    EXPECT_GE(std::chrono::steady_clock::now() - begin, kPatience);
  });
}

TEST(ClusterNodes, RunOnTheCpusOfTheFile) {
  const ClusterFile file(1, 1, "", "cpus = \"0\"\n");
  on_each_node(file, 1, [](Cluster&) {
    cpu_set_t mine;
    ASSERT_EQ(::sched_getaffinity(0, sizeof mine, &mine), 0);
    EXPECT_EQ(CPU_COUNT(&mine), 1);
    EXPECT_TRUE(CPU_ISSET(0, &mine));
  });
  const ClusterFile nowhere(1, 1, "", "cpus = \"1000\"\n");
  EXPECT_THAT(Cluster::join(node_options(nowhere, 1)).status().message(), testing::HasSubstr("'cpus'"));
}

TEST(ClusterErrors, SimulatedHtmIsForOneProcess) {
  const ClusterFile file(2);
  ClusterOptions options = node_options(file, 1);
  options.database.htm = Htm::kSim;
  EXPECT_EQ(Cluster::join(options).status().code(), StatusCode::kInvalidArgument);
}

TEST(ClusterErrors, ANodeRunsOnce) {
  const ClusterFile file(2);
  const auto first = Cluster::join(node_options(file, 1));
  ASSERT_TRUE(first.ok());
  EXPECT_EQ(Cluster::join(node_options(file, 1)).status().code(), StatusCode::kAlreadyExists);
}

/// As a node of another release would have it, which takes the same cluster file.
TEST(ClusterErrors, ANodeOfAnotherProtocolIsRefused) {
  const ClusterFile file(2);
  const auto config = cluster_config::load(file.path()).value();
  db::make_run_directory(config);
  membership::MembershipOptions other{.node = 2,
                                      .cluster = "test",
                                      .fingerprint = cluster_config::fingerprint(config),
                                      .address = "elsewhere",
                                      .protocol = db::cluster_protocol() + 1,
                                      .release = "0.0.1"};
  const auto there = membership::Membership::join(db::open_board(config).value(), other, {});
  ASSERT_TRUE(there.ok()) << there.status().message();
  const Status refused = Cluster::join(node_options(file, 1)).status();
  EXPECT_EQ(refused.code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(refused.message(),
              testing::AllOf(testing::HasSubstr("node 1 is granary " + base::version_text()),
                             testing::HasSubstr("node 2 (elsewhere), which runs, is granary 0.0.1")));
  ASSERT_TRUE((*there)->leave().ok());
  EXPECT_TRUE(Cluster::join(node_options(file, 1)).ok());
}

/// One that has come past the membership: its fabric is told of the protocol as well.
TEST(ClusterErrors, TheFabricComparesTheProtocol) {
  const ClusterFile file(2);
  const auto config = cluster_config::load(file.path()).value();
  const auto fabric = db::open_fabric(config, *config.find(1), 1);
  ASSERT_TRUE(fabric.ok()) << fabric.status().message();
  EXPECT_NE((*fabric)->node().layout, cluster_config::fingerprint(config));
}

TEST(ClusterKeys, NodesWithTheSameKeyStartAndOthersDoNot) {
  const ClusterFile file(2, 1, "key_file = \"key\"\n");
  const std::string key = std::filesystem::path(file.path()).parent_path() / "key";
  EXPECT_EQ(Cluster::join(node_options(file, 1)).status().code(), StatusCode::kNotFound);
  ASSERT_TRUE(cluster_config::make_key(key).ok());
  on_each_node(file, 2, [](Cluster& cluster) {
    const Status started = cluster.start();
    EXPECT_TRUE(started.ok()) << started.message();
  });

  ClusterOptions options = node_options(file, 1);
  options.start_timeout_ms = 300;
  auto first = Cluster::join(options);
  ASSERT_TRUE(first.ok()) << first.status().message();
  std::filesystem::remove(key);
  ASSERT_TRUE(cluster_config::make_key(key).ok());
  options.node = 2;
  auto second = Cluster::join(options);
  ASSERT_TRUE(second.ok()) << second.status().message();
  std::thread other([&] { EXPECT_FALSE((*second)->start().ok()); });
  const Status started = (*first)->start();
  other.join();
  EXPECT_FALSE(started.ok());
  EXPECT_NE(started.message().find("another cluster key"), std::string::npos) << started.message();
}

TEST(ClusterErrors, TablesMustBeTheSameEverywhere) {
  const ClusterFile file(2);
  std::atomic<int> told{0};
  on_each_node(file, 2, [&](Cluster& cluster) {
    const std::string name = cluster.node() == 1 ? "accounts" : "customers";
    ASSERT_TRUE(cluster.create_table(name, {.max_value_bytes = 8}, Placement{home_of}).ok());
    const Status started = cluster.start();
    EXPECT_FALSE(started.ok());
    // The other may only see that this node has left because of it.
    if (started.message().find("tables differ") != std::string::npos) ++told;
  });
  EXPECT_GE(told, 1);
}

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
  void expect_both() {
    on_each_node(file_, 2, [](Cluster& cluster) {
      const auto accounts = make_accounts(cluster, IndexKind::kHash);
      const Status started = cluster.start();
      ASSERT_TRUE(started.ok()) << started.message();
      auto worker = cluster.register_worker().value();
      std::int64_t here = 0;
      EXPECT_TRUE(
          worker->run([&](Transaction& t) { here = t.get(accounts, (cluster.node() - 1) * kAccounts)->balance; })
              .committed());
      EXPECT_EQ(here, cluster.node() == 1 ? 7 : 8);
      EXPECT_TRUE(cluster.barrier().ok());
    });
  }

  std::filesystem::path folder() const { return std::filesystem::path(file_.path()).parent_path(); }
  membership::MemberState state_of(NodeNumber node) const {
    const auto board = membership::open_local_board(folder() / "run").value();
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
  std::string why_refused(NodeNumber node) { return Cluster::join(node_options(file_, node)).status().message(); }

  static inline bool dies_ = false;  ///< this process is one that does
  ClusterFile file_{2, 2, "", "data_directory = \"data\"\nreliable_directory = \"rings\"\n"};
};

TEST_F(ClusterRestart, ANodeHasWhatAnotherWroteThere) {
  write_to_both();
  expect_both();
}

TEST_F(ClusterRestart, TheRunDirectoryMayBeGone) {
  write_to_both();
  std::filesystem::remove_all(folder() / "run");  // as one in memory when the machine starts anew
  expect_both();
  const auto life = membership::read_life(base::system_files(), folder() / "data/node-2", "test", 2);
  ASSERT_TRUE(life.ok()) << life.status().message();
  EXPECT_EQ(life->generation, 2u) << "a generation was taken twice";
}

TEST_F(ClusterRestart, DataOfAnotherNodeAreRefused) {
  write_to_both();
  const std::filesystem::path first = folder() / "data/node-1", second = folder() / "data/node-2";
  std::filesystem::remove_all(second);
  std::filesystem::copy(first, second, std::filesystem::copy_options::recursive);
  for (const NodeNumber node : {NodeNumber{1}, NodeNumber{2}}) {  // node 1 recovers from both directories
    EXPECT_THAT(why_refused(node), testing::HasSubstr("node 1 of cluster 'test', not those of node 2"));
  }
}

TEST_F(ClusterRestart, DataOfAnotherClusterAreRefused) {
  write_to_both();
  std::ofstream(file_.path()) << "[cluster]\nname = \"other\"\nrun_directory = \"elsewhere\"\n[[node]]\nid = 1\n"
                                 "data_directory = \"data/node-1\"\n";
  EXPECT_THAT(why_refused(1), testing::HasSubstr("of cluster 'test', not those of node 1 of cluster 'other'"));
}

TEST_F(ClusterRestart, TheFirstNodeThatComesRecoversAfterACrash) {
  crash_after_writes();
  expect_both();
}

/// Else whoever starts meanwhile would read it too early, and D would go on without it.
TEST_F(ClusterRestart, ANodeHasLeftOnlyWhenItsLogIsWhole) {
  on_each_node(file_, 2, [this](Cluster& cluster) {
    ASSERT_TRUE(cluster.start().ok());
    const NodeNumber node = cluster.node();
    unsigned closed = 0;
    base::set_sync_hook([&](std::string_view point) {
      if (point != "cluster.closed") return;
      ++closed;
      EXPECT_EQ(state_of(node), membership::MemberState::kServing);
      const auto manifest =
          recovery::read_manifest(base::system_files(), folder() / ("data/node-" + std::to_string(node)));
      EXPECT_TRUE(manifest->generations.back().cut.has_value());
    });
    EXPECT_TRUE(cluster.leave().ok());
    base::set_sync_hook({});
    EXPECT_EQ(closed, 1u);
    EXPECT_EQ(state_of(node), membership::MemberState::kLeft);
  });
}

TEST_F(ClusterRestart, ANodeThatCannotEndItsLogHasDied) {
  on_each_node(file_, 2, [this](Cluster& cluster) {
    ASSERT_TRUE(cluster.start().ok());
    EXPECT_TRUE(cluster.barrier().ok());
    if (cluster.node() == 2) std::filesystem::remove_all(folder() / "data/node-2");
    EXPECT_EQ(cluster.leave().ok(), cluster.node() == 1);
  });
  EXPECT_EQ(state_of(1), membership::MemberState::kLeft);
  EXPECT_EQ(state_of(2), membership::MemberState::kDead);
}

/// As one that was stopped for longer than its membership lasted: its log has no end, and nobody may read it yet.
TEST_F(ClusterRestart, AFormerProcessIsWaitedFor) {
  crash_after_writes();
  auto held = base::system_files().lock(folder() / "data/node-2/LOCK").value();
  ClusterOptions impatient = node_options(file_, 1);
  impatient.start_timeout_ms = 100;
  EXPECT_THAT(Cluster::join(impatient).status().message(), testing::HasSubstr("still in use by a former process"));
  std::thread ending([&held] {
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    held.reset();
  });
  expect_both();
  ending.join();
}

TEST_F(ClusterRestart, ADirectoryThatIsEmptyNowIsMissed) {
  write_to_both();
  std::filesystem::remove_all(folder() / "data/node-2");
  for (const NodeNumber node : {NodeNumber{1}, NodeNumber{2}})
    EXPECT_THAT(why_refused(node), testing::HasSubstr("data/node-2' holds no data")) << node;
  on_each_node(
      file_, 2,
      [](Cluster& cluster) {
        (void)make_accounts(cluster, IndexKind::kHash);
        const Status started = cluster.start();
        EXPECT_TRUE(started.ok()) << started.message();
      },
      [](ClusterOptions& options) { options.database.salvage = true; });
}

TEST_F(ClusterRestart, ADeadNodeThatTheFileHasNoMoreHoldsNothingBack) {
  crash_after_writes();
  const std::filesystem::path smaller = folder() / "smaller.toml";
  std::ofstream(smaller) << "[cluster]\nname = \"test\"\nrun_directory = \"run\"\nepoch_ms = 5\n[[node]]\nid = 1\n"
                            "memory = \"64MiB\"\ndata_directory = \"smaller\"\nreliable_directory = \"rings\"\n";
  ClusterOptions options = node_options(file_, 1);
  options.file = smaller;
  auto cluster = Cluster::join(options).value();
  const auto accounts = make_accounts(*cluster, IndexKind::kHash);
  ASSERT_TRUE(cluster->start().ok());
  EXPECT_EQ(state_of(2), membership::MemberState::kDead);
  auto worker = cluster->register_worker().value();
  const RunResult done = worker->run([&](Transaction& t) { (void)t.put(accounts, 0, {7}); });
  ASSERT_TRUE(done.committed());
  const auto patience = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (cluster->database().released_epoch() < done.ticket.epoch && std::chrono::steady_clock::now() < patience)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_GE(cluster->database().released_epoch(), done.ticket.epoch);
  worker.reset();
}

TEST_F(ClusterRestart, ADirectoryOfANodeIsNotOpenedAlone) {
  write_to_both();
  Options alone;
  alone.directory = folder() / "data/node-1";
  const auto opened = Database::open(alone);
  EXPECT_EQ(opened.status().code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(opened.status().message(), testing::HasSubstr("has the data of a node of a cluster"));
  expect_both();
}

/// So their ids in the log and in messages are in another order than they are made in.
TEST_F(ClusterRestart, ATableMayBeAddedBeforeAnother) {
  const auto run = [this](bool added, std::int64_t expected) {
    on_each_node(file_, 2, [=](Cluster& cluster) {
      const auto home = [](std::string_view key) { return static_cast<NodeNumber>(key.back() - '0'); };
      const TableOptions options{.max_value_bytes = 8, .index = IndexKind::kHash};
      const Table first = cluster.create_table("first", options, {home}).value();
      if (added)
        (void)cluster.create_table("between", {.max_value_bytes = 4, .index = IndexKind::kHash}, {home}).value();
      const Table last = cluster.create_table("last", options, {home}).value();
      ASSERT_TRUE(cluster.start().ok());
      auto worker = cluster.register_worker().value();
      if (cluster.node() == 1) {
        EXPECT_TRUE(worker
                        ->run([&](Transaction& t) {
                          (void)t.put(first, "a2", "first");
                          (void)t.put(last, "b2" + std::to_string(expected) + "2", "last");
                        })
                        .committed());
      }
      EXPECT_TRUE(cluster.barrier().ok());
      std::int64_t count = 0;
      EXPECT_TRUE(worker
                      ->run([&](Transaction& t) {
                        count = 0;
                        std::string value;
                        for (std::int64_t i = 1; i <= expected; ++i)
                          count += t.get(last, "b2" + std::to_string(i) + "2", value) == Outcome::kOk ? 1 : 0;
                      })
                      .committed());
      EXPECT_EQ(count, expected) << "at node " << cluster.node();
      EXPECT_TRUE(cluster.barrier().ok());
    });
  };
  run(false, 1);
  run(true, 2);
  run(true, 3);
}

}  // namespace
}  // namespace granary
