#pragma once
// Gives back all x-locks that a transaction holds at other nodes (I5): with the new versions of what it has written, or
// unchanged. The caller either waits for that, or sends it and looks later whether it has arrived.

#include <deque>
#include <optional>

#include "src/cluster/record_access/release.h"
#include "src/cluster/transaction/footprint.h"

namespace granary::cluster {

class ReleaseRun {
 public:
  /// Makes a step for each record that the transaction holds x-locked, and notes that it is not held any more. If `tid`
  /// is not 0, records that were written get their new version.
  ReleaseRun(Footprint& footprint, record::TidWord tid);
  ~ReleaseRun();
  ReleaseRun(const ReleaseRun&) = delete;
  ReleaseRun& operator=(const ReleaseRun&) = delete;

  /// Runs the steps, over new connections where one has broken, and waits until they have ended.
  void run(TripPhase phase);
  /// Posts the steps, and waits for nothing. The transaction's memory stays until they are not under way any more.
  /// Called in a fiber only, whose scheduler polls for the completions.
  void send();
  /// Whether what send() has posted is still under way.
  bool under_way() const { return chains_->under_way(); }
  /// Ends the steps of send(), which are not under way any more. Where a connection has broken, the worker tries again
  /// between its transactions, since nothing may wait here.
  void finish_sent();
  /// Moves the steps that have ended with kBroken: locks that could be given back over no connection.
  void move_broken_to(std::deque<Release>& undelivered);

  /// Tries once more to give back a lock that was left behind, when its node is connected. False if the connection has
  /// broken again.
  static bool retry(Reach& reach, Release& release);

 private:
  Footprint& footprint_;
  Batch<Release> releases_;
  Batch<AccessStep*> steps_;
  std::optional<rdma::fiber::Chains> chains_;  ///< of send(); while there are any, they count in Reach::under_way
};

}  // namespace granary::cluster
