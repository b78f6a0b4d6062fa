#pragma once
// Says which reads of TicToc hold without an rts that says so, because of how transactions of equal time are ordered.

#include <cstdint>

#include "src/base/test_hooks.h"
#include "src/cc/protocol.h"

namespace granary::cc::tictoc {

/// Whether a read of a local record holds at the moment without an rts that says so. The reader has found the version
/// unchanged and unlocked after its own last lock and after its load of E. A transaction that overwrites the version
/// locks the record after that look, and loads E after the lock, so its time is at least (E, 1). If that is the
/// reader's own time, the reader comes first: transactions of one time are serial in the order in which they had all of
/// their locks, and the reader looked before the other one had its lock (tests/models/tictoc_local.pml). So
/// transactions that overwrite no version of this epoch, whose time is (E, 1), need not raise the rts of what they
/// read. For shared records the rule is the stricter one of shared_record.cc.
///
/// A commit in an HTM region looks, and has all that a lock would give it, at the one moment at which it takes effect.
/// So the rule holds for readers and overwriters in regions, too.
inline bool holds_without_rts(const Moment& moment) {
  constexpr std::uint64_t kFirst = 1, kTooLate = 1000;
  return moment.stamp <= record::make_tid(moment.epoch, base::injected("tictoc-ties-late") ? kTooLate : kFirst);
}

}  // namespace granary::cc::tictoc
