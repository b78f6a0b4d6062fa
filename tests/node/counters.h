#pragma once
// Counters on three nodes, all of which each transaction counts up, among accounts that keep their money.

#include <cstdint>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "src/base/test_hooks.h"
#include "src/epoch/epoch.h"
#include "tests/node/bank.h"
#include "tests/node/crash_setting.h"

namespace granary::tests {

inline constexpr std::uint64_t kAccounts = kBankNodes * kKeys;
inline constexpr std::uint64_t kCounters = 2;  ///< of each node: its first accounts, which every transaction counts up
/// Nothing is in the way for longer than a transaction of another node takes.
inline constexpr RetryPolicy kBounded{.max_attempts = 10'000};

inline bool is_counter(std::uint64_t account) { return account % kKeys < kCounters; }

/// Reads all of these accounts, and lets the reads lock those of other nodes.
inline Outcome read_to_write(Transaction& t, const Accounts& accounts,
                             const std::vector<EncodedKey<std::uint64_t>>& keys) {
  std::vector<std::int64_t> balances(keys.size());
  std::vector<MultiGet> gets;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    gets.push_back({.table = accounts,
                    .key = keys[i],
                    .buffer = {reinterpret_cast<char*>(&balances[i]), sizeof balances[i]},
                    .result = {},
                    .will_write = true});
  }
  return t.multi_get(gets);
}

/// Locks these accounts, if the client does so before its commit.
inline void lock_early(Transaction& t, const Accounts& accounts, const std::vector<EncodedKey<std::uint64_t>>& keys,
                       Locking locking) {
  if (locking == Locking::kByReads) (void)read_to_write(t, accounts, keys);
  if (locking != Locking::kDeclared) return;
  std::vector<Declared> declared;
  for (const auto& key : keys) declared.push_back({accounts, key, true});
  (void)t.declare(declared);
}

/// Adds one to each counter.
inline RunResult count_up(Branch& branch, Locking locking) {
  return branch.worker->run(
      [&](Transaction& t) {
        std::vector<EncodedKey<std::uint64_t>> keys;
        for (std::uint64_t account = 0; account < kAccounts; ++account) {
          if (is_counter(account)) keys.emplace_back(account);
        }
        if (locking != Locking::kAtCommit) base::sync_point("test.locks");
        lock_early(t, branch.accounts, keys, locking);
        for (std::uint64_t account = 0; account < kAccounts; ++account) {
          if (!is_counter(account)) continue;
          const auto value = t.get(branch.accounts, account);
          if (!value) return;
          (void)t.put(branch.accounts, account, *value + 1);
        }
        base::sync_point("test.executed");
        if (locking == Locking::kAtCommit) base::sync_point("test.locks");
      },
      kBounded);
}

/// Returns what all counters of these nodes show, or what is wrong with their accounts.
inline std::string look(Branch& branch, const std::vector<NodeNumber>& nodes = {1, 2, 3}) {
  std::vector<std::int64_t> found;
  const RunResult done = branch.worker->run(
      [&](Transaction& t) {
        found.clear();
        for (const NodeNumber node : nodes) {
          for (std::uint64_t account = first_of(node); account < first_of(node) + kKeys; ++account)
            found.push_back(t.get(branch.accounts, account).value_or(-1));
        }
      },
      kBounded);
  if (!done.committed()) return "cannot be read: " + std::string(name(done.reason));
  for (std::uint64_t i = 0; i < found.size(); ++i) {
    if (found[i] != (is_counter(i) ? found[0] : kMoney)) return fmt::format("half: {}", fmt::join(found, " "));
  }
  return std::to_string(found[0] - kMoney);
}

/// Each record as it is, and then the counters together.
inline std::string write_all(Branch& branch) {
  for (std::uint64_t account = 0; account < kAccounts; ++account) {
    const RunResult done = branch.worker->run(
        [&](Transaction& t) {
          const auto value = t.get(branch.accounts, account);
          if (value) (void)t.put(branch.accounts, account, *value);
        },
        kBounded);
    if (!done.committed()) return fmt::format("cannot write {}: {}", account, name(done.reason));
  }
  const RunResult done = count_up(branch, Locking::kAtCommit);
  return done.committed() ? "writes all" : "cannot count: " + std::string(name(done.reason));
}

/// Writes an account, which no counter is, as it is. Tries once.
inline RunResult touch(Branch& branch, NodeNumber node) {
  return branch.worker->run(
      [&](Transaction& t) {
        const std::uint64_t account = first_of(node) + kCounters + branch.cluster->node();
        if (const auto money = t.get(branch.accounts, account)) (void)t.put(branch.accounts, account, *money);
      },
      {.max_attempts = 1});
}
/// Tries touch() again until it has committed, for 20 s at most.
inline RunResult surely_touch(Branch& branch, NodeNumber node) {
  RunResult done = touch(branch, node);
  (void)comes_true(
      [&] {
        if (!done.committed()) done = touch(branch, node);
        return done.committed();
      },
      std::chrono::seconds(20));
  return done;
}

/// Waits until whatever was written in this epoch is of an earlier snapshot period, so that who overwrites it keeps it
/// for snapshots, at other nodes in a block that these have lent.
inline void await_next_period(const Branch& branch, epoch::Epoch last) {
  const auto period_of = [](epoch::Epoch epoch) { return epoch / kSnapshotEpochs; };
  EXPECT_TRUE(comes_true([&] { return period_of(branch.cluster->database().current_epoch()) > period_of(last); }));
}

}  // namespace granary::tests
