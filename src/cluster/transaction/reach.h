#pragma once
// Holds a worker's reach: all that its transactions need to work at other nodes (endpoint, connections, messages,
// memory, clock). RemoteWorker (remote_worker.h) makes it. It outlives the worker's transactions. Only the worker's
// thread uses it, except for the counters and for what belongs to the whole node.

#include <cstdint>
#include <functional>
#include <vector>

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
#include "src/cluster/transaction/reach_counters.h"
#include "src/cluster/transaction/read_then_written.h"
#include "src/cluster/transaction/undelivered.h"

namespace granary::cluster {

struct Footprint;

struct Reach {
  cc::WorkerState& worker;
  rdma::fiber::Scheduler& scheduler;
  rdma::fiber::FiberEndpoint& endpoint;
  rdma::fiber::Peers& peers;
  base::Waiter& waiter;  ///< how the worker waits: lets fibers run, and after a while gives the processor away
  messages::Messenger& messenger;
  const Directory& directory;  ///< shared by all workers of the node
  BufferPool& buffers;         ///< shared by all workers of the node
  HolderWords holders;
  const LeaseExpired& lease_expired;
  const base::SoftTime* time = nullptr;  ///< the cluster's time; nullptr: there are no leases
  std::uint64_t lease_us = 0;            ///< how long leases last
  bool reads_lease = true;               ///< NodeParts::reads_lease
  bool stamps_reads = false;             ///< the protocol computes times (TicToc): state words hold rts, and no leases
  /// If `stamps_reads`: the number of the worker's line among the misses of each node (src/cc/shared_miss_times.h).
  std::size_t misses_line = 0;
  std::uint64_t connect_timeout_us;  ///< NodeParts::connect_timeout_us
  std::function<std::uint64_t()> now_us = {};
  std::function<bool(rdma::NodeId)> lives = {};  ///< NodeParts::lives
  const messages::MailboxLayout& layout;         ///< NodeParts::layout, which says which nodes there are

  /// Whether the node is a living member. A node that is dead by the configuration may still run, and its memory may
  /// still be readable, but nobody may use it any more (I11).
  bool is_member(rdma::NodeId node) const { return !lives || lives(node); }
  /// Whether the cluster has such a node at all. A table's placement may name any.
  bool is_in_cluster(rdma::NodeId node) const { return layout.index_of(node) != layout.nodes; }
  /// Connects the node if it is not connected. False if it is not a living member, or does not answer.
  bool connect(rdma::NodeId node) { return is_member(node) && peers.connect(node, connect_timeout_us).ok(); }
  /// Returns how many lines the misses of each node have.
  std::size_t misses_lines() const {
    return cc::SharedMissTimes::lines_for(std::size_t{layout.nodes} * layout.workers);
  }
  /// Whether the node has begun a later life than this one, as far as this node has been told.
  bool is_over(rdma::NodeId node, rdma::Generation life) const {
    const membership::Living* const living = worker.shared.living;
    return living != nullptr && living->generation(node) > life;
  }

  /// The footprints of all contexts of the worker, with or without an open transaction.
  std::vector<const Footprint*> footprints = {};

  // The worker keeps these from one transaction to the next, and its fibers share them.
  ReachCounters counters = {};
  Undelivered undelivered = {};
  BorrowedBlocks borrowed = {};
  ReadThenWritten read_then_written = {};
  KnownEpochs known_epochs = {};
  /// How many committed transactions have writes under way. There are at most kMostUnderWay, since each of them keeps a
  /// context.
  std::uint32_t under_way = 0;
  static constexpr std::uint32_t kMostUnderWay = 8;
  /// How many transactions have ended since a fiber let the others go on (RemoteTransaction::tidy).
  std::uint32_t ended_in_turn = 0;
};

}  // namespace granary::cluster
