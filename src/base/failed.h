#pragma once
// Tells whether a step of a transaction has failed.

#include <granary/outcome.h>

namespace granary {

constexpr bool failed(AbortReason reason) { return reason != AbortReason::kNone; }

}  // namespace granary
