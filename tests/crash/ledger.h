#pragma once
// The database that the client of the crash harness works on, and what must be true of it at any time.
//
// A transaction moves money between two accounts, counts itself, enters itself into a journal, keeps a window over the
// journal by one insert and one remove, and notes its number in a part of a row of which the other workers have other
// parts. So the whole database follows from the journal, and the journal is whole exactly if it has the numbers from 1
// to the worker's counter.

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <granary/granary.h>

namespace granary::crash {

inline constexpr std::uint64_t kAccounts = 16;
inline constexpr std::int64_t kOpeningBalance = 1000;
inline constexpr std::uint32_t kWorkers = 2;
inline constexpr std::uint64_t kWindow = 16;  ///< numbers of the journal that `recent` holds, of each worker
inline constexpr std::uint64_t kSheets = 5;
/// So many transactions of a worker write parts, and then one a whole sheet.
inline constexpr std::uint64_t kWhole = 64;

/// Row i has of each worker the last number that is i modulo kSheets, in a part of its own.
struct Sheet {
  std::array<std::uint64_t, kWorkers> last{};
  std::array<std::uint64_t, 100> filling{};  ///< its own number, so that a part in a wrong place is noticed
};

/// How an entry of the journal begins. Bytes that follow from the entry's key come after it.
struct Transfer {
  std::uint64_t from = 0, to = 0;
  std::int64_t amount = 0;
};

struct Ledger {
  TypedTable<std::uint64_t, std::int64_t> accounts;   ///< a hash table; the other tables are ordered
  TypedTable<std::uint64_t, std::uint64_t> counters;  ///< worker -> transactions that it has committed
  Table journal;                                      ///< entry_key(worker, number) -> Transfer and more bytes
  Index by_account;                                   ///< the journal by Transfer::from
  TypedTable<std::uint64_t, std::uint64_t> recent;    ///< entry_key() of each worker's last kWindow entries -> number
  TypedTable<std::uint64_t, Sheet> sheets;
};

inline std::uint64_t entry_key(std::uint32_t worker, std::uint64_t number) {
  return std::uint64_t{worker} << 48 | number;
}

/// Takes the tables of the directory, or makes them.
Result<Ledger> open_ledger(Database& database);
/// The body of a transaction that makes all accounts unless they are there.
void populate(Transaction& t, const Ledger& ledger);
/// The body of one transfer, with `more` bytes behind it in the journal. Returns the worker's new counter; 0 if the
/// transaction is doomed.
std::uint64_t move_money(Transaction& t, const Ledger& ledger, std::uint32_t worker, const Transfer& transfer,
                         std::size_t more);

/// What an audit found.
struct Audit {
  std::array<std::uint64_t, kWorkers> counters{};
  std::vector<std::string> violations;  ///< a sentence for each thing that is not as it must be
};
Audit audit(Transaction& t, const Ledger& ledger);

}  // namespace granary::crash
