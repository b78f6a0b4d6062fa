#pragma once
// I7: a transaction READs E at a participant after it has locked there, and validates or writes there only once that E
// is at least its epoch.

#include <functional>

#include "rdma/fiber/step.h"
#include "src/epoch/control_block.h"

namespace granary::cluster {

/// READs a node's E, in the same chain as the steps before it that reach that node.
class EpochRead final : public rdma::fiber::Step {
 public:
  static constexpr std::size_t kBufferBytes = sizeof(epoch::Epoch);

  struct Until {
    /// READs E again until it is at least that, `looks` times at most.
    epoch::Epoch at_least = 0;
    unsigned looks = 1;
    /// Whether E cannot reach that value any more. Empty: it always may.
    std::function<bool()> in_vain = {};
    /// Whether steps before this one are still going on. E counts only if it was READ after their last round, such as
    /// the one in which a lock was taken. Empty: there are none.
    std::function<bool()> others = {};
  };

  /// `control`: the node's control block. `buffer`: so many bytes in a registered region: a word, or more, to READ what
  /// follows it in the same control region, too.
  EpochRead(const rdma::RemoteAddress& control, void* buffer, Until until, std::size_t bytes = kBufferBytes)
      : Step(control),
        at_(control.plus(offsetof(epoch::ControlBlock, by_leader.epoch))),
        buffer_(static_cast<epoch::Epoch*>(buffer)),
        bytes_(static_cast<std::uint32_t>(bytes)),
        until_(std::move(until)) {}
  EpochRead(const rdma::RemoteAddress& control, void* buffer) : EpochRead(control, buffer, Until{}) {}

  void append(std::vector<rdma::Operation>& chain) override {
    chain.emplace_back() = rdma::Operation::read(buffer_, at_, bytes_);
  }
  rdma::fiber::Next interpret() override;
  void fail(rdma::fiber::Failure) override { failed_ = true; }

  /// E as it was READ last; 0 if the node could not be reached.
  epoch::Epoch epoch() const { return failed_ ? 0 : *buffer_; }
  /// All that was READ, if the node could be reached.
  const void* bytes() const { return buffer_; }
  /// Whether E has reached `at_least`.
  bool reached() const { return !failed_ && *buffer_ >= until_.at_least; }

 private:
  rdma::RemoteAddress at_;
  epoch::Epoch* buffer_;
  std::uint32_t bytes_;
  Until until_;
  unsigned looks_ = 0;
  bool failed_ = false;
};

}  // namespace granary::cluster
