#include "src/cluster/transaction/why.h"

namespace granary::cluster {

AbortReason why(Outcome outcome) {
  switch (outcome) {
    case Outcome::kDone:
    case Outcome::kMissing: return AbortReason::kNone;
    case Outcome::kMoved: return AbortReason::kRecordReplaced;
    case Outcome::kChanged: return AbortReason::kReadChanged;
    case Outcome::kNoTime: return AbortReason::kLeaseExpired;
    case Outcome::kOpen:
    case Outcome::kBusy: return AbortReason::kRecordBusy;
    default: return AbortReason::kNodeUnreachable;
  }
}

AbortReason why(Outcome outcome, record::StateWord state, const cc::Shared& shared) {
  const bool for_good = outcome == Outcome::kBusy && cc::held_by_dead(state, shared);
  return for_good ? AbortReason::kNodeUnreachable : why(outcome);
}

AbortReason why(const messages::Question& question) {
  using messages::AskOutcome;
  using messages::Verdict;
  if (question.outcome() == AskOutcome::kAnswered) return AbortReason::kNone;
  if (question.outcome() == AskOutcome::kTooLarge) return AbortReason::kMessageTooLarge;
  if (question.outcome() != AskOutcome::kRefused) return AbortReason::kNodeUnreachable;
  switch (question.verdict()) {
    case Verdict::kBusy: return AbortReason::kRecordBusy;
    case Verdict::kOutOfMemory: return AbortReason::kOutOfMemory;
    case Verdict::kTooLarge: return AbortReason::kMessageTooLarge;
    default:
      return AbortReason::kNodeUnreachable;  // it speaks otherwise, or has other tables: no member of this cluster
  }
}

}  // namespace granary::cluster
