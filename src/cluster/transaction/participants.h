#pragma once
// The nodes that a transaction has touched, and E of each (I7).

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <vector>

#include "src/cc/misses.h"
#include "src/cluster/cluster_epoch/epoch_read.h"
#include "src/cluster/transaction/trips.h"

namespace granary::cluster {

class Participants {
 public:
  explicit Participants(Trips& trips) : trips_(trips) {}

  bool empty() const { return all_.empty(); }
  Batch<rdma::NodeId> nodes() const;
  std::size_t size() const { return all_.size(); }
  /// Makes the node a participant and connects it, if it is none yet. `sealed`: for what never changes there (I31), which is so in any epoch;
  /// a node that is touched for nothing else does not have to agree on one.
  AbortReason touch(rdma::NodeId node, bool sealed = false);
  /// Returns the address of that offset in the participant's engine memory.
  rdma::RemoteAddress at(rdma::NodeId node, std::uint64_t offset) const;
  /// Connects a participant again. One that has not answered is not waited for again, as the transaction holds E back.
  bool reconnect(rdma::NodeId node);
  void clear();

  /// Whether E of each participant that has to agree has been READ.
  bool epochs_known() const;
  epoch::Epoch greatest_epoch() const;
  bool are_all_in(epoch::Epoch epoch) const {
    return std::all_of(all_.begin(), all_.end(), [epoch](const Participant& one) { return one.is_in(epoch); });
  }
  /// Returns an epoch that the participant is known to have reached, from this transaction or an earlier one of the worker; 0 if none is.
  epoch::Epoch reached_by(rdma::NodeId node) const;
  /// Returns whether all participants are known to have reached the epoch.
  bool have_all_reached(epoch::Epoch epoch) const;
  /// A READ of E may bring the times, too, at which keys were missed at the participant (src/cc/misses.h).
  enum class With : std::uint8_t { kEpoch, kMisses };
  /// Runs steps that take hold of records, or share a lease, and READs E of each participant behind them in the same chain.
  AbortReason run_before_epochs(Phase phase, std::span<AccessStep* const> holds, With with = With::kEpoch);
  /// Returns the greatest time at which a key of the table was missed at the node as it was READ last, or nothing if it was not.
  std::optional<record::TidWord> missed(rdma::NodeId node, std::uint32_t table) const;
  /// Returns the address of this worker's line of misses there.
  rdma::RemoteAddress line(rdma::NodeId node) const;
  /// Adds READs of E of all participants, to be run in front of other steps; false if there is no registered memory. take() notes
  /// what they found.
  bool add_epoch_reads(Batch<EpochRead>& reads, Batch<Step*>& steps);
  AbortReason take(const Batch<EpochRead>& reads);
  /// Waits, for a bounded time, until E of each participant is at least `agreed`.
  AbortReason await_epoch(epoch::Epoch agreed);

 private:
  struct Participant {
    rdma::NodeId node;
    rdma::RemoteAddress control;  ///< of its control block
    epoch::Epoch epoch = 0;       ///< E there, as READ last
    bool agrees = true;
    std::optional<std::array<record::TidWord, cc::Misses::kTables>> missed = std::nullopt;

    bool is_in(epoch::Epoch other) const { return !agrees || epoch >= other; }
  };

  std::size_t index_of(rdma::NodeId node) const;
  const Participant& get(rdma::NodeId node) const { return all_[index_of(node)]; }
  void note_epoch(Participant& participant, epoch::Epoch epoch);
  void take_misses(const EpochRead& read, Participant& participant) const;

  Trips& trips_;
  std::vector<Participant> all_;
  std::vector<rdma::NodeId> silent_;  ///< that did not take a new connection
};

}  // namespace granary::cluster
