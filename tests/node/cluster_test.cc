// A cluster through its public face: it starts, runs transactions on all nodes, calls procedures, says what is wrong.

#include <sched.h>

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
#include "src/node/cluster_protocol.h"
#include "src/node/node_fabric.h"
#include "tests/node/accounts.h"
#include "tests/node/local_cluster.h"

namespace granary {
namespace {

using tests::Account;
using tests::ClusterFile;
using tests::home_of;
using tests::kAccounts;
using tests::make_accounts;
using tests::node_options;
using tests::on_each_node;

constexpr unsigned kNodes = 3;
constexpr std::int64_t kMoney = 100;  ///< of each account

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
  ASSERT_TRUE(db::make_run_directory(config).ok());
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

/// Each of the nodes says so at once, whichever of them ends first.
TEST(ClusterKeys, OneOfThreeWithAnotherKeyIsToldOnAllSides) {
  const ClusterFile file(3, 1, "key_file = \"key\"\n");
  const std::string key = std::filesystem::path(file.path()).parent_path() / "key";
  ASSERT_TRUE(cluster_config::make_key(key).ok());
  std::vector<std::unique_ptr<Cluster>> nodes;
  for (const NodeNumber node : {1, 3, 2}) {
    if (node == 2) {
      std::filesystem::remove(key);
      ASSERT_TRUE(cluster_config::make_key(key).ok());
    }
    auto joined = Cluster::join(node_options(file, node));
    ASSERT_TRUE(joined.ok()) << joined.status().message();
    nodes.push_back(std::move(joined).value());
  }
  std::vector<std::thread> threads;
  for (auto& node : nodes) {
    threads.emplace_back([&node] {
      const Status started = node->start();
      EXPECT_EQ(started.code(), StatusCode::kFailedPrecondition);
      EXPECT_THAT(started.message(), testing::HasSubstr("another cluster key")) << "node " << node->node();
      EXPECT_THAT(started.message(), testing::HasSubstr("node 2")) << "node " << node->node();
      node.reset();
    });
  }
  for (std::thread& thread : threads) thread.join();
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

}  // namespace
}  // namespace granary
