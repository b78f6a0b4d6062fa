#pragma once
// Accounts of the nodes of a cluster, each at home where its number says.

#include <cstdint>
#include <string_view>

#include <granary/cluster.h>
#include <gtest/gtest.h>

namespace granary::tests {

inline constexpr std::uint64_t kAccounts = 10;  ///< of each node

struct Account {
  std::int64_t balance;
};

/// Account a is node (a / kAccounts + 1)'s.
inline NodeNumber home_of(std::string_view key) {
  std::uint64_t account = 0;
  (void)decode_key(key, account);
  return static_cast<NodeNumber>(account / kAccounts + 1);
}

inline TypedTable<std::uint64_t, Account> make_accounts(Cluster& cluster, IndexKind kind) {
  auto table = cluster.create_table<std::uint64_t, Account>("accounts", {.index = kind}, Placement{home_of});
  EXPECT_TRUE(table.ok()) << table.status().message();
  return *table;
}

}  // namespace granary::tests
