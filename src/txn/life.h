#pragma once
// The part of a transaction's life that those who execute its operations see: whether it still goes on, and how they doom it.

#include <cstdint>

#include <granary/outcome.h>
#include <granary/transaction.h>

namespace granary::txn {

class Life {
 public:
  /// A serial tells the handle of a finished transaction from the next one's.
  std::uint64_t serial() const { return serial_; }
  /// kOk while this transaction can go on; else what the operation ends with in which the application ended or doomed it.
  Outcome standing(std::uint64_t serial) const {
    if (serial != serial_ || (state_ != State::kOpen && state_ != State::kDoomed)) return Outcome::kFinished;
    return state_ == State::kOpen ? Outcome::kOk : Outcome::kAborted;
  }
  /// Dooms the transaction: undoes it at once and keeps the reason for commit(). Returns the outcome for the operation that met the
  /// reason.
  [[gnu::cold]] virtual Outcome doom_with(AbortReason reason) = 0;

 protected:
  enum class State : std::uint8_t {
    kIdle,
    kOpen,    ///< the slot is entered
    kDoomed,  ///< it can only be ended; the slot is left, so that it holds nothing back
    /// It has committed, and what it wrote at other nodes is under way; the slot is entered until it is there (I13).
    kUnderWay,
  };

  ~Life() = default;

  State state_ = State::kIdle;
  std::uint64_t serial_ = 0;
};

}  // namespace granary::txn
