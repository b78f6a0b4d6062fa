#pragma once
// A step: one one-sided protocol of a few round trips, such as locking a record, written so that many of them travel
// together. It says what it wants to post, and is told when that has completed; Rounds does the rest.

#include <cstdint>
#include <vector>

#include "rdma/fabric.h"

namespace granary::rdma::fiber {

/// Why the fabric did not do what a step asked for.
enum class Failure : std::uint8_t {
  kBroken,   ///< no connection, or it broke: what the step has posted took effect, or not
  kStale,    ///< the step's addresses are of another life of the node than the connection reaches
  kRefused,  ///< an address lies outside of the peer's regions: what led there is damaged
};

/// Returns the outcome of a step that has failed. `Outcome` lists how the step can end.
template <typename Outcome>
constexpr Outcome outcome_of(Failure failure) {
  switch (failure) {
    case Failure::kBroken: return Outcome::kBroken;
    case Failure::kStale: return Outcome::kStale;
    case Failure::kRefused: break;
  }
  return Outcome::kRefused;
}

/// A step's wish when its operations have completed.
enum class Next : std::uint8_t {
  kEnded,
  kAtOnce,      ///< a round more
  kAfterPause,  ///< the same, when others had time to go on
};

class Step {
 public:
  /// Reaches the node and the life that `at` names.
  explicit Step(const RemoteAddress& at) : node_(at.node), generation_(at.generation) {}
  virtual ~Step() = default;

  NodeId node() const { return node_; }
  Generation generation() const { return generation_; }

  /// Adds the operations of this round, a few; their buffers live until interpret() or fail(). It adds each by
  /// `chain.emplace_back() = Operation::read(...)`. With push_back(), whose call the compiler does not inline, the
  /// operation would be made elsewhere, field by field, and copied in wide words right away, for which a processor has
  /// to wait until all fields have been stored: some 5 ns for each operation.
  virtual void append(std::vector<Operation>& chain) = 0;
  /// Interprets what they have brought, when they have completed. A step bounds the number of its rounds itself.
  virtual Next interpret() = 0;
  /// Ends the step: its operations have not completed, and will not.
  virtual void fail(Failure failure) = 0;

 protected:
  Step(const Step&) = default;
  Step& operator=(const Step&) = default;

 private:
  NodeId node_;
  Generation generation_;
};

}  // namespace granary::rdma::fiber
