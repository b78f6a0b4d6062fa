#pragma once
// I10: settles all that a dead node owes at the nodes that live, when each of them has cut it off. What becomes of a
// single lock is in settle.h.
//
// All homes are reached at once, in as few round trips as there are batches. A home whose own life has ended is passed
// by: its locks are gone with its memory, and what had been decided for it is in the dead node's log. A home that lives
// and cannot be reached is tried again until it can, or does not live any more, or the patience is over. Everything may
// be done once more from its beginning, by this node or by another.

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>

#include <granary/status.h>

#include "rdma/fiber/rounds.h"
#include "src/cluster/messages/messenger.h"
#include "src/log/debt.h"

namespace granary::cluster {

/// Lends settle_all() the endpoint, connections and memory of one worker. That worker must be in no epoch, since
/// settling may wait long. All calls are made by one fiber, or by one thread outside of fibers.
struct SettleParts {
  rdma::fiber::Scheduler& scheduler;
  rdma::fiber::FiberEndpoint& endpoint;
  rdma::fiber::Peers& peers;
  base::Waiter& waiter;
  messages::Messenger& messenger;
  std::span<char> room;  ///< in a registered region, on a cache line's boundary: at least settle_room_bytes()
  std::uint64_t connect_timeout_us = 0;
  std::function<bool(rdma::NodeId)> lives;  ///< whether the newest configuration has the node as a living member
  /// Whether this node may act for the dead one: asked before each round, and each attempt to reach the homes.
  std::function<bool()> may_act;
  /// How long homes are tried again that live and cannot be reached, after all others are settled. None: as long as
  /// they live.
  std::optional<std::chrono::milliseconds> patience = {};
};

/// What became of the locks. Each is counted once, by what was found when it was settled.
struct SettleCounts {
  std::uint64_t redone = 0;          ///< freed with the version that had been decided
  std::uint64_t freed = 0;           ///< unchanged
  std::uint64_t settled_before = 0;  ///< not held any more, or never
  std::uint64_t gone = 0;            ///< at homes whose lives have ended, or in a life that has
  std::uint64_t removals = 0;        ///< redone, of which the owners were told
};

/// How much room the largest of the debts needs. With more, more of them travel together.
std::size_t settle_room_bytes(std::span<const log::Debt> debts);
/// How much room is enough for any debts.
std::size_t sufficient_settle_room_bytes();

/// Returns when no lock of the debts is left, and the owners know of the records that were removed. kUnavailable if
/// `may_act` said no, or a home could not be reached for longer than the patience. kResourceExhausted if the room is
/// too small. After an error some of the debts may be settled.
Result<SettleCounts> settle_all(std::span<const log::Debt> debts, const SettleParts& parts);

}  // namespace granary::cluster
