// What a cluster does over any provider: nodes join, run transactions on each other's keys by both protocols, call
// procedures, and leave. They take turns, so nothing fails a compare-and-swap, which Soft-RoCE of Linux 6.1 could not
// stand (docs/rdma.md); races over RDMA devices are for machines that have them.

#include <chrono>

#include <granary/cluster.h>
#include <gtest/gtest.h>

#include "tests/node/local_cluster.h"

namespace granary {
namespace {

constexpr unsigned kBranches = 2;
constexpr std::uint64_t kKeys = 4;  ///< of each node
constexpr std::int64_t kFirstBalance = 100;

NodeNumber home_of_account(std::string_view key) {
  std::uint64_t number = 0;
  (void)decode_key(key, number);
  return static_cast<NodeNumber>(number / kKeys + 1);
}

using Accounts = TypedTable<std::uint64_t, std::int64_t>;

/// One node of a bank, in turn with the others.
class Branch {
 public:
  Branch(Cluster& cluster, IndexKind kind)
      : cluster_(cluster),
        accounts_(
            cluster.create_table<std::uint64_t, std::int64_t>("accounts", {.index = kind}, Placement{home_of_account})
                .value()) {
    const Status started = cluster.start();
    EXPECT_TRUE(started.ok()) << started.message();
    if (!started.ok()) return;
    worker_ = cluster.register_worker().value();
    in_turn([&] {
      for (std::uint64_t i = 0; i < kKeys; ++i)
        EXPECT_TRUE(run([&](Transaction& t) { put(t, own(i), kFirstBalance); }));
    });
  }

  /// Runs `body` on each node while the others wait.
  void in_turn(const std::function<void()>& body) {
    for (NodeNumber node = 1; node <= kBranches; ++node) {
      if (node == cluster_.node()) body();
      ASSERT_TRUE(cluster_.barrier().ok());
    }
  }
  /// From each own account to one of every node; `declared`: by lease_2pl.
  void pay_everybody(bool declared) {
    for (std::uint64_t i = 0; i < kKeys; ++i) {
      for (std::uint64_t to = i; to < kBranches * kKeys; to += kKeys) {
        if (to == own(i)) continue;
        const auto from_key = encode_key<std::uint64_t>(own(i)), to_key = encode_key<std::uint64_t>(to);
        EXPECT_TRUE(run([&](Transaction& t) {
          const std::vector<Declared> keys = {{accounts_, from_key, true}, {accounts_, to_key, true}};
          if (declared && t.declare(keys) != Outcome::kOk) return;
          const auto source = t.get(accounts_, own(i)), target = t.get(accounts_, to);
          if (!source || !target) return;
          put(t, own(i), *source - 1);
          put(t, to, *target + 1);
        }));
      }
    }
  }
  /// All money, read in one transaction; `declared`: under leases.
  std::int64_t total(bool declared) {
    std::vector<std::string> keys;
    for (std::uint64_t key = 0; key < kBranches * kKeys; ++key)
      keys.emplace_back(encode_key<std::uint64_t>(key).view());
    std::int64_t sum = 0;
    EXPECT_TRUE(run([&](Transaction& t) {
      std::vector<Declared> reads;
      for (const std::string& key : keys) reads.push_back({accounts_, key, false});
      if (declared && t.declare(reads) != Outcome::kOk) return;
      sum = 0;
      for (std::uint64_t key = 0; key < kBranches * kKeys; ++key) sum += t.get(accounts_, key).value_or(0);
    }));
    return sum;
  }
  std::int64_t balance(std::uint64_t key) {
    std::int64_t found = 0;
    EXPECT_TRUE(run([&](Transaction& t) { found = t.get(accounts_, key).value_or(0); }));
    return found;
  }
  std::uint64_t own(std::uint64_t i) const { return (cluster_.node() - 1) * kKeys + i; }

 private:
  /// On a busy emulated machine a connection may take longer than a worker waits.
  bool run(const std::function<void(Transaction&)>& body) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(1);
    while (worker_ != nullptr && std::chrono::steady_clock::now() < end) {
      if (worker_->run(body).committed()) return true;
    }
    return false;
  }
  void put(Transaction& t, std::uint64_t key, std::int64_t money) { (void)t.put(accounts_, key, money); }

  Cluster& cluster_;
  const Accounts accounts_;
  std::unique_ptr<ClusterWorker> worker_;
};

class NodesInTurn : public testing::TestWithParam<IndexKind> {};
INSTANTIATE_TEST_SUITE_P(Kinds, NodesInTurn, testing::Values(IndexKind::kHash, IndexKind::kOrdered),
                         [](const auto& kind) { return kind.param == IndexKind::kHash ? "Hash" : "Ordered"; });

TEST_P(NodesInTurn, MoveMoneyByBothProtocols) {
  const tests::ClusterFile file(kBranches, 1);
  tests::on_each_node(file, kBranches, [](Cluster& cluster) {
    Branch branch(cluster, GetParam());
    for (const bool declared : {false, true}) {
      branch.in_turn([&] { branch.pay_everybody(declared); });
      branch.in_turn([&] {
        EXPECT_EQ(branch.total(declared), std::int64_t{kBranches * kKeys} * kFirstBalance);
        for (std::uint64_t i = 0; i < kKeys; ++i)
          EXPECT_EQ(branch.balance(branch.own(i)), kFirstBalance) << "each gave and got";
      });
    }
    EXPECT_GT(cluster.statistics().transactions, 0u);
    EXPECT_TRUE(cluster.barrier().ok());
  });
}

}  // namespace
}  // namespace granary
