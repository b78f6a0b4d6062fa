#pragma once
// Snapshots of accounts that change together while nodes die and come back: the accounts with one number, one at each
// node, always have the same balance. A snapshot shows them so, and goes on to show them as it has shown them before.

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include <gtest/gtest.h>

#include "tests/node/bank.h"

namespace granary::tests {

/// The balances that a snapshot shows; nothing of an account that cannot be read now, as its node does not answer, has
/// come back since, or the record is held. kAbsent: it was not there yet.
using Balances = std::array<std::optional<std::int64_t>, kBankNodes * kKeys>;
inline constexpr std::int64_t kAbsent = -1;

inline Balances balances_in(Snapshot& snapshot, const Branch& branch) {
  Balances balances;
  for (std::uint64_t account = 0; account < balances.size(); ++account) {
    std::int64_t balance = 0;
    const std::span<char> buffer(reinterpret_cast<char*>(&balance), sizeof balance);
    const GetResult got = snapshot.get(static_cast<const Table&>(branch.accounts), encode_key(account), buffer);
    if (got.outcome == Outcome::kBusy || got.outcome == Outcome::kUnreachable) continue;
    if (got.outcome != Outcome::kNotFound) {
      EXPECT_TRUE(got && got.size == sizeof balance) << "account " << account << ": " << name(got.outcome);
    }
    balances[account] = got ? balance : kAbsent;
  }
  return balances;
}

/// Whether all accounts of these nodes were there and could be read.
inline bool shows_all(const Balances& balances, const std::vector<NodeNumber>& nodes = {1, 2, 3}) {
  return std::ranges::all_of(nodes, [&](NodeNumber node) {
    const auto first = balances.begin() + static_cast<std::ptrdiff_t>(first_of(node));
    return std::all_of(first, first + kKeys, [](const auto& balance) { return balance.value_or(kAbsent) != kAbsent; });
  });
}

/// Opens one snapshot after the other at one node. They show the same of accounts with one number, and never less than
/// the one before.
class NewSnapshots {
 public:
  explicit NewSnapshots(Branch& branch) : branch_(branch) {}

  /// Begins a snapshot, and expects that it is right. Returns what it shows.
  Balances look() {
    Snapshot snapshot = branch_.worker->snapshot();
    const Balances balances = balances_in(snapshot, branch_);
    complete_ |= shows_all(balances);
    if (!complete_) return balances;  // the accounts are being made
    for (std::uint64_t number = 0; number < kKeys; ++number) {
      std::optional<std::int64_t> shown;
      for (std::uint64_t account = number; account < balances.size(); account += kKeys) {
        if (!balances[account]) continue;
        EXPECT_EQ(*balances[account], shown.value_or(*balances[account]))
            << "account " << account << " in a snapshot at " << snapshot.epoch();
        shown = balances[account];
      }
      if (!shown) continue;
      EXPECT_GE(*shown, last_[number]) << "a snapshot at " << snapshot.epoch() << " shows less than one before";
      last_[number] = *shown;
    }
    return balances;
  }

 private:
  Branch& branch_;
  bool complete_ = false;  ///< all accounts were shown once
  std::array<std::int64_t, kKeys> last_{};
};

/// A snapshot that stays open.
class HeldSnapshot {
 public:
  /// Begins a snapshot that shows all accounts, within a minute.
  explicit HeldSnapshot(Branch& branch) : branch_(branch) {
    EXPECT_TRUE(comes_true([this] {
      snapshot_ = branch_.worker->snapshot();
      shown_ = balances_in(snapshot_, branch_);
      return shows_all(shown_);
    }));
  }

  /// Reads all again, and expects that what can be read is what it was. Returns whether all accounts of these nodes
  /// could be.
  bool look_again(const std::vector<NodeNumber>& nodes) {
    const Balances balances = balances_in(snapshot_, branch_);
    for (std::uint64_t account = 0; account < balances.size(); ++account) {
      if (!balances[account]) continue;
      EXPECT_EQ(*balances[account], shown_[account])
          << "account " << account << " in a snapshot at " << snapshot_.epoch();
    }
    return shows_all(balances, nodes);
  }

 private:
  Branch& branch_;
  Snapshot snapshot_;
  Balances shown_{};
};

}  // namespace granary::tests
