#include "src/cluster/recovery/settle.h"

#include "src/base/check.h"
#include "src/base/test_hooks.h"

namespace granary::cluster {
namespace {

using base::injected;
using rdma::Operation;
using rdma::fiber::Next;

std::size_t value_bytes(const log::Debt& debt) { return debt.version ? debt.version->value.size() : 0; }

/// Which incarnation the record has is not named: its key says enough, as nobody ends its life while it is held.
RemoteRecord record_of(const log::Debt& debt, const rdma::RemoteAddress& home) {
  return {.at = home.plus(debt.state_offset),
          .key = debt.key,
          .incarnation_mask = 0,
          .max_value_bytes = static_cast<std::uint32_t>(value_bytes(debt))};
}

bool same_life(record::StateWord a, record::StateWord b) {
  return record::holder_of(a).node == record::holder_of(b).node &&
         record::holder_of(a).generation == record::holder_of(b).generation;
}

}  // namespace

std::size_t Settle::buffer_bytes(const log::Debt& debt) { return buffer_bytes(debt.key.size(), value_bytes(debt)); }

Settle::Settle(const log::Debt& debt, const rdma::RemoteAddress& home, void* buffer,
               const std::function<bool()>& may_act)
    : AccessStep(home),
      debt_(&debt),
      may_act_(&may_act),
      words_(static_cast<std::uint64_t*>(buffer)),
      version_(record_of(debt, home), words_ + 1 + record::shared_value_offset(debt.key.size()) / base::kWord),
      word_(debt.word) {
  base::invariant("I10", record::is_x_locked(debt.word));
}

void Settle::append(std::vector<Operation>& chain) {
  if (round_ == Round::kLook) {
    chain.emplace_back() = Operation::read(words_ + 1, record().at, record().head_bytes());
    return;
  }
  // A CAS does not overtake a WRITE that was posted before it (I25).
  if (version_.is_set()) chain.emplace_back() = version_.operation();
  chain.emplace_back() = Operation::compare_swap(record().at, word_, record::kFree, words_);
}

Next Settle::interpret() {
  if (round_ == Round::kLook) return looked();
  const bool freed = words_[0] == word_;
  lock_end_ = !freed ? LockEnd::kSettledBefore : version_.is_set() ? LockEnd::kRedone : LockEnd::kFreed;
  return end(AccessOutcome::kDone);
}

Next Settle::looked() {
  if (!is_held()) {
    lock_end_ = LockEnd::kSettledBefore;
    return end(AccessOutcome::kDone);
  }
  if (!(*may_act_)()) {
    lock_end_ = LockEnd::kNotAllowed;
    return end(AccessOutcome::kDone);
  }
  word_ = copy().state_word;
  if (has_to_be_written()) {
    const log::Debt::Version& decided = *debt_->version;
    version_.set(record::version_word(decided.tid, decided.removed), record::incarnation_of(copy().head.size_word),
                 decided.value);
  }
  round_ = Round::kFree;
  return Next::kAtOnce;
}

/// Asks for the very word that was named: another transaction of the dead node may hold the record, and have decided
/// otherwise.
bool Settle::is_held() const {
  const record::StateWord state = copy().state_word;
  if (injected("free-by-node") && record::is_x_locked(state) && same_life(state, debt_->word)) return true;
  return state == debt_->word;
}

bool Settle::has_to_be_written() const {
  if (!debt_->version || !record().is(copy())) return false;
  return record::tid_of(copy().head.tid_word) <= debt_->version->tid || injected("redo-ignores-tid");
}

}  // namespace granary::cluster
