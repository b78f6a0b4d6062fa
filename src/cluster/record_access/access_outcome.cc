#include "src/cluster/record_access/access_outcome.h"

namespace granary::cluster {

std::string_view name(AccessOutcome outcome) {
  switch (outcome) {
    case AccessOutcome::kOpen: return "open";
    case AccessOutcome::kDone: return "done";
    case AccessOutcome::kMissing: return "missing";
    case AccessOutcome::kMoved: return "moved";
    case AccessOutcome::kChanged: return "changed";
    case AccessOutcome::kBusy: return "busy";
    case AccessOutcome::kNoTime: return "the clock is not known well enough";
    case AccessOutcome::kNotHeld: return "not held";
    case AccessOutcome::kBroken: return "connection broken";
    case AccessOutcome::kStale: return "of an earlier life of the node";
    case AccessOutcome::kRefused: return "outside of the node's regions";
  }
  return "";
}

}  // namespace granary::cluster
