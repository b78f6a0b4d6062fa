#pragma once
// Declares a step: one one-sided protocol of a few round trips, such as locking a record, in a form that lets many of
// them travel together. A step says which operations to post, and is told when they have completed. Rounds does the
// rest.

#include <cstdint>
#include <vector>

#include "rdma/fabric.h"

namespace granary::rdma::fiber {

/// The reasons why the fabric did not do the operations of a step.
enum class Failure : std::uint8_t {
  kBroken,   ///< no connection, or it broke: the operations took effect, or not
  kStale,    ///< the step's addresses are of another life of the node than the connection reaches
  kRefused,  ///< an address lies outside of the peer's regions, so the data that led there are damaged
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

/// The wish of a step when its operations have completed.
enum class Next : std::uint8_t {
  kEnded,
  kAtOnce,      ///< one more round
  kAfterPause,  ///< one more round, when others had time to go on
};

class Step {
 public:
  /// Makes a step that reaches the node and the life that `at` names.
  explicit Step(const RemoteAddress& at) : node_(at.node), generation_(at.generation) {}
  virtual ~Step() = default;

  NodeId node() const { return node_; }
  Generation generation() const { return generation_; }

  /// Adds the operations of this round, which are a few. Their buffers live until interpret() or fail(). It adds each
  /// by `chain.emplace_back() = Operation::read(...)`. With push_back(), which the compiler does not inline, the
  /// operation would be made in another place, field by field, and copied in wide words right away. A processor has to
  /// wait with that until all fields have been stored, which costs some 5 ns for each operation.
  virtual void append(std::vector<Operation>& chain) = 0;
  /// Interprets the results when the operations have completed. A step bounds the number of its rounds itself.
  virtual Next interpret() = 0;
  /// Ends the step. Its operations have not completed, and will not.
  virtual void fail(Failure failure) = 0;

 protected:
  Step(const Step&) = default;
  Step& operator=(const Step&) = default;

 private:
  NodeId node_;
  Generation generation_;
};

}  // namespace granary::rdma::fiber
