#pragma once
// Tells why a transaction has to end after what it met at another node; kNone if it can go on.

#include <granary/outcome.h>

#include "src/cc/held_records.h"
#include "src/cluster/messages/question.h"
#include "src/cluster/record_access/outcome.h"

namespace granary::cluster {

AbortReason why(Outcome outcome);
/// Also looks at the state word that was found at the record: the x-lock of a dead node is not waited for any more.
AbortReason why(Outcome outcome, record::StateWord state, const cc::Shared& shared);
AbortReason why(const messages::Question& question);

}  // namespace granary::cluster
