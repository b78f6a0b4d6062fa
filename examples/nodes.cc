// A bank on several nodes: every process is one of them, started with the cluster file and its number,
//
//   nodes cluster.toml 1 & nodes cluster.toml 2 & nodes cluster.toml 3
//
// and moves money between accounts of all of them, until each has moved what it was asked to. Nothing gets lost.

#include <granary/cluster.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>

namespace {

constexpr std::uint64_t kAccounts = 100;  // of each node
constexpr std::int64_t kBalance = 100;
constexpr int kTransfers = 1000;

/// Node n has the accounts from n · kAccounts on.
granary::NodeNumber home_of(std::string_view key) {
  std::uint64_t account = 0;
  (void)granary::decode_key(key, account);
  return static_cast<granary::NodeNumber>(account / kAccounts);
}

struct Richest {
  std::uint64_t account;
  std::int64_t balance;
};

int fail(const granary::Status& status) {
  std::fprintf(stderr, "nodes: %s\n", status.message().c_str());
  return EXIT_FAILURE;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: nodes CLUSTER-FILE NODE\n");
    return 2;
  }
  auto joined = granary::Cluster::join(
      {.file = argv[1], .node = static_cast<granary::NodeNumber>(std::strtoul(argv[2], nullptr, 10)), .database = {}});
  if (!joined.ok()) return fail(joined.status());
  granary::Cluster& cluster = **joined;

  // The same tables on all nodes, in the same order.
  auto accounts = cluster.create_table<std::uint64_t, std::int64_t>("accounts", {.index = granary::IndexKind::kHash},
                                                                    granary::Placement{home_of});
  if (!accounts.ok()) return fail(accounts.status());
  // The same procedures, too: the other nodes may call them.
  auto richest = cluster.procedures().add<std::uint64_t, Richest>(
      "richest", [&](granary::Transaction& t, const std::uint64_t& from, Richest& found) {
        found = {};
        for (std::uint64_t account = from; account < from + kAccounts; ++account) {
          const std::int64_t balance = t.get(*accounts, account).value_or(0);
          if (balance > found.balance) found = {account, balance};
        }
      });
  if (!richest.ok()) return fail(richest.status());
  if (const granary::Status started = cluster.start(); !started.ok()) return fail(started);

  auto worker = cluster.register_worker().value();
  const std::uint64_t first = cluster.node() * kAccounts;
  (void)worker->run([&](granary::Transaction& t) {
    for (std::uint64_t account = first; account < first + kAccounts; ++account)
      (void)t.put(*accounts, account, kBalance);
  });
  if (const granary::Status all = cluster.barrier(); !all.ok()) return fail(all);

  // From accounts of this node to accounts of each node in turn.
  const auto nodes = cluster.nodes();
  for (int i = 0; i < kTransfers; ++i) {
    const std::uint64_t from = first + static_cast<std::uint64_t>(i) % kAccounts;
    const std::uint64_t to =
        nodes[static_cast<std::size_t>(i) % nodes.size()] * kAccounts + static_cast<std::uint64_t>(i * 7) % kAccounts;
    const granary::RunResult moved = worker->run([&](granary::Transaction& t) {
      const auto source = t.get(*accounts, from);
      const auto target = t.get(*accounts, to);
      if (!source || !target || from == to) return;
      (void)t.put(*accounts, from, *source - 1);
      (void)t.put(*accounts, to, *target + 1);
    });
    if (!moved.committed()) std::fprintf(stderr, "nodes: %s\n", granary::name(moved.reason).data());
  }
  if (const granary::Status all = cluster.barrier(); !all.ok()) return fail(all);

  std::int64_t sum = 0;
  (void)worker->run([&](granary::Transaction& t) {
    sum = 0;
    for (const granary::NodeNumber node : nodes) {
      for (std::uint64_t account = node * kAccounts; account < (node + 1) * kAccounts; ++account) {
        sum += t.get(*accounts, account).value_or(0);
      }
    }
  });
  std::fprintf(stderr, "node %d: %zu accounts hold %lld in all\n", cluster.node(), nodes.size() * kAccounts,
               static_cast<long long>(sum));
  // What needs many records of one node, that node does: the call goes to the home of the account.
  for (const granary::NodeNumber node : nodes) {
    const std::uint64_t its_first = node * kAccounts;
    Richest found{};
    const auto asked = worker->call(*accounts, its_first, "richest", its_first, found);
    if (!asked.ok()) return fail(asked.status());
    std::fprintf(stderr, "node %d: account %llu of node %d is the richest there, with %lld\n", cluster.node(),
                 static_cast<unsigned long long>(found.account), node, static_cast<long long>(found.balance));
  }
  // The others may still be counting.
  if (const granary::Status all = cluster.barrier(); !all.ok()) return fail(all);
  worker.reset();
  return cluster.leave().ok() ? EXIT_SUCCESS : EXIT_FAILURE;
}
