#pragma once
// The first half of the judgement: finds out which process ran which transaction, which versions each key went through,
// and the anomalies that a single read shows.

#include <cstdint>
#include <limits>
#include <string>
#include <unordered_map>
#include <vector>

#include "bench/append/history/check.h"
#include "bench/append/history/history.h"

namespace granary::bench::history {

using TxnId = std::uint32_t;
inline constexpr std::size_t kNever = std::numeric_limits<std::size_t>::max();

struct Txn {
  EventType ending = EventType::kInfo;  ///< kOk, kFail or kInfo (also if it never completed)
  std::uint64_t process = 0;
  std::size_t invoked = 0;         ///< position in the history
  std::size_t completed = kNever;  ///< position of kOk or kFail; kNever if there is neither
  const std::vector<MicroOp>* ops = nullptr;
};

struct Origin {
  TxnId txn = 0;
  bool last = false;  ///< whether it is the transaction's last append to the key
};

struct KeyVersions {
  std::vector<Element> order;                   ///< the longest list that was read
  std::unordered_map<Element, Origin> origins;  ///< the origin of every element that a transaction tried to append
};

/// A read of the state before the transaction's own appends, by its length in the key's order.
struct ExternalRead {
  TxnId txn = 0;
  Key key = 0;
  std::size_t length = 0;
};

struct Interpretation {
  std::vector<Txn> txns;
  std::unordered_map<Key, KeyVersions> keys;
  std::vector<ExternalRead> reads;  ///< the reads of committed transactions that fit their key's order
  std::vector<Found> found;
};

Interpretation interpret(const History& history);

/// Returns "T12 (process 3, ok)" and its operations.
std::string describe(const Interpretation& all, TxnId txn);
std::string describe(const MicroOp& op);

}  // namespace granary::bench::history
