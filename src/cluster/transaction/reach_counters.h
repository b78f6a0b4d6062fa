#pragma once
// Counts what the transactions of a worker do at other nodes.

#include <array>
#include <atomic>
#include <cstdint>

#include "kvstore/remote/leaf_cache.h"
#include "kvstore/remote/location_cache.h"

namespace granary::cluster {

/// The parts of a transaction in which it makes trips to other nodes. Their round trips are counted separately.
enum class TripPhase : std::uint8_t { kExecute, kLock, kAgree, kValidate, kWriteBack };
inline constexpr std::size_t kTripPhases = 5;

/// Written by the worker only, and read for statistics, both relaxed.
struct ReachCounters {
  std::atomic<std::uint64_t> transactions{0};  ///< transactions that have touched another node and ended
  std::array<std::atomic<std::uint64_t>, kTripPhases>
      rounds{};                                 ///< round trips; one to several nodes at once counts once
  std::atomic<std::uint64_t> reads{0};          ///< READs
  std::atomic<std::uint64_t> read_bytes{0};     ///< bytes that READs have fetched
  std::atomic<std::uint64_t> writes{0};         ///< WRITEs
  std::atomic<std::uint64_t> compare_swaps{0};  ///< CASes
  std::atomic<std::uint64_t> messages{0};       ///< questions asked
  std::atomic<std::uint64_t> leases{0};         ///< records that were read under a lease, taken or shared
  std::atomic<std::uint64_t> epoch_waits{0};    ///< transactions that waited for E of another node
  std::atomic<std::uint64_t> unfinished{0};     ///< records that a transaction has left locked (undelivered.h)
  kvstore::remote::LocationCacheCounters locations;
  kvstore::remote::LeafCacheCounters leaves;
};

}  // namespace granary::cluster
