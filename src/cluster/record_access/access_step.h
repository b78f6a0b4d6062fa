#pragma once
// What the steps of this folder share: an outcome, and a bound on how often they try.

#include "rdma/fiber/step.h"
#include "src/cluster/record_access/outcome.h"

namespace granary::cluster {

/// Looks at a record that is locked or changing before its outcome is kBusy; between them the step's fiber pauses.
inline constexpr unsigned kMostLooks = 64;

class AccessStep : public rdma::fiber::Step {
 public:
  using Step::Step;

  Outcome outcome() const { return outcome_; }

  void fail(rdma::fiber::Failure failure) override {
    using rdma::fiber::Failure;
    outcome_ = failure == Failure::kBroken  ? Outcome::kBroken
               : failure == Failure::kStale ? Outcome::kStale
                                            : Outcome::kRefused;
  }

 protected:
  rdma::fiber::Next end(Outcome outcome) {
    outcome_ = outcome;
    return rdma::fiber::Next::kEnded;
  }
  /// False if it has been looked at often enough.
  bool look_again() { return ++looks_ < kMostLooks; }
  void begin() {
    outcome_ = Outcome::kOpen;
    looks_ = 0;
  }

 private:
  Outcome outcome_ = Outcome::kOpen;
  unsigned looks_ = 0;
};

}  // namespace granary::cluster
