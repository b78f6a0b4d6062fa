#pragma once
// Has the base class of this folder's steps. It keeps the step's outcome, and limits how often the step looks.

#include "rdma/fiber/step.h"
#include "src/cluster/record_access/access_outcome.h"

namespace granary::cluster {

/// How often a step looks at a record that is locked or changing before its outcome is kBusy. It pauses between two
/// looks.
inline constexpr unsigned kMostLooks = 64;

class AccessStep : public rdma::fiber::Step {
 public:
  using Step::Step;

  AccessOutcome outcome() const { return outcome_; }

  void fail(rdma::fiber::Failure failure) override { outcome_ = rdma::fiber::outcome_of<AccessOutcome>(failure); }

 protected:
  rdma::fiber::Next end(AccessOutcome outcome) {
    outcome_ = outcome;
    return rdma::fiber::Next::kEnded;
  }
  /// False if it has been looked at often enough.
  bool look_again() { return ++looks_ < kMostLooks; }
  void begin() {
    outcome_ = AccessOutcome::kOpen;
    looks_ = 0;
  }

 private:
  AccessOutcome outcome_ = AccessOutcome::kOpen;
  unsigned looks_ = 0;
};

}  // namespace granary::cluster
