#pragma once
// A process that moves money between accounts until it is killed, and tells by a pipe what it has committed.

#include <cstdint>
#include <string>

#include <granary/granary.h>

namespace granary::tests {

inline constexpr std::uint64_t kBankAccounts = 16;
inline constexpr std::int64_t kBankBalance = 1000;
inline constexpr std::uint32_t kBankWorkers = 2;

/// One transfer, kept under (worker, number): with it, balances can be recomputed.
struct Transfer {
  std::uint64_t from = 0, to = 0;
  std::int64_t amount = 0;
};
inline std::uint64_t transfer_key(std::uint64_t worker, std::uint64_t number) { return worker << 48 | number; }

struct Bank {
  TypedTable<std::uint64_t, std::int64_t> accounts;   ///< a hash table; the others are ordered
  TypedTable<std::uint64_t, std::uint64_t> counters;  ///< worker -> how many transfers it has made
  TypedTable<std::uint64_t, Transfer> transfers;
  Index by_account;  ///< transfers by the account that they are from
};

/// Small rings and segments, short epochs, two loggers.
Options bank_options(const std::string& directory, const std::string& rings);
/// Takes the tables, or makes them.
Result<Bank> open_bank(Database& database);

/// A line of the pipe: written whole or not at all.
struct BankReport {
  std::uint32_t worker = 0;
  std::uint32_t released = 0;  ///< 1: its ticket was released; 0: it has committed
  std::uint64_t counter = 0;
};

struct BankPlan {
  std::string directory, rings;
  std::string point;       ///< the sync point where it kills itself; empty: waits to be killed
  std::uint64_t pass = 1;  ///< at which pass, of all threads together
  std::uint64_t seed = 1;
  int pipe = -1;
};

/// In the child. Exit codes: 3 nobody killed it, 4 something failed (said on the standard error).
[[noreturn]] void run_bank(const BankPlan& plan);

}  // namespace granary::tests
