#pragma once
// Phase 3 of a commit (Silo 4.4, 4.5): changes of a record under its lock bit, in place or in another record's, with the old version that
// snapshots may need. Protocols that lock records by their TID words share it.

#include "src/base/test_hooks.h"
#include "src/cc/access_set.h"
#include "src/cc/worker_state.h"

namespace granary::cc {

/// The TID word that a write leaves; `old` is the one it overwrites, unlocked.
inline TidWord installed_word(const WriteEntry& write, TidWord old, TidWord tid) {
  if (base::injected("unlock-without-new-tid") && !record::is_absent(old)) tid = record::tid_of(old);
  return record::version_word(tid, write.remove);
}

/// These are the steps of the same names of a Protocol (protocol.h).
bool prepare(WriteEntry& write, WorkerState& worker, epoch::Epoch period);
void unprepare(WriteEntry& write, WorkerState& worker);
void install(WriteEntry& write, WorkerState& worker, TidWord tid, epoch::Epoch period);
bool prepare_in_place(WriteEntry& write, WorkerState& worker, epoch::Epoch period, TidWord word);
void installed_in_region(const WriteEntry& write, WorkerState& worker, TidWord old, TidWord tid);

}  // namespace granary::cc
