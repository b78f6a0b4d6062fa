#pragma once
// Keeps account of a connection's send queue: the operations that are posted and not given back, and the chains that
// are to be reported.
//
// The queue cannot overflow, and cannot fill up for good. At least every half queue the device signals one chain, asked
// for or not, and a chain is at most half a queue long. So when a chain does not fit, a signalled one is on its way,
// and its completion makes room. The completion queue has a place for each operation, so it cannot overflow, either.

#include <cstdint>
#include <vector>

#include "rdma/fabric.h"
#include "src/base/check.h"

namespace granary::rdma::verbs {

class SendQueue {
 public:
  explicit SendQueue(std::uint32_t capacity) : capacity_(capacity), reported_(capacity) {}

  bool fits(std::size_t operations) const { return operations <= capacity_ - (posted_ - completed_); }
  /// Returns how many operations were posted so far, modulo 2^48, which is the number of the last one.
  std::uint64_t posted() const { return posted_ & kPositionMask; }

  /// Takes account of a chain that fits. Returns whether the device must signal its last operation.
  bool push(std::size_t operations, Signal signal, std::uint64_t tag) {
    base::debug_check(fits(operations), "a chain was posted that does not fit");
    posted_ += operations;
    if (signal == Signal::kYes) reported_[last_++ % capacity_] = {posted_, tag};
    const bool signalled = signal == Signal::kYes || posted_ - signalled_ >= capacity_ / 2;
    if (signalled) signalled_ = posted_;
    return signalled;
  }

  /// Notes that the operation with this number is complete, and with it all before it. Calls report(tag) for chains to
  /// be reported.
  template <typename Report>
  void complete(std::uint64_t position, Report report) {
    completed_ += (position - completed_) & kPositionMask;
    while (first_ != last_ && reported_[first_ % capacity_].end <= completed_)
      report(reported_[first_++ % capacity_].tag);
  }

  /// Notes that nothing more will complete. Calls report(tag) for all chains that are still to be reported.
  template <typename Report>
  void abandon(Report report) {
    complete(posted_, report);
  }

  static constexpr unsigned kPositionBits = 48;
  static constexpr std::uint64_t kPositionMask = (std::uint64_t{1} << kPositionBits) - 1;

 private:
  struct Chain {
    std::uint64_t end = 0;  ///< `posted_` after it
    std::uint64_t tag = 0;
  };

  std::uint64_t capacity_;
  std::uint64_t posted_ = 0;
  std::uint64_t completed_ = 0;
  std::uint64_t signalled_ = 0;  ///< `posted_` after the last chain that the device signals
  std::vector<Chain> reported_;  ///< a ring; its chains are first_ to last_
  std::uint64_t first_ = 0;
  std::uint64_t last_ = 0;
};

}  // namespace granary::rdma::verbs
