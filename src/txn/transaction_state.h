#pragma once
// Tells the state of a transaction to the code that executes its operations: whether the transaction still goes on,
// and how to doom it. Context (context.h) implements it; Execution, LocalAccess and scans use it.

#include <cstdint>

#include <granary/outcome.h>
#include <granary/transaction.h>

#include "src/base/process_mark.h"

namespace granary::txn {

class TransactionState {
 public:
  /// A serial tells the handle of a finished transaction from the next one's.
  std::uint64_t serial() const { return serial_; }
  /// Returns kOk while the transaction with this serial can go on. Otherwise the application's callback has ended or
  /// doomed it within an operation, or has forked this process, and this is the outcome of that operation.
  Outcome standing(std::uint64_t serial) const {
    if (!process_.is_of_this_process()) [[unlikely]]
      return Outcome::kWrongThread;
    if (serial != serial_ || (state_ != State::kOpen && state_ != State::kDoomed)) return Outcome::kFinished;
    return state_ == State::kOpen ? Outcome::kOk : Outcome::kAborted;
  }
  /// Dooms the transaction: undoes it at once, and keeps the reason for commit(). Returns the outcome of the operation
  /// that met the reason.
  [[gnu::cold]] virtual Outcome doom_with(AbortReason reason) = 0;

 protected:
  enum class State : std::uint8_t {
    kIdle,    ///< no transaction is open
    kOpen,    ///< the epoch slot is entered
    kEnding,  ///< it is being undone, which may let other fibers run; nothing else can be done with it
    kDoomed,  ///< the transaction can only be ended; the slot is left, so that it holds no epoch back
    /// The transaction has committed, and its writes to other nodes are under way. The slot stays entered until they
    /// have arrived (I13).
    kUnderWay,
  };

  ~TransactionState() = default;

  const base::ProcessMark process_;
  State state_ = State::kIdle;
  std::uint64_t serial_ = 0;
};

}  // namespace granary::txn
