#pragma once
// Phase 3 of the commit: makes the writes visible. Everything that can fail is done in prepare().

#include <vector>

#include <granary/outcome.h>

#include "src/cc/access_set.h"
#include "src/cc/worker_state.h"

namespace granary::cc::silo {

/// Takes the memory that installing in `epoch` will need (old versions to keep, larger records). All records are
/// locked. On kOutOfMemory nothing has been taken.
AbortReason prepare(std::vector<WriteEntry>& writes, WorkerState& worker, epoch::Epoch epoch);

/// Installs every write under the TID `tid` and releases its lock. Cannot fail.
void install(std::vector<WriteEntry>& writes, WorkerState& worker, TidWord tid);

/// Gives back what prepare() took: the transaction does not install after all.
void unprepare(std::vector<WriteEntry>& writes, WorkerState& worker);

/// The TID word that a write leaves; `old` is the one it overwrites, unlocked.
TidWord installed_word(const WriteEntry& write, TidWord old, TidWord tid);

/// Fills the room for the old version that prepare() took with the record as it is, and `old`, its TID word. False if
/// the record has outgrown the room, which happens only if it is not locked.
bool copy_version(const WriteEntry& write, WorkerState& worker, TidWord old);

/// Registers what a write that overwrote its record leaves for the garbage collection: the old version, the absent record.
void register_garbage(const WriteEntry& write, WorkerState& worker, TidWord new_word);

/// An injected bug: makes the first write visible before any lock is held.
void install_unlocked(std::vector<WriteEntry>& writes);

}  // namespace granary::cc::silo
