#pragma once
// Keeps the nodes that a transaction has touched, and what it has READ of their E (I7). The transaction's epoch must be
// reached at each of them before its commit validates and writes there.

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <vector>

#include "src/base/failed.h"
#include "src/cc/shared_miss_times.h"
#include "src/cluster/cluster_epoch/epoch_read.h"
#include "src/cluster/transaction/trips.h"

namespace granary::cluster {

class TouchedNodes {
 public:
  explicit TouchedNodes(Trips& trips) : trips_(trips) {}

  bool empty() const { return all_.empty(); }
  Batch<rdma::NodeId> nodes() const;
  std::size_t size() const { return all_.size(); }
  /// Makes the node a participant, and connects it if it was none. `sealed`: the transaction looks at something that
  /// never changes (I31). A node that is touched for nothing else does not have to agree on an epoch.
  AbortReason touch(rdma::NodeId node, bool sealed = false);
  /// Returns the address of that offset in the participant's engine memory.
  rdma::RemoteAddress at(rdma::NodeId node, std::uint64_t offset) const;
  /// Connects a participant again. A participant that has not answered once is not waited for again, as the transaction
  /// holds E back.
  bool reconnect(rdma::NodeId node);
  void clear();

  /// Whether E of each participant that has to agree has been READ.
  bool epochs_known() const;
  epoch::Epoch greatest_epoch() const;
  /// Whether this transaction has READ E of each participant that has to agree, and found it to be at least that.
  bool all_read_at_least(epoch::Epoch epoch) const {
    return std::all_of(all_.begin(), all_.end(),
                       [epoch](const TouchedNode& one) { return one.was_read_at_least(epoch); });
  }
  /// Returns an epoch that the participant has reached, as READ by this transaction or an earlier one of the worker; 0
  /// if none is known.
  epoch::Epoch reached_by(rdma::NodeId node) const;
  /// Whether all participants are known to have reached the epoch, by this transaction or an earlier one of the worker.
  bool have_all_reached(epoch::Epoch epoch) const;
  /// Tells what a READ of E brings: E alone, or also the times at which keys were missed at the participant
  /// (src/cc/shared_miss_times.h).
  enum class With : std::uint8_t { kEpoch, kMisses };
  /// Runs steps that lock or lease records, or find shared leases, and READs E of each participant behind them, in the
  /// same chain. If a step needs several rounds, E of its node is READ behind the last one.
  AbortReason run_before_epochs(TripPhase phase, std::span<AccessStep* const> holds, With with = With::kEpoch);
  /// READs E of each participant, and runs no other step.
  AbortReason read_epochs(TripPhase phase, With with = With::kEpoch) { return run_before_epochs(phase, {}, with); }
  /// Returns the greatest time at which a key of the table was missed at the node, as READ last; nothing if that was
  /// not READ.
  std::optional<record::TidWord> missed(rdma::NodeId node, std::uint32_t table) const;
  /// Returns the address of this worker's line of misses there.
  rdma::RemoteAddress misses_line(rdma::NodeId node) const;
  /// Adds READs of E of all participants to `steps`, to be run in front of other steps. False if there is no registered
  /// memory. adopt_epochs() notes what they have found.
  bool add_epoch_reads(Batch<EpochRead>& reads, Batch<Step*>& steps);
  AbortReason adopt_epochs(const Batch<EpochRead>& reads);
  /// Waits, for a bounded time, until E of each participant is at least `agreed`.
  AbortReason await_epoch(epoch::Epoch agreed);

 private:
  struct TouchedNode {
    rdma::NodeId node;
    rdma::RemoteAddress control;  ///< of its control block
    epoch::Epoch epoch = 0;       ///< E of the node, as READ last; 0: it was not READ
    bool agrees = true;           ///< whether it has to agree on the epoch (touch())
    /// The greatest of all lines.
    std::optional<std::array<record::TidWord, cc::SharedMissTimes::kTables>> missed = std::nullopt;

    bool was_read_at_least(epoch::Epoch other) const { return !agrees || epoch >= other; }
  };

  std::size_t index_of(rdma::NodeId node) const;
  const TouchedNode& get(rdma::NodeId node) const { return all_[index_of(node)]; }
  void note_epoch(TouchedNode& touched, epoch::Epoch epoch);
  void adopt_misses(const EpochRead& read, TouchedNode& touched) const;

  Trips& trips_;
  std::vector<TouchedNode> all_;
  std::vector<rdma::NodeId> silent_;  ///< participants that could not be connected again
};

}  // namespace granary::cluster
