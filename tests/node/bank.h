#pragma once
// Accounts on three nodes, between which money is moved, for nodes that are processes of their own.

#include <sys/mman.h>

#include <array>
#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <new>
#include <thread>

#include <granary/cluster.h>
#include <gtest/gtest.h>

#include "tests/node/local_cluster.h"

namespace granary::tests {

inline constexpr NodeNumber kBankNodes = 3;
inline constexpr std::uint64_t kKeys = 8;  ///< accounts of each node
inline constexpr std::int64_t kMoney = 100;

using Accounts = TypedTable<std::uint64_t, std::int64_t>;

/// Snapshot periods so short that transactions meet versions of earlier ones, which they have to keep for snapshots.
inline constexpr std::uint64_t kSnapshotEpochs = 2;
/// The line of a cluster file that makes them so short.
inline constexpr const char* kShortSnapshotPeriods = "snapshot_epochs = 2\n";

/// The first account of a node.
constexpr std::uint64_t first_of(NodeNumber node) { return (node - 1) * kKeys; }

/// Without old versions nobody has to ask a node that is stopped for any, which takes its time.
inline ClusterOptions bank_options(const ClusterFile& file, NodeNumber node) {
  ClusterOptions options = node_options(file, node);
  options.database.snapshots = false;
  return options;
}

/// A node's part in the cluster.
struct Branch {
  std::unique_ptr<Cluster> cluster;
  Accounts accounts;
  std::unique_ptr<ClusterWorker> worker;

  /// Joins and starts; `load`: this node's accounts are filled, then all wait for each other. `prepare` is called
  /// before the start. `refusal`: takes why the node does not join or start, which is no failure then. `index`: of the
  /// accounts, the same at all nodes.
  explicit Branch(const ClusterOptions& options, bool load = true, const std::function<void(Branch&)>& prepare = {},
                  Status* refusal = nullptr, IndexKind index = IndexKind::kHash) {
    open(options, load, prepare, refusal, index);
  }

  /// Moves money between two accounts.
  RunResult transfer(std::uint64_t from, std::uint64_t to, const RetryPolicy& policy = {}) {
    return worker->run(
        [&](Transaction& t) {
          const auto source = t.get(accounts, from);
          const auto target = t.get(accounts, to);
          if (!source || !target || from == to) return;
          (void)t.put(accounts, from, *source - 1);
          (void)t.put(accounts, to, *target + 1);
        },
        policy);
  }
  /// The same until it has committed: on a busy machine a living node may not answer in time, too.
  RunResult surely_transfer(std::uint64_t from, std::uint64_t to) {
    for (;;) {
      const RunResult done = transfer(from, to);
      if (done.committed()) return done;
    }
  }
  /// Of all accounts, whose nodes live.
  std::int64_t total() {
    std::int64_t sum = 0;
    const auto add_up = [&](Transaction& t) {
      sum = 0;
      for (std::uint64_t key = 0; key < kBankNodes * kKeys; ++key) {
        const auto balance = t.get(accounts, key);
        if (!balance) return;
        sum += *balance;
      }
    };
    while (!worker->run(add_up).committed()) {
    }
    return sum;
  }

 private:
  void open(const ClusterOptions& options, bool load, const std::function<void(Branch&)>& prepare, Status* refusal,
            IndexKind index) {
    auto joined = Cluster::join(options);
    if (!joined.ok() && refusal != nullptr) {
      *refusal = joined.status();
      return;
    }
    ASSERT_TRUE(joined.ok()) << joined.status().message();
    cluster = std::move(joined).value();
    const auto home = [](std::string_view key) {
      std::uint64_t number = 0;
      (void)decode_key(key, number);
      return static_cast<NodeNumber>(number / kKeys + 1);
    };
    accounts =
        cluster->create_table<std::uint64_t, std::int64_t>("accounts", {.index = index}, Placement{home}).value();
    if (prepare) prepare(*this);
    const Status started = cluster->start();
    if (!started.ok() && refusal != nullptr) {
      *refusal = started;
      return;
    }
    ASSERT_TRUE(started.ok()) << started.message();
    worker = cluster->register_worker().value();
    if (!load) return;
    for (std::uint64_t key = first_of(cluster->node()); key < first_of(cluster->node()) + kKeys; ++key)
      ASSERT_TRUE(worker->run([&](Transaction& t) { (void)t.put(accounts, key, kMoney); }).committed());
    ASSERT_TRUE(cluster->barrier().ok());
  }
};

/// Memory of processes that are forked afterwards.
template <typename T>
T& map_shared() {
  void* const memory = ::mmap(nullptr, sizeof(T), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  return *new (memory) T();
}

/// Whether it was seen to hold, within a minute if no other patience is given. It need not hold any more.
[[nodiscard]] inline bool comes_true(const std::function<bool()>& holds,
                                     std::chrono::milliseconds patience = std::chrono::seconds(60)) {
  const auto end = std::chrono::steady_clock::now() + patience;
  bool held = holds();
  for (; !held && std::chrono::steady_clock::now() < end; held = holds())
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  return held;
}

}  // namespace granary::tests
