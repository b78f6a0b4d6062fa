#pragma once
// What a node of a cluster tells of itself: what its transactions did at other nodes, the clock that it goes by, and
// how dead nodes are recovered (Cluster::statistics(), clock(), recoveries()).

#include <cstdint>
#include <string>
#include <string_view>

#include <granary/export.h>

namespace granary {

/// Names a node of a cluster, as the cluster file does.
using NodeNumber = std::uint16_t;

/// What the transactions of this node's workers did at other nodes; sums since the start.
struct ClusterStatistics {
  std::uint64_t transactions = 0;  ///< that touched another node, committed or aborted
  std::uint64_t rounds = 0;        ///< round trips of one-sided operations
  std::uint64_t execute_rounds = 0, lock_rounds = 0, agree_rounds = 0, validate_rounds = 0, write_back_rounds = 0;
  std::uint64_t reads = 0, writes = 0, compare_swaps = 0;  ///< one-sided operations
  std::uint64_t messages = 0;                              ///< questions to other nodes
  std::uint64_t leases = 0;                                ///< records that were read under one
  std::uint64_t epoch_waits = 0;                           ///< transactions that waited for the epoch of another node
  std::uint64_t location_hits = 0, location_misses = 0, location_stale = 0;
  std::uint64_t leaf_reads = 0;  ///< leaves of ordered tables that were READ
  std::uint64_t leaf_hits = 0, leaf_misses = 0, leaf_stale = 0;
  std::uint64_t unfinished = 0;  ///< records that were left locked: their node has died, or is told later
  std::uint64_t cut_off = 0;  ///< times that a worker of another node was, which had sent this one what no node sends
};

/// The clock that leases are judged by (docs/clock.md).
struct ClockStatus {
  std::string source;          ///< as the cluster file names it: "host", "ptp"
  std::string state;           ///< "synchronized", or what it is instead, and why
  bool synchronized = false;   ///< else there are no leases
  std::uint64_t delta_us = 0;  ///< if synchronized: no two nodes' clocks differ by more
  std::uint64_t jumps = 0;     ///< of the clock, so far
};

/// What a node has done to recover a dead one, and how long each step has taken it; a step that is not over yet has 0.
/// If a try was cut short, figures are those of the next one: what the former has settled counts as settled before.
struct RecoveryWork {
  std::uint64_t redone_transactions = 0;  ///< the dead node had decided them, and they were completed at other nodes
  std::uint64_t undone_transactions = 0;  ///< it had not decided them, and what they held at other nodes was freed
  std::uint64_t redone_records = 0;       ///< written with what had been decided, and freed
  std::uint64_t freed_records = 0;        ///< freed unchanged
  std::uint64_t settled_before = 0;       ///< records that were not held any more, or never had been
  std::uint64_t gone_records = 0;         ///< records of nodes that have died as well: their locks are gone with them
  std::uint64_t removals = 0;             ///< redone removals of which the records' nodes have been told
  std::uint64_t adopted_bytes = 0;        ///< which only the dead node's log rings had, and its log has now
  /// From hearing of the death until this node had the claim: all others were quiet by then.
  std::uint64_t waited_us = 0;
  std::uint64_t opened_us = 0;   ///< for the end of the dead node's process, and to read its rings and its log
  std::uint64_t settled_us = 0;  ///< to settle what it had under way at the other nodes
  std::uint64_t adopted_us = 0;  ///< to put its rings into its log, and to say that it is recovered
};

/// The recovery of one life of a node that has died, as this node sees it (Cluster::recoveries()).
struct NodeRecovery {
  enum class Phase : std::uint8_t {
    kWaiting,    ///< until the others are quiet, and one of them that sees the dead node's directories takes it up
    kSettling,   ///< what it had under way at other nodes is being written there, and freed
    kAdopting,   ///< what its log rings have is being put into its log
    kGivenUp,    ///< the node that tried could not (`failure`), and tries again from time to time, as any other may
    kRecovered,  ///< nothing is owed any more: results are released, and the node may come back
  };

  NodeNumber node = 0;
  std::uint32_t generation = 0;  ///< counts the node's lives, from 1: which of them has died
  Phase phase = Phase::kWaiting;
  NodeNumber claimed_by = 0;  ///< the node that recovers it, or, at the end, has recovered it; 0: nobody
  /// Since this node heard of the death, or since it joined; at the end until it was recovered.
  std::uint64_t age_us = 0;
  bool here = false;         ///< this node recovers it, has tried to, or has done it
  RecoveryWork work = {};    ///< of this node
  std::string failure = {};  ///< why this node's last try has failed, if the cause does not pass by itself; empty else
};

/// Short lower-case names for logs: "waiting", "settling", "adopting", "given_up", "recovered".
GRANARY_EXPORT std::string_view name(NodeRecovery::Phase phase);

}  // namespace granary
