#pragma once
// A worker's reach: what it has to work with at other nodes. Wired together by whoever makes the worker; all of it outlives its
// transactions, and is used by the worker's thread only, but for what says otherwise.

#include <array>
#include <atomic>
#include <cstdint>

#include "kvstore/remote/leaf_cache.h"
#include "kvstore/remote/location_cache.h"
#include "rdma/fiber/fabric_wait.h"
#include "rdma/fiber/peers.h"
#include "rdma/fiber/rounds.h"
#include "src/cc/worker_state.h"
#include "src/cluster/messages/messenger.h"
#include "src/cluster/record_access/holder_words.h"
#include "src/cluster/record_access/x_lock.h"
#include "src/cluster/transaction/borrowed_blocks.h"
#include "src/cluster/transaction/buffers.h"
#include "src/cluster/transaction/directory.h"
#include "src/cluster/transaction/known_epochs.h"
#include "src/cluster/transaction/read_then_written.h"
#include "src/cluster/transaction/undelivered.h"

namespace granary::cluster {

/// The parts of a transaction whose round trips are counted apart.
enum class Phase : std::uint8_t { kExecute, kLock, kAgree, kValidate, kWriteBack };
inline constexpr std::size_t kPhases = 5;

/// Written by the worker alone (relaxed), read for statistics.
struct ReachCounters {
  std::atomic<std::uint64_t> transactions{0};                ///< that ended and had touched another node
  std::array<std::atomic<std::uint64_t>, kPhases> rounds{};  ///< round trips, to however many nodes at once
  std::atomic<std::uint64_t> reads{0};                       ///< one-sided operations
  std::atomic<std::uint64_t> read_bytes{0};                  ///< that READs fetched
  std::atomic<std::uint64_t> writes{0};
  std::atomic<std::uint64_t> compare_swaps{0};
  std::atomic<std::uint64_t> messages{0};     ///< questions asked
  std::atomic<std::uint64_t> leases{0};       ///< records that were read under one, taken or shared
  std::atomic<std::uint64_t> epoch_waits{0};  ///< transactions that waited for E somewhere
  std::atomic<std::uint64_t> unfinished{0};   ///< records that were left locked: the node has died, or is told later
  kvstore::remote::LocationCacheCounters locations;
  kvstore::remote::LeafCacheCounters leaves;
};

struct Reach {
  cc::WorkerState& worker;
  rdma::fiber::Scheduler& scheduler;
  rdma::fiber::FiberEndpoint& endpoint;
  rdma::fiber::Peers& peers;
  base::Waiter&
      waiter;  ///< between looks at something that changes: lets fibers run, and in time gives the processor away
  messages::Messenger& messenger;
  const Directory& directory;  ///< the node's
  BufferPool& buffers;         ///< the node's
  HolderWords holders;
  const LeaseExpired& lease_expired;
  const base::SoftTime* time = nullptr;  ///< the cluster's; none: no leases
  std::uint64_t lease_us = 0;            ///< how long leases are
  bool reads_lease = true;               ///< NodeParts::reads_lease
  bool timed = false;                    ///< the protocol computes times (TicToc): state words hold rts, and no leases
  std::size_t line = 0;              ///< if it does: the worker's line among the misses of each node (src/cc/misses.h)
  std::uint64_t connect_timeout_us;  ///< NodeParts::connect_timeout_us
  std::function<std::uint64_t()> now_us = {};
  std::function<bool(rdma::NodeId)> lives = {};  ///< NodeParts::lives
  const messages::MailboxLayout& layout;         ///< NodeParts::layout, which says which nodes there are

  /// Who is dead by the configuration may still run, and have its memory read: nobody has to do with it any more (I11).
  bool is_member(rdma::NodeId node) const { return !lives || lives(node); }
  /// Sees to it that a node is connected; false if it is not a living member, or does not answer.
  bool connect(rdma::NodeId node) { return is_member(node) && peers.connect(node, connect_timeout_us).ok(); }
  /// How many workers of all nodes have a line among the misses of each node.
  std::size_t lines() const { return std::size_t{layout.nodes} * layout.workers; }
  /// Whether the node has begun a later life than this one, as far as this node has been told.
  bool is_over(rdma::NodeId node, rdma::Generation life) const {
    const membership::Living* const living = worker.shared.living;
    return living != nullptr && living->generation(node) > life;
  }
  ReachCounters counters = {};
  Undelivered undelivered = {};
  BorrowedBlocks borrowed = {};
  ReadThenWritten read_then_written = {};
  KnownEpochs known_epochs = {};
  /// Transactions that have committed and whose writes have not arrived everywhere yet; most of them at a time, since each keeps a context.
  std::uint32_t under_way = 0;
  static constexpr std::uint32_t kMostUnderWay = 8;
  std::uint32_t ended_in_turn = 0;  ///< transactions, since fibers let others go on between two of theirs
};

}  // namespace granary::cluster
