#pragma once
// Implements phase 3 of a commit (Silo 4.4, 4.5): the change of one record under its lock bit. The record is
// overwritten in place, or a new record takes its place in the index. The old version is kept if a snapshot may need
// it. All protocols share these functions, since all of them lock a record by its TID word while they change it.

#include "src/base/test_hooks.h"
#include "src/cc/write_set.h"
#include "src/cc/worker_state.h"

namespace granary::cc {

/// Returns the TID word that a write stores. `old` is the unlocked word that it overwrites.
inline TidWord installed_word(const WriteEntry& write, TidWord old, TidWord tid) {
  if (base::injected("unlock-without-new-tid") && !record::is_absent(old)) tid = record::tid_of(old);
  return record::version_word(tid, write.remove);
}

// The steps of a Protocol with the same names (protocol.h).
bool prepare(WriteEntry& write, WorkerState& worker, epoch::Epoch period);
void unprepare(WriteEntry& write, WorkerState& worker);
void install(WriteEntry& write, WorkerState& worker, TidWord tid, epoch::Epoch period);
bool prepare_in_place(WriteEntry& write, WorkerState& worker, epoch::Epoch period, TidWord word);
void installed_in_region(const WriteEntry& write, WorkerState& worker, TidWord old, TidWord tid);

}  // namespace granary::cc
